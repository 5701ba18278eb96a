# SPDX-License-Identifier: MIT
"""Known shares of CPU time, in each form of target."""
import contextlib
import os
import signal
import subprocess

from harness import (EBPROF, Fixture, Share, bpf_ids, check, child_of, cpu_seconds, directory, equal, finish, fixture_path, needs,
                     own_name, run, skip, start, tree_shares, wait_burned, wait_for, wait_sampling, whole_rate)

HZ = 2999
RATE = ("-F", HZ)


def test_process():
    with Fixture("tree") as tree, Share(tree.pid) as cpu:
        r = run("-p", tree.pid, "-d", "0.5", *RATE).ok()
    tree_shares(r.profile)
    equal(r.profile.comms(), {"tree"}, "comms")
    whole_rate(r.summary, HZ, cpu.share)
    check(abs(r.summary.duration - 0.5) < 0.2, "sampled for", r.summary.duration)
    equal((r.summary.hz, r.summary.lost), (HZ, 0), "rate and loss")


def test_default_rate():
    with Fixture("tree") as tree, Share(tree.pid) as cpu:
        r = run("-p", tree.pid, "-d", "2").ok()
    equal(r.summary.hz, 99, "rate")
    whole_rate(r.summary, 99, cpu.share)
    tree_shares(r.profile, least=30)


def test_record_command_and_long_names():
    with Fixture("tree") as tree:
        r = run("record", "--pid", tree.pid, "--duration", "500ms", "--frequency", 999, "--format", "folded").ok()
    tree_shares(r.profile, least=40)


def test_two_processes():
    with Fixture("tree") as one, Fixture("names", "other") as two, Fixture("names", "third"):
        r = run("-p", f"{one.pid},{two.pid}", "-d", "0.4", *RATE).ok()
    tree_shares(r.profile, lambda s: s.comm == "tree", least=60)
    equal(r.profile.comms(), {"tree", "other"}, "comms")


def test_forked_in_the_delay():
    """What a target forks between the look for its descendants and the first sample is sampled, too."""
    shell = subprocess.Popen(["sh", "-c", 'read go; "$0" --seconds 20 & wait', fixture_path("tree")], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        proc = start("-p", shell.pid, "--delay", "1500ms", "-d", "0.4", *RATE)
        wait_for(lambda: bpf_ids(proc.pid)[0], "the programs")
        shell.stdin.write(b"go\n")
        shell.stdin.flush()
        tree = child_of(shell.pid, "tree")
        r = finish(proc).ok()
        check(tree and r.profile.comms() == {"tree"}, "comms", r.profile.comms())
    finally:
        os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_threads_of_a_process():
    with Fixture("tree", "--threads", "3") as tree:
        r = run("-p", tree.pid, "-d", "0.5", *RATE).ok()
    tree_shares(r.profile)
    equal(r.profile.comms(), {"tree-0", "tree-1", "tree-2"}, "comms")


def test_one_thread():
    with Fixture("tree", "--threads", "2") as tree:
        tid = next(line[1] for line in tree.lines if line[2:] == ["tree-1"])
        r = run("-t", tid, "-d", "0.5", *RATE).ok()
    tree_shares(r.profile)
    equal(r.profile.comms(), {"tree-1"}, "comms")


def test_whole_system():
    with own_name(fixture_path("tree")) as (path, comm), Fixture("tree", path=path) as tree:
        r = run("-a", "-d", "0.5", *RATE).ok()
        used = cpu_seconds(tree.pid)
    n = tree_shares(r.profile, lambda s: s.comm == comm)
    check(n <= HZ * used * 1.05 + 10, n, "samples of", used, "s of CPU time")


def test_whole_system_is_the_default():
    with own_name(fixture_path("tree")) as (path, comm), Fixture("tree", path=path):
        r = run("-d", "0.4", *RATE).ok()
    tree_shares(r.profile, lambda s: s.comm == comm)


def test_not_itself():
    with own_name(EBPROF) as (path, comm), Fixture("storm"):
        plain = run("-a", "-d", "1", "-F", 4999, ebprof=path).ok().profile.comms()
        both = run("-a", "-d", "1", "-F", 4999, "--include-self", ebprof=path).ok().profile.comms()
    check(comm not in plain, "it sampled itself")
    check(comm in both, "--include-self shows nothing of it:", sorted(both))


def idle_seconds():
    """Of all CPUs, since the machine started."""
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[4]) / os.sysconf("SC_CLK_TCK")


