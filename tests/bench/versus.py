# SPDX-License-Identifier: MIT
"""
Parts "versus", "begun" and "rates": each workload alone and under each profiler of the whole system, in alternating rounds. Of the
first round the stacks are looked at, too.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

from measure import Run, Unknown, Usage, not_idle
from stacks import Quality
from table import command, markdown, number, spread
from workloads import Gate, alone, surroundings

HZ, RATES = 999, (99, 9999)
NAMING = 10     # seconds that perf script may take
SETTLED = 1.2   # seconds after a profiler was started that the work begins
SHORT = ("go", "threads", "brief", "crowd")     # a second of work on all CPUs
COLUMNS = [     # key, head
    ("slow", "slowdown, %"), ("more", "more CPU time, %"), ("cpu", "CPU s"), ("rss", "peak MiB"), ("bytes", "MB written"), ("first", "first sample, ms"),
    ("named", "end to names, s"), ("complete", "complete, %"), ("unknown", "unknown frames, %"), ("got", "samples, % of CPU time"),
    ("lost", "lost"), ("error", "error of shares, points"), ("exited", "exited named, %"),
]


def sizes(out):
    return sum(os.path.getsize(os.path.join(out, f)) for f in os.listdir(out)) / 1e6


def name_it(peer, out, figures):
    """perf's stacks are made by another command, whose time, memory and bytes count. Longer than it may take: without inlined calls."""
    for options in ((), ("--no-inline",)):
        with open(f"{out}/text", "wb") as text, tempfile.TemporaryFile() as said:
            usage = Usage(peer.script(out, *options), stdout=text, stderr=said)
            in_time = usage.end(NAMING if not options else 6 * NAMING)
            if not options:
                figures["named"] += usage.took
                figures["cpu"] += usage.cpu
                figures["rss"] = max(figures["rss"], usage.rss)
                figures["late"] = not in_time
                if in_time and usage.proc.returncode:
                    said.seek(0)
                    raise Unknown(f"perf script failed: {usage.proc.returncode}: {said.read(80).decode(errors='replace')}")
        if in_time:
            return


def one(workload, peer, hz, d, look, judge=None, after=SETTLED):
    """
    The figures of one run, whose work begins with the first sample, and not before @after seconds; @look: those of the stacks, too,
    and what judge(stacks, what the workload told, rate) sees in them.
    """
    with tempfile.TemporaryDirectory(prefix="ebprof-bench-") as out, Gate(workload, d) as gate:
        run = Run(peer, hz, None, out)
        with not_idle():
            first = run.await_sampling()
        time.sleep(max(0, run.start + after - time.monotonic()))
        try:
            with run.usage.undisturbed():
                took, target = gate.go()
        finally:
            ended = run.interrupt()
        figures = {"took": took, "cpu": run.cpu, "rss": run.rss, "named": ended, "late": False, "target": target,
                   "first": run.first_in_data() if first is None else first}
        if peer.script(out):
            if not look:    # once is enough for what takes so long
                for key in ("cpu", "named", "rss"):
                    figures.pop(key)
                return figures
            name_it(peer, out, figures)
        figures["bytes"] = sizes(out)
        if look:
            with open(os.path.join(out, peer.file), encoding="utf-8", errors="replace") as text:
                found = list(peer.read(text))
            figures |= Quality(found, workload).figures()
            if judge:
                figures |= judge(found, gate.told, hz)
            figures["got"] = 100 * figures["kept"] / (target * hz)
            figures["lost"], figures["throttled"] = peer.lost(run, out)
        return figures


AGAIN = "alone again"


def more(figures, base):
    """... with how much longer it took than what is alone."""
    return {**figures, "slow": 100 * (figures["took"] / base[0] - 1), "more": 100 * (figures["target"] / base[1] - 1)}


def rounds_of(workload, hz, options, ways=None, judge=None, after=SETTLED):
    """
    ((seconds, CPU seconds) alone, figures by profiler): of each a list over the rounds. @ways: other ones than all profilers of the
    workload, (name, profiler, workload) each. Each round ends with the workload alone once more: what is between these two is noise.
    """
    ways = ways or [(peer.name, peer, workload) for peer in options.peers]
    base, found = [], {name: [] for name, _, _ in ways}
    again = []
    with surroundings(workload) as d:
        for n in range(options.rounds):
            base.append(alone(workload, d))
            for name, peer, program in ways:
                print(f"bench: {workload.name} at {hz} Hz, round {n + 1}: {name}", file=sys.stderr, flush=True)
                look = not any("kept" in f for f in found[name])
                try:
                    found[name].append(more(one(program, peer, hz, d, look, judge, after), base[-1]))
                except (Unknown, AssertionError, OSError) as e:
                    options.note(f"{workload.name} at {hz} Hz: {name}: {' '.join(str(e).split())[:160]}")
            took, cpu = alone(workload, d)
            again.append(more({"took": took, "target": cpu}, base[-1]))
    return base, {**found, AGAIN: again}


