# SPDX-License-Identifier: MIT
"""Frames have their right names, whatever was linked, deleted, exec'ed or exited."""
import contextlib
import os
import re
import shutil
import signal
import subprocess

from harness import (EBPROF, UNNAMED, Fixture, check, directory, equal, finish, fixture_path, needs, run, skip, start,
                     tree_shares, wait_burned, wait_sampling)

RATE = ("-F", 2999)


def sampled(name, *args, seconds="0.25", options=()):
    with Fixture(name, *args) as f:
        return run("-p", f.pid, "-d", seconds, *RATE, *options).ok().profile


def test_non_pie():
    tree_shares(sampled("tree_nopie"), least=60)


def test_static():
    tree_shares(sampled("tree_static"), least=60)


def test_code_at_another_address_than_offset():
    tree_shares(sampled("tree_shifted"), least=60)


def test_dynamic_symbols_only():
    tree_shares(sampled("tree_dynsym"), least=60)


def test_cpp():
    profile = sampled("shapes_cpp")
    member = profile.count(lambda s: s.any(r"^shop::Cart<long>::total\(int\)( \[clone .*\])?$"))
    hidden = profile.count(lambda s: s.any(r"^shop::\(anonymous namespace\)::hidden\((unsigned long|uint64_t)\)"))
    called = profile.count(lambda s: s.any(r"^shop::Cart<long>::operator\(\)\(int\)( \[clone .*\])?$"))
    check(min(member, hidden, called) > 0.25 * profile.count() > 5, profile.head())


def test_short_templates():
    profile = sampled("shapes_cpp", options=("--short-templates",))
    n = profile.count(lambda s: s.any(r"^shop::Cart<\.\.\.>::total\(int\)( \[clone .*\])?$"))
    check(n > 0.25 * profile.count() > 5, profile.head())
    check(not any(s.any("Cart<long>") for s in profile), profile.head())


def _rust(name):
    profile = sampled(name)
    for function in (r"^<shapes::shop::Apple as shapes::shop::Priced>::price$", r"^shapes::shop::total(::<shapes::shop::Apple>)?$"):
        check(profile.count(lambda s, f=function: s.any(f)) > 0.9 * profile.count() > 5, profile.head())
    check(not any(s.any(r"^_R|::h[0-9a-f]{16}$|^_ZN") for s in profile), "mangled:", profile.head())


def test_rust_v0():
    _rust("shapes_rust_v0")


def test_rust_legacy():
    _rust("shapes_rust_legacy")


def test_deleted_binary():
    with directory() as d:
        path = shutil.copy(fixture_path("tree"), os.path.join(d, "gone"))
        with Fixture("tree", path=path) as f:
            os.unlink(path)
            tree_shares(run("-p", f.pid, "-d", "0.25", *RATE).ok().profile, least=60)


def test_replaced_binary():
    """Another program lies at the path now; its names would be wrong."""
    with directory() as d:
        path = shutil.copy(fixture_path("tree"), os.path.join(d, "tree"))
        with Fixture("tree", path=path) as f:
            os.rename(shutil.copy(fixture_path("shapes_cpp"), path + ".new"), path)
            profile = run("-p", f.pid, "-d", "0.25", *RATE).ok().profile
            check(not any(s.any("shop::") for s in profile), "names of the other program:", profile.head())
            tree_shares(profile, least=60)


def test_deleted_library():
    with directory() as d:
        path = shutil.copy(fixture_path("dl_lib.so"), d)
        profile = sampled("dl", path)
    check(profile.count(lambda s: s.has("main", "library_hot", "library_inner")) > 0.97 * profile.count(), profile.head())


def test_library_loaded_and_deleted_while_sampling():
    """It was never there to be found in /proc/PID/maps before sampling began."""
    with directory() as d:
        path = shutil.copy(fixture_path("dl_lib.so"), d)
        r = run(*RATE, "-d", "1", "-o", os.path.join(d, "out.folded"), "--", fixture_path("dl"), path)
        with open(os.path.join(d, "out.folded")) as f:
            text = f.read()
    check("main;library_hot;library_inner" in text, text[:1000], r.err)


def test_exec_is_two_programs():
    with directory() as d:
        out = os.path.join(d, "out.folded")
        run(*RATE, "-o", out, "--", fixture_path("exec"), 250, 250).ok()
        with open(out) as f:
            text = f.read()
    lines = text.splitlines()
    for comm, own, other in (("exec", "before_exec", "after_exec"), ("exec_after", "after_exec", "before_exec")):
        mine = [line for line in lines if line.startswith(comm + ";")]
        check(sum(int(line.split()[-1]) for line in mine if f";{own} " in line) > 190, comm, "has no", own, text)
        check(not any(f";{other} " in line for line in mine), comm, "has", other, text)


