# SPDX-License-Identifier: MIT
"""
Programs that forge CPython's structures in their own memory, and such as are killed: bounded work, nothing wrong, and an end.
"""
import os
import signal

from harness import Fixture, calls, check, directory, finish, start, wait_burned, wait_sampling
from test_python import pythons, sampled

SECONDS = 6

# Each does its work in C, while what the interpreter keeps of it, or of its caller, is not so; what is never looked at meanwhile is
# put back before it is needed. A child writes to the memory of the last one while that is read.
FORGED = """
import ctypes, os, random, sys, time
CODE, PREVIOUS, FRAME, LENGTH, NAME = 0, 8, 24, 16, 120
WILD = (0x10, 0x7fffdeadb000, 0xffff888000000000, 0x123456789abcdef0)
def word(address): return ctypes.c_uint64.from_address(address)
def frame(depth): return word(id(sys._getframe(depth + 1)) + FRAME).value
def forged(where, value):
    there = word(where)
    kept = there.value
    there.value = value
    sum(range(100000))
    there.value = kept
def cycle():
    own = frame(0)
    forged(own + PREVIOUS, own)
def wild_back(): forged(frame(0) + PREVIOUS, random.choice(WILD))
def wild_code(): forged(frame(1) + CODE, random.choice(WILD))
def not_code(): forged(frame(1) + CODE, id(WILD))
def long_name(): forged(word(id(victim_called_by_nobody.__code__) + NAME).value + LENGTH, random.choice((1 << 60, 2**64 - 1, 4096)))
def victim_called_by_nobody(): long_name()
def escapes(): sum(range(100000))
escapes.__code__ = escapes.__code__.replace(co_name="\\x1b[31mred\\n;x", co_qualname="\\x1b[31mred\\n;x", co_filename="\\x1b]0;f\\x07")
def torn():
    at, parent = frame(0) + PREVIOUS, os.getpid()
    kept = word(at).value
    pid = os.fork()
    if not pid:
        memory = os.open("/proc/%d/mem" % parent, os.O_WRONLY)
        values = [v.to_bytes(8, "little") for v in (*WILD, at - PREVIOUS, kept)]
        end = time.time() + 0.1
        while time.time() < end:
            for v in values: os.pwrite(memory, v, at)
        os.pwrite(memory, values[-1], at)
        os._exit(0)
    os.waitpid(pid, os.WNOHANG)
    for _ in range(40): sum(range(20000))
    os.waitpid(pid, 0)
def plain(): sum(range(100000))
def main():
    ready()
    while True:
        for _ in range(20):
            plain(); cycle(); wild_back(); wild_code(); not_code(); victim_called_by_nobody(); escapes()
        torn()
main()
"""


def forgeable():
    """Those whose structures the program knows."""
    return [p for p, minor in pythons(12) if minor in (12, 13)]


def test_forged_structures():
    """A cycle ends by a mark; what is no code, or cannot be read, gives no frames; names have no escapes; all else is as it is."""
    for python in forgeable():
        result = sampled(python, FORGED, rate=1999, seconds=1.5)
        # Which looks for escapes.
        profile = result.profile
        lost = profile.where(lambda s: "wild_back" in s.frames and "<module>" not in s.frames)
        wrong = lost.where(lambda s: not s.cut or s.cut[1] != "unreadable")
        check(not wrong.count(), python, wrong.head(2))
        check(profile.count(lambda s: s.any("^torn$")) > 5, python, profile.head())
        cycles = profile.where(lambda s: s.frames.count("cycle") > 1)
        wrong = cycles.where(lambda s: not s.cut or s.cut[1] != "depth")
        check(cycles.count() and not wrong.count(), python, wrong.head(2))
        check(profile.count(lambda s: s.any("red")) > 5, python, profile.head())
        right = profile.where(lambda s: "plain" in s.frames)
        wrong = right.where(lambda s: not calls(s, "<module>", "main", "plain"))
        check(right.count() > 5 and not wrong.count(), python, wrong.head(2))


def test_killed_while_it_is_sampled():
    """What a process that is killed was at has its names."""
    for python in forgeable()[:1]:
        with directory() as d:
            script = os.path.join(d, "script.py")
            with open(script, "w", encoding="utf-8") as f:
                f.write("def spin():\n    while True: sum(range(1000))\ndef down(n): down(n - 1) if n else spin()\n"
                        "print('ready', flush=True)\ndown(50)\n")
            with Fixture("python", script, path=python) as target:
                proc = start("-p", target.pid, "-F", 999, "-d", 30, "-f", "folded")
                wait_sampling(proc)
                wait_burned(target.pid, 0.3)
                os.kill(target.pid, signal.SIGKILL)
                profile = finish(proc).ok().profile
        whole = profile.count(lambda s: "<module>" in s.frames and s.frames.count("down") == 51)
        check(whole >= 0.98 * profile.count() - 1 and whole > 50, python, profile.head(3))
