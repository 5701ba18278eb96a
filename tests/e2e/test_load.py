# SPDX-License-Identifier: MIT
"""Known shares beside much of something, and when ebprof or its target stand still for a while."""
import contextlib
import ctypes
import json
import os
import re
import signal
import time

from harness import (Fixture, Profile, check, cpu_seconds, directory, equal, finish, fixture_path, needs, own_cpu, run, run_burned,
                     start, state, stopped, tree_shares, wait_burned, wait_for, wait_sampling)
from unwinding import ROOT, leads_to, rooted, sampled

SECONDS = 33

RATE = ("-F", 999)


def by_time(r, burned):
    """As many samples as what was burned allows, at least; and as its duration does, at most."""
    check(r.summary.taken > 999 * burned * 0.8, r.summary.taken, "samples of", burned, "s of CPU time")
    check(r.summary.taken <= 999 * r.summary.duration * 1.05 + 5, r.summary.taken, "samples in", r.summary.duration, "s")
    equal(r.summary.lost, 0, "lost samples")


# --- ebprof stands still. ---

def test_stopped_while_it_records():
    """What runs meanwhile is sampled all the same, and it ends in time."""
    with Fixture("tree") as tree:
        p = start("-p", tree.pid, "-d", "2", *RATE)
        wait_sampling(p)
        began = time.monotonic()
        wait_burned(tree.pid, 0.3)
        with stopped(p.pid):
            wait_burned(tree.pid, 1)
        went_on = time.monotonic() - began
        r = finish(p, timeout=10).ok()
    tree_shares(r.profile)
    by_time(r, 1.3)
    # Where the machine is busy the second takes until after the end.
    check(1.9 < r.summary.duration < max(2, went_on) + 0.5, "sampled for", r.summary.duration, "went on after", went_on)


def test_stopped_beyond_its_end():
    """The time was over, or a signal came, while it stood still: it ends when it goes on, and what it sampled is there."""
    for options, ask in ((("-d", "0.5"), None), ((), signal.SIGINT)):
        with Fixture("tree") as tree:
            p = start("-p", tree.pid, *options, *RATE)
            wait_sampling(p)
            with stopped(p.pid):
                before = cpu_seconds(tree.pid)
                wait_burned(tree.pid, 1)
                burned = cpu_seconds(tree.pid) - before
                if ask:
                    p.send_signal(ask)
            r = finish(p, timeout=10).ok()
        tree_shares(r.profile)
        by_time(r, burned)


def stopped_beside(children, environment=0):
    """ebprof stands still while so many children, of 20 ms each and with so large an environment, come and go."""
    prefix = ("env", "PADDING=" + environment * "x") if environment else ()
    with Fixture("brief", "--wait", str(children), prefix=prefix) as brief:
        p = start("-p", brief.pid, *RATE)
        wait_sampling(p)
        with stopped(p.pid):
            brief.go()
            brief.wait("done")
        brief.proc.wait(timeout=10)
        return finish(p, timeout=20).ok()


def test_processes_that_came_and_went_while_it_was_stopped():
    """
    For longer than ended processes are remembered. Those that it did not know yet are sent with their stacks, which are whole;
    what those leave of the buffer is enough for all others, without their callers.
    """
    r = stopped_beside(180)
    equal(r.summary.lost, 0, "lost samples")
    children = r.profile.where(lambda s: s.comm == "brief_child")
    check(children.count() > 0.8 * 999 * 180 * 0.020, "samples of 3.6 s of CPU time:", r.profile.head(), r.err)
    saved, sent = map(int, re.search(r"(\d+) of (\d+) rescued", r.err).groups())
    # Where others start so many processes that the kernel drops their events, it drops those of the children, too.
    check(saved > (0.2 if "dropped by the kernel" in r.err else 0.8) * sent > 4, r.err)
    # At a child's first instructions a stack may not be there yet; and one that is taken beside our own programs is sent or not there.
    rare = {"unreadable", "no CFI", "ring buffer full"}
    check(set(r.summary.truncated_by) <= {"no mapping", "lost register"} | rare, r.err)
    # A page that is being copied after a fork is nowhere to be read, for as long as that takes.
    copied = r.profile.count(lambda s: s.cut and s.has("do_wp_page"))
    check(sum(r.summary.truncated_by.get(why, 0) for why in rare) - copied <= 0.002 * r.summary.taken, r.err)
    hot = children.where(lambda s: not s.cut and "brief_child_hot" in s.frames)
    check(hot.count() > 10 and all(s.frames[0] == "_start" and s.has("main", "brief_child_hot") for s in hot), children.head())


