# SPDX-License-Identifier: MIT
"""Probes in programs of other languages, and the static probes of programs as Debian has them."""
import contextlib
import glob
import os
import pwd
import re
import signal
import subprocess

from harness import (Missing, Profile, check, directory, equal, finish, fixture_path, in_tracefs, needs, run, skip, start,
                     wait_for)
from probing import pprof_types, probed, wait_probing, whole

RUST = {"total": ("total", "shapes::shop::total"), "weigh": ("weigh", "shapes::shop::Apple::weigh"),
        "price": ("price", "shapes::shop::Apple::price", "<shapes::shop::Apple as shapes::shop::Priced>::price")}


def test_names_of_rust():
    """As people write them, whatever the mangling: generic functions, methods of a type and of a trait."""
    needs("rustc")
    for fixture in ("shapes_rust_legacy", "shapes_rust_v0"):
        path = fixture_path(fixture)
        for function, (counts, *names) in RUST.items():
            for name in names:
                r, truth = probed("-e", f"uprobe:{path}:{name}", program=(path, "400"))
                whole(r)
                equal((r.summary.taken, r.profile.count(lambda s, f=function: re.search(rf"::{f}\b", s.frames[-1]))),
                      (truth[counts], truth[counts]), f"{fixture} {name}")
        for pattern, functions in (("shapes::shop::*", RUST), ("shapes::*Apple::*", ("weigh", "price")),
                                   ("/^shapes::shop::Apple::(price|weigh)$/", ("weigh", "price"))):
            r, truth = probed("-e", f"uprobe:{path}:{pattern}", program=(path, "400"))
            whole(r)
            check(f"in {len(functions)} places" in r.err, r.err)
            for f in functions:
                equal(r.profile.count(lambda s, f=f: re.search(rf"::{f}\b", s.frames[-1])), truth[f], f"{fixture} {pattern} {f}")
    path = fixture_path("unwind_rust")
    r, truth = probed("-e", f"uprobe:{path}:unwind_rust::*", program=(path, "500"))
    for f in ("outer", "middle", "leaf"):
        equal(r.profile.count(lambda s, f=f: s.frames[-1] == f"unwind_rust::{f}"), truth[f], f)
    r, truth = probed("-e", f"uprobe:{path}:unwind_rust::outer::*closure*", program=(path, "500"))
    equal(r.profile.count(lambda s: s.has("unwind_rust::middle", s.frames[-1])), truth["leaf"], "closures")


WARNING = "a C++ exception or a panic of Rust that leaves a function with a return probe ends the program"


def test_exceptions_stop_at_a_return_probe():
    """That is said before it happens; what returns is counted, and so is what catches them itself."""
    path = fixture_path("probed_cpp")
    r = run("-e", f"uretprobe:{path}:probed::Thrower::step", "-f", "folded", "--", path, "1000").ok(128 + signal.SIGABRT)
    check(-1 < r.err.find(WARNING) < r.err.find("terminate called"), r.err)
    equal((r.summary.taken, r.profile.count(lambda s: s.any("^catches"))), (1, 1), "the call before the first that throws")
    for function in ("catches", "probed::Thrower::twice<int>"):
        r, truth = probed("-e", f"uretprobe:{path}:{function}", program=(path, "1000"))
        check(WARNING in r.err, r.err)
        whole(r)
        equal((r.summary.taken, r.profile.count(lambda s: s.frames[-1] == "main")), (truth["enters"], truth["enters"]), function)
        r, _ = probed("--latency", f"uprobe:{path}:{function}", program=(path, "1000"))
        check(WARNING in r.err, r.err)
        equal(r.summary.taken, truth["enters"], function)
    r, _ = probed("-e", f"uprobe:{path}:probed::Thrower::step", program=(path, "1000"))
    check(WARNING not in r.err, r.err)
    path = fixture_path("probed")
    r, truth = probed("-e", f"uretprobe:{path}:probed_jump", program=(path, "jump", "3001", "4"))
    check(WARNING not in r.err, r.err)
    equal(r.summary.taken, truth["returns"], "returns of what is left by longjmp()")


def test_panics_stop_at_a_return_probe():
    source = """use std::panic::{catch_unwind, set_hook};
        fn keep(x: u64) -> u64 { unsafe { std::ptr::read_volatile(&x) } }
        #[inline(never)] fn breaks(i: u64) -> u64 { if i % 4 == 3 { panic!("fourth"); } keep(i) }
        #[inline(never)] fn stays(i: u64) -> bool { catch_unwind(|| breaks(i)).is_ok() }
        fn main() {
            set_hook(Box::new(|_| {}));
            println!("count returns {}", (0..1000).filter(|i| stays(*i)).count());
        }
        """
    with directory() as d:
        path, program = os.path.join(d, "panics.rs"), os.path.join(d, "panics")
        with open(path, "w", encoding="ascii") as f:
            f.write(source)
        env = {k: v for k, v in os.environ.items() if k != "MAKEFLAGS"}
        subprocess.run([needs("rustc"), "--edition", "2021", "-O", "-o", program, path], check=True, env=env, timeout=100)
        r = run("-e", f"uretprobe:{program}:panics::breaks", "-f", "folded", "--", program).ok(128 + signal.SIGABRT)
        check(-1 < r.err.find(WARNING) < r.err.find("failed to initiate panic"), r.err)
        equal(r.summary.taken, 3, "the calls before the first that panics")
        r, truth = probed("-e", f"uretprobe:{program}:panics::stays", program=(program,))
        equal((r.summary.taken, truth["returns"]), (1000, 750), r.err)


