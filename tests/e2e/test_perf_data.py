# SPDX-License-Identifier: MIT
"""perf's own files: the same samples, stacks and names as perf script has them, and one line about damaged ones."""
import glob
import os
import re
import shutil
import signal
import subprocess
from collections import Counter

from harness import check, directory, equal, finish, fixture_path, needs, run, start, wait_sampling
from test_names import bpf_program

SECONDS = 20

HEADER = re.compile(r"^(\S.*?) +(\d+)(?:/\d+)? +([\d.]+): +(\d+) +(\S+?): *$")
# Newer ones take functions called a, b and c for the mangled names of these types.
MISTAKEN = ("signed char", "bool", "char")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def recorded(path, *options, command=None, env=None, perf=None):
    """A recording of the call tree by perf, or another one: a command."""
    p = subprocess.run([*(perf or [needs("perf")]), "record", "-q", "-F", "999", *options, "-o", path, "--",
                        *(command or [fixture_path("tree"), "--seconds", "1"])],
                       check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60, env=env)
    check(p.returncode >= 0 and os.path.getsize(path) > 1000, "a recording", p.returncode, p.stderr.decode())
    return path


def aliases():
    """Of functions of the kernel with several names, one for all of them."""
    at, first = {}, {}
    with open("/proc/kallsyms", encoding="ascii") as f:
        for line in f:
            address, kind, name, *_ = line.split()
            if kind in "tTwW":
                first[name] = at.setdefault(address, name)
    return first


def by_perf(path, event=None, perf=None):
    """Stacks as perf names them, from the root: names, None where it has none; those of one event."""
    text = subprocess.run([*(perf or [needs("perf")]), "script", "--no-inline", "-F", "comm,pid,time,period,event,ip,sym,symoff,dso", "-i", path],
                          check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=120).stdout.decode()
    stacks, frames, address = [], [], ""
    for line in [*text.splitlines(), ""]:
        frame, header = FRAME.match(line), HEADER.match(line)
        if header:
            frames, comm, wanted = [], header[1], event in (None, header[5])
        elif frame:
            address = frame[1]
            name = frame[2].rpartition("+0x")[0] or frame[2]
            # A call at a function's very end returns to the next one, which perf names.
            ends = frames and frame[2].endswith("+0x0")
            # Labels of the kernel's assembler (".E_copy") are functions to some.
            unknown = frame[2] == "[unknown]" or name in MISTAKEN or name.startswith(".") or ends or re.search(r"/(libc|ld-linux)", frame[3])
            frames.append(None if unknown else name)
        elif not line and frames:
            # What perf says where its unwinder has given up.
            given_up = address == "f" * 16
            if wanted:
                stacks.append((comm, *reversed(frames[:-1] if given_up else frames)))
            frames = []
    return stacks


def by_us(path, values="samples"):
    """The same as we name them, and how often each was sampled."""
    out = run("convert", "--no-inline", "-f", "folded", "--sample-type", values, path).ok().out
    counts = Counter()
    for line in out.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[tuple(f for f in stack.split(";") if not f.startswith("[truncated"))] += int(count)
    return counts


def matches(theirs, ours):
    """
    The same frames; of a stack that was copied also those up to where perf has given up, and we have not. What nothing is
    mapped at (as execve leaves it) perf leaves out.
    """
    n = len(theirs) - 1
    whole = len(ours) == len(theirs) or (ours[1] in ("_start", "[unknown]") and len(ours) > len(theirs))
    return whole and theirs[0] == ours[0] and all(t is None or t == o for t, o in zip(theirs[1:], ours[len(ours) - n:]))


def same(path, event=None, values="samples", perf=None):
    """Each stack of perf's is one of ours, as often; where perf has a name ours is the same."""
    one = aliases()
    theirs, ours = Counter(), Counter()
    for stack in by_perf(path, event, perf):
        theirs[tuple(one.get(name, name) for name in stack)] += 1
    for stack, count in by_us(path, values).items():
        ours[tuple(one.get(name, name) for name in stack)] += count
    # A program that runs for a second has few of them where others want the CPU, too.
    check(sum(theirs.values()) > 20, "samples", theirs)
    equal(sum(ours.values()), sum(theirs.values()), "samples")
    for stack, count in theirs.items():
        found = sum(n for other, n in ours.items() if matches(stack, other))
        check(found >= count, f"{stack}: perf has {count}, we {found}", [other for other in ours if other[-3:-1] == stack[-3:-1]])
    return ours


