# SPDX-License-Identifier: MIT
"""
Known chains of calls, without frame pointers, sampled at any instruction of theirs; each of a program and of its
stripped copy, whose frames get their names from the symbols of the other.
"""
import functools
import os
import re
import shutil

from harness import Fixture, check, directory, equal, finish, fixture_path, run, start, wait_sampling
from unwinding import THREAD_ROOT, beginnings, both, fit, leads_to, named, recorded, rooted, sampled, whole, ROOT

FAST = ("-F", 4999, "-d", "0.2s")
# The frame of libc's __restore_rt, to which a signal handler returns.
TRAMPOLINE = r"__restore_rt|\[libc.*\]|__kernel_rt_sigreturn"


def links(n):
    return [f"c{i:03}" for i in reversed(range(n))]


def test_chain_26_deep():
    for profile in both("unwind_chain", 26, rate=FAST):
        beginnings(profile, *links(26))


def test_chain_300_deep():
    for profile in both("unwind_chain", 300, rate=FAST):
        beginnings(profile, *links(300))


def test_chain_of_big_frames():
    """120 KiB of stack: more than perf can copy."""
    for profile in both("unwind_chain_wide", 300, rate=FAST):
        beginnings(profile, *links(300))


def test_chain_in_a_static_program():
    for profile in both("unwind_chain_static", 26, rate=FAST):
        static = profile.where(lambda s: s.frames)
        check(all(s.frames[0] == "_start" for s in static), static.head())
        leads_to(profile, *links(26), root=["_start", "__libc_start_main.*", "__libc_start_call_main", "main"])


def test_chain_without_call_frame_information():
    """Neither the program nor its libc (musl) has any: the instructions alone tell how big a frame is."""
    for profile in both("unwind_chain_musl", 26, rate=FAST):
        static = profile.where(lambda s: s.frames)
        check(all(s.frames[0] == "_start" for s in static), static.head())
        leads_to(profile, *links(26), root=["_start", "libc_start_main.*", "main"])


def test_limit_of_the_depth():
    """511 frames are a whole stack; one more is not, and that is said."""
    profile = whole(sampled("unwind_chain", "recurse", 3))
    deepest = max(len(s.frames) for s in profile if s.frames[-1] == "c000")
    above = deepest - 3     # the root, and the leaf
    fits = whole(sampled("unwind_chain", "recurse", 511 - above))
    equal(max(len(s.frames) for s in fits), 511, "frames of the deepest stack")
    result = sampled("unwind_chain", "recurse", 512 - above)
    equal(set(result.summary.truncated_by), {"depth"}, result.profile.head(2))
    for s in result.profile:
        if s.cut:
            equal((s.cut[1], len(s.frames), s.frames[-1]), ("depth", 511, "c000"), "a stack of 512")
        else:
            check(s.frames[0] == "_start" and s.frames[-1] != "c000", "called complete:", s)


@functools.lru_cache(None)
def is_sigreturn(frame):
    """Of a libc without names: `mov $15, %rax` is what lies at the frame."""
    m = re.fullmatch(r"\[(libc.*)\+0x([0-9a-f]+)\]", frame)
    if not m:
        return True
    with open("/proc/self/maps", encoding="utf-8") as f:
        path = next(line.split()[-1] for line in f if line.rstrip().endswith("/" + m[1]))
    with open(path, "rb") as f:
        f.seek(int(m[2], 16))
        return f.read(7) == b"\x48\xc7\xc0\x0f\x00\x00\x00"


def signal(mode):
    """on_signal on top of whatever was interrupted, prologues included."""
    for profile in both("unwind_events", mode, rate=FAST):
        rooted(profile)
        leads_to(profile, "outer", "inner", "innermost", least=20)
        inside = profile.where(lambda s: not s.cut and s.frames[-1:] == ["in_signal"])
        check(inside.count() > 20, "few samples in the handler:", profile.head())
        for s in inside:
            equal(s.frames[-2:], ["on_signal", "in_signal"], s)
            check(re.fullmatch(TRAMPOLINE, s.frames[-3]), "no trampoline:", s)
            check(is_sigreturn(s.frames[-3]), "no call of sigreturn:", s)
            interrupted = fit(s.frames[:-3], [*ROOT, "outer", "inner", "innermost"])
            check(interrupted and interrupted >= len(ROOT), "an unknown chain was interrupted:", s)


def test_signal_on_the_same_stack():
    signal("signal")


def test_signal_on_another_stack():
    signal("altstack")


