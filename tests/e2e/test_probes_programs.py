# SPDX-License-Identifier: MIT
"""Probes in programs of other languages, and the static probes of programs as Debian has them."""
import os
import re
import signal
import subprocess

from harness import check, directory, equal, fixture_path, needs, run
from probing import probed, whole

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
