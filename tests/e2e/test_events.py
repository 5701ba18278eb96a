# SPDX-License-Identifier: MIT
"""What is sampled, how often, and that the sums add up."""
import contextlib
import os
import re
import signal

from harness import (Fixture, Share, check, cpu_seconds, directory, equal, finish, fixture_path, in_tracefs, needs, own_cpu, run, skip,
                     start, tree_shares, wait_burned, wait_for, wait_sampling, whole_rate)

SECONDS = 45


def command(*options, program, **kw):
    """Profiles a fixture as a command, and gives the result with the folded text as its output."""
    with directory() as d:
        out = os.path.join(d, "out.folded")
        r = run(*options, "-o", out, "--", *program, **kw)
        with open(out) as f:
            r.out = f.read()
    return r


def test_context_switches():
    r = command("-e", "context-switches", "-c", 1, program=(fixture_path("syscalls"), "sleep", 200)).ok()
    n = r.profile.count(lambda s: s.has("call_sleep"))
    # One that is over before the thread has left the CPU, which was taken from it meanwhile, is none.
    check(190 <= n <= 210, n, "switches in 200 sleeps:", r.profile.head())
    equal(r.summary.event, "context-switches", "event")


def test_page_faults():
    r = command("-e", "page-faults", "-c", 1, program=(fixture_path("syscalls"), "touch", 500)).ok()
    n = r.profile.count(lambda s: s.has("touch_pages"))
    check(500 <= n <= 505, n, "faults in 500 pages:", r.profile.head())


def test_period():
    r = command("-e", "page-faults", "-c", 10, program=(fixture_path("syscalls"), "touch", 5000)).ok()
    n = r.profile.count(lambda s: s.has("touch_pages"))
    check(450 <= n <= 510, n, "samples of 5000 faults, one in 10:", r.profile.head())


def test_tracepoint():
    in_tracefs("events/sched/sched_switch")
    r = command("-e", "sched:sched_switch", "-c", 1, program=(fixture_path("syscalls"), "sleep", 200)).ok()
    n = r.profile.count(lambda s: s.has("call_sleep"))
    # One that is over before the thread has left the CPU, which was taken from it meanwhile, is none.
    check(190 <= n <= 210, n, "switches in 200 sleeps:", r.profile.head())


def test_tracepoint_without_tracefs():
    """Nobody has mounted it: ebprof does so for itself, and leaves nothing behind."""
    script = ("umount -l /sys/kernel/tracing /sys/kernel/debug 2>/dev/null; grep -q ' tracefs ' /proc/self/mounts && exit 99; "
              '"$@"; status=$?; grep -q " tracefs " /proc/self/mounts && exit 98; exit $status')
    hidden = (needs("unshare"), "-m", "--propagation", "private", "sh", "-c", script, "sh")
    if run("version", prefix=hidden).code == 99:
        skip("tracefs cannot be hidden")
    r = command("-e", "sched:sched_switch", "-c", 1, program=(fixture_path("syscalls"), "sleep", 200), prefix=hidden).ok()
    n = r.profile.count(lambda s: s.has("call_sleep"))
    # One that is over before the thread has left the CPU, which was taken from it meanwhile, is none.
    check(190 <= n <= 210, n, "switches in 200 sleeps:", r.profile.head())
    check("sched:sched_switch" in run("-e", "list", prefix=hidden).ok().out, "not in the list")
    check("mounts it for itself" in run("doctor", prefix=hidden).out, "doctor")


def test_list_of_events():
    r = run("-e", "list").ok()
    kinds = dict(re.findall(r"^(\S+) +(\w+)", r.out, re.M))
    equal((kinds["cpu-clock"], kinds["page-faults"]), ("software", "software"), "kinds")
    check(kinds.get("sched:sched_process_exec") == "tracepoint", "no tracepoints:", r.out[-500:])
    equal(run("top", "-e", "list").ok().out, r.out, "of top")


