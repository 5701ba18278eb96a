# SPDX-License-Identifier: MIT
"""Probes against programs that count their own calls: functions, returns, static probes, tracepoints, several at once."""
import contextlib
import json
import os
import re
import signal
import subprocess

import browser
from harness import (Fixture, Profile, check, directory, equal, finish, fixture_path, in_tracefs, needs, own_name, run,
                     skip, start, wait_for)
from probing import exact, in_buckets, pprof_types, probed, wait_probing, whole
from test_containers import folders, join, unified
from test_html import READY


def test_a_million_calls():
    """Of eight threads at once, by two callers: each stack as often as it was."""
    path = fixture_path("probed")
    r, truth = probed("-e", f"uprobe:{path}:probed_leaf", program=(path, "calls", "125000", "8"))
    exact(r, truth, ("by_first", "by_second"), "probed_leaf")
    equal(r.summary.taken, 1000000, "hits")


def test_returns():
    """The stack is the caller's, to which the function has just returned."""
    path = fixture_path("probed")
    r, truth = probed("-e", f"uretprobe:{path}:probed_leaf", program=(path, "calls", "20000", "2"))
    whole(r)
    for name in ("by_first", "by_second"):
        equal(r.profile.count(lambda s, name=name: s.frames[-1] == name), truth[name], name)


def test_recursion():
    """Each depth has a stack of its own; with return probes on all frames each return is counted."""
    path = fixture_path("probed")
    r, truth = probed("-e", f"uprobe:{path}:probed_deep", program=(path, "deep", "500"))
    whole(r)
    equal(r.summary.taken, truth["probed_deep"], "calls")
    depths = {}
    for s in r.profile:
        depth = s.frames.count("probed_deep")
        depths[depth] = depths.get(depth, 0) + s.count
    equal(depths, {depth: 500 for depth in range(1, 31)}, "by depth")
    # Until the program's tables are in the kernel, replaced return addresses cannot be found again.
    r, truth = probed("-e", f"uretprobe:{path}:probed_deep", program=(path, "deep", "500"))
    equal((r.summary.taken, r.summary.lost), (truth["probed_deep"], 0), "returns")
    equal(set(r.summary.truncated_by) - {"uprobe"}, set(), r.err)


def test_longjmp():
    """What is left by a jump is entered, and does not return."""
    path = fixture_path("probed")
    r, truth = probed("-e", f"uprobe:{path}:probed_jump", "-e", f"uretprobe:{path}:probed_jump", fmt="pb.gz",
                      program=(path, "jump", "1001"))
    whole(r)
    equal(pprof_types(r.raw), {f"uprobe:{path}:probed_jump": truth["enters"], f"uretprobe:{path}:probed_jump": truth["returns"]}, "hits")


def test_exceptions_and_names_of_cxx():
    path = fixture_path("probed_cpp")
    for name in ("probed::Thrower::step", "probed::Thrower::step(unsigned long)", "_ZN6probed7Thrower4stepEm", "probed::Thr*::st*"):
        r, truth = probed("-e", f"uprobe:{path}:{name}", program=(path, "1000"))
        whole(r)
        equal(r.profile.count(lambda s: s.has("catches(probed::Thrower&, unsigned long)", "probed::Thrower::step(unsigned long)")),
              truth["enters"], name)


def test_offset_and_address():
    path = fixture_path("probed")
    nm = subprocess.run(["nm", path], check=True, capture_output=True).stdout.decode()
    address = re.search(r"^0*([0-9a-f]+) T probed_leaf$", nm, re.M)[1]
    r, truth = probed("-e", f"uprobe:{path}:0x{address}", program=(path, "calls", "1000"))
    exact(r, truth, ("by_first", "by_second"), "probed_leaf")
    code = subprocess.run(["objdump", "-d", "--disassemble=probed_leaf", path], check=True, capture_output=True).stdout.decode()
    second = int(re.findall(r"^ +([0-9a-f]+):\t", code, re.M)[2], 16) - int(address, 16)
    r, truth = probed("-e", f"uprobe:{path}:probed_leaf+{second}", program=(path, "calls", "1000"))
    exact(r, truth, ("by_first", "by_second"), "probed_leaf")


def test_running_process():
    """By -p, with others of the same program that do not count; and set in that process alone."""
    path = fixture_path("probed")
    for options in (("--max-overhead", "none"), ("--max-overhead", "none", "--no-inherit")):
        with Fixture("probed", "calls", "2000", "2", "wait") as f, Fixture("probed", "calls", "3000", "wait") as other:
            p = start("-e", f"uprobe:{path}:probed_leaf", *options, "-p", f.pid)
            wait_probing(p)
            for each in (f, other):
                each.go()
                each.wait("done")
            p.send_signal(signal.SIGINT)
            r = finish(p).ok()
            exact(r, {w[1]: int(w[2]) for w in f.lines if w[0] == "count"}, ("by_first", "by_second"), "probed_leaf")


