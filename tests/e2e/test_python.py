# SPDX-License-Identifier: MIT
"""
Frames of Python, by every CPython that is here: whole stacks to <module>, shares, lines, and native frames between them.
Each program says what it is to be; its functions are told by names of the test's own.
"""
import glob
import json
import os
import re
import subprocess

from containers import SID_PYTHONS, root_of, unpacked
from harness import Fixture, Profile, calls, calls_by_line, check, directory, equal, run, run_burned, share, skip, wait_burned
from interpreters import executed, in_one_of_three, made_in_turn, near

SECONDS = 150

PYENV = os.path.expanduser("~/.pyenv/versions/3.*/bin/python3")
LEAST, NEWEST = 6, 15
# Debian's newest, with their own C library: what is unpacked here, and programs that start it.
SID = root_of("sid")
RATE = 2999
ENTRY = r"^_PyEval_EvalFrameDefault$"


def version(path):
    out = subprocess.run([path, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True, check=False)
    return int(out.stdout) if not out.returncode and out.stdout.strip().isdigit() else 0


def sid(minor):
    """A command that runs Debian sid's Python; None: it is not here."""
    root, command, program = SID, f"{SID}/python3.{minor}", f"{SID}/usr/bin/python3.{minor}"
    if not os.path.exists(program):
        return None
    if not os.path.exists(command):
        machine = os.uname().machine
        loader = glob.glob(f"{root}/usr/lib*/ld-linux-*") + glob.glob(f"{root}/usr/lib/{machine}-linux-gnu/ld-linux-*")
        with open(f"{command}.new", "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nPYTHONHOME='{root}/usr' exec '{loader[0]}' --library-path '{root}/usr/lib/{machine}-linux-gnu' "
                    f"'{program}' \"$@\"\n")
        os.chmod(f"{command}.new", 0o755)
        os.rename(f"{command}.new", command)
    return command


def test_newest_are_here():
    """Others take Debian sid's where they are."""
    unpacked("sid")
    equal([version(sid(minor)) for minor in SID_PYTHONS], list(SID_PYTHONS))


def pythons(least=LEAST):
    """
    Those of pyenv, shared and with symbols, and the distribution's and those of sid, static and stripped: (path, minor version).
    """
    paths = sorted({os.path.realpath(p) for p in glob.glob(PYENV) + glob.glob("/usr/bin/python3")})
    paths += [p for p in map(sid, SID_PYTHONS) if p]
    found = [(p, version(p)) for p in paths]
    found = [(p, v) for p, v in found if least <= v <= NEWEST]
    if not found:
        skip(f"no Python from 3.{least} to 3.{NEWEST} is installed")
    return found


def some_pythons():
    """The oldest and the newest, and the distribution's: as all others have them."""
    found = pythons()
    few = {min(found, key=lambda p: p[1]), max(found, key=lambda p: p[1]), *(p for p in found if p[0].startswith("/usr/"))}
    return sorted(few, key=lambda p: p[1])


def qualified(minor, name):
    """Qualified names are in code objects since 3.11."""
    return name if minor >= 11 else name.rpartition(".")[2]


# What each program begins with.
HEAD = "import sys\nsys.setrecursionlimit(10000)\ndef ready():\n    print('ready')\n    sys.stdout.flush()\n"


def sampled(python, program, *options, rate=RATE, seconds=None, burned=0.05, until="ready"):
    """
    The profile of @program, which prints "ready" and runs until it is killed: of @seconds; else, where it does not wait (@burned),
    until it has used so much CPU time that there are 450 samples.
    """
    with directory() as d:
        script = os.path.join(d, "script.py")
        with open(script, "w", encoding="utf-8") as f:
            f.write(HEAD + program)
        with Fixture("python", script, path=python, until=until) as f:
            if burned:
                wait_burned(f.pid, burned)
            options = ("-F", rate, "-f", "folded", *options)
            if burned and seconds is None:
                return run_burned(f.pid, 0.15, *options).ok()
            return run("-p", f.pid, "-d", seconds or 0.5, *options).ok()


def python_stacks(result, allowed=0.01):
    """Complete stacks, which all lead to <module>."""
    profile = result.profile.where(lambda s: not s.cut)
    check(profile.count() > 20, result.err)
    rootless = profile.where(lambda s: "<module>" not in s.frames)
    check(rootless.count() <= max(1, allowed * profile.count()), "without <module>:", rootless.head())
    left = profile.where(lambda s: s.any(ENTRY) and not re.search(ENTRY, s.frames[-1]))
    check(left.count() <= max(2, 0.02 * profile.count()), "the interpreter's own frames:", left.head())
    return profile


FUNCTIONS = """
def spin(n):
    s = 0
    for i in range(n):
        s += i
    return s
# Of no fixed length: the clock that samples would keep step with it.
length = 10000
def one(): return spin(length)
def three():
    def inner(): return spin(3 * length)
    return inner()
class Thing:
    def method(self): return spin(2 * length)
"""
TREE = FUNCTIONS + """
def main():
    global length
    ready()
    thing = Thing()
    while True:
        length = 5000 + length * 7919 % 10007
        one()
        three()
        thing.method()
main()
"""


def known_shares(python, minor, profile):
    """That of TREE."""
    n = profile.count()
    for name, expected in (("one", 1 / 6), ("three.<locals>.inner", 3 / 6), ("Thing.method", 2 / 6)):
        near(share(profile, qualified(minor, name)), expected, n, python, name)
    inside = profile.where(lambda s: "spin" in s.frames)
    check(all(calls(s, "<module>", "main", "spin") for s in inside), python, inside.head(2))


def test_tree():
    for python, minor in pythons():
        profile = python_stacks(sampled(python, TREE))
        known_shares(python, minor, profile)
        if SID in python:
            # The interpreter of these has no name in most of its code.
            for s in profile.where(lambda s: "spin" in s.frames):
                check(s.frames[s.frames.index("<module>") - 1] == "PyEval_EvalCode", python, s)


def test_native_between():
    """sorted() calls back: its native frames are between the Python function that called it and the key's."""
    program = ("def key(x): return sum(range(100)) - x\n"
               "def sort(): return sorted(range(200), key=key)\n"
               "ready()\n"
               "while True: sort()\n")
    for python, _ in pythons():
        profile = python_stacks(sampled(python, program))
        keyed = profile.where(lambda s: "key" in s.frames)
        check(keyed.count() > 0.3 * profile.count(), python, profile.head())
        for s in keyed:
            at, to = s.frames.index("sort"), s.frames.index("key")
            between = s.frames[at + 1:to]
            check(len(between) >= 2, python, s)


def test_native_option():
    for python, minor in pythons(11):
        profile = sampled(python, TREE, "--native").profile
        entry = r"^\[python3\.\d+\+0x" if SID in python else ENTRY
        with_both = profile.where(lambda s, e=entry: s.any(e) and "spin" in s.frames)
        check(with_both.count() > 0.8 * profile.count(), python, minor, profile.head())
        for s in with_both:
            # What was inlined into the interpreter is behind it, too.
            at = s.frames.index("<module>")
            check(any(re.search(entry, f) for f in s.frames[max(0, at - 3):at]), python, s)


def deep(python, n, **kw):
    program = ("def spin():\n"
               "    while True: sum(range(1000))\n"
               "def down(n):\n"
               "    if n: down(n - 1)\n"
               "    else:\n"
               "        ready()\n"
               "        spin()\n"
               f"down({n})\n")
    return sampled(python, program, **kw).profile


def whole_deep(n, interpreters, **kw):
    for python, _ in interpreters:
        profile = deep(python, n, **kw)
        whole = profile.count(lambda s: s.frames.count("down") == n + 1 and "<module>" in s.frames and "spin" in s.frames)
        check(whole >= 0.99 * profile.count() - 1, python, whole, profile.head(2))


def test_deep_300():
    whole_deep(300, some_pythons())


def test_deep_1000():
    whole_deep(1000, pythons())


def test_deeper_than_there_is_room():
    """The innermost frames, and a mark that says that there are more."""
    for python in {pythons()[0][0], pythons()[-1][0]}:
        profile = deep(python, 3000)
        marked = profile.count(lambda s: s.cut and s.cut[1] == "depth" and s.frames.count("down") > 1000 and "spin" in s.frames)
        check(marked >= 0.99 * profile.count() - 1, python, marked, profile.head(2))


def test_generators():
    program = ("def spin(): return sum(range(3000))\n"
               "def inner():\n"
               "    while True: yield spin()\n"
               "def outer(): yield from inner()\n"
               "ready()\n"
               "for _ in outer(): pass\n")
    for python, _ in pythons():
        profile = python_stacks(sampled(python, program))
        inside = profile.where(lambda s: "spin" in s.frames)
        check(inside.count() > 0.5 * profile.count(), python, profile.head())
        for s in inside:
            equal([f for f in s.frames if f in ("<module>", "outer", "inner", "spin")], ["<module>", "outer", "inner", "spin"],
                  python)


def test_asyncio():
    program = ("import asyncio\n"
               "def spin(): return sum(range(20000))\n"
               "async def task():\n"
               "    while True:\n"
               "        spin()\n"
               "        await asyncio.sleep(0)\n"
               "async def main():\n"
               "    ready()\n"
               "    await asyncio.gather(task(), task())\n"
               "asyncio.get_event_loop_policy().new_event_loop().run_until_complete(main())\n")
    for python, _ in pythons():
        profile = python_stacks(sampled(python, program))
        inside = profile.where(lambda s: "spin" in s.frames)
        check(inside.count() > 0.5 * profile.count(), python, profile.head())
        check(all("task" in s.frames and s.any("run_forever$") for s in inside), python, inside.head())


def test_threads_without_the_gil():
    """A thread in C code that let go of the interpreter's lock has its frames, too."""
    program = ("import threading, hashlib\n"
               "data = bytes(4 << 20)\n"
               "def digest():\n"
               "    while True: hashlib.sha256(data).digest()\n"
               "threads = [threading.Thread(target=digest) for _ in range(2)]\n"
               "for t in threads: t.daemon = True\n"
               "for t in threads: t.start()\n"
               "ready()\n"
               "threads[0].join()\n")
    for python, minor in pythons():
        profile = sampled(python, program).profile.where(lambda s: not s.cut)
        inside = profile.where(lambda s: "digest" in s.frames)
        check(inside.count() > 0.9 * profile.count(), python, profile.head())
        run_name = qualified(minor, "Thread.run")
        check(all(calls(s, run_name, "digest") for s in inside), python, inside.head(2))


def named(python, profile):
    """All of these children's code has its names, from their first to their last moment."""
    inside = profile.where(lambda s: calls(s, "<module>", "child", "spin"))
    check(inside.count() > 10, python, profile.head(3))
    # The script itself is run by this.
    running = profile.where(lambda s: s.any("^PyEval_EvalCode$") and not s.frames[-1].startswith("PyEval_EvalCode"))
    # While the kernel copies the page that has a frame, for it is written after a fork, it is nowhere to be read.
    bare = running.where(lambda s: not s.any("^(<module>|do_wp_page)$"))
    check(bare.count() <= max(2, 0.01 * running.count()), python, f"{bare.count()} of {running.count()}:", bare.head(5))
    equal(profile.count(lambda s: s.any("unknown Python")), 0, python)


def test_fork_pool():
    """Children that live 20 ms each, forked from a process that runs: all have their names."""
    program = ("import os, time\n"
               "def spin():\n"
               "    end = time.time() + 0.02\n"
               "    while time.time() < end: sum(range(500))\n"
               "def child():\n"
               "    spin()\n"
               "    os._exit(0)\n"
               "ready()\n"
               "while True:\n"
               "    pid = os.fork()\n"
               "    if not pid: child()\n"
               "    os.waitpid(pid, 0)\n")
    for python, _ in pythons():
        profile = sampled(python, program, burned=0).profile.where(lambda s: not s.cut)
        named(python, profile)


def test_executed_children():
    """Programs that begin and end while they are sampled."""
    program = ("import time\n"
               "def spin():\n"
               "    end = time.time() + 0.02\n"
               "    while time.time() < end: sum(range(500))\n"
               "def child(): spin()\n"
               "child()\n")
    for python, _ in pythons():
        in_one_of_three(lambda python=python: named(python, executed(f"{python} -S", ".py", program)))


def test_waits():
    """Which Python function waits, and which has the time on the CPU."""
    program = ("import time\n"
               "def rest(): time.sleep(0.01)\n"
               "def work(): return sum(range(100000))\n"
               "ready()\n"
               "while True:\n"
               "    rest()\n"
               "    work()\n")
    few = some_pythons()
    for python, minor in pythons():
        for option in ("--off-cpu", "--wall") if (python, minor) in few else ("--off-cpu",):
            result = sampled(python, program, option, burned=0)
            profile = Profile.read(result.out)
            waiting = profile.where(lambda s: s.any(r"^\[blocked\]$"))
            check(waiting.count() > 0, python, option, profile.head())
            check(waiting.count(lambda s: "rest" in s.frames) > 0.95 * waiting.count(), python, option, waiting.head())
            if option == "--wall":
                check(profile.count(lambda s: "work" in s.frames) > 0, python, profile.head())


def test_subinterpreters():
    """The frames of the one that runs, where its calls are; those that called it are native."""
    program = ("CODE = \'\'\'\n"
               "import os\n"
               "def spin(): return sum(range(3000))\n"
               "def inner():\n"
               "    while True: spin()\n"
               "os.write(1, b'ready\\\\n')\n"
               "inner()\n"
               "\'\'\'\n"
               "def outer():\n"
               "    try: import _interpreters as interpreters\n"
               "    except ImportError: import _xxsubinterpreters as interpreters\n"
               "    interpreters.run_string(interpreters.create(), CODE)\n"
               "outer()\n")
    for python, _ in pythons(12):
        profile = sampled(python, program).profile.where(lambda s: not s.cut)
        inside = profile.where(lambda s: calls(s, "<module>", "inner", "spin"))
        check(inside.count() > 0.9 * profile.count(), python, profile.head())
        for s in inside:
            # What runs a string in another interpreter was called by the main one.
            before = s.frames[:s.frames.index("<module>")]
            check(sum(f == "PyEval_EvalCode" for f in before) == 2, python, s)


def test_gil():
    """A wait for the GIL says so, and no other: one of three threads has it, one wants it now and then."""
    program = ("import threading, time\n"
               "def spin():\n"
               "    while True: sum(range(1000))\n"
               "def rest():\n"
               "    while True: time.sleep(0.002)\n"
               "threads = [threading.Thread(target=f) for f in (spin, spin, rest)]\n"
               "for t in threads: t.daemon = True\n"
               "for t in threads: t.start()\n"
               "ready()\n"
               "threads[0].join()\n")
    for python, _ in pythons():
        profile = Profile.read(sampled(python, program, "--off-cpu", burned=0).out)
        waits = profile.where(lambda s: s.frames[-1] in ("[GIL]", "[blocked]"))
        marked = waits.where(lambda s: s.frames[-1] == "[GIL]")
        taking = waits.where(lambda s: s.any("^(take_gil|PyEval_RestoreThread)$"))
        check(taking.count() > 0.02 * waits.count(), python, waits.head())
        check(marked.count() == taking.count(), python, marked.head(), taking.head())
        check(marked.count() < waits.count(), python, waits.head())


def test_lines():
    """The lines of a function are those that the program itself says it is at."""
    program = ("import time\n"
               "def spin(n):\n"
               "    while n: n -= 1\n"
               "def work():\n"
               "    while True:\n"
               "        spin(\n"
               "            1000)\n"
               "\n"
               "        spin(3000)\n"
               "ready()\n"
               "work()\n")
    for python, minor in pythons():
        # Interrupts come at any line.
        result = sampled(python, program, "-f", "callgrind", "-U")
        lines = calls_by_line(result.out, "work")
        # A call over two lines is of the first, or, before 3.8, of its last argument's.
        first, second = 11 if minor >= 8 else 12, 14
        total = sum(lines.values())
        # There a native function that evaluates what is called is of the first line, as it is.
        native = lines.pop(11, 0) if minor < 8 else 0
        check(native < 0.03 * total, python, native, lines)
        check(set(lines) <= {first, second}, python, lines)
        check(abs(lines.get(second, 0) / total - 0.75) < 0.12, python, lines)


def test_code_that_is_made_again_and_again():
    """A function in the memory of one that is gone has its own name."""
    program = ("def run(i):\n"
               "    space = {}\n"
               "    exec('def made_%d(n):\\n    s = 0\\n    while n: n -= 1\\n    return s\\nmade_%d(20000)' % (i, i), space)\n"
               "ready()\n"
               "i = 0\n"
               "while True:\n"
               "    run(i % 7)\n"
               "    i += 1\n")
    for python, _ in pythons():
        made_in_turn(python_stacks(sampled(python, program)), 0.5, python)


def test_names_of_all_kinds():
    program = ("def grüße_漢字_𝔘(n):\n"
               "    return (lambda k: [sum(range(j)) for j in range(k)])(n)\n"
               "ready()\n"
               "while True: grüße_漢字_𝔘(300)\n")
    for python, _ in pythons():
        profile = python_stacks(sampled(python, program))
        check(profile.count(lambda s: s.any("^grüße_漢字_U$")) > 0.9 * profile.count(), python, profile.head())
        check(profile.count(lambda s: s.any("<lambda>$")) > 0.8 * profile.count(), python, profile.head())


def test_builds_that_are_not_known():
    """They are told in one line, and what they run stays native: copies that say another thing of themselves."""
    program = sid(14) and f"{SID}/usr/bin/python3.14"
    if not program:
        skip("no Python of Debian sid is here")
    with open(program, "rb") as f:
        image = f.read()
    with open(sid(14), encoding="utf-8") as f:
        command = f.read()
    # The beginning of _Py_DebugOffsets: cookie, version, free-threaded.
    at = re.search(rb"xdebugpy....\0\0\0\0", image, re.DOTALL).start()
    hexadecimal = image[at + 8:at + 16]
    cases = {"3.14 without the GIL is not known": [(at + 16, b"\x01")],
             "3.16 is not known": [(m.start(), b"\x00\x00\x10\x03") for m in re.finditer(re.escape(hexadecimal), image)],
             "this build of Python 3.14 is not known": [(at + 272, bytes([200]))]}
    for why, patches in cases.items():
        with directory() as d:
            changed, starter = os.path.join(d, "python3.14"), os.path.join(d, "start")
            with open(changed, "wb") as f:
                f.write(image)
                for place, data in patches:
                    f.seek(place)
                    f.write(data)
            with open(starter, "w", encoding="utf-8") as f:
                f.write(command.replace(program, changed))
            os.chmod(changed, 0o755)
            os.chmod(starter, 0o755)
            result = sampled(starter, TREE, seconds=1)
        equal(len(re.findall("functions of Python are not shown", result.err)), 1, result.err)
        check(f"python3.14: {why}" in result.err or f"Python {why}" in result.err, why, result.err)
        equal(result.profile.count(lambda s: "main" in s.frames), 0, why)


JIT_TREE = FUNCTIONS + """
import json, time
def main():
    global length
    spent = [0, 0, 0]
    functions = [one, three, Thing().method]
    while sum(spent) < 0.8:
        length = 5000 + length * 7919 % 10007
        for i in range(3):
            begin = time.thread_time()
            functions[i]()
            spent[i] += time.thread_time() - begin
    with open(sys.argv[1], "w") as f:
        json.dump([sys._jit.is_enabled(), *spent], f)
main()
"""


def test_jit():
    """
    Code that the interpreter's own compiler makes: all frames are there; native ones may be cut, for it has no CFI. When it is
    made of what is called where changes how long that takes, so the program says itself where its time went.
    """
    found = [(minor, python) for minor in SID_PYTHONS for python in [sid(minor)] if python]
    if not found:
        skip("no Python of Debian sid is here")
    for minor, python in found:
        with directory() as d:
            script, said = os.path.join(d, "script.py"), os.path.join(d, "said")
            with open(script, "w", encoding="utf-8") as f:
                f.write(HEAD + JIT_TREE)
            profile = run("-F", RATE, "-f", "folded", "--", "env", "PYTHON_JIT=1", python, script, said).ok().profile
            with open(said, encoding="utf-8") as f:
                enabled, *spent = json.load(f)
        if not enabled:
            skip(f"Debian sid's 3.{minor} is built without it")
        inside = profile.where(lambda s: "spin" in s.frames)
        check(all(calls(s, "<module>", "main", "spin") for s in inside), python, inside.head(2))
        for name, seconds in zip(("one", "three.<locals>.inner", "Thing.method"), spent):
            near(inside.count(lambda s, name=name: name in s.frames) / inside.count(), seconds / sum(spent), inside.count(),
                 python, name, spent)
        compiled = profile.where(lambda s: s.any(r"^\[unknown\]$"))
        check(compiled.count() > 0.3 * profile.count(), python, profile.head(3))


def test_trampolines():
    """With -X perf no function is there twice."""
    for python, _ in pythons(12):
        with directory() as d:
            script = os.path.join(d, "script.py")
            with open(script, "w", encoding="utf-8") as f:
                f.write("def spin():\n    while True: sum(range(1000))\ndef down(n):\n    if n: down(n - 1)\n    else: spin()\n"
                        "print('ready', flush=True)\ndown(20)\n")
            with Fixture("python", "-X", "perf", script, path=python) as f:
                result = run_burned(f.pid, 0.2, "-F", RATE, "-f", "folded").ok()
        profile = result.profile.where(lambda s: not s.cut and "spin" in s.frames)
        check(profile.count() > 20, result.err)
        for s in profile:
            equal(s.frames.count("down"), 21, python)
            check(not s.any("^py::"), s)
