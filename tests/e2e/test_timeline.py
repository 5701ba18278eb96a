# SPDX-License-Identifier: MIT
"""When it was: sleeps and bursts appear where a program had them, by its own clock."""
import json
import os
import re
import signal
import statistics

from harness import check, child_of, directory, equal, finish, fixture_path, run, start, stopped, wait_burned
from readers import FirefoxProfiler
from test_format_perfetto import Trace

MS = 1e6
LONG = 3 * MS       # without losing the CPU, of a burst


class Moments:
    """The program under ebprof: what it says of itself, and what a trace has; in ns of CLOCK_REALTIME."""

    def __init__(self, d, *options, rounds=25):
        self.saved, self.path = os.path.join(d, "x.pb.gz"), os.path.join(d, "x.pftrace")
        self.firefox = os.path.join(d, "x.firefox.json")
        r = run("--timeline", *options, "-o", self.saved, "-o", self.path, "-o", self.firefox, "--", fixture_path("moments"),
                rounds).ok()
        self.err, self.said = r.err, {"sleep": [], "burst": [], "used": []}
        for line in r.out.splitlines():
            what, *stamps = line.split()
            if what in self.said:
                self.said[what].append(tuple(int(s) for s in stamps))
        self.trace = Trace(self.path)
        self.began = self.trace.began

    def slept(self):
        """Of each sleep the waits that begin in it, as (begin, end, name)."""
        waits = [(self.began + b, self.began + e, name) for b, e, name, stack in self.trace.waits if "pause_for" in stack]
        found = [[w for w in waits if begin - 2 * MS <= w[0] < end] for begin, end in self.said["sleep"]]
        # It may be preempted while it tells of one.
        check(all(w in sum(found, []) or w[2].startswith("runnable") for w in waits), "waits in no sleep")
        return found

    def without(self, found):
        """Of the long bursts those of which nothing was found: their place among all, and ms from the beginning."""
        bursts = [b for b in self.said["burst"] if b[1] - b[0] > LONG]
        return [(i, [round((t - self.began) / MS, 3) for t in b]) for i, b in enumerate(bursts) if not found[i]]


def near(what, differences, ms=1.0):
    """All of them but for what a busy machine does to one or the other."""
    median = statistics.median(differences)
    check(abs(median) < ms * MS, what, f"is off by {median / MS:.3f} ms:", [f"{x / MS:.3f}" for x in differences])


def test_sleeps_are_where_they_were():
    with directory() as d:
        m = Moments(d, "--off-cpu")
        found, said = m.slept(), m.said["sleep"]
        check(all(found), "sleeps without a wait")
        for waits, (begin, end) in zip(found, said):
            check(waits[0][0] > begin - MS and waits[-1][1] < end + MS, "a wait outside of its sleep:", waits, begin, end)
        near("the beginning", [w[0][0] - begin for w, (begin, _) in zip(found, said)])
        near("the end", [end - w[-1][1] for w, (_, end) in zip(found, said)])
        name = found[0][0][2]
        check(name.startswith("blocked: ") and all(w[0][2] == name for w in found), "what it waits for:", found)
        # The same in the other format, as markers.
        with open(m.firefox, encoding="utf-8") as f:
            profile = json.load(f)
        strings, base = profile["shared"]["stringArray"], profile["meta"]["startTime"] * 1e6
        markers = sorted((t["markers"]["startTime"][i] * 1e6 + base, t["markers"]["endTime"][i] * 1e6 + base,
                          strings[t["markers"]["name"][i]] + ": " + strings[t["markers"]["data"][i]["place"]])
                         for t in profile["threads"] for i in range(t["markers"]["length"]))
        expected = sorted((m.began + b, m.began + e, name) for b, e, name, _ in m.trace.waits)
        equal(len(markers), len(expected), "markers")
        for got, want in zip(markers, expected):
            check(abs(got[0] - want[0]) < MS and abs(got[1] - want[1]) < MS and got[2] == want[2], got, want)


