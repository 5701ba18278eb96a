#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""
tests/bench/workloads.py [NAME]...: runs the workloads that profilers are measured with, without any, and prints how long each
took and the CPU time that it had. Each is a fixed piece of work, the same in each run, from its first instruction to its end.
"""
import contextlib
import dataclasses
import glob
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
sys.dont_write_bytecode = True
import stacks  # noqa: E402
from harness import Missing, directory, fixture_path, needs, wait_for  # noqa: E402

STEPS = "700000"    # of a fixture's work(), for what it calls a millisecond
PYTHON = """
def key(x): return -x
def rows(n): return sorted(range(n), key=key)
def main():
    for i in range(25000): rows(1000)
main()
"""
NODE = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) } let s = 0; for (let i = 0; i < 50; i++) s += fib(32)"
SOURCE = "#include <stdio.h>\n#include <stdlib.h>\nint f{i}(int n) {{ for (int k = 0; k < n; k++) printf(\"%d\", abs(k)); return n; }}\n"


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    what: str
    argv: object                                # (directory) -> command
    comms: re.Pattern                           # names of its threads
    shares: dict = dataclasses.field(default_factory=dict)  # of its samples that have a function anywhere, where known
    exited: re.Pattern = None                   # processes that are gone at the end, all of them in main()
    complete: object = stacks.is_complete
    beside: tuple = ()                          # what runs meanwhile
    stays: bool = False                         # says "took", and lives on until the stacks have names
    tells: bool = False                         # ... and what it knows of itself, in the words after that; then it ends unless it stays


def fixture(name, *args):
    return lambda d: [fixture_path(name), *args]


def compile_all(d):
    for i in range(20):
        with open(os.path.join(d, f"f{i}.c"), "w", encoding="ascii") as f:
            f.write(SOURCE.format(i=i))
    return ["sh", "-c", f"for n in 1 2 3; do for f in {d}/*.c; do gcc -O1 -c -o {d}/f.o $f; done; done"]


def whole_go(frames):
    """No name is kept for a profiler without a reader of Go's own tables: then leaf, middle, outer and what began them."""
    return stacks.is_complete(frames) or len(frames) >= 4 and all(stacks.UNNAMED.match(f) for f in frames[:4])


WORKLOADS = [
    Workload("c", "C without frame pointers, three functions of known shares", fixture("tree_frameless", "--rounds", "220"),
             re.compile("tree_frameless"), {"a": 0.6, "b": 0.3, "c": 0.1}),
    Workload("server", "the same with frame pointers, and it still lives when its stacks get names",
             fixture("tree", "--rounds", "220", "--stay", "1"), re.compile("tree"), {"a": 0.6, "b": 0.3, "c": 0.1}, stays=True),
    Workload("rust", "Rust as released, with debug information: iterators, collections, allocation", fixture("load_rust", "8000"),
             re.compile("load_rust")),
    Workload("cpp", "C++: templates, std::sort, exceptions; no frame pointers", fixture("unwind_cpp", "500"), re.compile("unwind_cpp")),
    Workload("go", "stripped Go, three goroutines, garbage", fixture("unwind_go_stripped", "38000"), re.compile("unwind_go_strip"),
             complete=whole_go),
    Workload("threads", "64 threads that contend for a lock", fixture("waits", "contend", "64", "1000"), re.compile("waits")),
    Workload("gcc", "fork and exec: 60 runs of gcc on small files", compile_all, re.compile("sh$|gcc|cc1|as$|collect2|ld")),
    Workload("brief", "100 processes of 20 ms, two at a time", fixture("brief", "100", "2"), re.compile("brief"),
             exited=re.compile("brief_child")),
    Workload("syscalls", "nothing but small system calls", fixture("syscalls", "loop", "4500"), re.compile("syscalls")),
    Workload("python", "python3: sorting with a key", lambda d: [needs("python3"), "-c", PYTHON], re.compile("python")),
    Workload("node", "node: recursion in JIT code", lambda d: [needs("node"), "-e", NODE],
             re.compile("node|Delayed|libuv|V8|SignalInsp")),
    Workload("crowd", "200 busy processes beside 1,000 idle ones", fixture("tree_frameless", "--fork", "200", "--rounds", "1"),
             re.compile("tree_frameless"), {"a": 0.6, "b": 0.3, "c": 0.1}, beside=("sleep", 1000)),
]