def test_threads():
    for profile in both("unwind_events", "threads"):
        equal(len(profile.comms()), 3, f"threads {profile.comms()}")
        for comm in profile.comms():
            mine = profile.where(lambda s, comm=comm: s.comm == comm)
            root = THREAD_ROOT if comm in ("unwind-one", "unwind-two") else ROOT
            leads_to(mine, "worker", "job", "toil", root=root, least=30)


def test_threads_that_begin():
    """As a new thread comes out of clone() its stack is that one frame, and whole."""
    with Fixture("unwind_events", "births") as f:
        profile = whole(run("-p", f.pid, "-F", 9999, "-d", "1s").ok())
    leads_to(profile, "once", "job", "toil", root=THREAD_ROOT, least=30)
    born = profile.where(lambda s: s.any("^ret_from_fork"))
    check(born.count() > 3 and all(not s.cut and re.fullmatch(THREAD_ROOT[0], s.frames[0]) for s in born), born.head())


def test_inside_system_calls():
    for profile in both("unwind_events", "syscalls"):
        rooted(profile)
        leads_to(profile, "outer_call", "inner_call", r"(__libc_|__)?read")


def test_kernel_frames_come_after_whole_user_stacks():
    with Fixture("unwind_events", "syscalls") as f:
        profile = whole(recorded(f.pid))
    inside = profile.where(lambda s: s.has("outer_call", "inner_call", "read") and s.frames[-1] != "read")
    check(inside.count() > 50, profile.head())
    for s in inside:
        at = s.frames.index("read")
        equal(fit(s.frames[:at], [*ROOT, "outer_call", "inner_call"]), len(ROOT) + 2, s)


def test_vfork_and_exec():
    """A child on its parent's stack, until it becomes another program."""
    for profile in both("unwind_events", "vfork", allowed=0.005):
        rooted(profile)
        leads_to(profile, "spawning", "in_child")
        leads_to(profile, "brief_outer", "brief_inner")


def test_library_that_comes_and_goes():
    """
    Two libraries take turns at one address; the tables of one are wrong for the other. They are the kernel's until we
    have read of the new mapping: a few samples may see them.
    """
    libraries = [fixture_path(f"unwind_plugin_{x}.so") for x in "ab"]
    for profile in both("unwind_events", "dl", *libraries, rate=FAST, allowed=0.005):
        rooted(profile)
        leads_to(profile, "loading", "plugin", "plugin_inner", "called_back")


def test_library_replaced_on_disk_while_mapped():
    with directory() as d:
        paths = [shutil.copy(fixture_path(f"unwind_plugin_{x}.so"), d) for x in "ab"]
        with Fixture("unwind_events", "dl", *paths) as f:
            proc = start("-p", f.pid, "-U", "-F", 999, "-d", "1s")
            wait_sampling(proc)
            # Each takes the other's name: what is mapped has tables, what is loaded from now on has others.
            os.rename(paths[0], paths[0] + ".old")
            os.rename(paths[1], paths[0])
            os.rename(paths[0] + ".old", paths[1])
            profile = whole(finish(proc).ok(), 0.005)
    leads_to(profile, "loading", "plugin", "plugin_inner", "called_back")


def test_rust():
    names = r"unwind_rust::(outer|middle|leaf|main|outer::\{(\{closure\}|closure#0)\})|main"
    for profile in both("unwind_rust"):
        rooted(profile)
        for comm in profile.comms():
            mine = profile.where(lambda s, comm=comm: s.comm == comm)
            hot = mine.where(lambda s: not s.cut and s.any(r"^unwind_rust::leaf"))
            check(hot.count() > 50, comm, mine.head())
            for s in hot:
                own = [re.sub(r"::h[0-9a-f]{16}$", "", f) for f in s.frames]
                own = [f.replace("{{closure}}", "closure").replace("{closure#0}", "closure") for f in own if re.match(names, f)]
                start_of = [] if comm == "rust-worker" else ["main", "unwind_rust::main"]
                equal(own, start_of + [f"unwind_rust::{f}" for f in ("outer", "middle", "outer::closure", "leaf")], s)
        check("rust-worker" in profile.comms(), profile.comms())