def test_library_by_its_name():
    """In what the process maps, and where the loader looks."""
    with Fixture("syscalls", "loop") as f:
        r = run("-e", "uprobe:libc:getppid", "-p", f.pid, "-d", "300ms")
        check(r.code in (0, 5), r.err)
    r, _ = probed("-e", "uprobe:c:puts", "-e", "uprobe:libc.so.6:printf", fmt="pb.gz", program=(fixture_path("probed"), "calls", "10"))
    hits = pprof_types(r.raw)
    check(hits["uprobe:c:puts"] >= 1 and hits["uprobe:libc.so.6:printf"] == 3, hits)


def test_patterns():
    path = fixture_path("probed")
    r, truth = probed("-e", f"uprobe:{path}:by_*", program=(path, "calls", "1000"))
    whole(r)
    for name in ("by_first", "by_second"):
        equal(r.profile.count(lambda s, name=name: s.frames[-1] == name), truth[name], name)
    check("in 2 places" in r.err, r.err)


def test_regular_expressions():
    path = fixture_path("probed")
    r, truth = probed("-e", f"uprobe:{path}:/^by_(first|last)$/", program=(path, "calls", "1000"))
    equal(r.profile.count(), truth["by_first"], "calls")
    cpp = fixture_path("probed_cpp")
    r, truth = probed("-e", f"uprobe:{cpp}:/Thrower::st.p[(]/", program=(cpp, "1000"))
    equal(r.profile.count(), truth["enters"], "calls of a demangled name")
    run("-e", f"uprobe:{path}:/by_(/", "--", "/bin/true").fails(2, "malformed regular expression")


def test_lines():
    """A line of a source file: in its function, and in each copy of it that was inlined."""
    source = """int sink;
        static inline __attribute__((always_inline)) void inlined(int i)
        {
                sink += 3 * i;
        }
        __attribute__((noinline)) void once(int i) { inlined(i); __asm__ volatile("" ::: "memory"); }
        __attribute__((noinline)) void twice(int i)
        {
                inlined(i);
                __asm__ volatile("" ::: "memory");
                inlined(i + 1);
                __asm__ volatile("" ::: "memory");
        }
        int main(void)
        {
                for (int i = 0; i < 100; i++)
                        i % 4 ? once(i) : twice(i);
        }
        """
    with directory() as d:
        path, program = os.path.join(d, "lines.c"), os.path.join(d, "lines")
        with open(path, "w", encoding="ascii") as f:
            f.write(source)
        subprocess.run([needs("gcc"), "-g", "-O2", "-o", program, path], check=True)
        for name in ("lines.c", path):
            r, _ = probed("-e", f"uprobe:{program}:{name}:4", program=(program,))
            whole(r)
            equal((r.profile.count(lambda s: s.has("once")), r.profile.count(lambda s: s.has("twice"))), (75, 50), r.out)
        run("-e", f"uprobe:{program}:lines.c:99", "--", program).fails(2, "no code of lines.c:99")
        run("-e", f"uprobe:{program}:lines.c:2", "--", program).fails(2, "the next line that has is 4")
        run("-e", f"uprobe:{program}:other.c:4", "--", program).fails(2, "no code of other.c:4")
    run("-e", "uprobe:/bin/true:true.c:1", "--", "/bin/true").fails(2, "no debug information")


def test_static_probes():
    """With a counter of who looks: it is up while we do, and down afterwards."""
    path = fixture_path("probed")
    r, truth = probed("-e", f"usdt:{path}:ebprof:step", program=(path, "static", "1000"))
    whole(r)
    equal(r.profile.count(lambda s: s.frames[-1] == "probed_static"), truth["static"], "hits")
    equal(truth["seen"], 1, "who looks")
    r, truth = probed("-e", f"usdt:{path}:pl*n", program=(path, "static", "1000"))
    equal((r.summary.taken, truth["seen"]), (1000, 0), "of a probe without a counter")
    with Fixture("probed", "static", "100", "wait") as f:
        p = start("-e", f"usdt:{path}:step", "-p", f.pid)
        wait_probing(p)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        f.go()
        f.wait("done")
        equal([w[2] for w in f.lines if w[:2] == ["count", "seen"]], ["0"], "who looks after we were killed")