def test_exec_of_a_followed_process():
    with Fixture("exec", "200", "200", "held") as f:
        p = start("-p", f.pid, *RATE)
        wait_sampling(p)
        f.go()
        r = finish(p).ok()
    check(r.profile.count(lambda s: s.comm == "exec" and s.has("before_exec")) > 120, r.profile.head())
    check(r.profile.count(lambda s: s.comm == "exec_after" and s.has("after_exec")) > 120, r.profile.head())
    equal(r.profile.count(lambda s: s.comm == "exec_after" and s.has("before_exec")), 0, "mixed up")


def short_lived(profile, expected):
    """Children of 20 ms: all there, their stacks whole from the first sample on, and 99 % have a name at every frame."""
    chain = ["_start", "__libc_start_main.*", "__libc_start_call_main", "main", "brief_child_hot"]
    mine = profile.where(lambda s: s.comm == "brief_child")
    hot = mine.where(lambda s: "brief_child_hot" in s.frames)
    n, named = mine.count(), mine.count(lambda s: s.frames and not s.cut and not any(map(UNNAMED.match, s.frames)))
    check(n >= expected, f"{n} samples of brief_child, expected {expected}:", profile.head())
    check(hot.count() >= 0.7 * n, f"{hot.count()} of {n} in brief_child_hot", mine.head())
    wrong = hot.where(lambda s: s.cut or not all(map(re.fullmatch, chain, s.frames)))
    check(wrong.count() <= 0.001 * n, "stacks that do not begin with", chain, wrong.head())
    check(named >= 0.99 * n, f"only {named} of {n} samples have all names:", mine.head(30))


def test_short_lived_children_system_wide():
    with Fixture("brief", "--wait", "100", "2") as brief:
        p = start("-a", "-F", 999)
        wait_sampling(p)
        brief.go()
        brief.wait("done")
        p.terminate()
        r = finish(p).ok()
    short_lived(r.profile, 0.7 * 100 * 20)


def test_short_lived_children_of_a_command():
    with directory() as d:
        out = os.path.join(d, "x.folded")
        r = run("-F", 999, "-o", out, "--", fixture_path("brief"), 100).ok()
        with open(out) as f:
            r.out = f.read()
    short_lived(r.profile, 0.7 * 100 * 20)


# --- The kernel's side. ---

def test_kernel_frames():
    profile = sampled("syscalls", "loop", seconds="0.7")
    for caller, inside in (("call_read", "vfs_read"), ("call_write", "vfs_write")):
        n = profile.count(lambda s, c=caller, i=inside: s.any(f"^{c}$") and s.any(f"^{i}"))
        check(n > 10, caller, "without", inside, profile.head())
    in_order = [s for s in profile if s.any("^vfs_read") and s.has("call_read")]
    check(all(s.frames.index("call_read") < min(i for i, f in enumerate(s.frames) if f.startswith("vfs_read"))
              for s in in_order), "kernel frames do not follow user frames:", profile.head())


def test_user_only_and_kernel_only():
    kernel = r"^(do_syscall_64|vfs_read|vfs_write|el0_svc|ksys_read)"
    user = sampled("syscalls", "loop", options=["-U"])
    check(user.count() > 100 and not any(s.any(kernel) for s in user), "-U:", user.head())
    check(user.count(lambda s: s.has("main")) > 0.9 * user.count(), "-U:", user.head())
    both = sampled("syscalls", "loop", options=["-K"])
    check(both.count() > 50 and not any(s.any("^(main|call_read)$") for s in both), "-K:", both.head())
    check(both.count(lambda s: s.any(kernel)) > 0.5 * both.count(), "-K:", both.head())


def test_kernel_names_are_known():
    """Frames of a system call path are named, not raw addresses."""
    profile = sampled("syscalls", "loop", options=["-K"])
    bad = profile.count(lambda s: any(UNNAMED.match(f) for f in s.frames))
    check(bad <= 0.01 * profile.count(), f"{bad} of {profile.count()}", profile.head())


def test_a_vmlinux_that_cannot_be_used_is_told():
    for path, why in ((EBPROF, "build id"), ("/etc/passwd", "not an ELF file"), ("/missing", "No such file")):
        run("-a", "-d", "0.1s", "--vmlinux", path).fails(1, re.escape(path), why)