def test_names_and_counts_are_perfs():
    with directory() as d:
        ours = same(recorded(os.path.join(d, "x"), "-g"))
        leaves = Counter()
        for stack, count in ours.items():
            leaves[stack[-1]] += count
        # On a busy machine the kernel's come between, where others take the CPU.
        own = [name for name, _ in leaves.most_common() if re.fullmatch(r"[a-z]\d", name)]
        equal(own[:3], ["a2", "b2", "c2"], "the busiest functions")


def test_kernel_and_processes():
    """The whole of a shell that starts others, with the kernel's functions."""
    with directory() as d:
        path = recorded(os.path.join(d, "x"), "-g", command=[
            "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; for i in 1 2 3 4 5 6 7 8; do cat /proc/kallsyms > /dev/null; done"])
        ours = same(path)
        check({"sh", "cat"} <= {s[0] for s in ours}, "processes", {s[0] for s in ours})
        check(any("do_syscall_64" in s for s in ours) or os.uname().machine != "x86_64", "the kernel's names")


def test_code_that_came_into_the_kernel():
    """BPF programs have the names that perf recorded, also when they have gone."""
    with directory() as d:
        with bpf_program() as runner:
            path = recorded(os.path.join(d, "x"), "-g", "-p", str(runner.pid), command=["sleep", "0.5"])
        stacks = by_us(path)
        spun = sum(n for stack, n in stacks.items() if any(re.match("bpf_prog_[0-9a-f]{16}_spin_filter$", f or "") for f in stack))
        check(spun > 20 and spun > 0.5 * sum(stacks.values()), stacks)
        ours, theirs = ({f for stack in some for f in stack if f and f.startswith("bpf_prog_")} for some in (stacks, by_perf(path)))
        equal(ours, theirs, "programs")


def test_compressed_and_piped():
    with directory() as d:
        plain = same(recorded(os.path.join(d, "z"), "-g", "-z"))
        check(any(s[-1] == "a2" for s in plain), plain)
        path = os.path.join(d, "pipe")
        with open(path, "wb") as f:
            subprocess.run([needs("perf"), "record", "-q", "-g", "-F", "999", "-o", "-", "--", fixture_path("tree"), "--seconds", "1"],
                           check=False, stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL, timeout=60)
        with open(path, "rb") as f:
            out = run("report", "--by", "function", "-", stdin=f).ok().out
        equal([line.split()[4] for line in out.splitlines()[1:4]], ["a2", "b2", "c2"], "through a pipe")


def test_copied_stacks():
    """A program without frame pointers, whose stacks perf has copied; what of them is ours is perf's, or whole where perf's is not."""
    with directory() as d:
        path = os.path.join(d, "x")
        for options in ([], ["-z"]):
            ours = same(recorded(path, "--call-graph", "dwarf", *options, command=[fixture_path("tree_frameless"), "--seconds", "1"]))
            whole = sum(n for s, n in ours.items() if s[1:5] == ("_start", "__libc_start_main", "__libc_start_call_main", "main"))
            check(whole >= 0.97 * sum(ours.values()), "whole stacks", ours)
            check(sum(n for s, n in ours.items() if s[-5:] == ("main", "run", "a", "a1", "a2")) > 0.4 * whole, "the busiest one", ours)
        text = run("report", path).ok().err
        check("were copied on another kind" not in text, text)


def test_code_made_at_run_time():
    """Its names are in the perf map, which outlives the program."""
    before = set(glob.glob("/tmp/perf-*.map"))
    with directory() as d:
        try:
            path = recorded(os.path.join(d, "x"), "-g", command=["timeout", "1", fixture_path("jit_names"), "made_a", "made_b"])
            leaves = Counter()
            for stack, count in same(path).items():
                leaves[stack[-1]] += count
        finally:
            for name in set(glob.glob("/tmp/perf-*.map")) - before:
                os.remove(name)
    check(min(leaves["made_a"], leaves["made_b"]) > 0.3 * sum(leaves.values()), leaves)


