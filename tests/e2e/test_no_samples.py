# SPDX-License-Identifier: MIT
"""Where there are no samples, the reason is said, and what to try (stopped and traced targets: test_load)."""
import os
import re
import subprocess

from harness import Fixture, check, directory, equal, fixture_path, own_name, run, state, wait_for


def reason(r, code=5):
    told = re.findall(r"^ebprof: no samples: (.*)$", r.ok(code).err, re.M)
    equal(len(told), 1, f"reasons in {r.err}")
    return told[0]


class Sleeper:
    """A process that does nothing."""

    def __enter__(self):
        self.proc = subprocess.Popen(["sleep", "1000"])
        wait_for(lambda: state(self.proc.pid) == "S", "sleep to sleep")
        return self.proc.pid

    def __exit__(self, *exc):
        self.proc.kill()
        self.proc.wait()


def test_asleep():
    with Sleeper() as pid:
        for kind, option in (("process", "-p"), ("thread", "-t")):
            equal(reason(run(option, pid, "-d", "0.2")), f"{kind} {pid} (sleep) slept nearly all of the time; "
                  "try --off-cpu, which shows what it waits for, or --wall")
        # And that does show it.
        run("-p", pid, "-d", "0.2", "--off-cpu").ok()


def test_all_of_several_sleep():
    with Sleeper() as one, Sleeper() as other:
        check(reason(run("-p", f"{one},{other}", "-d", "0.2")).startswith("each of the 2 targets slept"), "not each")


def test_by_name():
    with directory() as d:
        nobody = f"none-{os.getpid()}"
        check(reason(run("-n", nobody, "-d", "0.1")).startswith(f"no process is called '{nobody}'; ps "), "not that")
        with own_name(fixture_path("tree")) as (path, comm), Fixture("tree", path=path):
            near = comm[:-1].upper()
            equal(reason(run("-n", near, "-d", "0.1")), f"no process is called '{near}'; there is '{comm}'")
        equal(os.listdir(d), [])


def test_zombie():
    proc = subprocess.Popen(["true"])
    wait_for(lambda: state(proc.pid) == "Z", "a zombie")
    run("-p", proc.pid, "-d", 1).fails(4, rf"process {proc.pid} is a zombie.*its parent {os.getpid()} \(")
    proc.wait()


def test_leader_has_ended_and_threads_run():
    """It looks like a zombie, and is none: the threads are sampled."""
    program = ("import ctypes, threading\n"
               "def work():\n"
               "    print('ready', flush=True)\n"
               "    while True: sum(range(1000))\n"
               "threading.Thread(target=work).start()\n"
               "ctypes.CDLL(None).pthread_exit(None)\n")
    with Fixture("python3", "-c", program, path="python3") as f:
        wait_for(lambda: state(f.pid) == "Z", "the leader to end")
        r = run("-p", f.pid, "-d", "0.5", "-F", 999).ok()
        check(r.summary.taken, "no samples:", r.err)


def test_no_such_cpu():
    last = os.cpu_count()
    with open("/sys/devices/system/cpu/online", encoding="ascii") as f:
        online = f.read().strip()
    run("-C", last + 7, "-d", 1).fails(4, f"^ebprof: -C: CPU {last + 7} is not online; online are {online}$")
    run("-C", f"{last + 7}-{last + 9}", "-d", 1).fails(4, "none of these CPUs")


def test_command_that_hardly_runs():
    text = reason(run("-F", 10, "--", "true"), code=0)
    check(re.match(r"the command hardly ran: at 10 Hz a sample stands for 100 ms of a CPU; try a larger -F, or --off-cpu",
                   text), text)


def test_event_that_does_not_happen():
    with Sleeper() as pid:
        equal(reason(run("-p", pid, "-d", "0.2", "-e", "alignment-faults", "-c", 1)),
              f"alignment-faults did not happen while process {pid} (sleep) ran")


def test_hostile_name():
    """A name with escape codes is not echoed."""
    with directory() as d:
        path = os.path.join(d, "\033[31mred")
        os.symlink("/bin/sleep", path)
        proc = subprocess.Popen([path, "1000"])
        try:
            wait_for(lambda: state(proc.pid) == "S", "sleep to sleep")
            text = reason(run("-p", proc.pid, "-d", "0.2"))
            check("(\\x1b[31mred)" in text, repr(text))
        finally:
            proc.kill()
            proc.wait()