def test_go():
    """
    Goroutines from goexit on, also where the runtime has switched to another stack. A stripped file is
    unwound and named by the table that Go's own runtime needs. For a moment, as the runtime switches stacks, nothing leads back.
    """
    start = {"runtime.goexit": ("main.main", "main.main.func1", "main.main.func2"), "runtime.rt0_go": (), "runtime.mstart": (),
             "runtime.mcall": ()}
    for profile in both("unwind_go", allowed=0.003, rate=("-F", 4999, "-d", "0.4s")):
        for stack in profile:
            stack.frames = [f.removesuffix(".abi0") for f in stack.frames if f != "runtime.main"]
        lost = profile.where(lambda s: not s.cut and s.frames[0] not in start)
        check(lost.count() <= 0.001 * profile.count(), lost.head())
        # The scheduler does not work for who gave up its thread.
        switched = profile.where(lambda s: not s.cut and "runtime.mcall" in s.frames[1:])
        equal(switched.count(), 0, switched.head())
        leaves = profile.where(lambda s: not s.cut and s.frames[-1] == "main.leaf")
        check(leaves.count() > 0.5 * profile.count(), profile.head())
        for stack in leaves:
            frames = stack.frames
            check(frames[0] in start and frames[1] in start[frames[0]], stack)
            equal(frames[2:], ["main.outer", "main.middle", "main.leaf"], stack)
        for caller in ("main.main", "main.main.func1", "main.main.func2"):
            check(profile.count(lambda s, caller=caller: s.has(caller, "main.outer")) > 2, caller, profile.head())


def test_cpp():
    # As libgcc installs a handler's context it overwrites its own frame: no call frame information is true there.
    for profile in both("unwind_cpp", allowed=0.006, rate=FAST):
        rooted(profile)
        deeper = r"deeper\(int\)( \[clone .*\])?"
        thrown = profile.where(lambda s: not s.cut and s.frames[-1] == "thrower(int)")
        check(all(fit(s.frames, [*ROOT, r"throwing\(\)", *[deeper] * 5, r"thrower\(int\)"]) for s in thrown), thrown.head())
        handled = profile.where(lambda s: not s.cut and s.frames[-1] == "handling()")
        check(all(fit(s.frames, [*ROOT, r"throwing\(\).*", r"handling\(\)"]) for s in handled), handled.head())
        cleaned = profile.where(lambda s: not s.cut and s.frames[-1] == "cleaning()")
        for s in cleaned:
            n = sum(bool(re.fullmatch(deeper, f)) for f in s.frames)
            check(fit(s.frames, [*ROOT, r"throwing\(\)", *[deeper] * n, r"Guard::~Guard\(\)", r"cleaning\(\)"]) and n, s)
        check(min(x.count() for x in (thrown, handled, cleaned)) > 20, profile.head())
        sorting = profile.where(lambda s: not s.cut and s.frames[-1] == "less_than(int, int)")
        check(sorting.count() > 50, profile.head())
        for s in sorting:
            between = [f for f in s.frames if not re.search(r"std::__|__gnu_cxx", f) or f.startswith("sorting")]
            check(fit(between, [*ROOT, r"sorting\(.*", r"less_than\(int, int\)"]), s)


# --- Storms. ---

def storm(mode, *leaf, cut=0.01, least=200):
    path = fixture_path("unwind_events")
    with directory() as d:
        out = os.path.join(d, "out.folded")
        r = run("-F", 1999, "-d", "1.5s", "-U", "-o", out, "--", path, mode)
        with open(out, encoding="utf-8") as f:
            r.out = f.read()
    profile = whole(r, cut, least=500)
    rooted(profile)
    leads_to(profile, *leaf, least=least)


def test_storm_of_forks():
    """A page of the stack that is being copied after a fork is nowhere to be read: a part of fork()'s own samples."""
    storm("forks", "forking", "in_child", cut=0.04)


def test_storm_of_execs():
    """Where the kernel is slow the most of the time goes to execve() and the dynamic linker. Each is forked, as above."""
    storm("execs", "brief_outer", "brief_inner", cut=0.04, least=50)


def test_from_the_first_instruction():
    """Tables stand before the first sample of a command: the dynamic linker's stacks are whole, too."""
    with directory() as d:
        out = os.path.join(d, "out.folded")
        r = run("-F", 1999, "-d", "0.5s", "-U", "-o", out, "--", fixture_path("unwind_chain_stripped"), 26)
        with open(out, encoding="utf-8") as f:
            r.out = f.read()
    beginnings_of = named(whole(r), "unwind_chain")
    rooted(beginnings_of)
    leads_to(beginnings_of, *links(26))


def test_tables_of_a_command_stay():
    """Seconds after its exec they are still there, and nothing has to be rescued."""
    with directory() as d:
        out = os.path.join(d, "out.folded")
        r = run("-F", 499, "-d", 3, "-U", "--no-rescue", "-o", out, "--", fixture_path("unwind_chain_stripped"), 26)
        with open(out, encoding="utf-8") as f:
            r.out = f.read()
    whole(r, 0.05)