def test_pmu_syntax():
    """An event by its PMU and number is the one that has a name; its period goes before the rate."""
    program = (fixture_path("tree"), "--seconds", 1)
    profile = command("-e", "software/config=0,period=5000000/:u", "-F", 7, program=program).ok().profile
    n = profile.count(lambda s: s.has("run"))
    check(n > 40, n, "samples of a clock every 5 ms in 1 s:", profile.head())
    r = run("list", "software/*")
    equal(r.code, 1, "a PMU without events and terms")
    run("record", "-e", "software/nothing=1/", "--", "true").fails(2, "PMU software has no 'nothing'")
    run("top", "-e", "sofware/config=0/", "--", "true").fails(2, "did you mean 'software'")
    r = run("record", "--counters", "software/config=2,name=faults/,task-clock", "-f", "json", "-o", "-", "--", *program)
    check(r.code == 0 and '"faults"' in r.out, r.err, r.out[:500])
    if os.path.exists("/sys/bus/event_source/devices/msr/events/tsc"):
        check(re.search(r"^msr/tsc/ +PMU event$", run("list", "msr/*").ok().out, re.M), "msr/tsc/ is not listed")
        run("record", "-e", "msr/tsc/", "--", "true").fails(3, "ebprof stat -e msr/tsc/ counts it")


CARRIERS = r"^(__traceiter_|perf_trace_|perf_syscall_|perf_tp_event|trace_event_raw_|syscall_trace_|trace_sys_|__bpf_trace)"


def test_tracepoint_leaf_is_where_it_was_hit():
    """What carries a hit to us is no part of what the program did."""
    in_tracefs("events/syscalls/sys_enter_getppid")
    for event in ("raw_syscalls:sys_enter", "raw_syscalls:sys_exit", "syscalls:sys_enter_getppid", "sched:sched_process_fork"):
        program = ("sh", "-c", "for i in 1 2 3 4 5; do /bin/true; done") if "sched" in event else (
            fixture_path("syscalls"), "loop", 1)
        profile = command("-e", event, "-c", 1, program=program).ok().profile
        kernel = profile.where(lambda s: s.any(r"(syscall|SYSCALL|el0_svc|^kernel_clone$|ret_from_fork)"))
        check(kernel.count() >= 5, event, profile.head())
        carried = kernel.where(lambda s: re.search(CARRIERS, s.frames[-1]))
        check(not carried, event, carried.head())


def test_hot_tracepoint_ends_cleanly():
    """It fires all the time, also while sampling ends: what is taken then is fetched as well."""
    in_tracefs("events/raw_syscalls/sys_enter")
    with Fixture("syscalls", "loop") as f:
        for _ in range(3):
            r = run("-p", f.pid, "-e", "raw_syscalls:sys_enter", "-d", "0.3").ok()
            check(r.summary.taken > 1000, r.summary.taken, "system calls")
            equal(r.summary.lost, 0, "lost")


def test_event_alias_and_modifier():
    with Fixture("syscalls", "loop") as f:
        r = run("-e", "cpu-clock:u", "-p", f.pid, "-d", "0.5", "-F", 999).ok()
    check(r.summary.event.startswith("cpu-clock"), r.summary.event)
    check(not any(s.any("vfs_read") for s in r.profile), r.profile.head())


def test_says_which_event():
    with Fixture("tree") as f:
        r = run("-p", f.pid, "-d", "0.3", "-F", 999).ok()
    check(r.summary.event in ("cycles", "cpu-clock"), r.summary.event)


def test_high_rate():
    with Fixture("tree") as f, Share(f.pid) as cpu:
        r = run("-p", f.pid, "-d", "1", "-F", 9999).ok()
    tree_shares(r.profile, least=300)
    equal(r.summary.lost, 0, "lost")
    whole_rate(r.summary, 9999, cpu.share)


