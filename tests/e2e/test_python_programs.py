# SPDX-License-Identifier: MIT
"""
Python at work: what a program says of its own stack at each sample, C extensions, threads, processes that serve, and threads
that slept before the recording began.
"""
import glob
import json
import os
import shutil
import subprocess

from harness import Fixture, Profile, calls, check, directory, run, skip
from interpreters import firefox_stacks
from test_python import HEAD, TREE, pythons, python_stacks, qualified, sampled, some_pythons

SECONDS = 50

POINTS = 10000
# Each call of getppid() is a sample, at which the program notes where it is: (name, file, line) from the root on.
KNOWN_POINTS = """
import collections, functools, json, os, sys, threading
tally = collections.Counter()
def here():
    frame, found = sys._current_frames()[threading.get_ident()].f_back, []
    while frame:
        code = frame.f_code
        found.append((getattr(code, "co_qualname", code.co_name), os.path.basename(code.co_filename), frame.f_lineno))
        frame = frame.f_back
    return tuple(found[::-1])
def point(): tally[here()] += os.getppid() and 1
def plain(n):
    if n % 3 == 0: point()
    elif n % 3 == 1:
        for _ in range(1): point()
    else:
        try:
            raise KeyError(n)
        except KeyError:
            point()
def deep(n):
    if n: return deep(n - 1)
    point()
class Thing:
    @property
    def value(self): return point()
    @classmethod
    def make(cls): return cls().value
    def __getitem__(self, i): return [point() for _ in range(i)]
def decorated(f):
    @functools.wraps(f)
    def inner(*a):
        x = f(*a)
        return x
    return inner
@decorated
def wrapped():
    point()
def generate(n):
    for i in range(n):
        yield point()
def chain(n):
    yield from generate(n)
async def last(n): point()
async def first(n):
    await last(n)
def run(coroutine):
    try: coroutine.send(None)
    except StopIteration: pass
def callbacks(n):
    sorted(range(3), key=lambda x: point() or x)
    list(map(lambda x: point(), range(n)))
exec("def made(n):\\n    s = n\\n    point()\\n")
def main(points):
    n = 0
    while sum(tally.values()) < points:
        n += 1
        plain(n)
        deep(n % 40)
        Thing.make()
        Thing()[n % 3]
        wrapped()
        list(chain(n % 4))
        run(first(n))
        callbacks(n % 3)
        made(n)
main(int(sys.argv[2]))
json.dump([[k, v] for k, v in tally.items()], open(sys.argv[1], "w"))
"""


def python_only(path, script, marks=()):
    """Samples by stack, of Python's frames and marks alone, as the program counts them: of a profile for Firefox."""
    counts, own = {}, (os.path.basename(script), "<string>")
    for stack, weight in firefox_stacks(path):
        named = ((name, os.path.basename(file), line) for name, file, line in stack)
        key = tuple(f for f in named if f[1] in own or f[0] in marks)
        # What starts the program may call it, too.
        if key:
            counts[key] = counts.get(key, 0) + weight
    return counts


def says_itself(python):
    with directory() as d:
        script, said, profile = (os.path.join(d, name) for name in ("points.py", "said", "profile.json"))
        with open(script, "w", encoding="utf-8") as f:
            f.write(KNOWN_POINTS)
        result = run("-e", "syscalls:sys_enter_getppid", "-c", 1, "-o", profile, "--", python, script, said, POINTS).ok()
        with open(said, encoding="utf-8") as f:
            expected = {tuple(map(tuple, stack)): n for stack, n in json.load(f)}
        got = python_only(profile, script)
    check(sum(expected.values()) >= POINTS, python, sum(expected.values()))
    unread = {k: n for k, n in got.items() if k not in expected and any(is_part(k, whole) for whole in expected)}
    wrong = {k: (n, expected.get(k)) for k, n in got.items() if n > expected.get(k, 0) and k not in unread}
    missing = {k: n - got.get(k, 0) for k, n in expected.items() if n > got.get(k, 0)}
    check(not wrong and sum(missing.values()) == sum(unread.values()), python, len(wrong), "of", len(got), list(wrong.items())[:2],
          list(missing.items())[:2], result.err)
    check(sum(unread.values()) <= 0.001 * POINTS, python, list(unread.items())[:2], result.err)