def test_static_probes_of_libc():
    """Those that glibc has: setjmp() and longjmp()."""
    if run("list", "usdt:libc:libc:longjmp").code:
        skip("this libc has no static probes")
    path = fixture_path("probed")
    r, truth = probed("-e", "usdt:libc:libc:longjmp", program=(path, "jump", "1000"))
    equal(r.profile.count(lambda s: s.any("^probed_jump$")), truth["enters"] - truth["returns"], "jumps")


def test_several_events():
    """Each has a type of its own in one profile: clocks, tracepoints and probes."""
    in_tracefs("events/syscalls/sys_enter_write")
    path = fixture_path("probed")
    r, truth = probed("-e", "cpu-clock", "-F", "199", "-e", f"uprobe:{path}:probed_write", "-e", "syscalls:sys_enter_write",
                      "-e", f"uretprobe:{path}:probed_write", "-e", "context-switches", fmt="pb.gz", program=(path, "write", "20000"))
    types = pprof_types(r.raw)
    equal(list(types), ["samples", f"uprobe:{path}:probed_write", "syscalls:sys_enter_write", f"uretprobe:{path}:probed_write",
                        "context-switches", "cpu"], "types")
    equal(types[f"uprobe:{path}:probed_write"], 20000, "enters")
    equal(types[f"uretprobe:{path}:probed_write"], 20000, "returns")
    check(20000 <= types["syscalls:sys_enter_write"] <= 20010, types)
    equal(r.summary.taken, r.summary.complete + r.summary.truncated + r.summary.lost, "sums")
    equal(set(r.summary.lost_by) - {"interrupted a probe"}, set(), r.err)
    check(truth["bytes"] > 0, truth)


def test_patterns_of_tracepoints():
    in_tracefs("events/syscalls/sys_enter_write")
    path = fixture_path("probed")
    r, _ = probed("-e", "syscalls:sys_enter_w*", program=(path, "write", "1000"))
    n = r.profile.count(lambda s: s.frames[-1] == "[syscalls:sys_enter_write]" and s.any("^probed_write$"))
    equal(n, 1000, "writes")


def test_one_of_some():
    path = fixture_path("probed")
    r, truth = probed("-e", f"uprobe:{path}:probed_leaf", "-c", "10", fmt="pb.gz", program=(path, "calls", "10000"))
    n = pprof_types(r.raw)[f"uprobe:{path}:probed_leaf"]
    calls = truth["by_first"] + truth["by_second"]
    check(calls - 10 * os.cpu_count() <= n <= calls and n % 10 == 0, n, "of", calls)


def all_are_accounted_for(r, calls):
    """Those after the last stack of a CPU have none that stands for them: they are lost, and said to be."""
    equal((r.summary.taken, r.profile.count() + r.summary.lost), (calls, calls), r.err)
    equal(set(r.summary.lost_by) - {"after the last stack of --max-overhead"}, set(), r.err)


def running(*options, program):
    """The same of one that waits, and for which nothing but stacks is bounded: the default."""
    with directory() as d, Fixture(*program, "wait") as f:
        out = os.path.join(d, "out.folded")
        e = start(*options, "-p", f.pid, "-o", out)
        wait_probing(e)
        f.go()
        f.wait("done")
        e.send_signal(signal.SIGINT)
        r = finish(e).ok()
        with open(out, encoding="utf-8") as text:
            r.out = text.read()
    return r, {w[1]: int(w[2]) for w in f.lines if w[0] == "count"}


def test_bounded():
    """All hits are counted, of some the stack is taken; callers keep their shares."""
    path = fixture_path("probed")
    r, truth = running("-e", f"uprobe:{path}:probed_leaf", program=("probed", "calls", "200000"))
    calls = truth["by_first"] + truth["by_second"]
    check(f"{calls} hits of" in r.err and "all hits are counted" in r.err, r.err)
    all_are_accounted_for(r, calls)
    stacks = int(re.search(r"stacks of (\d+) of them", r.err)[1])
    check(stacks < calls and calls * 0.95 < r.profile.count() <= calls, stacks, r.profile.count())
    share = r.profile.count(lambda s: s.has("by_second")) / calls
    check(0.2 < share < 0.3, share, r.err)
    run("-e", "cpu-clock", "--max-overhead", "5", "--", "/bin/true").fails(2, "--max-overhead goes with")