def cell(key, figures):
    values = [f[key] for f in figures if f.get(key) is not None]
    if not values:
        return "-"
    if key in ("slow", "more"):
        return spread(values)
    late = key in ("named", "cpu") and any(f.get("late") for f in figures)
    return ("> " if late else "") + number(statistics.median(values))


def rows(found, columns):
    return [[name, *(cell(key, figures) for key, _ in columns)] for name, figures in found.items() if figures]


def table_of(workload, base, found, columns=COLUMNS):
    return (f"**{workload.name}**: {workload.what}. Alone {spread([b[0] for b in base])} s, CPU {spread([b[1] for b in base])} s.\n\n"
            + markdown(["", *(head for _, head in columns)], rows(found, columns)) + "\n")


def throttled(found, hz, options, what):
    for name, figures in found.items():
        n = max((f.get("throttled") or 0 for f in figures), default=0)
        if n:
            options.note(f"{what} at {hz} Hz: the kernel throttled {name} {n} times")


def versus(options):
    """Tables of all workloads at one rate, and the summary of them."""
    text, all_found = "", {}
    for workload in options.workloads:
        base, found = rounds_of(workload, HZ, options)
        throttled(found, HZ, options, workload.name)
        text += table_of(workload, base, found)
        all_found[workload.name] = found
        options.write("versus.md", command("tests/bench/run versus") + "\n" + text)
        options.write("summary.md", summary(all_found, options))


def begun(options):
    """Short work that begins with the first sample, while a profiler still does what it does once."""
    text = ""
    for workload in (w for w in options.workloads if w.name in SHORT):
        base, found = rounds_of(workload, HZ, options, after=0)
        text += table_of(workload, base, found, [c for c in COLUMNS if c[0] in ("slow", "more", "cpu", "first")])
        options.write("begun.md", command("tests/bench/run begun") + "\n" + text)


def rates(options):
    """Tables of one workload at other rates."""
    text = ""
    for hz in RATES:
        for workload in (w for w in options.workloads if w.name == "server"):
            base, found = rounds_of(workload, hz, options)
            throttled(found, hz, options, workload.name)
            text += f"At {hz:,} Hz: " + table_of(workload, base, found)
    options.write("rates.md", command("tests/bench/run rates") + "\n" + text)


# What the summary says of a figure: over the workloads, the median, and the worst of them.
SUMMARY_ROWS = [("slow", "slowdown of the program, %", max), ("more", "CPU time that it needs more, %", max),
                ("cpu", "CPU time of the profiler, s", max), ("rss", "its peak memory, MiB", max),
                ("bytes", "written, MB", max), ("first", "first sample, ms after start", max),
                ("named", "end of sampling to named stacks, s", max), ("complete", "complete stacks, %", min),
                ("unknown", "frames without a name, %", max), ("error", "error of known shares, points", max),
                ("exited", "stacks of exited processes with names, %", min)]


def over_workloads(key, peer, all_found):
    """(median, worst value or list, late) of a peer's medians."""
    values, late = [], False
    for found in all_found.values():
        mine = [f[key] for f in found[peer] if f.get(key) is not None]
        if mine:
            values.append(statistics.median(mine))
            late = late or key in ("named", "cpu") and any(f.get("late") for f in found[peer])
    return values, late


def summary(all_found, options):
    names = [*(p.name for p in options.peers), AGAIN]
    lines = []
    for key, what, worst in SUMMARY_ROWS:
        line, medians = [what], {}
        for name in names:
            values, late = over_workloads(key, name, all_found)
            if not values:
                line.append("-")
                continue
            medians[name] = statistics.median(values)
            line.append(number(medians[name]) if len(values) == 1
                        else f"{number(medians[name])}; {'> ' if late and worst is max else ''}{number(worst(values))}")
        others = [v for name, v in medians.items() if name != "ebprof"]
        best = (max if worst is min else min)(others, default=0)
        # What is near to nothing for all has no ratio.
        ratio = key not in ("slow", "more") and medians.get("ebprof") is not None and best > 0
        line.append(number(medians["ebprof"] / best) if ratio else "-")
        lines.append(line)
    return markdown(["", *names, "ebprof to the best other"], lines)