def test_parts_of_functions():
    """Code that a compiler has put elsewhere (.cold) is no function: a return probe would break the program."""
    source = """#include <stdio.h>
        static volatile int sink;
        __attribute__((cold, noinline)) static void rare(int i) { sink += i; }
        __attribute__((noinline, noclone)) int odd(int i)
        {
                if (__builtin_expect(i % 2, 0)) {
                        rare(i);
                        rare(i + 1);
                        return i;
                }
                return sink;
        }
        int main(void)
        {
                for (int i = 0; i < 1000; i++)
                        odd(i);
                puts("count odd 1000");
        }
        """
    with directory() as d:
        path, program = os.path.join(d, "parts.c"), os.path.join(d, "parts")
        with open(path, "w", encoding="ascii") as f:
            f.write(source)
        subprocess.run([needs("gcc"), "-O2", "-o", program, path], check=True)
        parts = re.findall(r"^[0-9a-f]+ t (odd\.cold\S*)$", subprocess.run(["nm", program], check=True, capture_output=True).stdout.decode(), re.M)
        check(parts, "this compiler splits no functions")
        for event in (f"uprobe:{program}:odd*", f"uretprobe:{program}:odd*"):
            r, truth = probed("-e", event, program=(program,))
            equal((r.summary.taken, "places" in r.err), (truth["odd"], False), event)
        equal(run("list", f"uprobe:{program}:odd*").ok().out, f"uprobe:{program}:odd\n", "functions")
        r, _ = probed("-e", f"uprobe:{program}:{parts[0]}", program=(program,))
        equal(r.summary.taken, 500, "an entry of a part that was asked for by its name")
        run("-e", f"uretprobe:{program}:{parts[0]}", "--", program).fails(2, "no function")


def static_probe(file, name):
    """The event, where the file has such a probe."""
    if run("list", f"usdt:{file}:{name}").code:
        skip(f"{file} has no static probe {name}")
    return f"usdt:{file}:{name}"


# It leaves without the collections of an orderly end, of which no callback is told.
COLLECTIONS = """import gc, os, sys
before = [s["collections"] for s in gc.get_stats()]
seen = [0, 0, 0]
def saw(phase, info):
    seen[info["generation"]] += phase == "start"
gc.callbacks.append(saw)
for i in range(300):
    gc.collect(i % 7 % 3)
    keep = [[] for _ in range(1000)]
for i in range(3):
    print("count", i, before[i] + seen[i])
sys.stdout.flush()
os._exit(0)
"""


def test_collections_of_python():
    """By the generation, an argument on the stack; as its callbacks of gc count them."""
    event = static_probe("/usr/bin/python3", "python:gc__start")
    r, truth = probed("-e", event, "--by", "arg0", program=("/usr/bin/python3", "-c", COLLECTIONS))
    whole(r)
    equal(r.summary.taken, sum(truth.values()), "all")
    check(min(truth.values()) > 50, truth)
    for generation in ("0", "1", "2"):
        equal(r.profile.count(lambda s, g=generation: s.frames[-1] == f"[arg0={g}]"), truth[generation], f"generation {generation}")
    check(all(s.has("_start") for s in r.profile), r.profile.head())
    r, truth = probed("-e", event, "--filter", "arg0 == 2", "--weight", "arg0:generations", fmt="pb.gz",
                      program=("/usr/bin/python3", "-c", COLLECTIONS))
    equal(pprof_types(r.raw), {event: truth["2"], event + ".arg0": 2 * truth["2"]}, "full ones")


def test_calls_of_python():
    """By the line of the function, the third argument. Python 3.11 looks at this probe's counter where lines are traced, too."""
    events = [static_probe("/usr/bin/python3", f"python:{name}") for name in ("function__entry", "function__return", "line")]
    program = "\n" * 4000 + "def called(i):\n    return i\nfor i in range(3000):\n    called(i)\nprint('count called 3000')\n"
    options = [a for event, line in zip(events, (4001, 4002, 4002)) for a in ("-e", event, "--filter", f"arg2 == {line}")]
    r, truth = probed(*options, fmt="pb.gz", program=("/usr/bin/python3", "-c", program))
    whole(r)
    equal(pprof_types(r.raw), {event: truth["called"] for event in events}, "calls, returns and lines")


