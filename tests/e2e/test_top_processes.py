# SPDX-License-Identifier: MIT
"""The live view beside processes that come and go: those that ended become one of each name, and no count changes."""
import os
import re
import shlex

from harness import (Fixture, check, cpu_seconds, directory, equal, fixture_path, in_tracefs, run, stolen, stopped, wait_burned,
                     wait_for)
from terminal import Terminal

SECONDS = 18

# Each exec is one sample, so what is to be counted is known exactly.
EACH = 900
STORM = f"storm() {{ i=0; while [ $i -lt {EACH} ]; do /bin/true; i=$((i+1)); done; read x < $0; }}; storm; storm"
LEFT = 700		# of those that ended, at most: fewer are not worth a fold (2048 rows, three of each process)


def tasks(t):
    """(samples, name with its ids) of each row."""
    return [(int(m[1]), m[2]) for m in re.finditer(r"^ *[\d.]+ +(\d+) +(\d.*)$", t.screen(), re.M)]


def ended(t, name):
    return sum(n for n, task in tasks(t) if task == name)


def test_processes_that_ended_are_one():
    in_tracefs("events/sched/sched_process_exec")
    with directory() as d, Terminal(120, EACH + 100) as t:
        fifo = os.path.join(d, "fifo")
        os.mkfifo(fifo)
        t.ebprof("top", "--since-start", "--window", "200ms", "--refresh", "200ms", "-e", "sched:sched_process_exec",
                 "--", "sh", "-c", shlex.quote(STORM), fifo)
        t.keys("2")
        for total in (EACH + 1, 2 * EACH + 1):
            t.wait(rf"since start, [\d.]+ s: {total} samples, 0 truncated, 0 lost$")
            wait_for(lambda least=total - LEFT: ended(t, "0 true (ended)") >= least, "those that ended to be one", 20)
            t.keys("Space")
            t.wait(r"\[paused\]")
            n = ended(t, "0 true (ended)")
            equal(sum(samples for samples, _ in tasks(t)), total, "samples of all processes")
            equal([samples for samples, task in tasks(t) if task.endswith(" sh")], [1], "the one that lives")
            # By thread it is the same, under the thread's own name.
            t.keys("t")
            t.wait(rf"^ *[\d.]+ +{n} +0 +0 true$")
            equal(sum(samples for samples, _ in tasks(t)), total, "samples of all threads")
            # A file says the same.
            t.keys("s")
            t.wait("^save as:")
            t.type(os.path.join(d, "x.pb.gz"))
            t.keys("Enter")
            t.wait("saved: ")
            out = run("report", "--by", "process", os.path.join(d, "x.pb.gz")).ok().out
            check(re.search(rf"^ *0  true \(ended\) +{n} ", out, re.M), out)
            # And nothing of it is in the window.
            t.keys("w", "Space")
            t.wait(r"last [\d.]+ s of [\d.]+: 0 samples")
            t.gone("true")
            t.keys("w", "t")
            with open(fifo, "w", encoding="ascii") as f:
                f.write("\n")


def shown_seconds(t, comm):
    """(samples, CPU seconds, seconds since the start) of a process, by its share and the time on the screen; None: not there."""
    screen = t.screen()
    since = re.search(r"since start, ([\d.]+) s: ", screen)
    row = re.search(rf"^ *[\d.]+ +([\d.]+) +(\d+) +\d+ {comm}$", screen, re.M)
    return since and row and (int(row[2]), float(row[1]) / 100 * float(since[1]), float(since[1]))


def settled_seconds(t, comm):
    """Once a second has brought no more samples."""
    last = []

    def settled():
        now = shown_seconds(t, comm)
        if now and (not last or last[-1][0] != now[0]):
            last.append(now)
        return now and now[2] >= last[-1][2] + 1 and now
    return wait_for(settled, f"the last samples of {comm}", 30)[1]


def test_cpu_share_is_the_kernels():
    """
    Of two live processes, one with two threads, against /proc/PID/stat: both are stopped before the window begins, and before
    it is looked at, so it is the same time, however busy the machine is.
    """
    with Fixture("names", "one") as one, Fixture("tree", "--threads", "2") as two, Terminal(120, 30) as t:
        pids, before, taken = {"one": one.pid, "tree": two.pid}, {}, stolen()
        with stopped(one.pid), stopped(two.pid):
            before = {comm: cpu_seconds(pid) for comm, pid in pids.items()}
            t.ebprof("top", "-F", 997, "--since-start", "--refresh", "200ms", "-p", f"{one.pid},{two.pid}",
                     pattern=r"since start, [\d.]+ s: 0 samples")
            t.keys("2")
        for pid in pids.values():
            wait_burned(pid, 1.5, 120)
        with stopped(one.pid), stopped(two.pid):
            truth = {comm: cpu_seconds(pid) - before[comm] for comm, pid in pids.items()}
            got = {comm: settled_seconds(t, comm) for comm in pids}
        taken = stolen() - taken
    for comm, seconds in truth.items():
        # Samples are of a clock: where a CPU goes from one to the other every few of its periods they are a draw.
        check(abs(got[comm] - seconds) <= 0.1 * seconds + taken + 0.02, comm, "has", got[comm], "s of", seconds, "on the screen")


def test_process_tree():
    """A child stands below the shell that started it, whose total has both."""
    with Terminal(120, 40) as t:
        script = f"{fixture_path('tree')} 60 >/dev/null & while :; do :; done"
        t.ebprof("top", "-F", 499, "--", "sh", "-c", shlex.quote(script))
        t.keys("T")
        t.wait(r"^TOTAL%  SELF% +CPU% +SAMPLES +PID COMM$")
        t.wait(r"^100\.00 +[\d.]+ +[\d.]+ +\d+ +\d+ sh\n *[\d.]+ +[\d.]+ +[\d.]+ +\d+ +\d+   tree$")
        t.keys("q")