def test_stacks_of_processes_with_large_environments_while_it_was_stopped():
    """What is sent of a stack ends below the environment, so that a short stop leaves room for all of them."""
    r = stopped_beside(15, environment=14000)
    saved, sent = map(int, re.search(r"(\d+) of (\d+) rescued", r.err).groups())
    check(saved > 0.8 * 999 * 15 * 0.020, "of 0.3 s of CPU time:", r.err)
    check(saved >= 0.99 * sent, r.err)


# --- The target stands still. ---

PTRACE_ATTACH, PTRACE_DETACH = 16, 17


@contextlib.contextmanager
def traced(pid):
    """Held by a tracer, which we are."""
    ptrace = ctypes.CDLL(None, use_errno=True).ptrace
    ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    check(not ptrace(PTRACE_ATTACH, pid, None, None), "ptrace:", os.strerror(ctypes.get_errno()))
    try:
        os.waitpid(pid, 0)
        wait_for(lambda: state(pid) == "t", f"{pid} to be held")
        yield
    finally:
        ptrace(PTRACE_DETACH, pid, None, None)


def stands_still(hold, why):
    with Fixture("tree") as tree:
        wait_burned(tree.pid, 0.05)
        with hold(tree.pid):
            waits = run("-p", tree.pid, "-d", "0.3", "--off-cpu", timeout=10).ok()
            r = run("-p", tree.pid, "-d", "0.5", *RATE, timeout=10).ok(5)
            equal((r.summary.taken, r.out), (0, ""), "samples, output")
            told = [line for line in r.err.splitlines() if "no samples" in line]
            equal(told, [f"ebprof: no samples: process {tree.pid} (tree) is {why.format(tree.pid)}"], r.err)
            check(abs(r.summary.duration - 0.5) < 0.3, "sampled for", r.summary.duration)
            p = start("-p", tree.pid, *RATE)
            wait_sampling(p)
        wait_burned(tree.pid, 0.7)
        p.send_signal(signal.SIGINT)
        r = finish(p).ok()
    tree_shares(r.profile)
    # It waits, though in no system call: where it was interrupted.
    for s in Profile.read(waits.out):
        check(s.frames[0] == "_start" and s.has("main", "run") and s.frames[-1] == "[blocked]" and s.count >= 0.29e9, s)


def test_target_is_stopped():
    stands_still(stopped, "stopped; kill -CONT {} lets it go on")


def test_target_is_held_by_a_tracer():
    stands_still(traced, "held by a debugger or another tracer")


# --- Much of something. ---

MANY = 100000


@contextlib.contextmanager
def many_mappings():
    """As many as the tests below want, and the programs' own."""
    path = "/proc/sys/vm/max_map_count"
    with open(path) as f:
        old = f.read()
    with open(path, "w") as f:
        f.write(str(2 * MANY + 10000))
    try:
        yield
    finally:
        with open(path, "w") as f:
            f.write(old)


def peak_memory(r):
    """In MiB."""
    return float(re.search(r"peak memory ([\d.]+) MiB", r.err)[1])


def test_100000_mappings():
    """Every other one could be code, and the kernel looks for the program's own without frame pointers."""
    with many_mappings(), Fixture("tree_frameless", "--mappings", str(MANY)) as tree:
        r = run("-p", tree.pid, "-d", "1", "-v", *RATE, timeout=15).ok()
    tree_shares(r.profile, least=60)
    check(r.summary.lost == 0 and r.summary.truncated <= 1, r.err)
    check(peak_memory(r) < 200, r.err)


