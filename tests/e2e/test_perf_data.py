# SPDX-License-Identifier: MIT
"""perf's own files: the same samples, stacks and names as perf script has them, and one line about damaged ones."""
import os
import re
import signal
import subprocess
from collections import Counter

from harness import check, directory, equal, finish, fixture_path, needs, run, start, wait_sampling

HEADER = re.compile(r"^(\S.*?) +(\d+)(?:/\d+)? +([\d.]+): +(\d+) +(\S+?): *$")
# Newer ones take functions called a, b and c for the mangled names of these types.
MISTAKEN = ("signed char", "bool", "char")
FRAME = re.compile(r"^\s+([0-9a-f]+) (.*) \((.*)\)$")


def recorded(path, *options, command=None):
    """A recording of the call tree by perf."""
    p = subprocess.run([needs("perf"), "record", "-q", "-F", "999", *options, "-o", path, "--",
                        *(command or [fixture_path("tree"), "--seconds", "1"])],
                       check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=60)
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


def by_perf(path):
    """Stacks as perf names them, from the root: names, None where it has none."""
    text = subprocess.run([needs("perf"), "script", "--no-inline", "-F", "comm,pid,time,period,event,ip,sym,symoff,dso", "-i", path],
                          check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=120).stdout.decode()
    stacks, frames = [], []
    for line in [*text.splitlines(), ""]:
        frame, header = FRAME.match(line), HEADER.match(line)
        if header:
            frames, comm = [], header[1]
        elif frame:
            name = frame[2].rpartition("+0x")[0] or frame[2]
            # A call at a function's very end returns to the next one, which perf names.
            ends = frames and frame[2].endswith("+0x0")
            unknown = frame[2] == "[unknown]" or name in MISTAKEN or ends or "libc" in frame[3]
            frames.append(None if unknown else name)
        elif not line and frames:
            stacks.append((comm, *reversed(frames)))
            frames = []
    return stacks


def by_us(path):
    """The same as we name them, and how often each was sampled."""
    out = run("convert", "--no-inline", "-f", "folded", "--sample-type", "samples", path).ok().out
    counts = Counter()
    for line in out.splitlines():
        stack, _, count = line.rpartition(" ")
        counts[tuple(stack.split(";"))] += int(count)
    return counts


def matches(theirs, ours):
    return len(theirs) == len(ours) and all(t is None or t == o for t, o in zip(theirs, ours))


def same(path):
    """Each stack of perf's is one of ours, as often; where perf has a name ours is the same."""
    one = aliases()
    theirs, ours = Counter(), Counter()
    for stack in by_perf(path):
        theirs[tuple(one.get(name, name) for name in stack)] += 1
    for stack, count in by_us(path).items():
        ours[tuple(one.get(name, name) for name in stack)] += count
    check(sum(theirs.values()) > 200, "samples", theirs)
    equal(sum(ours.values()), sum(theirs.values()), "samples")
    for stack, count in theirs.items():
        found = sum(n for other, n in ours.items() if matches(stack, other))
        check(found >= count, f"{stack}: perf has {count}, we {found}")
    return ours


def test_names_and_counts_are_perfs():
    with directory() as d:
        ours = same(recorded(os.path.join(d, "x"), "-g"))
        leaves = Counter()
        for stack, count in ours.items():
            leaves[stack[-1]] += count
        equal([name for name, _ in leaves.most_common(3)], ["a2", "b2", "c2"], "the busiest functions")


def test_kernel_and_processes():
    """The whole of a shell that starts others, with the kernel's functions."""
    with directory() as d:
        path = recorded(os.path.join(d, "x"), "-g", command=[
            "sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done; for i in 1 2 3 4 5 6 7 8; do cat /proc/kallsyms > /dev/null; done"])
        ours = same(path)
        check({"sh", "cat"} <= {s[0] for s in ours}, "processes", {s[0] for s in ours})
        check(any("do_syscall_64" in s for s in ours) or os.uname().machine != "x86_64", "the kernel's names")


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
    with directory() as d:
        path = recorded(os.path.join(d, "x"), "-g", "-e", "cpu-clock,page-faults")
        for name in ("cpu-clock samples", "page-faults samples", "cpu-clock"):
            run("report", "--sample-type", name, path).ok()
        check("cpu-clock, in nanoseconds" in run("report", path).ok().err, "the first event is shown")


def test_time_and_other_formats():
    with directory() as d:
        path, saved = recorded(os.path.join(d, "x"), "-g"), os.path.join(d, "x.pb.gz")
        whole = run("report", "--by", "second", path).ok().out
        check(re.search(r"^ +0 +\d+ +[\d.]+ +tree +a2$", whole, re.M), whole)
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
    with directory() as d:
        path, cut = recorded(os.path.join(d, "x"), "-g"), os.path.join(d, "cut")
        with open(path, "rb") as f:
            whole = f.read()
        for n in (8, 100, 104, len(whole) // 2, len(whole) - 1):
            with open(cut, "wb") as f:
                f.write(whole[:n])
            r = run("report", cut).ok(1)
            check(r.err.count("\n") == 1 and "cut off" in r.err, n, r.err)