def test_idle_task():
    idle = [c for c in run("-a", "-d", "0.4", *RATE).profile.comms() if c.startswith("swapper")]
    equal(idle, [], "idle tasks without --include-idle")
    before = idle_seconds()
    idle = [c for c in run("-a", "-d", "1", "--include-idle", *RATE).ok().profile.comms() if c.startswith("swapper")]
    had = idle_seconds() - before
    check(idle or had < 0.2, "no idle task with --include-idle, in", had, "s with nothing to do")


def test_comm():
    with Fixture("names", "chosen"), Fixture("names", "unchosen"):
        r = run("-n", "chosen", "-d", "0.5", *RATE).ok()
    equal(r.profile.comms(), {"chosen"}, "comms")
    check(r.profile.count(lambda s: s.has("burn_named")) > 100, r.profile.head())


def test_cpu():
    if len(os.sched_getaffinity(0)) < 2:
        skip("one CPU")
    first, second = sorted(os.sched_getaffinity(0))[:2]
    taskset = needs("taskset")
    with Fixture("names", "on-first", prefix=(taskset, "-c", str(first))), \
            Fixture("names", "on-second", prefix=(taskset, "-c", str(second))), Fixture("tree") as tree:
        r = run("-C", second, "-d", "0.4", *RATE).ok()
        joined = run("-p", tree.pid, "-C", f"{first}-{second}", "-d", "0.4", *RATE).ok()
    check("on-second" in r.profile.comms() and "on-first" not in r.profile.comms(), r.profile.comms())
    check(r.summary.taken <= HZ * r.summary.duration * 1.05 + 5, "more samples than one CPU gives")
    tree_shares(joined.profile, least=60)


def test_command():
    r = run("-o", "-", *RATE, "--", fixture_path("tree"), "--seconds", "0.6").ok()
    check(r.out.startswith("ready "), "the command's own output comes first:", r.out[:100])
    r.out = r.out.partition("\n")[2]
    tree_shares(r.profile, lambda s: s.has("run"))
    equal(r.profile.comms() - {"ebprof"}, {"tree"}, "comms")


def test_command_from_its_first_instruction():
    with directory() as d:
        out = os.path.join(d, "out.folded")
        r = run("-c", 1, "-e", "page-faults", "-o", out, "--", fixture_path("tree"), "--seconds", "0.01").ok()
        with open(out) as f:
            text = f.read()
    check(r.summary.taken > 20, r.summary.taken, "page faults")
    check("_start" in text or "_dl_start" in text or "load_elf_binary" in text, "nothing of the exec or of ld.so:", text)


# --- Control groups. ---

def _mounts(kind):
    with open("/proc/mounts") as f:
        for line in f:
            _, where, fstype, options = line.split()[:4]
            if fstype == kind:
                yield where, options.split(",")


@contextlib.contextmanager
def _cgroup(parent):
    """A cgroup that is emptied and removed at the end."""
    path = os.path.join(parent, f"ebprof-e2e-{os.getpid()}")
    os.mkdir(path)
    try:
        yield path
    finally:
        def gone():
            with contextlib.suppress(OSError):
                os.rmdir(path)
            return not os.path.exists(path)
        wait_for(gone, f"{path} to be empty")


@contextlib.contextmanager
def in_cgroup(parent=None):
    """(path of a cgroup, the call tree that runs in it)"""
    if not parent:
        mounts = [*_mounts("cgroup2"), *(m for m in _mounts("cgroup") if {"cpu", "memory"} & set(m[1]))]
        parent = mounts[0][0] if mounts else skip("no cgroups")
    with _cgroup(parent) as path, Fixture("tree") as tree:
        with open(os.path.join(path, "cgroup.procs"), "w") as f:
            f.write(str(tree.pid))
        yield path, tree


def _profile_cgroup(parent):
    with in_cgroup(parent) as (path, _):
        with Fixture("names", "outside"):
            r = run("-G", path, "-d", "0.4", *RATE).ok()
            relative = run("-G", os.path.basename(path), "-d", "0.5", *RATE).ok()
    tree_shares(r.profile, least=60)
    equal(r.profile.comms() | relative.profile.comms(), {"tree"}, "comms")


def test_cgroup_v1():
    mounts = [where for where, options in _mounts("cgroup") if "cpu" in options or "memory" in options]
    if not mounts:
        skip("no cgroup v1")
    _profile_cgroup(mounts[0])


def test_cgroup_v2():
    mounts = [where for where, _ in _mounts("cgroup2")]
    if not mounts:
        skip("no cgroup v2")
    _profile_cgroup(mounts[0])
    with _cgroup(mounts[0]) as path:
        r = run("-G", path, "-d", "0.1").ok(5)
        check("no samples: there is no process in this cgroup\n" in r.err, r.err)


# --- Forks. ---