def test_bursts_are_where_they_were():
    with directory() as d:
        m = Moments(d, "-e", "cpu-clock", "-F", 1999)
        times = [m.began + time for _, _, time, stack in m.trace.samples if "burst" in stack]
        said = m.said["burst"]
        # The clock's interrupt may come in the gap that it makes itself.
        outside = [t for t in times if not any(begin - MS <= t <= end + MS for begin, end in said)]
        check(len(outside) <= 0.02 * len(times), f"{len(outside)} of {len(times)} samples of bursts are in no burst")
        long = [[t for t in times if begin - MS / 2 <= t <= end + MS / 2] for begin, end in said if end - begin > LONG]
        check(len(long) > 10 and all(long), "bursts without a sample:", m.without(long), m.err)
        long = [(t, *b) for t, b in zip(long, (b for b in said if b[1] - b[0] > LONG))]
        near("the first sample", [t[0] - begin for t, begin, _ in long])
        near("the last sample", [end - t[-1] for t, _, end in long])


def seconds(path, *options):
    """What `report` says was waited in pause_for(), s."""
    r = run("report", "-q", "--focus", "^pause_for$", *options, path)
    if r.code == 5 or "no function has such a name" in r.err:
        return 0.0
    _, callers, _ = r.ok().out.split("\n\n")
    return float(callers.splitlines()[1].split()[2]) / 1000


def test_a_range_of_time():
    """A sleep by itself, its first half, and what lies before the recording's first and after its last moment."""
    with directory() as d:
        m = Moments(d, "--off-cpu")
        waits = max(m.slept(), key=lambda f: f[-1][1] - f[0][0])
        begin, end = ((t - m.began) / MS for t in (waits[0][0], waits[-1][1]))
        length = (waits[-1][1] - waits[0][0]) / 1e9

        def part(*times):
            return seconds(m.saved, *(f"{t:.3f}ms" if isinstance(t, float) else t for t in times))
        got = part("--from", begin, "--to", end)
        check(abs(got - length) < 0.0001, "the sleep:", got, length, begin, end)
        check(abs(part("--from", begin, "--to", (begin + end) / 2) - length / 2) < 0.0001, "its first half")
        check(abs(part("--from", (begin + end) / 2, "--to", end) - length / 2) < 0.0001, "its second half")
        equal(part("--from", "1000s"), 0.0, "later than all")


def test_second_by_second():
    """What was waited in each second, when a sleep goes on from one to the next."""
    with directory() as d:
        path = os.path.join(d, "x.pb.gz")
        run("--off-cpu", "--timeline", "-o", path, "--", "sleep", "2.5").ok()
        r = run("report", "-q", "--by", "second", "--sample-type", "off-cpu", path).ok()
        rows = [line.split() for line in r.out.splitlines()[1:]]
        equal([int(row[0]) for row in rows], list(range(len(rows))), "seconds")
        waited = [float(row[1]) for row in rows]
        # In the first it may have begun, and in the last it ends.
        check(950 < waited[1] < 1050, "the second one, ms:", waited)
        total = run("report", "-q", "--by", "process", "--sample-type", "off-cpu", path).ok().out.splitlines()[1:]
        check(abs(sum(waited) - sum(float(line.split()[2]) for line in total)) < 0.1, waited, total)


def test_threads_that_wait_beside_samples():
    """Samples and waits in one recording: both have their times, and neither is counted as the other."""
    with directory() as d:
        m = Moments(d, "-e", "cpu-clock", "-F", 999, "--off-cpu")
        check(all(m.slept()), "sleeps without a wait")
        check(not any("pause_for" in stack and "[blocked]" in stack for *_, stack in m.trace.samples), "waits among samples")
        burst, used = (sum(map(of, m.said[what])) / 1e9 for what, of in (("burst", lambda b: b[1] - b[0]), ("used", sum)))
        n = sum("burst" in stack for *_, stack in m.trace.samples)
        # What a host takes of its guest's CPU, and what is too short to part a burst, is in one of these and not in the other.
        check(0.7 * used * 999 - 5 <= n <= 1.1 * max(burst, used) * 999 + 5, n, burst, used)


def test_wall_has_both():
    with directory() as d:
        m = Moments(d, "--wall", "-F", 999)
        check(all(m.slept()), "sleeps without a wait")
        times = [m.began + time for _, _, time, stack in m.trace.samples if "burst" in stack]
        first = [[t for t in times if begin - MS <= t <= end + MS] for begin, end in m.said["burst"] if end - begin > LONG]
        check(len(first) > 10 and all(first), "bursts without a sample:", m.without(first), m.err)
        near("the first sample", [t[0] - begin for t, begin in zip(first, (b for b, e in m.said["burst"] if e - b > LONG))], 2.1)


