# SPDX-License-Identifier: MIT
"""Each mistake is one clear line and its exit status, and leaves nothing behind."""
import os
import pwd
import signal
import subprocess

from harness import (EBPROF, Fixture, check, child_of, directory, equal, finish, fixture_path, needs, run, run_burned,
                     skip, start, tmpfs, tree_shares, wait_burned, wait_sampling)


def gone_pid():
    p = subprocess.Popen(["true"])
    p.wait()
    return p.pid


def victim(*options, **kw):
    """A short recording of the call tree."""
    with Fixture("tree") as f:
        return run("-p", f.pid, "-d", "0.2", "-F", 999, *options, **kw)


# --- Targets. ---

def test_no_such_process():
    run("-p", gone_pid(), "-d", 1).fails(4, "process|PID")


def test_no_such_thread():
    run("-t", gone_pid(), "-d", 1).fails(4)


def test_no_such_cgroup():
    run("-G", "/sys/fs/cgroup/no-such-group", "-d", 1).fails(4, "cgroup|no-such-group")
    run("-G", "0123456789abcdef0123", "-d", 1).fails(4)


def test_pids_that_are_none():
    for pid in ("0", "-1", "abc", "", "1,,2", "99999999999999999999", "4294967297", "1x"):
        run("-p", pid, "-d", 1).fails((2, 4))


def test_process_exits_during_the_run():
    with Fixture("tree") as f:
        p = start("-p", f.pid, "-F", 999)
        wait_sampling(p)
        wait_burned(f.pid, 0.5)
        f.proc.send_signal(signal.SIGUSR1)
        r = finish(p, timeout=15).ok()
        equal(f.proc.wait(), 0, "the program's own end")
    tree_shares(r.profile, least=60)


def test_process_killed_during_the_run():
    with Fixture("tree") as f:
        p = start("-p", f.pid, "-F", 999)
        wait_sampling(p)
        wait_burned(f.pid, 0.5)
        f.proc.kill()
        f.proc.wait()
        r = finish(p, timeout=15).ok()
    tree_shares(r.profile, least=60)


def test_kernel_thread():
    """It has no user side: its kernel stacks are what there is, or one line says so."""
    r = run("-p", 2, "-d", "0.3", "-F", 999)
    if r.code == 4:
        r.fails(4, "kernel thread")
    else:
        check(r.code in (0, 5), "exit status", r.code, r.err)
        check(not any(s.any("main") for s in r.profile), r.profile.head())


def test_no_samples():
    with directory() as d:
        out = os.path.join(d, "empty.folded")
        sleeper = subprocess.Popen(["sleep", "60"])
        try:
            r = run("-p", sleeper.pid, "-d", "0.3", "-o", out)
        finally:
            sleeper.kill()
            sleeper.wait()
        r.ok(5)
        equal(r.summary.taken, 0, "samples")
        equal(os.path.getsize(out), 0, "size of the output")


# --- Options. ---

def test_rates():
    run("-F", 0, "-d", 1).fails(2, "-F|frequency|rate")
    run("-F", -1, "-d", 1).fails(2)
    run("-F", "many", "-d", 1).fails(2, "many")
    with open("/proc/sys/kernel/perf_event_max_sample_rate") as f:
        limit = f.read().strip()
    run("-F", 1000000000, "-d", 1).fails((2, 3), "perf_event_max_sample_rate", limit)


def test_durations():
    for text in ("-1", "0", "ten", "10x", "", "1e400", "nan"):
        run("-a", "-d", text).fails(2)


def test_unknown_words():
    run("-f", "no-such-format", "-d", 1).fails(2, "no-such-format")
    run("-e", "no-such-event", "-d", 1).fails(2, "no-such-event")
    run("--no-such-option").fails(2, "no-such-option")
    run("no-such-command").fails(2, "no-such-command")
    run("-c", 0, "-d", 1).fails(2)
    run("-C", "9-1", "-d", 1).fails(2)
    run("-C", "x", "-d", 1).fails(2)
    run("--buffer", 3, "-d", 1).fails(2)
    run("--max-frames", 0, "-d", 1).fails(2)
    run("-p").fails(2, "-p|--pid|pid")


def test_no_such_tracepoint():
    run("-e", "sched:no_such_tracepoint", "-d", 1).fails((2, 3), "no_such_tracepoint")


def test_targets_do_not_mix():
    run("-p", os.getpid(), "-a", "-d", 1).fails(2)
    run("-F", 99, "-c", 100, "-d", 1).fails(2)
    run("-p", os.getpid(), "-d", 1, "--").fails(2, "no command after --")