def test_cost_is_said():
    """Before: what hits of a running program will cost; of a command, each of them."""
    path = fixture_path("probed")
    event = f"uprobe:{path}:probed_leaf"
    check(re.search(r"^ebprof: a hit will cost about [\d.]+ us", probed("-e", event, program=(path, "calls", "10"))[0].err, re.M), "price")
    with Fixture("probed", "calls", "1000000000", "wait") as f:
        f.go()
        r = run("-e", event, "-p", f.pid, "-d", "200ms", "-f", "folded").ok()
        f.proc.kill()
    said = re.search(r"^ebprof: (?:at least )?([\d,]+) hits per second .* [\d.]+ us here.* (?:at least )?([\d.]+) times slower", r.err, re.M)
    check(said and int(said[1].replace(",", "")) > 100000 and float(said[2]) > 1.1, r.err)


SAID = r"^ebprof: (?:at (?:least|most) )?([\d,]+) hits in the kernel per second .* its stack another [\d.]+: .* ([\d.]+) times slower"


def test_cost_of_tracepoints_is_said():
    """Of one that is sampled and of several, of a program that does next to nothing else; and of a command, each."""
    in_tracefs("events/syscalls/sys_enter_getppid")
    with Fixture("syscalls", "loop") as f:
        for options in (("-e", "syscalls:sys_enter_getppid"), ("-e", "syscalls:sys_enter_get?pid", "--max-overhead", "none")):
            r = run(*options, "-p", f.pid, "-d", "200ms", "-f", "folded").ok()
            said = re.search(SAID, r.err, re.M)
            check(said and int(said[1].replace(",", "")) > 100000 and float(said[2]) > 1.2, r.err)
        r = run("-e", "syscalls:sys_enter_get?pid", "-p", f.pid, "-d", "200ms", "-f", "folded").ok()
        check("; --max-overhead 10% takes the stacks of some" in r.err, r.err)
        r = run("-e", "syscalls:sys_enter_getppid", "-c", 1000, "-p", f.pid, "-d", "200ms", "-f", "folded").ok()
        check(re.search(r" hits in the kernel .*, the stack of one of 1000 another ", r.err), r.err)
        r = run("-e", "syscalls:sys_enter_getppid", "--filter", "COMM == 'other'", "-p", f.pid, "-d", "200ms", "-f", "folded")
        check(re.search(r"^ebprof: at (most|least) [\d,]+ hits in the kernel per second", r.err, re.M), r.err)
    with Fixture("syscalls", "clock") as f:
        r = run("-e", "syscalls:sys_enter_getppid", "-p", f.pid, "-d", "200ms", "-f", "folded")
        check(re.search(r"^ebprof: a hit in the kernel will cost about [\d.]+ us$", r.err, re.M), r.err)
    for options in (("-e", "sched:sched_process_exec"), ("-e", "sched:sched_process_exe*")):
        r = run(*options, "-f", "folded", "--", "/bin/true")
        check(re.search(r"^ebprof: a hit in the kernel will cost about [\d.]+ us$", r.err, re.M), r.err)
        check("hit in the kernel" not in run(*options, "-q", "-f", "folded", "--", "/bin/true").err, "quiet")


def test_nothing_is_left_behind():
    """Killed, its probes are gone: the program runs as fast as before, and no name stays in tracefs."""
    for options in ((), ("--max-overhead", "10")):
        left_behind(fixture_path("probed"), *options)


def left_behind(path, *options):
    with Fixture("probed", "calls", "1", "wait") as f:
        p = start("-e", f"uprobe:{path}:probed_leaf", "-e", f"uretprobe:{path}:by_*", *options, "-p", f.pid)
        wait_probing(p)
        p.send_signal(signal.SIGKILL)
        p.communicate()
        with contextlib.suppress(OSError), open(in_tracefs("uprobe_events"), encoding="ascii") as events:
            equal(events.read(), "", "left behind")

        def untouched():
            nm = subprocess.run(["nm", path], check=True, capture_output=True).stdout.decode()
            offset = int(re.search(r"^0*([0-9a-f]+) T probed_leaf$", nm, re.M)[1], 16)
            with open(f"/proc/{f.pid}/maps", encoding="ascii") as maps:
                base = int(re.search(r"^([0-9a-f]+)-.* 00000000 .*probed$", maps.read(), re.M)[1], 16)
            with open(f"/proc/{f.pid}/mem", "rb") as memory, open(path, "rb") as file:
                memory.seek(base + offset)
                file.seek(offset)
                return memory.read(8) == file.read(8)
        wait_for(untouched, "the instruction to be what it was")


