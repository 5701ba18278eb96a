# SPDX-License-Identifier: MIT
"""
Each call that can fail does, one in each run: the result is whole, or there is one clear line and no result.
"""
import os

from harness import Fixture, Profile, check, counts_lines, directory, equal, fixture_path, run, unsanitized

SECONDS = 90

# The calls of tests/fixtures/fail_nth.c, and up to which one fails, by powers of two.
CALLS = {"malloc": 1 << 16, "calloc": 1 << 12, "realloc": 1 << 12, "open": 256, "openat": 64, "read": 64, "pread": 64,
         "write": 8, "fstat": 32, "mmap": 16, "fork": 2, "socketpair": 2, "pthread_create": 8,
         "epoll_create1": 2, "epoll_ctl": 4, "eventfd": 4, "signalfd": 1, "renameat": 1, "linkat": 1,
         "bpf": 128, "perf_event_open": 8, "seccomp": 1}
# Of a library that serve loads, where that has no memory.
THEIRS = "Error in GnuTLS initialization: "
SLOW = 120      # seconds; what hangs is longer. A program that is refused is looked at again and again, for a log


def failing(call, n, *args):
    """One run with the fault in it: how it ended, the lines that it told, and whether the fault was met."""
    reads, writes = os.pipe()
    try:
        r = run(*args, timeout=SLOW, fds=(writes,),
                env={"FAIL_NTH": f"{call}:{n}", "FAIL_FD": str(writes), "LD_PRELOAD": fixture_path("fail_nth.so")})
    finally:
        os.close(writes)
        met = os.read(reads, 1) == b"!"
        os.close(reads)
    lines = [line for line in r.err.splitlines() if not line.startswith(THEIRS)]
    told = [line for line in lines if line.startswith("ebprof: ")]
    equal(told, lines, f"{args[0]}, {call} {n}: lines of another form:\n{r.err}")
    check(r.code >= 0, f"{args[0]}, {call} {n}: killed by signal {-r.code}; stderr:\n{r.err}")
    return r, told, met


def fault(call, n, target, d):
    """One run with the fault in it; whether it was met. @target: the command line but for its result's name."""
    out = os.path.join(d, "out.folded")
    r, told, met = failing(call, n, *target[:1], "-o", out, *target[1:])
    left = os.listdir(d)
    if r.code in (0, 5):
        equal(left, ["out.folded"], f"{call} {n}: files left by success")
        with open(out, encoding="utf-8") as f:
            total = Profile.read(f.read()).count()
        if target[0] == "record":
            equal(total, r.summary.kept, f"{call} {n}: samples in the file")
        os.unlink(out)
    else:
        check(r.code in (1, 3), f"{call} {n}: exit status", r.code, r.err)
        equal(left, [], f"{call} {n}: files left by failure")
        equal(len(told) - ("samples of" in r.err) * (len(told) - 1), 1, f"{call} {n}: lines of error:\n{r.err}")
    return met


def faults(*calls, what=("record", "-F", 999), command=False, step=1):
    unsanitized("their allocator begins before what makes calls fail")
    with Fixture("tree") as f, directory() as d:
        target = (*what, "-d", "0.05", *(("--", fixture_path("tree"), "--seconds", "0.02") if command else ("-p", f.pid)))
        for call in calls:
            n = 1
            while n <= CALLS[call] and fault(call, n, target, d):
                n += step if call == "bpf" else n  # few, and each is another matter
            check(n > 1, f"no {call} was met")


def test_memory():
    faults("malloc", "calloc", "realloc", *(() if counts_lines() else ("mmap",)))


def test_files():
    faults("open", "openat", "read", "pread", "fstat")


def test_output():
    faults("write", "renameat", "linkat")


def test_processes_and_threads():
    faults("fork", "socketpair", "pthread_create", "epoll_create1", "epoll_ctl", "eventfd", "signalfd")
    faults("fork", "socketpair", "read", "pthread_create", command=True)


def test_kernel():
    faults("bpf", "perf_event_open", "seccomp")


def test_probes():
    faults("bpf", what=("alloc", "-q", "--max-overhead", "10"), step=4)