def is_part(some, whole):
    """The same, but for frames that are missing: what the kernel moves in memory just now cannot be read."""
    rest = iter(whole)
    return all(frame in rest for frame in some)


def test_what_it_says_itself():
    """Names, files and lines of 10,000 samples at known points are those that the program reads of its own frames."""
    for python, _ in pythons():
        says_itself(python)


C_CODE = """
import hashlib, sqlite3, zlib
try: import numpy
except ImportError: numpy = None
data = bytes(range(256)) * 800
base = sqlite3.connect(":memory:")
base.create_function("mixed", 1, lambda x: sum(range(x % 100)))
base.execute("create table t (i integer)")
base.executemany("insert into t values (?)", [(i,) for i in range(2000)])
def key(x): return -x
# What they make is freed in them.
def sorts(): sorted(range(20000), key=key)
def zips(): zlib.compress(data)
def digests(): [hashlib.sha256(data).digest() for _ in range(6)]
def asks(): base.execute("select sum(mixed(i)) from t").fetchall()
def multiplies(): numpy.linalg.inv(numpy.random.rand(120, 120))
def main():
    ready()
    while True:
        sorts(); zips(); digests(); asks()
        if numpy: multiplies()
main()
"""


def can(python, code):
    return not subprocess.run([python, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def whole(python, profile, allowed=0.001):
    """Of the complete stacks of @profile all but one in a thousand lead to <module> or a thread's own function."""
    lost = profile.where(lambda s: not s.any(r"^(<module>|(Thread\.)?_bootstrap)$"))
    check(lost.count() <= max(1, allowed * profile.count()), python, f"{lost.count()} of {profile.count()}:", lost.head(4))


def test_c_extensions():
    """Sorting with a key, zlib, hashlib, sqlite3 that calls back, numpy where it is: each below its function."""
    able = [p for p, _ in some_pythons() if can(p, "import hashlib, sqlite3, zlib")]
    if not able:
        skip("no Python here has zlib, hashlib and sqlite3")
    for python in able:
        profile = sampled(python, C_CODE, rate=1999).profile.where(lambda s: not s.cut)
        whole(python, profile)
        names = ["sorts", "zips", "digests", "asks"] + ["multiplies"] * can(python, "import numpy")
        for name in names:
            n = profile.count(lambda s, name=name: calls(s, "<module>", "main", name))
            check(n > 0.02 * profile.count(), python, name, n, profile.head(3))
        inside = profile.count(lambda s: any(name in s.frames for name in names))
        check(inside > 0.97 * profile.count(), python, profile.head())
        back = profile.count(lambda s: calls(s, "asks", "<lambda>"))
        check(back > 0, python, "no call from sqlite3 back to Python")


def test_eight_threads():
    """Each thread has its own function's frames, whoever has the interpreter's lock."""
    program = ("import threading\n"
               + "".join(f"def work{i}():\n    while True: sorted(range(2000), key=lambda x: -x)\n" for i in range(8))
               + "threads = [threading.Thread(target=globals()['work%d' % i]) for i in range(8)]\n"
               "for t in threads: t.daemon = True\n"
               "for t in threads: t.start()\n"
               "ready()\n"
               "threads[0].join()\n")
    for python, minor in some_pythons():
        profile = sampled(python, program, rate=1999).profile.where(lambda s: not s.cut)
        whole(python, profile)
        counts = [profile.count(lambda s, i=i: f"work{i}" in s.frames) for i in range(8)]
        # On a busy machine some may not have had their turn.
        check(sum(n > 0 for n in counts) >= 4, python, counts)
        run_name = qualified(minor, "Thread.run")
        mixed = profile.where(lambda s: sum(f.startswith("work") for f in s.frames if f[4:].isdigit()) != 1)
        check(all(calls(s, run_name) for s in mixed) and mixed.count() <= 0.02 * profile.count(), python, mixed.head(3))


# A process that listens and forks workers, which take their requests from one socket, and are replaced after some.
PREFORK = """
import os, socket, time
def handle(request): return sum(range(400000 + request[0]))
def serve(listener):
    for _ in range(40):
        try: connection, _ = listener.accept()
        except socket.timeout: break
        request = connection.recv(64)
        connection.sendall(b"%d" % handle(request))
        connection.close()
def worker(listener):
    serve(listener)
    os._exit(0)
def master():
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(64)
    listener.settimeout(2)
    workers, asker = set(), 0
    while True:
        while len(workers) < 3:
            pid = os.fork()
            if not pid: worker(listener)
            workers.add(pid)
        asker = asker or os.fork()
        if not asker: ask(listener.getsockname())
        pid, _ = os.wait()
        workers.discard(pid)
        if pid == asker: asker = 0
def ask(address):
    try:
        for _ in range(50):
            client = socket.create_connection(address)
            client.sendall(b"request")
            client.recv(64)
            client.close()
    finally:
        os._exit(0)
ready()
master()
"""


def test_workers_that_are_forked():
    """Those of a server, there before or forked meanwhile: what they do, and where they wait for requests."""
    for python, _ in some_pythons():
        result = sampled(python, PREFORK, "--wall", burned=0, seconds=1)
        profile = Profile.read(result.out).where(lambda s: not s.cut)
        running = profile.where(lambda s: not s.any(r"^\[(blocked|runnable)\]$"))
        handled = running.where(lambda s: "handle" in s.frames)
        check(handled.count() > 0.1 * running.count(), python, running.head())
        check(all(calls(s, "<module>", "master", "worker", "serve", "handle") for s in handled), python, handled.head(3))
        waits = profile.where(lambda s: s.any(r"^\[blocked\]$") and "serve" in s.frames)
        check(waits.count() > 0, python, profile.head())
        # While the kernel copies a page that is written for the first time after a fork, it cannot be read.
        whole(python, running.where(lambda s: len(s.frames) > 1 and not s.any("^(do_wp_page|ret_from_fork)$")), 0.01)


def test_waits_that_began_before():
    """Threads that sleep since long before the recording have their frames: for a time, a lock, and what a generator waits for."""
    program = ("import threading, time, queue\n"
               "def rest(): time.sleep(1000)\n"
               "def take(q): return q.get()\n"
               "def generator():\n"
               "    yield rest()\n"
               "def consume(): return list(generator())\n"
               "def deep(n): return deep(n - 1) if n else rest()\n"
               "threads = [threading.Thread(target=f, args=a) for f, a in\n"
               "           ((rest, ()), (take, (queue.Queue(),)), (consume, ()), (deep, (100,)))]\n"
               "for t in threads: t.daemon = True\n"
               "for t in threads: t.start()\n"
               "time.sleep(0.2)\n"
               "ready()\n"
               "threads[0].join()\n")
    for python, minor in pythons():
        result = sampled(python, program, "--off-cpu", burned=0, seconds=0.2)
        profile = Profile.read(result.out)
        run_name = qualified(minor, "Thread.run")
        for names in ((run_name, "rest"), (run_name, "take", qualified(minor, "Queue.get"), qualified(minor, "Condition.wait")),
                      (run_name, "consume", "generator", "rest"), ("<module>", qualified(minor, "Thread.join"))):
            found = profile.where(lambda s, names=names: calls(s, *names) and s.any(r"^\[blocked\]$"))
            check(found, python, names, profile.head())
        check(any(s.frames.count("deep") == 101 and "rest" in s.frames for s in profile), python, profile.head(3))


WAITING = """
import socket, threading, time
one, other = socket.socketpair()
asked = threading.Lock()
asked.acquire()
def receive():
    while True:
        other.recv(1)
        if not asked.locked(): continue
        asked.release()
def take():
    while True:
        asked.acquire()
def ask():
    one.send(b"x")
    time.sleep(0.002)
def spin():
    while True:
        for _ in range(1000): pass
def start(*functions):
    for f in functions:
        threading.Thread(target=f, daemon=True).start()
start(receive, take)
ready()
if sys.argv[1:]: start(spin)
while True:
    ask()
"""


def waits_by_line(python, *args):
    """Time by (what waits, mark, who ended it), each a function of WAITING with the text of its line."""
    got = {}
    with directory() as d:
        script, path = os.path.join(d, "waiting.py"), os.path.join(d, "profile.json")
        with open(script, "w", encoding="utf-8") as f:
            f.write(HEAD + WAITING)
        with Fixture("python", script, *args, path=python) as target:
            run("-p", target.pid, "--off-cpu", "--wakers", "-d", 0.6, "-o", path).ok()
        with open(script, encoding="utf-8") as f:
            lines = [line.strip() for line in f]
        for stack, ns in python_only(path, script, ("[blocked]", "[GIL]")).items():
            names = [name if name.startswith("[") else (name, lines[line - 1] if line else "") for name, _, line in stack]
            marks = [i for i, name in enumerate(names) if name in ("[blocked]", "[GIL]")]
            if marks and 0 < marks[0] < len(names) - 1:
                key = tuple(names[marks[0] - 1:marks[0] + 2])
                got[key] = got.get(key, 0) + ns
    return got


def test_waits_and_wakers_by_line():
    """The line at which a thread waits for a socket, a lock and the interpreter's, and the line that ends it."""
    for python, _ in some_pythons():
        got = waits_by_line(python)
        for waiting, waker in ((("receive", "other.recv(1)"), ("ask", 'one.send(b"x")')),
                               (("take", "asked.acquire()"), ("receive", "asked.release()"))):
            all_ = sum(ns for key, ns in got.items() if key[0][0] == waiting[0] and key[1] == "[blocked]")
            check(got.get((waiting, "[blocked]", waker), 0) > 0.8 * all_ > 0, python, waiting, got)
        got = waits_by_line(python, "spin")
        gil = {key: ns for key, ns in got.items() if key[1] == "[GIL]" and key[2][0] == "spin"}
        check(gil and all(key[2][1].startswith(("for", "while")) for key in gil), python, got)
        check(any(key[0] == ("ask", "time.sleep(0.002)") for key in gil), python, gil)


AWAITED = """
import asyncio
def spin(): return sum(range(20000))
async def leaf():
    while True:
        spin()
        await asyncio.sleep(0)
async def middle(): await leaf()
async def grouped():
    async with asyncio.TaskGroup() as group: group.create_task(middle())
async def outer(): await asyncio.gather(grouped())
async def several(task): await task
async def main():
    ready()
    task = asyncio.create_task(leaf())
    await asyncio.gather(asyncio.create_task(outer()), several(task), several(task))
asyncio.run(main())
"""


def all_call(profile, python, *chain):
    wrong = profile.where(lambda s: not calls(s, *chain))
    check(not wrong, python, wrong.count(), "of", profile.count(), "stacks without", chain, wrong.head(3))


def test_await():
    """The tasks that await the running one stand between it and the event loop, where there is one of them."""
    for python, _ in pythons(14):
        for options in ((), ("--await",)):
            profile = python_stacks(sampled(python, AWAITED, *options)).where(lambda s: "spin" in s.frames)
            one = profile.where(lambda s: "middle" in s.frames)
            other = profile.where(lambda s: "middle" not in s.frames)
            check(one.count() > 0.3 * profile.count() and other.count() > 0.3 * profile.count(), python, profile.head())
            all_call(one, python, "<module>", "Handle._run", "middle", "leaf", "spin")
            all_call(other, python, "<module>", "Handle._run", "leaf", "spin")
            awaited = profile.where(lambda s: s.any("^(main|outer|grouped|several)$"))
            if not options:
                check(not awaited, python, awaited.head(2))
                continue
            check(awaited.count() == one.count(), python, awaited.head(2))
            all_call(one, python, "Handle._run", "main", "outer", "grouped", "TaskGroup.__aexit__", "middle", "leaf", "spin")


def test_files_of_other_names():
    """An interpreter in a file of another name, as in a program that has it in it; where nothing there says its version, it is said."""
    for python, minor in pythons():
        libraries = glob.glob(os.path.join(os.path.dirname(python), "..", "lib", f"libpython3.{minor}*.so.1.0"))
        if minor not in (9, 12) or not libraries:
            continue
        with directory() as d:
            copy, starter = os.path.join(d, "engine.so"), os.path.join(d, "start")
            shutil.copy(libraries[0], copy)
            with open(starter, "w", encoding="utf-8") as f:
                f.write(f"#!/bin/sh\nLD_PRELOAD='{copy}' exec '{python}' \"$@\"\n")
            os.chmod(starter, 0o755)
            result = sampled(starter, TREE)
        shown = result.profile.count(lambda s: calls(s, "<module>", "main", "spin"))
        if minor == 12:
            check(shown > 0.9 * result.profile.count(), python, result.profile.head())
        else:
            check("engine.so: its version is not known" in result.err and not shown, python, result.err)