def test_many_stacks_at_a_high_rate():
    """Thousands of stacks, each seen once: no limit of maps, nothing lost."""
    with Fixture("storm") as f:
        r = run("-p", f.pid, "-d", "1", "-F", 9999).ok()
    check(len(r.profile) > max(500, 0.7 * r.summary.taken), len(r.profile), "distinct stacks of", r.summary.taken)
    equal(r.summary.lost, 0, f"lost of {r.summary.taken}: {r.summary.lost_by}")


def test_end_comes_in_time():
    """Of tens of thousands of stacks that wait when the end comes, what is not taken is lost: no sample is without its stack."""
    with Fixture("storm", "2") as f:
        p = start("-p", f.pid, "-F", 9999, "--buffer", 65536)
        wait_sampling(p)
        p.send_signal(signal.SIGSTOP)
        wait_burned(f.pid, 4)
        p.send_signal(signal.SIGINT)
        p.send_signal(signal.SIGCONT)
        r = finish(p).ok()
    check(r.summary.taken > 10000, r.summary.taken, "samples")
    equal(r.profile.count(), r.summary.kept, "samples in the output")
    equal(r.summary.kept + r.summary.lost, r.summary.taken, f"samples: {r.err}")
    check(r.summary.kept > 1000, "kept only", r.summary.kept, r.err)
    check(all(s.any("main") or s.any("__clone") or s.any("clone") for s in r.profile), r.profile.head())


def burst(*options):
    """ebprof stands still while two threads make new stacks: its ring buffer must overflow."""
    with Fixture("storm", "2") as f:
        p = start("-p", f.pid, "-F", 9999, "--buffer", 16, *options)
        wait_sampling(p)
        p.send_signal(signal.SIGSTOP)
        wait_burned(f.pid, 1)
        p.send_signal(signal.SIGCONT)
        wait_burned(f.pid, 0.2)
        p.send_signal(signal.SIGINT)
        used = cpu_seconds(f.pid)
        return finish(p), used


def test_full_ring_buffer_adds_up():
    r, used = burst()
    r.ok()
    check(r.summary.lost > 1000, "lost only", r.summary.lost, r.err)
    check(any("ring buffer" in k for k in r.summary.lost_by), r.summary.lost_by)
    equal(r.profile.count(), r.summary.kept, "samples in the output")
    check(r.summary.taken > 9999 * 0.5, r.summary.taken, "samples in", used, "s of CPU time")


def test_strict():
    r, _ = burst("--strict")
    r.ok(6)
    check(r.summary.lost > 0 and r.profile.count() == r.summary.kept, r.err)
    with Fixture("tree") as f:
        run("-p", f.pid, "-d", "0.3", "-F", 999, "--strict").ok(0)


@contextlib.contextmanager
def tracer(group, event, *of):
    """A BPF program runs at each hit of the tracepoint."""
    in_tracefs(f"events/{group}/{event}")
    p = start(*of, "-e", f"{group}:{event}", "-c", 1)
    wait_sampling(p)
    yield
    p.send_signal(signal.SIGINT)
    finish(p).ok()


@contextlib.contextmanager
def traced():
    """A program of system calls, most of whose time a BPF program on their tracepoint takes."""
    with Fixture("syscalls", "loop") as f, tracer("raw_syscalls", "sys_enter", "-p", f.pid):
        yield f


def test_time_in_other_bpf_programs():
    """There the kernel runs no program of an event, and tells nobody; a clock's samples are taken all the same, with their stacks."""
    with traced() as f:
        with Share(f.pid) as cpu:
            r = run("-p", f.pid, "-d", "1.5", "-F", 999, "-e", "cpu-clock").ok()
    used = cpu.share * r.summary.duration
    check(r.summary.taken > 0.6 * 999 * used, r.summary.taken, "samples in", used, "s of CPU time")
    equal(r.summary.lost, 0, r.err)
    inside = r.profile.where(lambda s: s.any("^bpf_prog_.*on_tracepoint"))
    check(inside.count() > 0.3 * r.profile.count(), inside.count(), "of", r.profile.count(), r.profile.head())
    check(all(s.any("^call_(getppid|read|write)$") and s.frames[0] == "_start" for s in inside), inside.head())
    # The interrupt's own frames are left out once a sample has come that was not skipped.
    uncut = inside.count(lambda s: s.any("^hrtimer_interrupt$"))
    check(uncut < 0.05 * inside.count(), uncut, "of", inside.count(), "with the interrupt's frames", inside.head())


