# SPDX-License-Identifier: MIT
"""--max-overhead of probes whose traps would cost more: they are there for slices of the time, and counts are scaled."""
import os
import re
import signal

from harness import Fixture, check, directory, equal, finish, fixture_path, start, wait_burned
from probing import wait_probing
from test_alloc import needs_links

SECONDS = 40

EVENT = f"uprobe:{fixture_path('alloc_threads')}:group_0"


def calling(f):
    """What alloc_threads says at its end: calls of group_0(), and s of CPU time of the threads that make them."""
    os.kill(f.pid, signal.SIGUSR1)
    f.wait("done")
    site = next(w for w in f.lines if w[:2] == ["site", "group_0"])
    return int(site[2]), int(site[4]) / 1e9


class Calls:
    """
    Threads that call a function for ever beside some that only compute, under ebprof with @options, or alone where there are
    none: what they counted themselves, each call's CPU time, and what was recorded.
    """

    def __init__(self, *options, group, spinners=0, burned=3, running=True, events=("-e", EVENT)):
        with directory() as d, Fixture("alloc_threads", str(spinners), group) as f:
            path = os.path.join(d, "out.folded")
            f.lines.clear()
            if running:
                f.go()
                wait_burned(f.pid, 0.2)
            if options:
                e = start(*events, *options, "-p", f.pid, "-o", path)
                wait_probing(e)
            if running:
                os.kill(f.pid, signal.SIGUSR2)
            else:
                f.go()
            wait_burned(f.pid, burned, 120)
            self.calls, self.cpu = calling(f)
            if not options:
                return
            e.send_signal(signal.SIGINT)
            self.result = finish(e).ok()
            self.err = self.result.err
            with open(path, encoding="utf-8") as text:
                self.counted = sum(int(line.rpartition(" ")[2]) for line in text)
        self.ratio = self.counted / self.calls
        rough = re.search(r"^ebprof: rough: counts may be wrong by (\d+)%", self.err, re.M)
        self.rough = int(rough[1]) / 100 if rough else 0
        said = re.search(r"^ebprof: probed ([\d.]+)% of the time, in \d+ slices?; counts are scaled; the probes took about "
                         r"([\d.]+)% of the CPU time", self.err, re.M)
        self.probed, self.cost = map(float, said.groups()) if said else (100, None)

    def slower(self, alone):
        return self.cpu / self.calls / (alone.cpu / alone.calls)


def check_counts(c):
    """The count is right, or said to be rough, and how much."""
    check(c.probed < 80 and c.cost, "there were slices:", c.err)
    check(abs(c.ratio - 1) < max(0.15, c.rough), f"counted {c.ratio:.3f} of the truth", c.err)


def test_bounded_calls():
    """A quarter of a million calls a second, whose number is known well."""
    needs_links()
    check_counts(Calls("--max-overhead", "10", group="4000:1", running=False))


def test_bounded_calls_of_four_threads():
    """The same of four threads beside two that only compute, which change nothing."""
    needs_links()
    check_counts(Calls("--max-overhead", "10", group="4000:4", spinners=2, running=False))


def check_slowdown(group, spinners):
    """Millions of calls a second, each of which the traps make some times slower: of that a small part is left."""
    needs_links()
    alone = Calls(group=group, spinners=spinners, burned=1)
    all_hits = Calls("--max-overhead", "none", group=group, spinners=spinners, burned=1)
    bounded = Calls("--max-overhead", "10", group=group, spinners=spinners, running=False)
    check_counts(bounded)
    check(bounded.rough, "traps take most of the time in slices:", bounded.err)
    # A thread's work takes more CPU time where others have the CPU's other half.
    check(all_hits.slower(alone) > 2 and bounded.slower(alone) < min(1.5, all_hits.slower(alone) * 0.7),
          f"{all_hits.slower(alone):.2f} times slower; bounded {bounded.slower(alone):.2f}", bounded.err)


def test_bounded_slowdown():
    check_slowdown("400:1", 0)


def test_bounded_slowdown_of_four_threads():
    check_slowdown("400:4", 1)


def test_bound_is_said_before():
    """How hot a function is that runs already is known before: it has slices from the beginning."""
    needs_links()
    c = Calls("--max-overhead", "10", group="400:1", burned=0.5)
    check(re.search(r"hits per second of the CPU time of the threads that are hit; .* times slower if all were probed; --max-overhead 10% "
                    r"probes for a part of the time", c.err), c.err)
    check(c.probed < 50, c.err)


def test_cheap_calls_are_all_there():
    """Where the bound has room nothing is scaled: each call counts."""
    needs_links()
    c = Calls("--max-overhead", "10", group="300000:2", burned=1, running=False)
    equal((c.counted + c.result.summary.lost, c.probed, c.rough), (c.calls, 100, 0), c.err)


def test_bounded_times():
    """Calls and times of --latency are scaled, too: those that a pause cut off are not among them, so none is long."""
    needs_links()
    c = Calls("--max-overhead", "10", group="4000:2", running=False, events=("--latency", EVENT))
    calls, within = re.search(r"ebprof: (\d+) calls of .*: 50% within ([\d.]+ [mnu]?s)", c.err).groups()
    check(c.probed < 80 and "calls that did not begin and end in one slice" in c.err, c.err)
    check(abs(int(calls) / c.calls - 1) < max(0.2, c.rough), f"{calls} of {c.calls} calls", c.err)
    check(within.endswith(" ns") or float(within.split()[0]) < 10, "a call takes less than a microsecond:", c.err)
    # Their times are what the folded text has: on the average a call takes as long as half of them do, about.
    check(100 < c.counted / int(calls) < 100000, c.counted, calls, c.err)