def test_wakers_with_times():
    with directory() as d:
        path = os.path.join(d, "x.pftrace")
        run("--off-cpu", "--wakers", "--timeline", "-o", path, "--", fixture_path("waits"), 1).ok()
        trace = Trace(path)
        names = {name for _, _, name, stack in trace.waits if "wait_cond" in stack}
        check(any(name.startswith("blocked: ") for name in names), names)
        check(not any("wake" in name for name in names), "the waker for what waits:", names)
        check(any("[woken by wake_others]" in stack for _, _, _, stack in trace.waits), "no waker")


def test_kept_unasked():
    """Waits and samples at a moderate rate have times, unless told not to; what comes faster, or by number, has not."""
    with directory() as d:
        path = os.path.join(d, "x.pb.gz")
        for options, kept in (((), True), (("-F", 1000), True), (("--no-timeline",), False), (("-F", 1001), False),
                              (("-e", "page-faults", "-c", 1), False), (("--off-cpu",), True), (("--wall",), True),
                              (("--off-cpu", "--no-timeline"), False), (("--off-cpu", "-e", "page-faults", "-c", 1), False)):
            run("-U", *options, "-o", path, "--", fixture_path("tree"), "--seconds", "0.3").ok()
            r = run("report", "--by", "second", path)
            if kept:
                check("MOST OF IT IN" in r.ok().out, options, r.out)
            else:
                r.fails(2, "needs a timeline")
        run("--timeline", "--no-timeline", "-d", 1).fails(2, "exclude each other")


def test_threads_that_only_wait_are_in_firefox():
    with directory() as d, FirefoxProfiler(d) as firefox:
        path = os.path.join(d, "x.firefox.json")
        run("-e", "cpu-clock", "-F", 499, "--off-cpu", "--timeline", "-o", path, "--", fixture_path("waits"), 1).ok()
        firefox.load(path)
        threads = {t["name"]: h for h, t in firefox.threads().items()}
        check({"sleep", "mutex", "holder", "pipe", "cond", "starved1"} <= set(threads), threads)
        markers = firefox.ask("thread", "markers", "--thread", threads["sleep"])["byType"]
        blocked = next(m for m in markers if m["markerName"] == "blocked")
        # Naps of 20 ms.
        check(blocked["count"] > 5 and 19 < blocked["durationStats"]["max"], blocked)


def test_full_ring_loses_times_alone():
    """Where ebprof does not come to read them, samples are counted all the same."""
    with directory() as d:
        path = os.path.join(d, "x.pb.gz")
        p = start("--timeline", "-F", 1999, "--buffer", 4, "-o", path, "--", fixture_path("tree"), "--seconds", "60")
        pid = child_of(p.pid, "tree")
        wait_burned(pid, 0.3)       # its stacks are known
        with stopped(p.pid):
            wait_burned(pid, 1)
        os.kill(pid, signal.SIGTERM)
        r = finish(p)
        m = re.search(r"(\d+) samples of .*, (\d+) lost", r.err)
        untimed = re.search(r"the timeline lacks (\d+) samples, which count all the same: the ring buffer was full", r.err)
        check(m and untimed, r.err)
        taken, lost, lacking = int(m[1]), int(m[2]), int(untimed[1])
        check(lost <= 0.05 * taken and lacking > 0.2 * taken, m[0], untimed[0])
        rows = run("report", "-q", "--by", "second", path).ok().out.splitlines()[1:]
        equal(sum(int(line.split()[1]) for line in rows), taken - lost - lacking, "samples by second")
        whole = run("convert", path, "-f", "folded").ok().out.splitlines()
        equal(sum(int(line.rpartition(" ")[2]) for line in whole), taken - lost, "samples in all")
        # Formats with a record for each sample have all of them, too.
        perf = run("convert", path, "-f", "perf-script").ok().out
        equal(len(re.findall(r"^\S.* cpu-clock: $", perf, re.M)), taken - lost, "records")
