# SPDX-License-Identifier: MIT
"""
With -p, where nothing hints at a language, and with -a, programs without its frames are loaded, and such with them when a
language is met.
"""
import contextlib
import os
import re
import shutil
import signal
import sys

from harness import (Fixture, Profile, check, cpu_seconds, directory, equal, finish, fixture_path, run, start, wait_burned, wait_for,
                     wait_sampling)
from probing import wait_probing
from test_events import tracer

SECONDS = 25

LOADED = re.compile(r"frames of all languages after ([0-9.]+) s")
NONE = "without frames of languages"
PROGRAM = """
import time

def inner(n):
    total = 0
    for i in range(n):
        total += i
    return total

print("ready", flush=True)
while True:
    inner(20000)
"""
PYTHON = os.path.realpath("/usr/bin/python3")     # static, so that only its file's name hints at it


def written(folder):
    """The program as a file."""
    script = os.path.join(folder, "program")
    with open(script, "w", encoding="utf-8") as f:
        f.write(PROGRAM)
    return script


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return f.read().split()


def programs(pid):
    """The numbers of its BPF programs."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/fdinfo/{fd}", encoding="ascii") as f:
            found.update(re.findall(r"^prog_id:\s*(\d+)", f.read(), re.M))
    return found


def test_none_is_met():
    """What waits for a language is there, is never asked, and ends with ebprof."""
    with Fixture("tree", until=None) as f:
        e = start("-p", f.pid, "-F", 499, "-v", "-f", "folded")
        wait_sampling(e)
        before = children(e.pid)
        wait_burned(f.pid, 0.1)
        equal(children(e.pid), before, "processes beside it")
        e.send_signal(signal.SIGINT)
        result = finish(e).ok()
        check(NONE in result.err, result.err)
        check(result.profile.count(), "no samples")
        e = start("-p", f.pid)
        wait_sampling(e)
        before = children(e.pid)
        e.send_signal(signal.SIGKILL)
        e.communicate()
        wait_for(lambda: not any(os.path.exists(f"/proc/{p}") for p in before), f"{before} to end with it")


def recorded_late(f, burned, *options, command=(), wait=wait_sampling):
    """@f executes a program at go(); the profile of so much of its CPU time after its language was met."""
    e = start(*command, "-p", f.pid, "-v", "-f", "folded", *options)
    wait(e)
    before = programs(e.pid)
    f.go()
    wait_for(lambda: programs(e.pid) - before, "the programs with languages", 60)
    wait(e)     # a moment for them to be attached
    wait_burned(f.pid, burned, 60)
    e.send_signal(signal.SIGINT)
    result = finish(e).ok()
    check(LOADED.search(result.err), result.err)
    return result


def sampled_late(f, *options):
    result = recorded_late(f, 0.5, "-F", 499, *options)
    equal(result.summary.lost, 0, "lost samples")
    return result


def shell(script):
    return Fixture("sh", "-c", f'echo ready; read x; exec "{PYTHON}" "{script}"', path="/bin/sh")


def test_executed_while_sampling():
    with directory() as d:
        script = written(d)
        with shell(script) as f:
            profile = sampled_late(f).profile
            check(profile.count(lambda s: "inner" in s.frames) > 100, profile.head())
        # One thread: what it ran and waited for is the time that was measured, across the change of programs, too.
        with shell(script) as f:
            result = sampled_late(f, "--wall")
            profile = Profile.read(result.out)
            total, named = profile.count(), profile.count(lambda s: "inner" in s.frames)
            check(named > 0.2e9, named, profile.head())
            measured = result.summary.duration * 1e9    # to a tenth of a second
            check(abs(total - measured) < 0.05e9 + 0.03 * measured, total, "of", measured)


def test_one_after_another():
    """What is met later is there besides what was: Python, by its name, then Perl, Ruby, and Perl once more."""
    perl = "perl -e 'sub inner { my $t = 0; $t += $_ for 1..20000 } inner() while times() < 0.5'"
    ruby = "ruby -e 'def inner; i = 0; i += 1 while i < 20000; end; inner while Process.clock_gettime(2) < 0.5'"
    with directory() as d, Fixture("python", written(d), path=PYTHON) as known:
        script = f"echo ready; read x; {perl}; {ruby}; {perl}; echo done; read x"
        with Fixture("sh", "-c", script, path="/bin/sh") as f:
            e = start("-p", f"{known.pid},{f.pid}", "-F", 499, "-v", "-f", "folded")
            wait_sampling(e)
            f.go()
            f.wait("done")
            e.send_signal(signal.SIGINT)
            result = finish(e).ok()
    check(LOADED.search(result.err), result.err)
    equal(result.summary.lost, 0, "lost samples")
    for comm, function, least in (("python", "inner", 0.99), ("perl", "main::inner", 0.7), ("ruby", "Object#inner", 0.6)):
        mine = result.profile.where(lambda s, comm=comm: s.comm.startswith(comm))
        named = mine.count(lambda s, function=function: function in s.frames)
        check(named > least * mine.count() > 50, comm, named, "of", mine.count(), mine.head())


CALLS = 300_000
CALLER = f"""
import os
def inner(): return os.getppid()
for i in range({CALLS}): inner()
print("done", flush=True)
input()
"""
ALLOCATOR = """
def inner(): return bytes(50000)
while True: inner()
"""


def test_succeeded_by_calls():
    """Programs on tracepoints and probes stay, and call those that succeed them: each hit counts, and once."""
    for event, wait, *options in (("syscalls:sys_enter_getppid", wait_sampling),
                                  ("uprobe:libc:getppid", wait_probing, "--max-overhead", "none")):
        with Fixture("sh", "-c", f"echo ready; read x; exec '{PYTHON}' -c '{CALLER}'", path="/bin/sh") as f:
            e = start("-p", f.pid, "-v", "-f", "folded", "-e", event, *options)
            wait(e)
            f.go()
            f.wait("done")
            e.send_signal(signal.SIGINT)
            result = finish(e).ok()
        check(LOADED.search(result.err), event, result.err)
        equal(result.summary.lost, 0, f"lost hits of {event}")
        equal(result.profile.count(), CALLS, f"hits of {event}")
        named = result.profile.count(lambda s: "inner" in s.frames)
        check(CALLS / 4 < named < CALLS, event, named, "of", CALLS, result.profile.head())
    with Fixture("sh", "-c", f"echo ready; read x; exec '{PYTHON}' -c '{ALLOCATOR}'", path="/bin/sh") as f:
        result = recorded_late(f, 0.5, command=("alloc",), wait=wait_probing)
    profile = Profile.read(result.out)
    named = profile.count(lambda s: "inner" in s.frames)
    check(named > 0.3 * profile.count() > 0, named, "of", profile.count(), profile.head())


def test_time_in_other_bpf_programs():
    """What the kernel skips of a clock is sampled by the programs that come later, too (test_events)."""
    script = f'echo ready; read x; "{PYTHON}" -c "import time; time.sleep(0.2)"; exec "{fixture_path("syscalls")}" loop'
    with Fixture("sh", "-c", script, path="/bin/sh") as f, tracer("raw_syscalls", "sys_enter", "-p", f.pid):
        result = recorded_late(f, 1, "-F", 999, "-e", "cpu-clock")
    calls = result.profile.where(lambda s: s.any("^call_(getppid|read|write)$"))
    inside = calls.count(lambda s: s.any("^bpf_prog_.*on_tracepoint"))
    check(calls.count() > 0.6 * 999 and inside > 0.3 * calls.count(), inside, "of", calls.count(), calls.head())


def test_known_by_its_file_alone():
    """No name hints at it: it is recognised when its tables are made, and sampling waits for that a while."""
    with directory() as d:
        script, program = written(d), shutil.copy(PYTHON, os.path.join(d, "worker"))
        with Fixture("worker", script, path=program) as f:
            e = start("-p", f.pid, "-F", 499, "-v", "-f", "folded")
            wait_sampling(e)
            wait_burned(f.pid, 0.3)
            e.send_signal(signal.SIGINT)
            result = finish(e).ok()
        check(LOADED.search(result.err), result.err)
        check(result.profile.count(lambda s: "inner" in s.frames), result.profile.head())


def test_known_by_its_name():
    """Then all is loaded at once."""
    with directory() as d:
        script = written(d)
        with Fixture("python", script, path=PYTHON) as f:
            result = run("-p", f.pid, "-d", 0.2, "-F", 499, "-v", "-f", "folded").ok()
        check(NONE not in result.err and not LOADED.search(result.err), result.err)
        check(result.profile.count(lambda s: "inner" in s.frames), result.profile.head())
    result = run("-d", 0.05, "-v", "-f", "folded", "--", sys.executable, "-c", "pass")
    check(NONE not in result.err and not LOADED.search(result.err), result.err)


def test_of_the_whole_machine():
    """One that has work is waited for, so that it is not without its frames at first."""
    with directory() as d:
        script = written(d)
        with Fixture("python", script, path=PYTHON) as f:
            e = start("-a", "-F", 499, "-v", "-f", "folded", "--per-thread")
            beside, goal = set(), cpu_seconds(f.pid) + 0.7
            wait_for(lambda: beside.update(children(e.pid)) or cpu_seconds(f.pid) > goal, "CPU time of Python", 60)
            e.send_signal(signal.SIGINT)
            result = finish(e).ok()
        check(LOADED.search(result.err), result.err)
        mine = result.profile.where(lambda s: s.comm.endswith(f"-{f.pid}/{f.pid}"))
        named = mine.count(lambda s: "inner" in s.frames)
        check(named > 0.5 * mine.count() > 50, named, "of", mine.count(), mine.head())
        check(beside, "no processes of its own")
        own = result.profile.where(lambda s: s.comm.partition("/")[0].rpartition("-")[2] in beside)
        check(not own.count(), "samples of its own processes:", own.head())
