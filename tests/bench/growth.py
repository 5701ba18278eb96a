# SPDX-License-Identifier: MIT
"""
Part "growth": what ebprof takes of the whole system where there is more and more of something, once for each point; a table and
a picture each.
"""
import contextlib
import os
import tempfile
import time

import graph
from harness import SUMMARY, Fixture, directory
from measure import CPUS, Run, Unknown, bpf_stats, busy
from table import command, markdown, number
from workloads import sleepers

SECONDS = 2     # of sampling


@contextlib.contextmanager
def processes(n):
    with sleepers(n), busy("timed", "12", "0"):
        yield


@contextlib.contextmanager
def threads(n):
    """All of them want to run, too."""
    with Fixture("waits", "contend", str(n), "1000000", until=None):
        time.sleep(0.3)     # until they are there
        yield


@contextlib.contextmanager
def mappings(n):
    """Executable ones, each of a file of its own, all of which run."""
    with directory() as d, contextlib.ExitStack() as stack:
        files = [os.path.join(d, f"f{i}") for i in range(n)]
        for each in files:
            with open(each, "wb") as f:
                f.write(b"x")
        for _ in range(CPUS):
            target = stack.enter_context(Fixture("mapper", *files, until="mapped"))
            target.go()
            target.wait("ready")
        yield


def frames(program):
    return lambda n: busy(program, str(n - 3), "0")


def distinct(n):
    """Of the most every stack is another one."""
    return Fixture("storm", str(CPUS), str(n if n < 1000000 else 0))


def point(peer, target, hz, seconds):
    """The figures of one run beside @target, or of it alone where that is a single process."""
    with tempfile.TemporaryDirectory(prefix="ebprof-bench-") as out, target as there:
        run = Run(peer, hz, getattr(there, "pid", None), out)
        first = run.await_sampling()
        with bpf_stats():
            before = run.programs()
            time.sleep(seconds)
            after = run.programs()
        ended = run.interrupt()
        with open(f"{out}/text", "rb") as text:
            lines = sum(1 for _ in text)
    runs, ns = after[0] - before[0], after[1] - before[1]
    taken = int(SUMMARY.search(run.err)[1])
    return {"first": first, "ns": ns / runs if runs else None, "cpu": 1000 * run.cpu, "each": 1e6 * run.cpu / taken if taken else None,
            "rss": run.rss, "text": 1000 * ended, "lines": lines, "lost": int(SUMMARY.search(run.err)[9]), "taken": taken}


FIGURES = {"ns": "BPF run, ns a sample", "frame": "BPF run, ns a frame", "first": "first sample, ms", "cpu": "own CPU time, ms",
           "each": "own CPU time, µs a sample", "rss": "peak memory, MiB", "text": "end to text, ms"}
# name, x, the numbers, figures, and what is there of each number, by series.
GROWTH = [
    ("processes", "idle processes", (10, 100, 1000, 3000), ("first", "cpu", "rss"), {"": processes}),
    ("threads", "threads that contend for a lock", (10, 100, 1000, 3000), ("ns", "each", "rss"), {"": threads}),
    ("mappings", "executable mappings", (10, 100, 1000, 4000), ("ns", "first", "rss"), {"": mappings}),
    ("frames", "frames of a stack", (5, 15, 50, 150, 500), ("ns", "frame"),
     {"frame pointers": frames("timed"), "without": frames("timed_frameless")}),
    ("stacks", "distinct stacks", (10, 100, 1000, 10000, 100000, 1000000), ("each", "rss", "text"), {"": distinct}),
]
STACKS_HZ = {100000: (19999, 7), 1000000: (19999, 36)}  # rate and seconds, so that so many are seen


def measured(name, xs, series, options):
    """By series: (x, figures) each."""
    peer = next(p for p in options.peers if p.name == "ebprof")
    found = {}
    for label, target in series.items():
        points = found.setdefault(label, [])
        for x in xs:
            hz, seconds = STACKS_HZ.get(x, (9999, SECONDS)) if name == "stacks" else (999, SECONDS)
            try:
                got = point(peer, target(x), hz, seconds)
            except (Unknown, AssertionError, OSError, TypeError) as e:
                options.note(f"{x} {name}: {' '.join(str(e).split())[:160]}")
                continue
            got["frame"] = got["ns"] / x if name == "frames" and got["ns"] else None
            points.append((got["lines"] if name == "stacks" else x, got))
            if got["lost"]:
                options.note(f"{x} {name}: {got['lost']} of {got['taken']} samples lost")
    return found


def growth(options):
    text = command("tests/bench/run growth") + "\n"
    for name, xlabel, xs, keys, series in GROWTH:
        if options.only and name not in options.only:
            continue
        found = measured(name, xs, series, options)
        panels = [(FIGURES[key], [(label, [(x, got[key]) for x, got in points]) for label, points in found.items()]) for key in keys]
        options.write(f"growth-{name}.svg", graph.draw(xlabel, panels))
        lines = [[f"{x:,}" + (f", {label}" if label else ""), *(number(got[key]) for key in keys)]
                 for label, points in found.items() for x, got in points]
        text += (f"![What ebprof takes with more {name}](bench/growth-{name}.svg)\n\n"
                 + markdown([xlabel, *(FIGURES[key] for key in keys)], lines) + "\n")
        options.write("growth.md", text)