def test_refused():
    path = fixture_path("probed")
    for text, said in ((f"uprobe:{path}:probed_leef", "did you mean 'probed_leaf'"), (f"uprobe:{path}:probed_leaf+0xffff", "no function"),
                       ("uprobe:/no/such:main", "cannot open /no/such"), ("uprobe:no-such-library:main", "no library or program"),
                       (f"uprobe:{path}", "malformed"), (f"usdt:{path}:stop", "did you mean 'step'"),
                       ("usdt:/bin/true:x", "no static probes"), (f"uretprobe:{path}:main+4", "no offset"),
                       (f"uprobe:{path}:0x1", "no code at 0x1"), ("uprobe:/dev/null:x", "cannot"), ("nosuch:*", "no tracepoint matches")):
        run("-e", text, "--", "/bin/true").fails((1, 2), said)
    run("-e", f"uprobe:{path}:probed_leaf", "--off-cpu", "--", "/bin/true").fails(2, "--off-cpu")
    if not os.path.exists("/sys/bus/event_source/devices/kprobe"):
        run("-e", "kprobe:vfs_read", "--", "/bin/true").fails(3, "no kprobes")
        run("-e", "kretprobe:vfs_read", "--", "/bin/true").fails(3, "no kprobes")


def test_return_probes_of_go():
    needs("go")
    path = fixture_path("unwind_go")
    run("-e", f"uretprobe:{path}:main.main", "--", path).fails(2, "Go")


def test_filter_of_a_tracepoint():
    """As perf takes it; what does not pass is not counted."""
    in_tracefs("events/syscalls/sys_enter_write")
    path = fixture_path("probed")
    for text, n in (("count > 500", 1000), ("count <= 500 && count & 1", 500), ('!(count > 10) && COMM == "probed"', 20),
                    ("count == 7 || count == 8", 4), ('COMM ~ "other*"', 0)):
        with directory() as d:
            out = os.path.join(d, "out.folded")
            r = run("-e", "syscalls:sys_enter_write", "--filter", text, "-o", out, "--", path, "write", "2000")
            check(r.code == (0 if n else 5) or not n, r.err)
            with open(out, encoding="utf-8") as f:
                r.out = f.read()
        equal(r.profile.count(lambda s: s.has("probed_write")), n, text)
    run("-e", "syscalls:sys_enter_write", "--filter", "nothing > 1", "--", "/bin/true").fails(2, "no field 'nothing'")
    run("-e", "syscalls:sys_enter_write", "--filter", "count >", "--", "/bin/true").fails(2, "expected a number")
    run("-e", "cpu-clock", "--filter", "count > 1", "--", "/bin/true").fails(2, "has no fields")


def test_text_of_a_tracepoint():
    in_tracefs("events/sched/sched_process_exec")
    r = run("-e", "sched:sched_process_exec", "--filter", 'filename ~ "*/true"', "-f", "folded", "--", "/bin/sh", "-c",
            "/bin/true; /bin/false; /bin/true; /bin/echo >/dev/null").ok()
    equal(r.summary.taken, 2, "execs")


def test_bytes():
    """What is written, by the tracepoint, an argument and what is returned: as the program counts it, and strace."""
    in_tracefs("events/syscalls/sys_enter_write")
    path = fixture_path("probed")
    for event, field in (("syscalls:sys_enter_write", "count"), (f"uprobe:{path}:probed_write", "arg0"),
                         (f"uretprobe:{path}:probed_write", "retval")):
        r, truth = probed("-e", event, "--weight", field, fmt="pb.gz", program=(path, "write", "3500"))
        types = pprof_types(r.raw)
        got = types[f"{event}.{field}"]
        if field == "count":    # and what it prints at its end
            check(truth["bytes"] <= got <= truth["bytes"] + 100, got, truth)
        else:
            equal(got, truth["bytes"], event)
    with directory() as d:
        log = os.path.join(d, "log")
        subprocess.run([needs("strace"), "-o", log, "-e", "trace=write", path, "write", "3500"], check=True, capture_output=True, timeout=60)
        with open(log, encoding="utf-8", errors="replace") as f:
            traced = sum(int(n) for n in re.findall(r"^write\(.* = (\d+)$", f.read(), re.M))
    check(truth["bytes"] <= traced <= truth["bytes"] + 100, traced, truth)
    run("-e", "syscalls:sys_enter_write", "--weight", "nothing", "--", "/bin/true").fails(2, "no event has")


