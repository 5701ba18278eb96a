# SPDX-License-Identifier: MIT
"""
The object of BPF programs: what older kernels refuse and newer ones do not. Before Linux 6.13 a program has 512 bytes of stack
with all that it calls, each frame rounded up to 32 (kernel/bpf/verifier.c, check_max_stack_depth()).
"""
import os
import re
import subprocess
from functools import lru_cache

from harness import BUILD, check, needs

STACK = 512
FUNCTION = re.compile(r"^[0-9a-f]+ <(.+)>:$")
# *(u64 *)(r10 - 0x40) = r1; and the address of a place there: r2 = r10, r2 += -0x40.
ACCESS, ADDRESS = re.compile(r"r10 - (0x[0-9a-f]+|\d+)"), re.compile(r"\br\d+ \+= -(0x[0-9a-f]+|\d+)")
CALL = re.compile(r"R_BPF_64_32\s+(\S+)")


def frames_and_calls():
    """Bytes that each function uses below its frame pointer, and whom it calls."""
    path = os.path.join(BUILD, "ebprof.bpf.o")
    objdump = needs("llvm-objdump")
    symbols = subprocess.run([objdump, "-t", path], capture_output=True, text=True, check=True).stdout
    functions = {m[1] for m in re.finditer(r" F \S+\s+[0-9a-f]+ (?:\.hidden )?(\S+)", symbols)}
    used, calls, function, before = {}, {}, None, ""
    for line in subprocess.run([objdump, "-dr", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout.splitlines():
        begins = FUNCTION.match(line)
        if begins and begins[1] in functions:
            function = begins[1]
            used[function], calls[function] = 0, set()
        elif function:
            places = ACCESS.findall(line) + (ADDRESS.findall(line) if "r10" in before else [])
            used[function] = max([used[function], *(int(p, 0) for p in places if int(p, 0) <= STACK)])
            calls[function].update(CALL.findall(line))
        before = line
    return used, calls


def test_stack_of_the_longest_calls():
    used, calls = frames_and_calls()
    check(len(used) > 40 and sum(map(len, calls.values())) > 100, "functions and calls:", len(used), calls)

    @lru_cache(None)
    def deepest(function):
        own = max(32, (used[function] + 31) // 32 * 32)
        depth, chain = max((deepest(c) for c in calls[function] if c in used), default=(0, ()))
        return own + depth, ((function, own), *chain)

    called = set().union(*calls.values())
    for program in used.keys() - called:
        depth, chain = deepest(program)
        check(depth <= STACK, depth, "bytes:", chain)