def finish_on(p, fixture, codes=(0,)):
    """The target has ended, and so does the profiler by itself."""
    fixture.proc.wait(timeout=10)
    r = finish(p, timeout=20)
    check(r.code in codes, "exit status", r.code, r.err)
    return r


def test_forks_are_followed():
    with Fixture("brief", "--wait", "30") as brief:
        p = start("-p", brief.pid, *RATE)
        wait_sampling(p)
        brief.go()
        brief.wait("done")
        r = finish_on(p, brief)
    check(r.profile.count(lambda s: s.comm == "brief_child" and s.has("brief_child_hot")) > 600, r.profile.head())


def test_no_inherit():
    with Fixture("brief", "--wait", "20") as brief:
        p = start("-p", brief.pid, "--no-inherit", *RATE)
        wait_sampling(p)
        brief.go()
        brief.wait("done")
        r = finish_on(p, brief, codes=(0, 5))
    check("brief_child" not in r.profile.comms(), r.profile.head())


def test_children_there_before():
    with Fixture("tree", "--fork", "3") as tree:
        r = run("-p", tree.pid, "-d", "0.5", *RATE).ok()
    tree_shares(r.profile)


def test_per_thread():
    with Fixture("tree", "--threads", "2") as tree:
        r = run("-p", tree.pid, "-d", "0.4", "--per-thread", *RATE).ok()
    expected = {f"{line[2]}-{tree.pid}/{line[1]}" for line in tree.lines if line[0] == "thread"}
    equal(r.profile.comms(), expected, "first frames")
    tree_shares(r.profile)


# --- Namespaces. ---

def test_mount_namespace():
    """The binary lies on a tmpfs that only the target sees, where we see an empty directory."""
    with directory() as d:
        script = (f"mount -t tmpfs hidden {d} && cp {fixture_path('tree')} {d}/hidden_tree && exec {d}/hidden_tree")
        with Fixture("tree", prefix=(needs("unshare"), "-m", "--propagation", "private", "sh", "-c", script)) as tree:
            check(not os.listdir(d), "the namespace hides nothing")
            r = run("-p", tree.pid, "-d", "0.4", *RATE).ok()
    tree_shares(r.profile, least=60)


def test_pid_namespace():
    prefix = (needs("unshare"), "-p", "-f", "-m", "--mount-proc", "--kill-child")
    with own_name(fixture_path("tree")) as (path, comm), Fixture("tree", path=path, prefix=prefix) as outer:
        pid = child_of(outer.pid, comm)
        equal(outer.lines[-1], ["ready", "1"], "its own view of its PID")
        r = run("-p", pid, "-d", "0.4", *RATE).ok()
        everything = run("-a", "-d", "0.4", *RATE).ok()
    tree_shares(r.profile, least=60)
    tree_shares(everything.profile, lambda s: s.comm == comm, least=60)


def test_two_profilers_at_once():
    with Fixture("names", "left") as left, Fixture("names", "right") as right:
        first = start("-p", left.pid, "-d", "0.4", *RATE)
        second = start("-p", right.pid, "-d", "0.4", *RATE)
        results = finish(first).ok(), finish(second).ok()
    equal([r.profile.comms() for r in results], [{"left"}, {"right"}], "comms")


def test_until_interrupted_without_duration():
    with Fixture("tree") as tree:
        p = start("-p", tree.pid, *RATE)
        wait_sampling(p)
        wait_burned(tree.pid, 0.4)
        p.send_signal(signal.SIGINT)
        r = finish(p).ok()
    tree_shares(r.profile)


def test_cpu_goes_away_and_comes_back():
    switch = "/sys/devices/system/cpu/cpu1/online"
    if not os.path.exists(switch):
        skip("no CPU can be taken offline")
    with open("/proc/self/cpuset") as f:
        if f.read().strip() != "/":
            skip("in a cpuset, which would lose the CPU for good")
    with Fixture("tree", "--threads", "2") as tree:
        p = start("-p", tree.pid, *RATE)
        wait_sampling(p)
        try:
            wait_burned(tree.pid, 0.2)
            with open(switch, "w") as f:
                f.write("0")
            wait_burned(tree.pid, 0.2)
        finally:
            with open(switch, "w") as f:
                f.write("1")
        wait_burned(tree.pid, 0.2)
        wait_burned(tree.pid, 0.8)
        p.send_signal(signal.SIGINT)
        r = finish(p).ok()
    tree_shares(r.profile)
    # Were the CPU not taken up again, about half of what was burned since would not have been sampled.
    check(r.summary.taken > HZ * 0.8 * (0.2 + 0.2 + 0.2 + 0.8), r.summary.taken, "samples of 1.4 s of CPU time")