def test_told_apart():
    """By a field, an argument, a result: each number has a stack of its own, and a label in pprof."""
    in_tracefs("events/syscalls/sys_enter_write")
    path = fixture_path("probed")
    for event, field in (("syscalls:sys_enter_write", "count"), (f"uprobe:{path}:probed_write", "arg0"),
                         (f"uretprobe:{path}:probed_write", "retval")):
        r, _ = probed("-e", event, "--by", field, program=(path, "write", "1500"))
        for n, times in ((1, 2), (500, 2), (501, 1), (1000, 1)):
            equal(r.profile.count(lambda s, n=n: s.frames[-1] == f"[{field}={n}]" and s.any("^(probed_write|once|run)$")), times, f"{field} {n}")
    r, _ = probed("-e", f"usdt:{path}:step", "--by", "arg1", program=(path, "static", "100"))
    equal(r.profile.count(lambda s: s.frames[-1] == "[arg1=-5]"), 100, r.out)
    r, _ = probed("-e", f"uprobe:{path}:probed_write", "--by", "arg0", fmt="pb.gz", program=(path, "write", "10"))
    with directory() as d:
        out = os.path.join(d, "p.pb.gz")
        with open(out, "wb") as f:
            f.write(r.raw)
        tags = subprocess.run([needs("go"), "tool", "pprof", "-tags", out], check=True, capture_output=True, timeout=60).stdout.decode()
    check(re.search(r"arg0:.*Total", tags), tags)
    run("-e", "syscalls:sys_enter_write", "--by", "nothing", "--", "/bin/true").fails(2, "no event has such a number")
    run("-e", "cpu-clock", "--by", "count", "--", "/bin/true").fails(2, "--by goes with")


def test_arguments_of_static_probes():
    path = fixture_path("probed")
    r, _ = probed("-e", f"usdt:{path}:step", "--filter", "arg0 >= 900 && arg1 == -5", "--weight", "arg0:steps", fmt="pb.gz",
                  program=(path, "static", "1000"))
    equal(pprof_types(r.raw), {f"usdt:{path}:step": 100, f"usdt:{path}:step.arg0": sum(range(900, 1000))}, "hits and steps")


def test_times_of_calls():
    """Each sleeps for 2 ms and computes for 1, which are told apart; each is in its bucket of the histogram."""
    path = fixture_path("probed")
    event = f"uprobe:{path}:probed_work"
    r, truth = probed("--latency", event, fmt="pb.gz", program=(path, "sleep", "100"))
    types = pprof_types(r.raw)
    equal(types[event], truth["sleep"], "calls")
    equal(types[event + ".time"], types[event + ".running"] + types[event + ".waiting"], "sums")
    check(200e6 <= types[event + ".waiting"], types)
    check(50e6 <= types[event + ".running"] <= 300e6, types)
    rows = re.findall(r"^ebprof: +[\d.]+ \S+ - +[\d.]+ \S+ +\|.*\| (\d+)$", r.err, re.M)
    equal(sum(map(int, rows)), truth["sleep"], "calls in the histogram:\n" + r.err)
    check("50% within" in r.err, r.err)
    for function in ("probed_work", "probed_sleep"):
        r, truth = probed("--latency", f"uprobe:{path}:{function}", fmt="ndjson", program=(path, "sleep", "100"))
        [calls] = json.loads(r.raw.partition(b"\n")[0])["latencies"]
        check(min(in_buckets(calls["histogram"], r.told, function)) >= 2e6, r.told)
        check(calls["histogram"][0]["from_ns"] * 1.25 > 2e6 and calls["latency_p50_ns"] > 2e6, calls)


def test_times_in_saved_profiles():
    """The histogram is in every format that is read back; files are added up, a diff shows both sides."""
    path = fixture_path("probed")
    event = f"uprobe:{path}:probed_sleep"
    histogram = lambda text: [line for line in text.splitlines() if " calls of " in line or re.search(r"\| \d+$", line)]  # noqa: E731
    with directory() as d:
        files = [os.path.join(d, name) for name in ("a.pb.gz", "a.html", "a.ndjson", "a.json.gz", "a.speedscope.json")]
        r = run("--latency", event, *[a for f in files for a in ("-o", f)], "--", path, "sleep", "100").ok()
        measured = r.out
        told = histogram(r.err)
        check(len(told) > 1 and f"100 calls of {event}" in told[0], r.err)
        for f in files:
            equal(histogram(run("report", f, "-f", "folded").ok().err), told, f)
        with open(files[2], encoding="utf-8") as f:
            [calls] = json.loads(f.readline())["latencies"]
        equal((calls["name"], calls["calls"], sum(b["calls"] for b in calls["histogram"])), (event, 100, 100), "JSON")
        check(calls["histogram"][0]["from_ns"] <= calls["latency_p50_ns"] <= calls["latency_max_ns"], calls)
        in_buckets(calls["histogram"], measured, "probed_sleep")
        check(f"200 calls of {event}" in run("report", files[0], files[1], "-f", "folded").ok().err, "two files")
        both = run("diff", files[0], files[1], "-f", "table").err
        check(f"100 calls of {event} before:" in both and f"100 calls of {event} after:" in both, both)
        browser.command("open", file=files[1], wait=READY)
        shown = browser.run("document.querySelector('#latencies').textContent")
        equal([line for line in shown.splitlines() if line], [line.removeprefix("ebprof: ") for line in told], "the page")