def test_vdso():
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource") as f:
        source = f.read().strip()
    if source not in ("tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"):
        skip(f"the vDSO does not read the clock {source}")
    profile = sampled("syscalls", "clock")
    check(profile.count(lambda s: s.any("^(__vdso|__kernel)_clock_gettime")) > 0.3 * profile.count(), profile.head())


@contextlib.contextmanager
def bpf_filesystem():
    with directory() as d:
        subprocess.run(["mount", "-t", "bpf", "bpf", d], check=True)
        try:
            yield d
        finally:
            subprocess.run(["umount", "-l", d], check=True)


@contextlib.contextmanager
def bpf_program():
    """Loads one that spins in spin_filter, and runs it: the process that does."""
    with open("/proc/sys/net/core/bpf_jit_enable") as f:
        if f.read().strip() == "0":
            skip("BPF programs are interpreted here")
    bpftool = needs("bpftool")
    with bpf_filesystem() as d, directory() as packets:
        pin, data = os.path.join(d, "spin"), os.path.join(packets, "packet")
        subprocess.run([bpftool, "prog", "load", fixture_path("spin.bpf.o"), pin, "type", "socket"], check=True)
        with open(data, "wb") as f:
            f.write(b"\0" * 64)
        runner = subprocess.Popen([bpftool, "prog", "run", "pinned", pin, "data_in", data, "repeat", "10000000"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield runner
        finally:
            runner.kill()
            runner.wait()


def test_bpf_program():
    with bpf_program() as runner:
        r = run("-p", runner.pid, "-d", "0.25", *RATE).ok()
    spun = r.profile.count(lambda s: s.any("spin_filter"))
    check(spun > 20 and spun > 0.8 * r.profile.count(), r.profile.head())


def test_bpf_program_that_comes_late():
    """Long after names of the kernel were asked for the first time."""
    with Fixture("syscalls") as f:
        p = start("-a", *RATE)
        wait_sampling(p)
        wait_burned(f.pid, 0.8)
        with bpf_program() as runner:
            wait_burned(runner.pid, 0.6)
            p.send_signal(signal.SIGINT)
            r = finish(p).ok()
    check(r.profile.count(lambda s: s.any("spin_filter")) > 100, r.profile.head())


# --- Depth. ---

def test_depth_limit():
    with Fixture("storm") as f:
        r = run("-p", f.pid, "-d", "0.25", *RATE, "--max-frames", 5).ok()
    cut = [s for s in r.profile if s.cut]
    check(sum(s.count for s in cut) > 0.9 * r.profile.count(), r.profile.head())
    equal(sum(s.count for s in cut), r.summary.truncated, "stacks marked as cut, and those of the summary")
    check(all(len([f for f in s.frames if re.match(r"f\d+$|descend|main", f)]) <= 5 for s in r.profile), r.profile.head())
    check(any("depth" in k for k in r.summary.truncated_by), r.summary.truncated_by)


def test_code_made_at_run_time_by_its_map():
    """node tells its functions in /tmp/perf-PID.map, but V8's own names come first: with the map or without, and no frame twice."""
    node = shutil.which("node")
    if not node:
        skip("node is not installed")
    script = "function inner(n) { let s = 0; for (let i = 0; i < n; i++) s += i % 7; return s } " \
             "function outer(n) { return inner(n) + 1 } while (true) outer(100000)"
    for options in (["--perf-basic-prof"], []):
        with directory(0o777) as d:     # it leaves a log where it runs
            r = run("-U", "-F", 999, "-d", "2s", "--why", "--", "sh", "-c", f"cd {d} && exec \"$@\"", "sh", node, *options,
                    "--no-turbo-inlining", "-e", script)     # or all of it may become the outermost function's
        hot = r.profile.where(lambda s: s.any(r"(^|[^a-z])inner( |$)"))
        check(hot.count() > 20, options, r.profile.head())
        wrong = hot.where(lambda s: s.frames.count("inner") != 1 or s.frames.count("outer") != 1)
        # Those that were taken before node's tables were there are rescued, with native frames alone.
        native = wrong.where(lambda s: "Builtins_InterpreterEntryTrampoline" in s.frames)
        check(native.count() == wrong.count() <= r.summary.rescued, options, r.err, wrong.head())
        unknown = r.profile.count(lambda s: s.any(r"^\[unknown"))
        check(unknown <= 0.02 * r.profile.count() + 2, options, r.profile.where(lambda s: s.any(r"^\[unknown")).head())
