# SPDX-License-Identifier: MIT
"""Text as perf script prints it, read by speedscope and by the Firefox Profiler, which know it from perf."""
import collections
import os
import re

from harness import Profile, check, directory, equal, fixture_path, run
from readers import FirefoxProfiler, hand_made, speedscope

SECONDS = 12

THREADS = {("demo", "100", "100"): 84, ("worker one", "100", "101"): 21, ("server", "200", "200"): 6, ("helper", "200", "207"): 3}
DEMO = {("_start", "main", "work"): 40, ("_start", "main", "work", "hash"): 25, ("_start", "main", "walk", "walk", "walk"): 9,
        ("_start", "main", "write", "entry_SYSCALL_64", "ksys_write"): 10}
HELPER = {("kthread", "worker_thread"): 2, ("[no stack]",): 1}
STEP = 0.01     # seconds between two samples of the hand-made profiles


def records(path):
    """(head, frames) of each record."""
    with open(path) as f:
        blocks = re.sub(r"^#.*\n", "", f.read(), flags=re.M).split("\n\n")
    return [(lines[0], lines[1:]) for lines in (b.splitlines() for b in blocks) if lines]


def test_in_firefox():
    with directory() as d, FirefoxProfiler(d) as firefox:
        for name in ("full", "timeline"):
            firefox.load(hand_made(d, name, "perf-script", ".perf"))
            threads = {(t["name"], t["pid"], str(t["tid"])): h for h, t in firefox.threads().items()}
            equal({t: firefox.stacks(h)[1] for t, h in threads.items()}, THREADS, f"totals of {name}")
            equal(firefox.stacks(threads["demo", "100", "100"])[0], DEMO, f"stacks of {name}")
            equal(firefox.stacks(threads["helper", "200", "207"])[0], HELPER, f"stacks of {name}")
        libraries = {c["nameWithLibrary"].rpartition("!")[0] for c in
                     firefox.ask("thread", "functions", "--thread", threads["demo", "100", "100"])["functions"]}
        equal(libraries, {"/usr/lib/demo", "/usr/lib/libc.so.6", "inlined", "[kernel.kallsyms]"}, "files")


def test_in_speedscope():
    """It takes the time between a thread's records for their weight, half of it for each."""
    with directory() as d:
        full, one = speedscope(*(hand_made(d, name, "perf-script", ".perf") for name in ("full", "one")))
        profiles = {p.name: p for p in full[0]}
        equal(set(profiles), {f"{comm} pid: {pid} tid: {tid}" for comm, pid, tid in THREADS}, "threads")
        for (comm, pid, tid), n in THREADS.items():
            total = profiles[f"{comm} pid: {pid} tid: {tid}"].total
            check(abs(total - (n - 1) * STEP) < 1e-5, f"{comm}: {total} s, expected {n - 1} steps")
        stacks = profiles["demo pid: 100 tid: 100"].stacks
        equal(set(stacks), set(DEMO), "stacks")
        for stack, n in DEMO.items():
            check(abs(stacks[stack] - n * STEP) <= STEP / 2 + 1e-5, f"{stack}: {stacks[stack]} s, expected {n * STEP}")
        equal([p.stacks for p in one[0]], [{("main",): 1}], "one")


def test_hostile_names():
    with directory() as d, FirefoxProfiler(d) as firefox:
        path = hand_made(d, "hostile", "perf-script", ".perf")
        firefox.load(path)
        threads = firefox.threads()
        equal(sorted(int(t["pid"]) for t in threads.values()), list(range(1, 30)), "processes in Firefox")
        stacks, total = firefox.stacks("t-0")
        equal((len(stacks), total, {len(s) for s in stacks}), (28, 28 * 29 // 2, {3}), "stacks in Firefox")
        names = {s[-1] for s in stacks}
        check({"operator()(int, char const*) const [clone .cold]", "]]>", "42", "1 2", "_", "[unknown]"} <= names, names)
        profiles, frames = speedscope(path)[0]
        ids = [re.search(r" pid: (\d+) tid: (\d+)$", p.name).groups() for p in profiles]
        equal(sorted(ids, key=lambda i: int(i[0])), [(str(i), str(i)) for i in range(1, 30)], "processes in speedscope")
        # It shows another text where perf wrote "[unknown]".
        equal({s[-1] for s in profiles[0].stacks} - {"??? (inlined)"}, names - {"[unknown]"}, "functions in speedscope")


def test_values():
    """A count that is too much to be repeated, and what is no count, is the period of one record."""
    def periods(path):
        return [int(re.search(r": +(\d+) \S+: $", head)[1]) for head, _ in records(path)]

    with directory() as d:
        equal(periods(hand_made(d, "huge", "perf-script", ".perf")), [5000000000, 12345678901], "huge")
        equal(periods(hand_made(d, "types", "perf-script", ".perf")), [144, 4096], "bytes")
        equal(periods(hand_made(d, "full", "perf-script", ".perf")), [1] * 114, "counts")
        equal(records(hand_made(d, "empty", "perf-script", ".perf")), [], "empty")
        deep = records(hand_made(d, "deep", "perf-script", ".perf"))
        equal((len(deep), len(deep[-1][1])), (15, 500), "deep")
        head, frames = records(hand_made(d, "timeline", "perf-script", ".perf"))[0]
        equal(head, "demo 100/100 [000] 0.002500:          1 cpu-clock: ", "the first of a timeline")
        check(re.fullmatch(r"\t +[0-9a-f]+ work \(/usr/lib/demo\)", frames[0]), "a frame:", frames[0])


def test_recording():
    with directory() as d, FirefoxProfiler(d) as firefox:
        path, folded = os.path.join(d, "tree.perf"), os.path.join(d, "tree.folded")
        r = run("-F", "499", "--per-thread", "-o", path, "-o", folded, "--", fixture_path("tree"), "--seconds", "1",
                "--threads", "2").ok()
        with open(folded) as f:
            profile = Profile.read(f.read())
        equal(len(records(path)), r.summary.kept, "records")
        firefox.load(path)
        for handle, thread in firefox.threads().items():
            # Whatever its name: it has the process's until it takes its own.
            tid = f"-{thread['pid']}/{thread['tid']}"
            expected = collections.Counter()
            for s in profile:
                if s.comm.endswith(tid) and not s.cut:
                    expected[tuple(s.frames)] += s.count
            got = {s: n for s, n in firefox.stacks(handle)[0].items() if not s[0].startswith("[truncated")}
            equal(got, dict(expected), f"stacks of {thread['name']}{tid}")


def test_times_of_a_recording():
    """With --timeline each sample has its own time: a thread's are a period apart, or more where it had to wait."""
    with directory() as d:
        path = os.path.join(d, "tree.perf")
        r = run("-F", "499", "--timeline", "-o", path, "--", fixture_path("tree"), "--seconds", "1").ok()
        heads = [re.match(r"\s*(.+?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+([\d.]+):\s+1 ", head) for head, _ in records(path)]
    equal(len(heads), r.summary.kept, "records")
    check(all(heads), "a head of another form")
    times = [float(m[5]) for m in heads]
    equal(times, sorted(times), "order")
    gaps = sorted(b - a for a, b in zip(times, times[1:]))
    check(0.0015 < gaps[len(gaps) // 2] < 0.01, gaps[len(gaps) // 2], "s between two samples")
    check(0.5 <= times[-1] - times[0] <= r.summary.duration + 0.1, times[0], times[-1])