def test_bounded_times():
    """All calls are in the histogram, of some the stack is taken; the times of the others are with these."""
    event = "syscalls:sys_enter_getppid"
    in_tracefs("events/syscalls/sys_enter_getppid")
    program = (fixture_path("syscalls"), "loop")
    with directory() as d:
        path = os.path.join(d, "out.pb.gz")
        r = run("--latency", event, "--until", "syscalls:sys_exit_getppid", "--max-overhead", "1", "-d", "300ms", "-o", path,
                "--", *program).ok()
        with open(path, "rb") as f:
            types = pprof_types(f.read())
    name = next(t for t in types if "->" in t and "." not in t)
    calls = int(re.search(r"^ebprof: (\d+) (?:calls|times) of ", r.err, re.M)[1])
    equal((r.summary.taken, types[name] + r.summary.lost), (calls, calls), r.err)
    check(int(re.search(r"stacks of (\d+) of them", r.err)[1]) < calls / 2, r.err)
    equal(types[name + ".time"], types[name + ".running"] + types[name + ".waiting"], "sums")


def test_times_between_probes():
    """In a thread, of any kinds: each start begins anew, what has no end or no start is not counted."""
    path = fixture_path("probed")
    event = f"uprobe:{path}:probed_work->probed_sleep"
    r, truth = probed("--latency", f"uprobe:{path}:probed_work", "--until", f"uprobe:{path}:probed_sleep", fmt="pb.gz",
                      program=(path, "sleep", "100"))
    types = pprof_types(r.raw)
    equal(types[event], truth["sleep"], r.err)
    # The work alone, which is 1 ms: the sleep comes behind it.
    check(50e6 <= types[event + ".running"] <= 300e6, types)
    check(f"100 times of {event}: " in r.err, r.err)
    # The end is inside of the function, or at its return.
    r, _ = probed("--latency", f"uprobe:{path}:probed_work", "--until", f"uretprobe:{path}:probed_sleep", program=(path, "sleep", "20"))
    equal((r.summary.taken, r.summary.complete), (20, 20), r.err)
    check(all(s.has("once", "probed_work") for s in Profile.read(r.out)), r.out)
    # Each start begins anew: of a recursion it is the last one's time, and there is one.
    r, _ = probed("--latency", f"uprobe:{path}:probed_deep", "--until", f"uretprobe:{path}:probed_deep", program=(path, "deep", "50"))
    check("50 times of" in r.err, r.err)
    r, _ = probed("--latency", f"uprobe:{path}:by_first", "--until", f"uprobe:{path}:probed_sleep", program=(path, "calls", "50"))
    check("0 times of" in r.err and r.summary.taken == 0, r.err)


def test_times_between_static_probes():
    path = fixture_path("probed")
    r, _ = probed("--latency", f"usdt:{path}:step", "--until", f"usdt:{path}:plain", program=(path, "static", "1000", "4"))
    check(f"4000 times of usdt:{path}:step->plain: " in r.err, r.err)
    equal((r.summary.taken, r.summary.complete), (4000, 4000), r.err)


def test_times_between_tracepoints():
    """Of calls of the system: the kernel's frames are there, those of tracing are not."""
    in_tracefs("events/syscalls/sys_enter_write")
    path = fixture_path("probed")
    r, truth = probed("--latency", "syscalls:sys_enter_clock_nanosleep", "--until", "syscalls:sys_exit_clock_nanosleep",
                      program=(path, "sleep", "50"))
    calls = Profile.read(r.out).where(lambda s: s.any("^probed_sleep$"))
    check(f"{truth['sleep']} times of syscalls:sys_enter_clock_nanosleep->sys_exit_clock_nanosleep" in r.err, r.err)
    check(calls.count() >= 100e6 and all(s.any("do_syscall_64|el0_svc") and not s.any("^perf_") for s in calls), r.out)
    r, _ = probed("--latency", f"uprobe:{path}:probed_write", "--until", "syscalls:sys_exit_write", program=(path, "write", "100"))
    check("100 times of" in r.err, r.err)