def test_exceptions_of_cxx():
    """Those of libstdc++, whichever way a library is named."""
    path = fixture_path("probed_cpp")
    for file in ("libstdc++", "stdc++", "libstdc++.so.6"):
        r, truth = probed("-e", static_probe(file, "libstdcxx:throw"), "-e", static_probe(file, "libstdcxx:catch"), fmt="pb.gz",
                          program=(path, "1000"))
        whole(r)
        equal(pprof_types(r.raw), {f"usdt:{file}:libstdcxx:{what}": truth["enters"] // 2 for what in ("throw", "catch")}, file)


@contextlib.contextmanager
def postgres():
    """A server of an empty database that only we can reach: its process, its program, and a function that asks it."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4]))
    if not found:
        raise Missing("postgresql")
    user = pwd.getpwnam("nobody")
    as_user = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    with directory() as d:
        os.chown(d, user.pw_uid, user.pw_gid)
        data = os.path.join(d, "data")
        subprocess.run([f"{found[-1]}/initdb", "-D", data, "-U", "tester", "-A", "trust", "-N", "--no-locale"], check=True, timeout=100,
                       capture_output=True, cwd=d, **as_user)
        program = f"{found[-1]}/postgres"
        server = subprocess.Popen([program, "-D", data, "-k", d, "-h", "", "-F", "-c", "autovacuum=off", "-c", "jit=off"], cwd=d,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)

        def ask(text):
            psql = subprocess.run([f"{found[-1]}/psql", "-X", "-q", "-A", "-t", "-h", d, "-U", "tester", "postgres"], input=text.encode(), cwd=d,
                                  capture_output=True, check=False, timeout=100)
            return psql.stdout.decode() if not psql.returncode else None
        try:
            wait_for(lambda: ask("SELECT 1;"), "PostgreSQL to answer", 60)
            yield server, program, ask
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(60)


def test_postgresql():
    """Queries and transactions of a session that is started meanwhile: its server's children look at counters of who looks."""
    with postgres() as (server, program, ask):
        events = [static_probe(program, f"postgresql:{name}") for name in
                  ("query__start", "query__done", "transaction__start", "transaction__commit", "transaction__abort")]

        def asked(text, event):
            p = start("-e", event, "-f", "folded", "-p", server.pid)
            wait_probing(p)
            check(ask(text) is not None, "psql failed")
            p.send_signal(signal.SIGINT)
            r = finish(p).ok()
            whole(r)
            check(all(s.has("main", "PostmasterMain") for s in r.profile), r.profile.head())
            # Each session has one of its own, before it takes queries.
            return r.profile.count(lambda s: s.any("^PostgresMain$") and not s.any("^InitPostgres$"))
        queries = "".join(f"SELECT {i};\n" for i in range(200))
        block = "BEGIN;\nSELECT 1;\nSELECT 2;\nCOMMIT;\n" * 30 + "BEGIN;\nSELECT 3;\nROLLBACK;\n" * 20
        counts = [asked(queries + block, e) for e in events]
        equal(counts, [200 + 4 * 30 + 3 * 20] * 2 + [200 + 30 + 20, 200 + 30, 20], "hits")


def test_hits_before_there_are_tables():
    """A stack that waits to be unwound outside of the kernel, and a record of the hit, with its time, that is read before that."""
    python = os.path.realpath("/usr/bin/python3")
    for _ in range(12):
        with directory() as d:
            out = os.path.join(d, "out.pb.gz")
            r = run("-e", f"uprobe:{python}:Py_BytesMain", "--timeline", "-o", out, "--", python, "-c", "pass").ok()
            whole(r)
            equal(r.summary.taken, 1, "hits")
            profile = Profile.read(run("report", out, "-f", "folded").ok().out)
        check(all(s.frames[:2] == ["_start", "__libc_start_main"] and s.has("Py_BytesMain") for s in profile), profile.head())


def test_a_clock_that_interrupts_a_tracepoint():
    """The kernel skips its event there, but what sees that must not touch the stack that is being taken."""
    in_tracefs("events/syscalls/sys_enter_write")
    with directory() as d:
        out = os.path.join(d, "out.pb.gz")
        r = run("-e", "cpu-clock", "-F", 9999, "-e", "syscalls:sys_enter_write", "-o", out, "--", fixture_path("probed"), "write", "200000").ok()
        equal(r.summary.taken, r.summary.complete + r.summary.truncated + r.summary.lost, "sums")
        check(r.summary.lost_by.get("interrupted a probe", 0) > 100, "nothing was interrupted:", r.err)
        hits = Profile.read(run("report", out, "--sample-type", "syscalls:sys_enter_write", "-f", "folded").ok().out)
    check(200000 <= hits.count() < 200010, hits.count(), "of 200000")
    check(not hits.count(lambda s: s.any("^bpf_prog_.*on_tracepoint_hit")), "stacks of other samples:", hits.head(10))
