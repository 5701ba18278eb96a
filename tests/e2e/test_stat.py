# SPDX-License-Identifier: MIT
"""ebprof stat: what a command took equals what others say of it, and two commands are told apart where they differ."""
import json
import os
import re
import signal
import subprocess

from harness import Fixture, check, cpu_seconds, directory, equal, finish, fixture_path, in_tracefs, needs, run, skip, start, wait_for

SPIN = ("sh", "-c", "i=0; while [ $i -lt $0 ]; do i=$((i+1)); done")
WRITES = ("sh", "-c", "i=0; while [ $i -lt $0 ]; do i=$((i+1)); echo; done")


def stat(*args, **kw):
    """The measures of -f json, by name."""
    r = run("stat", "-f", "json", *args, **kw)
    equal(r.code, 0, r.err)
    out = json.loads(r.out)
    return out, {m["name"]: m for m in out["measures"]}


def mean(measures, name, side="a"):
    return measures[name][side]["mean"]


def test_command():
    """Beside perf, of the same work: CPU time, faults; and getrusage."""
    _, mine = stat("-r", "3", "--", *SPIN, "60000")
    text = subprocess.run([needs("perf"), "stat", "-x,", "-r", "3", "-e", "task-clock,page-faults", "--", *SPIN, "60000"],
                          capture_output=True, text=True, check=True).stderr
    perf = {line.split(",")[2]: float(line.split(",")[0]) for line in text.splitlines() if "," in line}
    clock = mean(mine, "task-clock")
    check(0.5 < clock / (perf["task-clock"] * 1e6) < 2, clock, text)
    check(0.9 < mean(mine, "page-faults") / perf["page-faults"] < 1.1, mean(mine, "page-faults"), text)
    used = mean(mine, "user") + mean(mine, "system")
    check(0.8 < clock / used < 1.2, clock, used)
    check(mean(mine, "elapsed") > 0.95 * clock, mine)
    check(mean(mine, "peak memory") > 500 << 10, mine)


def test_what_it_starts_counts():
    _, one = stat("--", *SPIN, "60000")
    _, child = stat("--", "sh", "-c", f"sh -c '{SPIN[2]}' 60000; true")
    check(mean(child, "task-clock") > 0.5 * mean(one, "task-clock"), one, child)


def test_tracepoint_is_exact():
    in_tracefs("events/syscalls/sys_enter_write")
    _, m = stat("--hide-output", "-e", "syscalls:sys_enter_write", "--", *WRITES, "500")
    equal(mean(m, "syscalls:sys_enter_write"), 500, "writes")


def test_pmu_event():
    """The ticks of the CPU's clock by a PMU's own names are as many as perf counts beside the same clock."""
    if not os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
        skip("no PMU msr here")
    text = subprocess.run([needs("perf"), "stat", "-a", "-x,", "-e", "msr/tsc/,cpu-clock", "sleep", "0.5"],
                          capture_output=True, text=True, check=True).stderr
    perf = {line.split(",")[2]: float(line.split(",")[0]) for line in text.splitlines() if "," in line}
    _, mine = stat("-a", "-d", "0.5", "-e", "msr/tsc/,cpu-clock,msr/event=0x0,name=again/")
    rate = mean(mine, "msr/tsc/") / mean(mine, "cpu-clock")
    check(0.95 < rate / (perf["msr/tsc/"] / perf["cpu-clock"] / 1e6) < 1.05, rate, text)
    check(0.95 < mean(mine, "again") / mean(mine, "msr/tsc/") < 1.05, mine)


def test_pmu_of_software():
    """Terms have commas, and so have lists of events."""
    _, m = stat("-e", "software/config=2,name=by-number/,page-faults,software/config=2/u", "--", *SPIN, "2000")
    equal(mean(m, "by-number"), mean(m, "page-faults"), "the same faults")
    check(0 < mean(m, "software/config=2/:u") <= mean(m, "page-faults"), m)
    run("stat", "-e", "sotfware/config=2/", "--", "true").fails(2, "did you mean 'software'")
    run("stat", "-e", "software/page-faults/", "--", "true").fails(2, "PMU software has no 'page-faults'; there are config=")
    run("stat", "-e", "software/config=2", "--", "true").fails(2, "has no end")


def test_two_commands():
    """What differs is seen, what does not is not; by its own CPU time, whatever else the machine does."""
    out, m = stat("-r", "8", "--", *SPIN, "40000", "---", *SPIN, "60000")
    equal(out["runs"], 8, "runs")
    change = m["task-clock"]["change"]
    check(change["low"] > 0 and 0.2 < change["share"] < 1, change)
    check(len(m["task-clock"]["b"]["values"]) == 8, m["task-clock"])


def test_a_process():
    with Fixture("tree") as f:
        began = cpu_seconds(f.pid)
        _, m = stat("-p", f.pid, "-d", "0.5")
        used = cpu_seconds(f.pid) - began
    check(mean(m, "task-clock") / 1e9 <= used + 0.05, m["task-clock"], used)
    check(mean(m, "task-clock") > 0 and abs(mean(m, "elapsed") - 5e8) < 3e8, m)


def test_a_process_that_ends():
    p = subprocess.Popen([fixture_path("tree"), "--seconds", "0.3"], stdout=subprocess.DEVNULL)
    r = run("stat", "-p", p.pid, timeout=20)
    p.wait()
    equal(r.code, 0, r.err)
    check("task-clock" in r.out, r.out)


def test_the_machine_and_intervals():
    out = run("stat", "-a", "-d", "0.5", "-I", "100", "-e", "task-clock").ok().out
    lines = re.findall(r"^ +([\d.]+) s  task-clock", out, re.M)
    check(2 <= len(lines) <= 5 and sorted(lines) == lines, out)


def test_interrupted():
    """The runs that were whole are shown."""
    p = start("stat", "-r", "1000", "--", "sleep", "0.05")
    wait_for(lambda: cpu_seconds(p.pid) >= 0.03, "some runs")
    p.send_signal(signal.SIGINT)
    r = finish(p)
    n = int(re.search(r"(\d+) runs", r.out)[1]) if "runs" in r.out else 1
    check(1 <= n < 1000, r.out, r.err)


def test_statuses():
    equal(run("stat", "--", "sh", "-c", "exit 3").code, 3, "the command's own status")
    equal(run("stat", "--", "sh", "-c", "kill -TERM $$").code, 128 + 15, "of a signal")
    equal(run("stat", "--", "/nosuch").code, 127, "not there")
    run("stat", "-r", "3", "--", "false").fails(1, "--ignore-failure")
    r = run("stat", "-r", "3", "--ignore-failure", "--", "false")
    check("3 runs" in r.out, r.out, r.err)
    run("stat").fails(2, "nothing to count")
    run("stat", "-a", "-p", "1").fails(2, "one target")
    run("stat", "-p", "1", "-r", "2").fails(2, "-r repeats a command")
    run("stat", "-e", "cylces", "--", "true").fails(2, "did you mean 'cycles'")
    run("stat", "-p", "4194000", "-d", "0.1").fails(4, "no process")


def test_values_and_file():
    with directory() as d:
        path = os.path.join(d, "out")
        run("stat", "-x", ";", "-o", path, "-e", "task-clock", "--", "true").ok()
        with open(path, encoding="ascii") as f:
            fields = [line.rstrip("\n").split(";") for line in f]
    equal([f[2] for f in fields], ["elapsed", "user", "system", "peak memory", "task-clock"], "names")
    check(all(len(f) == 8 for f in fields) and float(fields[4][0]) > 0, fields)