def available(only=()):
    """The workloads whose programs are here, or those of @only, and what is missing."""
    found, notes = [], []
    for each in (w for w in WORKLOADS if not only or w.name in only):
        try:
            with directory() as d:
                each.argv(d)
            found.append(each)
        except Missing as e:
            notes.append(f"workload {each.name}: {e} is missing")
    return found, notes


@contextlib.contextmanager
def sleepers(n):
    """So many idle processes, each with a memory of its own."""
    began = [subprocess.Popen(["sleep", "100000"], stdin=subprocess.DEVNULL) for _ in range(n)]
    try:
        yield
    finally:
        for each in began:
            each.kill()
        for each in began:
            each.wait()


def cpu_clock(pid):
    """The clock of a process's CPU time, as clock_getcpuclockid(3) makes it."""
    return (~pid << 3) | 2


class Gate:
    """A workload that begins at go() and not before, so that the profiler is there; then .told, what it said of itself."""

    def __init__(self, workload, d):
        env = {**os.environ, "STEPS_PER_MS": STEPS}
        self.workload, self.told = workload, []
        talks = workload.stays or workload.tells
        self.proc = subprocess.Popen(["sh", "-c", 'read _; exec "$@"', "sh", *workload.argv(d)], env=env, stdin=subprocess.PIPE, cwd=d,
                                     stdout=subprocess.PIPE if talks else subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def go(self, timeout=120):
        """(seconds, CPU seconds of it and its children)"""
        began = time.monotonic()
        self.proc.stdin.write(b"\n")
        self.proc.stdin.close()
        if self.proc.stdout:
            said = next((line for line in self.proc.stdout if line.startswith(b"took")), None)
            took = time.monotonic() - began, time.clock_gettime(cpu_clock(self.proc.pid))
            if not said:
                raise AssertionError(f"{self.proc.args[3:]} failed: {self.proc.wait()}")
            self.told = said.split()[1:]
            if self.workload.stays:
                return took

        def ended():
            pid, status, usage = os.wait4(self.proc.pid, os.WNOHANG)
            return (time.monotonic() - began, status, usage) if pid else None
        until, status, usage = wait_for(ended, "the workload to end", timeout)
        self.proc.returncode = os.waitstatus_to_exitcode(status)
        if self.proc.returncode:
            raise AssertionError(f"{self.proc.args[3:]} failed: {self.proc.returncode}")
        return took if self.told else (until, usage.ru_utime + usage.ru_stime)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        if self.proc.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.proc.pid, 9)
            self.proc.wait()
        if self.proc.stdout:
            self.proc.stdout.close()
        # What it wrote for perf.
        for path in (p for name in ("perf-{}.*", "jit-{}.dump", "jitted-{}-*") for p in glob.glob(f"/tmp/{name.format(self.proc.pid)}")):
            os.remove(path)


@contextlib.contextmanager
def surroundings(workload):
    """What is there while it runs; gives a directory of its own."""
    with directory() as d, sleepers(workload.beside[1]) if workload.beside else contextlib.nullcontext():
        yield d


def alone(workload, d):
    with Gate(workload, d) as gate:
        return gate.go()


def main():
    found, notes = available()
    for each in found:
        if not sys.argv[1:] or each.name in sys.argv[1:]:
            with surroundings(each) as d:
                print("{:10} took {:.3f} s, CPU {:.3f} s   {}".format(each.name, *alone(each, d), each.what), flush=True)
    print("\n".join(notes), end="\n" if notes else "")


if __name__ == "__main__":
    main()
