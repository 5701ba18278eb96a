# SPDX-License-Identifier: MIT
"""ebprof stat --per-thread, --per-process, --per-cpu, --per-cgroup and -G: who did what, beside programs that know it."""
import json
import os
import signal
import subprocess
import tempfile

from harness import check, equal, finish, in_tracefs, needs, run, start
from test_stat import WRITES, mean, stat
from test_targets import _cgroup, _mounts

WRITE = "syscalls:sys_enter_write"
# Threads that write 100, 200, 300 times; the last one is alive at the end.
THREADS = """
import os, threading
def work(n):
    null = os.open("/dev/null", os.O_WRONLY)
    for _ in range(n):
        os.write(null, b"x")
for n in (100, 200):
    t = threading.Thread(target=work, args=(n,))
    t.start()
    t.join()
work(300)
"""


def parts(out, event=WRITE):
    """What each had of an event, by name without its number."""
    return sorted(int(p["values"][event]) for p in out["parts"] if p["values"][event])


def test_threads():
    """Each of them, those that ended before, too, exactly."""
    in_tracefs("events/syscalls/sys_enter_write")
    out, m = stat("--per-thread", "-e", f"{WRITE},task-clock", "--", "/usr/bin/python3", "-c", THREADS)
    equal(out["by"], "thread", "by")
    equal(parts(out), [100, 200, 300], "writes of the threads")
    equal(mean(m, WRITE), 600, "and their sum")
    equal(len({p["pid"] for p in out["parts"]}), 1, "one process")
    equal(len({p["tid"] for p in out["parts"]}), 3, "three threads")


def test_processes_beside_perf():
    """
    A command that perf counts, too, in the same run: what perf itself did is not in it, but for what its child did until it
    was that command, which perf does not count.
    """
    in_tracefs("events/syscalls/sys_enter_write")
    with tempfile.NamedTemporaryFile() as f:
        out, _ = stat("--per-process", "--hide-output", "-e", f"{WRITE},task-clock", "--", needs("perf"), "stat",
                      "-x,", "-e", "task-clock", "-o", f.name, "--", "sh", "-c",
                      f"{WRITES[2].replace('$0', '200000')}", "0")
        with open(f.name, encoding="ascii") as lines:
            perf = {x[2]: float(x[0]) for x in (line.split(",") for line in lines) if len(x) > 3}
    sh = next(p for p in out["parts"] if p["values"][WRITE] >= 200000)
    equal(sh["values"][WRITE], 200000, "writes")
    check(sh["name"].startswith("sh "), sh)
    check(0.9 < sh["values"]["task-clock"] / (perf["task-clock"] * 1e6) < 1.1, sh, perf)


def test_cpus():
    """What is bound to one CPU is counted there alone; of the machine, all time is there."""
    in_tracefs("events/syscalls/sys_enter_write")
    last = max(os.sched_getaffinity(0))
    out, _ = stat("--per-cpu", "--hide-output", "-e", WRITE, "--", needs("taskset"), "-c", last, *WRITES, "500")
    values = {p["name"]: p["values"][WRITE] for p in out["parts"]}
    equal(values[f"CPU {last}"], 500, values)
    equal(sum(values.values()), 500, values)
    out, m = stat("-a", "-d", "0.3", "--per-cpu", "-e", "task-clock")
    equal(len(out["parts"]), os.cpu_count(), "CPUs")
    for p in out["parts"]:
        check(abs(p["values"]["task-clock"] / mean(m, "elapsed") - 1) < 0.1, p, m["elapsed"])


def hierarchy():
    """Where cgroups are told apart: v1 where it is mounted."""
    return ([where for where, options in _mounts("cgroup") if "memory" in options] + [where for where, _ in _mounts("cgroup2")])[0]


def in_cgroup(path, n):
    """A shell that goes there and writes @n times once it reads a line."""
    return subprocess.Popen(["sh", "-c", f"echo $$ > {path}/cgroup.procs; echo in; read x; " + WRITES[2].replace("$0", str(n))],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_cgroups():
    """Of one that is named, what is in it alone; of all, each by its path."""
    in_tracefs("events/syscalls/sys_enter_write")
    for options in (("-G",), ("--per-cgroup",)):
        with _cgroup(hierarchy()) as path, tempfile.NamedTemporaryFile() as f:
            p = in_cgroup(path, 700)
            equal(p.stdout.readline(), "in\n", "ready")
            other = subprocess.Popen([*WRITES[:2], "read x; " + WRITES[2], "900"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
            target = ("-G", path) if options == ("-G",) else ("-a", "--per-cgroup")
            counting = start("stat", "-f", "json", "-I", "20", *target, "-e", f"{WRITE},task-clock", "-o", f.name)
            counting.stdout.readline()      # of an interval: the events count
            other.communicate(b"\n")
            p.communicate("\n")
            counting.send_signal(signal.SIGINT)
            equal(finish(counting).code, 0, "status")
            with open(f.name, encoding="utf-8") as result:
                out = json.load(result)
        if options == ("-G",):
            equal(out["measures"][1]["a"]["mean"], 700, "writes of the cgroup")
        else:
            mine = next(x for x in out["parts"] if x["name"] == "/" + os.path.basename(path))
            equal(mine["values"][WRITE], 700, "writes of the cgroup")


def test_formats():
    """Rows behind the sums, lines of values, intervals."""
    r = run("stat", "-a", "-d", "0.2", "--per-cpu", "-e", "task-clock,page-faults", "-I", "50").ok()
    check(r.out.count(" CPU 0 ") >= 2, r.out)
    table = r.out[r.out.index("the whole machine"):]
    check("\ncpu " in table and "\nCPU 0 " in table, table)
    lines = run("stat", "-x", ";", "-a", "-d", "0.1", "--per-cpu", "-e", "task-clock").ok().out.splitlines()
    cpu = [line.split(";") for line in lines if line.startswith("CPU ")]
    equal(len(cpu), os.cpu_count(), lines)
    check(all(len(c) == 9 and c[3] == "task-clock" and float(c[1]) > 0 for c in cpu), cpu)


def test_what_does_not_go_together():
    run("stat", "--per-cpu", "--per-thread", "-a").fails(2, "choose one --per-...")
    run("stat", "--per-cpu", "-r", "2", "--", "true").fails(2, "runs once")
    run("stat", "--per-cpu", "--", "true", "---", "true").fails(2, "runs once")
    run("stat", "-G", "/nosuch", "-d", "1").fails(4, "no cgroup")