def test_100000_mappings_that_come():
    with many_mappings(), Fixture("tree_frameless", "--growing", str(MANY)) as tree:
        p = start("-p", tree.pid, "-v", *RATE)
        wait_sampling(p)
        tree.go()
        tree.wait("grown")
        wait_burned(tree.pid, 0.5)
        p.send_signal(signal.SIGINT)
        r = finish(p, timeout=15).ok()
    tree_shares(r.profile, lambda s: s.comm == "tree_frameless", least=60)
    check(r.summary.lost == 0 and r.summary.truncated <= 1, r.err)
    check(peak_memory(r) < 200, r.err)
    # To tell the kernel of all of them after each that came would take nearly all of the time. Loading is before it.
    check(own_cpu(r) < 0.5 + 0.5 * r.summary.duration, r.err)


def test_50000_mappings_of_files():
    """
    All of them run: more than can be known. So the stacks of some are sent in vain, which must not take long, however many
    are under way.
    """
    with many_mappings(), Fixture("unwind_hostile", "maps", str(MANY // 2)) as f:
        with stopped(f.pid):
            p = start("-p", f.pid, "-U", "-F", 1999, "-v")
            wait_sampling(p)
            os.kill(p.pid, signal.SIGSTOP)
        wait_burned(f.pid, 0.5)
        os.kill(p.pid, signal.SIGCONT)
        wait_burned(f.pid, 0.5)
        p.send_signal(signal.SIGINT)
        r = finish(p, timeout=20).ok()
    profile = r.profile
    equal(r.summary.lost, 0, "lost samples")
    check(own_cpu(r) < 2, r.err)
    equal(set(r.summary.truncated_by), {"no mapping"}, r.err)
    leads_to(profile, "sane", "sane_inner", least=40)
    rooted(profile)
    cut = profile.where(lambda s: s.cut)
    check(all(set(s.frames) <= {"asm_page", "mapped"} for s in cut), cut.head())
    check(peak_memory(r) < 200, r.err)


def test_10000_threads():
    """Most sleep, three share the CPUs."""
    with Fixture("tree", "--asleep", "10000", "--threads", "3") as tree:
        r = run("-p", tree.pid, "-d", "1", *RATE, timeout=15).ok()
        waits = run("-p", tree.pid, "-d", "1", "--off-cpu", timeout=15).ok()
    tree_shares(r.profile)
    equal(r.profile.comms(), {"tree-0", "tree-1", "tree-2"}, "comms")
    check(" 0 truncated, 0 lost" in waits.err, waits.err)
    asleep = Profile.read(waits.out).where(lambda s: s.comm == "asleep")
    lived = float(re.search(r" in ([\d.]+) s: ", waits.err)[1])
    check(abs(asleep.count() / 1e9 - 10000 * lived) < 0.1 * 10000 * lived, asleep.head(), waits.err)
    check(all(s.has("sleeper", "pause") and s.frames[-1] == "[blocked]" for s in asleep), asleep.head())


def brief_threads(*options):
    """4,000 threads that a process starts one by one: the recording, and [(thread as speedscope shows it, samples)]."""
    with directory() as d:
        path = os.path.join(d, "threads.speedscope.json")
        r = run("-F", 9999, "-U", "-o", path, *options, "--", fixture_path("brief_threads"), "4000", timeout=60).ok()
        with open(path) as f:
            threads = [(p["name"], sum(p["weights"])) for p in json.load(f)["profiles"] if " (pid " in p["name"]]
    equal(sum(n for _, n in threads), r.summary.kept, r.err)
    return r, [(name, n) for name, n in threads if name.startswith("worker ")], [t for t in threads if t[0].startswith("keeper ")]


def test_4000_brief_threads():
    """They would need room as long as their process lives; those that ended are one, unless they are to be told apart."""
    r, workers, keepers = brief_threads()
    made_one = int(re.search(r"(\d+) threads that ended were made one", r.err)[1])
    check(made_one >= 2000 and len(workers) <= 2200, made_one, "were made one, left:", len(workers))
    one, all_of_them = max(n for _, n in workers), sum(n for _, n in workers)
    check(one > 0.3 * all_of_them, one, "of", all_of_them, "samples")
    equal(len(keepers), 1, keepers)
    r, apart, _ = brief_threads("--per-thread")
    check("made one" not in r.err, r.err)
    check(3600 < len(apart) <= 4000 and max(n for _, n in apart) < 0.02 * sum(n for _, n in apart), len(apart), "threads", apart[:5])


def sleeps(pid):
    with open(f"/proc/{pid}/task/{pid}/status") as f:
        return int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", f.read(), re.M)[1])


def woken_by_threads(*command):
    """How often a second threads that come and go wake @command."""
    with Fixture("thread_storm", prefix=("taskset", "-c", "0")) as storm:
        proc = start(*command, "-F", 99)
        wait_sampling(proc)
        before, since = sleeps(proc.pid), time.monotonic()
        wait_burned(storm.pid, 1)
        woken = (sleeps(proc.pid) - before) / (time.monotonic() - since)
        proc.send_signal(signal.SIGINT)
        finish(proc).ok()
    return woken


def test_threads_that_come_and_go():
    """Nothing is to be done when one begins or ends: they do not wake us for each, 50,000 times a second."""
    with Fixture("tree") as other, directory() as d:
        for most, *command in (5000, "-a", "-f", "folded"), (5000, "-p", other.pid, "-f", "folded"), (500, "push", "--to", d, "--every", "1s"):
            woken = woken_by_threads(*command)
            check(woken < most, command, woken, "times a second")


def test_older_process_that_ends():
    """It is looked up in /proc, but not as the first of its CPU: the kernel might wait there for one that waits for that CPU."""
    with directory() as d, Fixture("tree") as f, Fixture("moments") as old:
        trace = os.path.join(d, "trace")

        def calls():
            """The priorities of the main thread, and what it opens of that process, in their order."""
            with open(trace, encoding="utf-8", errors="replace") as t:
                lines = [line.split(None, 1) for line in t]
            own = "".join(line[1] for line in lines if line[0] == lines[0][0])
            # Not all versions of strace have a name for SCHED_FIFO | SCHED_RESET_ON_FORK.
            words = re.findall(rf"sched_setscheduler\(0, (\w+)|(/proc/{old.pid}/stat)", own)
            return [path or ("usual" if policy == "SCHED_OTHER" else "first") for policy, path in words]

        p = start("-q", "-d", "3", "-p", f.pid, "-o", os.path.join(d, "out"),
                  prefix=(needs("strace"), "-f", "-o", trace, "-e", "trace=openat,sched_setscheduler"))
        wait_for(lambda: os.path.exists(trace) and "first" in calls(), "the first of its CPU")
        os.kill(old.pid, signal.SIGKILL)
        finish(p).ok()
        said = calls()
    at = max(i for i, word in enumerate(said) if word.startswith("/proc"))
    equal((said[at - 1], said[at + 1]), ("usual", "first"), said)


def without_root(frames):
    """@frames without the callees of _start that lead them: a stack of few frames too many has lost less than its root."""
    for left in range(len(ROOT) - 1, 0, -1):
        if all(map(re.fullmatch, ROOT[-left:], frames)):
            return frames[left:]
    return frames


def too_deep(fixture, *args, names, limit=None, prefix=()):
    """Each stack is the last so many frames of endless recursion, and says so; what is whole was taken on the way down."""
    with Fixture(fixture, *args, prefix=prefix) as f:
        r = run_burned(f.pid, 0.5, "-U", *RATE, *(("--max-frames", limit) if limit else ())).ok()
    check(r.summary.taken > 100 and r.summary.lost == 0, r.err)
    equal(set(r.summary.truncated_by), {"depth"}, r.err)
    for s in r.profile:
        if s.cut:
            check(len(s.frames) == (limit or 511) and set(without_root(s.frames)) <= names, s)
        else:
            check(s.frames[0] == "_start" and len(s.frames) <= (limit or 511), "called complete:", s)
    check(r.summary.truncated > 0.9 * r.summary.taken, r.err)


def test_100000_frames():
    too_deep("timed", "100000", "0", names={"down"})
    too_deep("unwind_chain", "recurse", "100000", names={"recurse", "c000"})
    too_deep("unwind_shapes", "wide", "100000", names={"wide", "leaf"}, prefix=(needs("prlimit"), "--stack=unlimited"))
    too_deep("unwind_shapes", "deep", "100000", names={"down", "leaf"}, limit=20)


def test_one_frame_too_many():
    too_deep("unwind_chain", "recurse", "18", names={"recurse", "c000"}, limit=20)
    too_deep("unwind_chain", "recurse", "16", names={"recurse", "c000"}, limit=20)