def test_times_that_cannot_be():
    path = fixture_path("probed")
    for options, said in ((("--until", f"uprobe:{path}:run"), "--until"), (("--latency", "cpu-clock", "--until", "cpu-clock"), "'cpu-clock'"),
                          (("--latency", f"usdt:{path}:step"), "--until"),
                          (("--latency", f"uprobe:{path}:run", "--until", "a:b", "--until", "a:b"), "once")):
        run(*options, "--", "/bin/true").fails(2, said)


def test_short_numbers():
    """Arguments and results have the types of the debug information; or those that are asked for."""
    path = fixture_path("probed")
    at_return, entry = f"uretprobe:{path}:probed_sign", f"uprobe:{path}:probed_sign"
    for event, words, n in ((at_return, "retval < 0", 50), (at_return, "retval >= 200", 28), (entry, "arg0 == -7", 50), (entry, "arg1 < 10", 10),
                            (entry, "arg2 > 0", 100), (entry, "arg0:u16 == 65529", 50), (entry, "arg0:s8 == -7", 50)):
        r, _ = probed("-e", event, "--filter", words, program=(path, "sign", "100"))
        check(f"{n} hits of" in r.err, words, r.err)
    r, _ = probed("-e", at_return, "--by", "retval", program=(path, "sign", "100"))
    equal(r.profile.count(lambda s: s.frames[-1] == "[retval=-1]"), 50, r.out)
    with directory() as d:
        bare = os.path.join(d, "bare")
        subprocess.run([needs("strip"), "-g", "-o", bare, path], check=True, timeout=60)
        for words, n in (("retval:s32 < 0", 50), ("retval < 0", 0)):
            r, _ = probed("-e", f"uretprobe:{bare}:probed_sign", "--filter", words, program=(bare, "sign", "100"))
            check(f"{n} hits of" in r.err, words, r.err)
        r, _ = probed("-e", f"uretprobe:{bare}:probed_sign", "--weight", "retval:s32:things", fmt="pb.gz", program=(bare, "sign", "10"))
        equal(pprof_types(r.raw)[f"uretprobe:{bare}:probed_sign.retval:s32"], 200 + 202 + 204 + 206 + 208, r.err)
    run("-e", at_return, "--filter", "retval:s31 < 0", "--", "/bin/true").fails(2, "no field 'retval:s31'")


def test_files_of_a_container():
    """By its cgroup: a path is one in its mounts, and a name is that of what its processes have mapped."""
    with own_name(fixture_path("probed")) as (path, name), folders(group := os.path.join(unified(), f"ebprof-e2e-{os.getpid()}")):
        inside = f"/mnt/{name}"
        mounted = ("unshare", "-m", "sh", "-c", 'mount --bind "$1" /mnt && shift && exec "$@"', "sh", os.path.dirname(path))
        for file in (inside, name):
            with Fixture("probed", "calls", "2000", "wait", prefix=mounted, path=inside) as f:
                join(group, f.pid)
                p = start("-e", f"uprobe:{file}:probed_leaf", "-G", group, "-f", "folded")
                wait_probing(p)
                f.go()
                f.wait("done")
                p.send_signal(signal.SIGINT)
                equal(finish(p).ok().summary.taken, 2000, file)
    check(not os.path.exists(inside), "it is there outside, too")


def test_slow_calls():
    path = fixture_path("probed")
    r = run("--latency", f"uprobe:{path}:probed_work", "--slower-than", "10s", "-f", "folded", "--", path, "sleep", "20")
    equal(r.ok().summary.taken, 0, r.err)
    check("20 calls of" in r.err, r.err)
    r, truth = probed("--latency", f"uprobe:{path}:probed_sleep", "--slower-than", "1ms", program=(path, "sleep", "20"))
    equal(r.summary.taken, truth["sleep"], r.err)
    check(all(s.has("probed_work", "probed_sleep") for s in Profile.read(r.out)), r.out)


def test_times_of_recursion_and_jumps():
    """Each depth has its own time; what is left by a jump has none."""
    path = fixture_path("probed")
    event = f"uprobe:{path}:probed_deep"
    r, truth = probed("--latency", event, fmt="pb.gz", program=(path, "deep", "200", "4"))
    equal(pprof_types(r.raw)[event], truth["probed_deep"], "calls")
    event = f"uprobe:{path}:probed_jump"
    r, truth = probed("--latency", event, fmt="pb.gz", program=(path, "jump", "2001", "2"))
    equal(pprof_types(r.raw)[event], truth["returns"], "returns")
