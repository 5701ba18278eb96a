# SPDX-License-Identifier: MIT
"""ebprof stat beside perf stat in the same run: both count one process, and say the same."""
import contextlib
import json
import os
import subprocess
import tempfile

from harness import check, directory, equal, finish, in_tracefs, needs, start, wait_for

EVENTS = ("page-faults", "minor-faults", "context-switches", "cpu-migrations", "syscalls:sys_enter_write", "task-clock")
# Waits for a line; then writes, touches pages, sleeps, and all of it once more in programs of its own, threads among them.
WORK = """
import os, subprocess, sys, threading, time
def work(n):
    null = os.open("/dev/null", os.O_WRONLY)
    for _ in range(n):
        os.write(null, b"x")
    bytearray(n * 4096)
    time.sleep(0.01)
    sum(range(n * 1000))
if len(sys.argv) == 1:
    sys.stdin.readline()
    subprocess.run([sys.executable, __file__, "child"])
for n in (100, 200):
    t = threading.Thread(target=work, args=(n,))
    t.start()
    t.join()
work(700)
"""


@contextlib.contextmanager
def waiting():
    """A process that works once it is sent a line, and ends."""
    with tempfile.NamedTemporaryFile("w", suffix=".py") as f:
        f.write(WORK)
        f.flush()
        p = subprocess.Popen(["/usr/bin/python3", f.name], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        try:
            # It reads: pipe_read() or its like.
            wait_for(lambda: "pipe" in open(f"/proc/{p.pid}/wchan", encoding="ascii").read(), "a process that waits")
            yield p
        finally:
            p.kill()
            p.communicate()


def enable(control, answers):
    """perf counts from now on."""
    os.write(control, b"enable\n")
    equal(os.read(answers, 16).rstrip(b"\n\0"), b"ack", "perf's answer")


def test_same_run():
    """What is counted in whole numbers is equal, and time within what opening takes."""
    in_tracefs("events/syscalls/sys_enter_write")
    control, answer = os.pipe(), os.pipe()
    with waiting() as p, directory() as d:
        theirs, ours = os.path.join(d, "theirs"), os.path.join(d, "ours")
        perf = subprocess.Popen([needs("perf"), "stat", "-x,", "-o", theirs, "-D", "-1",
                                 f"--control=fd:{control[0]},{answer[1]}", "-e", ",".join(EVENTS), "-p", str(p.pid)], pass_fds=(control[0], answer[1]),
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        enable(control[1], answer[0])
        mine = start("stat", "-f", "json", "-I", 20, "-o", ours, "-e", ",".join(EVENTS), "-p", p.pid)
        mine.stdout.readline()      # of an interval: the events count
        p.communicate("\n")
        equal((finish(mine).code, perf.wait(timeout=30)), (0, 0), "statuses")
        with open(theirs, encoding="ascii") as f:
            said = {x[2]: float(x[0]) for x in (line.split(",") for line in f) if len(x) > 3}
        with open(ours, encoding="utf-8") as f:
            got = {m["name"]: m["a"]["mean"] for m in json.load(f)["measures"]}
    for fd in (*control, *answer):
        os.close(fd)
    for name in EVENTS[:-1]:
        equal(got[name], said[name], name)
    check(got["syscalls:sys_enter_write"] >= 2000, got)
    check(0.98 < got["task-clock"] / (said["task-clock"] * 1e6) < 1.02, got, said)