def test_escape_codes_are_not_echoed():
    r = run("-f", "a\033[31mb\nc", "-d", 1)
    equal(r.code, 2, "exit status")
    check("\033" not in r.err and len(r.err.splitlines()) == 1, repr(r.err))


# --- Commands. ---

def test_command_not_found():
    run("-d", 1, "--", "no-such-command-anywhere").fails(127, "no-such-command-anywhere")


def test_command_not_executable():
    with directory() as d:
        path = os.path.join(d, "plain")
        with open(path, "w") as f:
            f.write("text")
        run("-d", 1, "--", path).fails(126, "plain")
        run("-d", 1, "--", d).fails(126)


def test_command_status():
    equal(run("-f", "folded", "-o", "/dev/null", "--", "sh", "-c", "exit 7").code, 7, "exit status of the command")
    equal(run("-f", "folded", "-o", "/dev/null", "--", "true").code, 0, "of a command too short to be sampled")
    equal(run("-f", "folded", "-o", "/dev/null", "--", "sh", "-c", "kill -TERM $$").code, 128 + signal.SIGTERM, "killed by SIGTERM")
    equal(run("-f", "folded", "-o", "/dev/null", "--", "sh", "-c", "kill -KILL $$").code, 128 + signal.SIGKILL, "killed by SIGKILL")


def test_command_arguments_are_its_own():
    r = run("-q", "-f", "folded", "-o", "/dev/null", "--", "echo", "-p", "--help", "a b").ok()
    equal(r.out, "-p --help a b\n", "what the command was given")


# --- Output. ---

def test_missing_directory():
    victim("-o", "/nonexistent/dir/out.folded").fails(1, "/nonexistent/dir/out.folded", "no folder .*mkdir")


def test_missing_directory_is_told_before_sampling():
    with Fixture("tree") as f:
        r = run("-p", f.pid, "-d", 30, "-o", "/nonexistent/out.folded", timeout=10)
    r.fails(1)


def test_read_only_file_system():
    with tmpfs("size=1m") as d:
        subprocess.run(["mount", "-o", "remount,ro", d], check=True)
        victim("-o", os.path.join(d, "out.folded")).fails(1, "[Rr]ead-only")


def test_output_is_a_directory():
    with directory() as d:
        victim("-f", "folded", "-o", d).fails((1, 2), "irectory|folder")