def test_files_that_are_gone():
    """perf keeps a copy of each, which has the names; without it one line says what is missing."""
    with directory() as d:
        program, path = os.path.join(d, "program"), os.path.join(d, "x")
        home = {**os.environ, "HOME": d}
        shutil.copy(fixture_path("tree"), program)
        recorded(path, "-g", command=[program, "--seconds", "1"], env=home)
        os.remove(program)
        r = run("report", "--by", "function", path, env=home).ok()
        equal([line.split()[4] for line in r.out.splitlines()[1:4]], ["a2", "b2", "c2"], "by perf's copy")
        check("not here" not in r.err, r.err)
        shutil.rmtree(os.path.join(d, ".debug"))
        r = run("report", "--by", "function", path, env=home).ok()
        check(f"1 file is not here as it was sampled, so its frames have no names: {program}" in r.err, r.err)
        check(re.search(r" program +\[program\+0x[0-9a-f]+\]\n", r.out), r.out)


def test_perf_records_as_usual_beside_us():
    """An event of ours that asked for build IDs would mark perf's records of mappings as having them, at which it aborts."""
    with directory() as d:
        ours = start("-a", "-d", "60", "-o", os.path.join(d, "ours.folded"))
        wait_sampling(ours)
        stacks = same(recorded(os.path.join(d, "x"), "-g"))
        ours.send_signal(signal.SIGINT)
        finish(ours).ok()
        check(any(s[-1] == "a2" for s in stacks), stacks)


def test_several_events():
    """A clock and a tracepoint: each has its samples, with perf's stacks."""
    with directory() as d:
        path = recorded(os.path.join(d, "x"), "-g", "-e", "cpu-clock,syscalls:sys_enter_read", command=[
            "sh", "-c", "cat /proc/kallsyms > /dev/null; cat /proc/kallsyms > /dev/null"])
        # What happened once for each sample has no sum of periods beside their number.
        known = re.search("also there: (.*)", run("report", path).ok().err)[1].split(", ")
        for event in "cpu-clock", "syscalls:sys_enter_read":
            values = event + " samples" if event + " samples" in known else event
            check("cat" in {s[0] for s in same(path, event, values)}, event)
        run("report", "--sample-type", "cpu-clock", path).ok()
        check("cpu-clock, in nanoseconds" in run("report", path).ok().err, "the first event is shown")


def test_time_and_other_formats():
    with directory() as d:
        path, saved = recorded(os.path.join(d, "x"), "-g"), os.path.join(d, "x.pb.gz")
        whole = run("report", "--by", "second", path).ok().out
        check(re.search(r"^ +0 +[\d.]+ +[\d.]+ +tree +a2$", whole, re.M), whole)
        part = run("report", "--from", "200ms", "--to", "400ms", path).ok().err
        times = [float(t) for t in subprocess.run([needs("perf"), "script", "-F", "time", "-G", "-i", path], check=True, timeout=120,
                                                  stdin=subprocess.DEVNULL, capture_output=True).stdout.decode().replace(":", "").split()]
        inside = sum(0.2 <= t - times[0] < 0.4 for t in times)
        check(abs(int(re.search(r"(\d+) samples", part)[1]) - inside) <= 2, inside, "samples:", part)
        run("convert", path, "-o", saved).ok()
        equal(run("report", saved).ok().out, run("report", path).ok().out, "saved again")
        check("0 of" in run("diff", path, saved).ok().out, "a difference to itself")
        run("report", "--from", "2s", "--to", "1s", path).ok(2)


def test_damaged_files():
    """What can be read of a file that is cut off; one line where that is nothing."""
    with directory() as d:
        path, cut = recorded(os.path.join(d, "x"), "-g"), os.path.join(d, "cut")
        with open(path, "rb") as f:
            whole = f.read()
        samples = sum(by_us(path).values())
        for n in (8, 100, 104, 300, len(whole) // 2, len(whole) - 1):
            with open(cut, "wb") as f:
                f.write(whole[:n])
            r = run("report", "-q", cut)
            equal((r.code, r.err.count("\n"), "cut off" in r.err), (int(n <= 300), 1, True), f"{n} bytes: {r.err}")
            if n > 300:
                check(0 < sum(by_us(cut).values()) <= samples, n, "bytes of", len(whole))