def test_execs_in_other_bpf_programs():
    """There execve() has let go of the old program: its registers tell of no stack, so none is cut."""
    with tracer("task", "task_rename", "-a"):
        r = command("-d", "2", "-F", 1999, "-e", "cpu-clock", program=("sh", "-c", "while :; do /bin/true; done")).ok()
    inside = r.profile.where(lambda s: s.any("^bpf_prog_.*on_tracepoint") and s.any("execve$"))
    check(inside.count() > 5, inside.count(), "of", r.profile.count(), r.profile.head())
    check(not any(s.cut for s in inside), inside.head())


def test_hits_in_other_bpf_programs():
    """Of a tracepoint's hits there the kernel tells the number."""
    if tuple(int(n) for n in os.uname().release.split(".")[:2]) < (6, 7):
        skip("before Linux 6.7 it does not")
    with traced() as f:
        r = run("-p", f.pid, "-d", "0.5", "-e", "timer:hrtimer_expire_entry", "-c", 1, "--strict").ok(6)
    equal(r.summary.lost, 0, r.err)
    check(int(re.search(r"^ebprof: (\d+) hits of the tracepoint", r.err, re.M)[1]) > 10, r.err)


def test_delay():
    """The first 100 ms of CPU time are before_exec(), are over by then on a busy machine, too, and are not sampled."""
    r = command("-F", 999, "--delay", 1500, program=(fixture_path("exec"), 100, 2500)).ok()
    equal(r.profile.count(lambda s: s.has("before_exec")), 0, "samples before the delay was over")
    check(r.profile.count(lambda s: s.has("after_exec")) > 200, r.profile.head())


def test_duration_units():
    with Fixture("tree") as f:
        for text, seconds in (("0.5", 0.5), ("1s", 1), ("400ms", 0.4)):
            r = run("-p", f.pid, "-d", text, "-F", 999).ok()
            check(abs(r.summary.duration - seconds) < 0.15, text, "took", r.summary.duration)


def test_duration_ends_a_command():
    """When the time is over the command is told to end, and that is no failure."""
    with directory() as d:
        r = run("-d", "0.5", "-F", 999, "-o", os.path.join(d, "o.folded"), "--", fixture_path("tree"), timeout=15).ok()
    check(abs(r.summary.duration - 0.5) < 0.2, r.summary.duration)
    pid = int(r.out.split()[1])
    check(not os.path.exists(f"/proc/{pid}"), "the command is still there")


def processes():
    return sum(entry.isdigit() for entry in os.listdir("/proc"))


def test_20000_processes():
    before = processes()
    with Fixture("crowd", "20000") as crowd:
        made = int(next(line[1] for line in crowd.lines if line[0] == "crowd"))
        check(made > 1000, "only", made, "processes could be made")
        with Fixture("tree") as tree:
            r = run("-p", tree.pid, "-d", "1", "-F", 999).ok()
            tree_shares(r.profile, least=60)
            check(own_cpu(r) < 1, "with", made, "processes:", r.err)
            r = run("-a", "-d", "1", "-F", 999).ok()
            tree_shares(r.profile, lambda s: s.comm == "tree", least=60)
            check(own_cpu(r) < 3, "with", made, "processes:", r.err)
    # There are numbers for 32,768.
    wait_for(lambda: processes() < before + 1000, "the crowd to end", 60)