def test_full_disk_keeps_the_old_file():
    with tmpfs("size=64k") as d:
        out = os.path.join(d, "out.folded")
        with open(out, "w") as f:
            f.write("old")
        with open(os.path.join(d, "filler"), "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 4096)
            except OSError:
                pass
        with Fixture("storm") as f:
            r = run("-p", f.pid, "-d", "0.5", "-F", 4999, "-o", out)
        equal(r.code, 1, f"exit status; {r.err}")
        errors = [line for line in r.err.splitlines() if "No space left" in line]
        check(len(errors) == 1 and "out.folded" in errors[0], r.err)
        with open(out) as f:
            equal(f.read(), "old", "the old file")
        equal(sorted(os.listdir(d)), ["filler", "out.folded"], "files left")


def test_file_is_replaced_whole():
    with directory() as d:
        out = os.path.join(d, "out.folded")
        with open(out, "w") as f:
            f.write("old\n" * 100000)
        r = victim("-o", out).ok()
        equal(r.out, "", "standard output")
        with open(out) as f:
            r.out = f.read()
        check("old" not in r.out and r.profile.count() > 0, r.out[:1000])
        equal(os.listdir(d), ["out.folded"], "files left")


def test_planted_symlink():
    """A link at the output's name, to a file of somebody else: that file stays as it was."""
    with directory(0o1777) as d:
        target = os.path.join(d, "precious")
        out = os.path.join(d, "out.folded")
        with open(target, "w") as f:
            f.write("precious")
        os.symlink(target, out)
        r = victim("-o", out)
        check(r.code in (0, 1), "exit status", r.code, r.err)
        with open(target) as f:
            equal(f.read(), "precious", "the file behind the link")
        if r.code == 0:
            check(not os.path.islink(out) and os.path.getsize(out) > 0, "neither an error nor a file")


def test_device_full():
    for options in (("-f", "folded", "-o", "/dev/full"), ()):
        with open("/dev/full", "wb") as full, Fixture("tree") as f:
            r = run_burned(f.pid, 0.1, "-F", 999, *options, stdout=full)
        equal(r.code, 1, f"exit status; {r.err}")
        check("No space left" in r.err, r.err)


def test_reader_goes_away():
    read, write = os.pipe()
    with Fixture("storm") as f:
        p = start("-p", f.pid, "-d", "1", "-F", 4999, stdout=write)
        os.close(write)
        wait_sampling(p)
        os.close(read)
        p.stdout = None
        r = finish(p)
    r.ok(0)
    check("roken pipe" not in r.err, r.err)


def test_head():
    with Fixture("storm") as f:
        p = subprocess.run(["bash", "-c", f"{EBPROF} -q -p {f.pid} -d 0.5 -F 4999 | head -1; exit ${{PIPESTATUS[0]}}"],
                           capture_output=True, text=True, timeout=30)
    equal((p.returncode, p.stderr, len(p.stdout.splitlines())), (0, "", 1), "status, errors, lines")


def test_closed_standard_streams():
    """What we open first must not become standard output or error by its number."""
    with Fixture("tree") as f, directory() as d:
        out = os.path.join(d, "out.folded")
        p = subprocess.run(["bash", "-c", f"{EBPROF} -p {f.pid} -d 0.2 -F 999 -o {out} <&- >&- 2>&-"], timeout=30)
        equal(p.returncode, 0, "exit status")
        with open(out) as f:
            lines = f.read().splitlines()
    check(lines and all(line.startswith("tree;") for line in lines), lines[:5])


# --- Signals. ---

def test_interrupted_writes_the_output():
    for sig in (signal.SIGINT, signal.SIGTERM):
        with directory() as d, Fixture("tree") as f:
            out = os.path.join(d, "out.folded")
            p = start("-p", f.pid, "-F", 999, "-o", out)
            wait_sampling(p)
            wait_burned(f.pid, 0.4)
            p.send_signal(sig)
            r = finish(p, timeout=10).ok()
            with open(out) as text:
                r.out = text.read()
        tree_shares(r.profile, least=40)


def test_second_signal_aborts():
    """Both signals wait while it is stopped, so that no output is written between them."""
    with directory() as d, Fixture("storm") as f:
        out = os.path.join(d, "out.folded")
        with open(out, "w") as old:
            old.write("old")
        p = start("-p", f.pid, "-F", 999, "-o", out)
        wait_sampling(p)
        wait_burned(f.pid, 0.3)
        for sig in (signal.SIGSTOP, signal.SIGINT, signal.SIGTERM, signal.SIGCONT):
            p.send_signal(sig)
        r = finish(p, timeout=10)
        check(r.code != 0, "an aborted run succeeded")
        with open(out) as old:
            equal(old.read(), "old", "the old file")


def test_ctrl_c_with_a_command():
    """A terminal sends it to both; the profiler outlives the command and writes."""
    with directory() as d:
        out = os.path.join(d, "out.folded")
        p = start("-F", 999, "-o", out, "--", fixture_path("tree"))
        wait_sampling(p)
        wait_burned(child_of(p.pid, "tree"), 0.5)
        os.killpg(p.pid, signal.SIGINT)
        r = finish(p, timeout=10)
        check(r.code in (0, 128 + signal.SIGINT), "exit status", r.code, r.err)
        with open(out) as f:
            check("main;run;a;a1;a2" in f.read(), "no stacks", r.err)


# --- Hostile names. ---

def comm_of(raw):
    with Fixture("names", raw) as f:
        return run_burned(f.pid, 0.15, "-F", 999).ok().profile


def test_comm_with_a_semicolon_and_a_space():
    equal(comm_of(b"a;b c").comms(), {"a:b_c"}, "comm")


def test_comm_with_control_characters():
    for raw in (b"a\nb", b"\x1b[31mred", b"\x07\x08\x7f", b"a\tb\r"):
        profile = comm_of(raw)      # no control character, and each line of the form: Stack checks it
        equal(len(profile.comms()), 1, "comms")
        check(profile.count(lambda s: s.has("burn_named")) > 50, profile.head())


def test_comm_of_invalid_utf8():
    for raw in (b"\xff\xfe", b"ab\xc3", b"\xed\xa0\x80x", b"\xf4\x90\x80\x80"):
        (comm,) = comm_of(raw).comms()
        check("\ufffd" in comm, repr(comm))


def test_comm_that_is_empty_or_a_number():
    for raw in (b"", b" ", b"name 12", b"7"):
        profile = comm_of(raw)
        equal(len(profile.comms()), 1, "comms")
        check(profile.count(lambda s: s.has("burn_named")) > 50, profile.head())


# --- Rights. ---

def nobody(*capabilities):
    """Runs what follows as another user, with these capabilities."""
    caps = ",".join("+" + c for c in capabilities)
    return (needs("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups",
            *(("--inh-caps", caps, "--ambient-caps", caps) if caps else ()))


def with_copy(test):
    """An ebprof that anyone may execute."""
    with directory() as d:
        path = os.path.join(d, "ebprof")
        subprocess.run(["install", "-m", "755", EBPROF, path], check=True)
        test(path)


def test_not_root():
    with_copy(lambda path: run("-a", "-d", 1, prefix=nobody(), ebprof=path).fails(3, "CAP_(BPF|PERFMON|SYS_ADMIN)"))


def test_capabilities_are_enough():
    def test(path):
        prefix = nobody("bpf", "perfmon", "sys_ptrace", "dac_read_search", "syslog")
        with Fixture("tree") as f:
            r = run("-p", f.pid, "-d", "0.5", "-F", 999, prefix=prefix, ebprof=path).ok()
        tree_shares(r.profile, least=40)
    with_copy(test)


def test_one_capability_missing():
    def test(path):
        for left, lacking in (("bpf", "CAP_PERFMON"), ("perfmon", "CAP_BPF")):
            run("-a", "-d", 1, prefix=nobody(left), ebprof=path).fails(3, lacking)
    with_copy(test)


def test_root_without_capabilities():
    setpriv = needs("setpriv")
    lacking = "-bpf,-perfmon,-sys_admin"
    run("-a", "-d", 1, prefix=(setpriv, "--bounding-set", lacking, "--inh-caps", lacking)).fails(3, "CAP_")


def test_clocks_of_a_time_namespace():
    """What happens to processes would be told to have happened at other times than their samples."""
    if not os.path.exists("/proc/self/timens_offsets"):
        skip("this kernel has no time namespaces")
    for shift in ("-5", "100000"):
        run("-a", "-d", 1, prefix=(needs("unshare"), "--time", "--monotonic", shift)).fails(3, "time namespace.*outside")


SUDO = {"SUDO_UID": "65534", "SUDO_GID": "65534", "SUDO_USER": "nobody"}


def test_command_runs_as_the_invoking_user():
    r = run("-q", "-f", "folded", "-o", "/dev/null", "--", "sh", "-c", "id -u; id -g; id -G; grep CapEff /proc/self/status", env=SUDO)
    equal(r.code, 0, f"exit status; {r.err}")
    lines = r.out.split()
    equal(lines[:3], ["65534"] * 3, "uid, gid, groups")
    equal(int(lines[-1], 16), 0, "capabilities of the command")


def test_command_has_the_environment_of_the_invoking_user():
    """A login's, not root's, which sudo leaves; of a user that the system does not know it has none."""
    root = {"HOME": "/root", "USER": "root", "LOGNAME": "root", "SHELL": "/bin/bash"}
    nobody = pwd.getpwuid(65534)
    known = {"HOME": nobody.pw_dir, "USER": nobody.pw_name, "LOGNAME": nobody.pw_name, "SHELL": nobody.pw_shell}
    for sudo, expected in ((SUDO, known), ({"SUDO_UID": "54321", "SUDO_GID": "54321"}, {}), ({}, root)):
        r = run("-q", "-f", "folded", "-o", "/dev/null", "--", "env", env=root | sudo).ok()
        lines = dict(line.split("=", 1) for line in r.out.splitlines() if "=" in line)
        equal({k: v for k, v in lines.items() if k in root}, expected, f"environment with {sudo}")


def test_output_belongs_to_the_invoking_user():
    with directory(0o777) as d:
        out = os.path.join(d, "out.folded")
        victim("-o", out, env=SUDO).ok()
        st = os.stat(out)
        equal((st.st_uid, st.st_gid), (65534, 65534), "owner")


def test_output_where_the_invoking_user_may_not_write():
    with directory(0o755) as d:
        victim("-o", os.path.join(d, "out.folded"), env=SUDO).fails(1, "[Pp]ermission denied")
        equal(os.listdir(d), [], "files left")


def test_wild_sudo_ids():
    for uid in ("-1", "abc", "4294967295", "99999999999999999999"):
        r = victim("-f", "folded", "-o", "/dev/null", env={"SUDO_UID": uid, "SUDO_GID": uid})
        check(r.code in (0, 1), "exit status", r.code, r.err)
