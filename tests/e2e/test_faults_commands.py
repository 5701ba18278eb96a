# SPDX-License-Identifier: MIT
"""
The same of the commands that do not record a file, each call failing in some places: a result as it is without, or a line that
says why there is none; and clocks that jump.
"""
import contextlib
import os
import re
import time

from harness import Fixture, Profile, check, directory, equal, fixture_path, run, tmpfs, unsanitized
from test_faults import failing
from test_perf_data import recorded
from test_push import files, folded, said

SECONDS = 20

READING = ("malloc", "calloc", "realloc", "open", "openat", "read", "pread", "fstat", "write", "mmap")
FEW = ("malloc", "openat", "read", "write")
# What they have beside a recording's: test_faults has that.
SAMPLING = ("malloc", "read", "write", "fork", "socketpair")
HOUR = 3600


def each(calls, result, *args, most=3000, step=8):
    """@args with each of the calls failing the first time, the 8th, the 64th..., while it is met. @result: checks a success."""
    unsanitized("their allocator begins before what makes calls fail")
    runs = 0
    for call in calls:
        n, met = 1, True
        while met and n <= most:
            r, told, met = failing(call, n, *args)
            runs += met
            if r.code in (0, 5):
                result(r)
            else:
                check(r.code in (1, 3), f"{args[0]}, {call} {n}: exit status", r.code, r.err)
                check(told or r.out, f"{args[0]}, {call} {n}: no line of error")
            n *= step
    check(runs >= len(calls), args[0], "met", runs)


def test_reading():
    """report and convert of a perf.data, and annotate."""
    with directory() as d:
        path = recorded(os.path.join(d, "x"), "-g", "-e", "cpu-clock", command=[fixture_path("tree"), "--seconds", "0.3"])
        n = Profile.read(run("convert", "-f", "folded", path).ok().out).count()
        each(READING, lambda r: equal(Profile.read(r.out).count(), n, "samples"), "convert", "-f", "folded", path)
        each(FEW, lambda r: check(f" {n} " in r.err and r.out, r.err, r.out[:200]), "report", "--by", "function", path)
        each(FEW, lambda r: check("a2" in r.out, r.out[:200]), "annotate", "a2", path)


def test_counting():
    each(("malloc", "realloc", "openat", "read", "write", "fork", "perf_event_open"), lambda r: check("task-clock" in r.out, r.out),
         "stat", "-r", 2, "-e", "task-clock", "--", "true", step=4)


def test_windows():
    """Of a push that succeeds each window is there."""
    with Fixture("tree") as f, directory() as d:
        def whole(r):
            paths = [path for of in files(d).values() for _, path in of]
            taken, _, _, _, written, _, failed, lost = said(r)
            kept = sum(folded(path).count() for path in paths)
            check(written == len(paths) and (kept == taken if not failed else kept + lost >= taken), r.err)
            for path in paths:
                os.unlink(path)
        each(SAMPLING, whole, "push", "--to", "dir:" + d, "-p", f.pid, "-F", 499, "--every", "1s", "-d", "0.1", step=16, most=600)


def test_serving():
    with Fixture("tree") as f:
        each((*SAMPLING, "eventfd"), lambda r: check("http://127.0.0.1:" in r.err, r.err), "serve", "-p", f.pid, "-d", "0.1",
             step=16, most=600)


def test_selftest():
    """Its trials are runs of their own, without the fault."""
    each(("read", "fork"), lambda r: check(" native " in r.out, r.out), "selftest", "native", step=100, most=1)


def test_full_disk_in_a_push():
    """Each window that finds no room is counted, it is said once, and no part of a file is left."""
    with tmpfs("size=64k") as d, Fixture("tree") as f:
        with contextlib.suppress(OSError), open(os.path.join(d, ".fill"), "wb", buffering=0) as full:
            while full.write(b"x" * 4096):
                pass
        r = run("push", "--to", "dir:" + d, "-p", f.pid, "-F", 199, "--every", "1s", "-d", "1500ms").ok(1)
        taken, kept, windows, lost, written, size, failed, dropped = said(r)
        equal((kept, windows, lost, written, size, failed, dropped), (taken, 2, 0, 0, 0, 2, taken), r.err)
        equal(r.err.count(f"cannot write to {d}: No space left on device"), 1, r.err)
        equal(os.listdir(d), [".fill"], "files")


# --- Clocks. -------------------------------------------------------------------------------------------------

def jumping(seconds):
    """The date is this much ahead, or behind, from half a second after the start on."""
    return {"LD_PRELOAD": fixture_path("clock_jump.so"), "CLOCK_JUMP": str(seconds)}


def test_date_jumps_in_a_push():
    """Each window is kept, has all of its samples, and the date as it is then."""
    for seconds in (-HOUR, HOUR):
        with Fixture("tree") as f, directory() as d:
            r = run("push", "--to", "dir:" + d, "-p", f.pid, "-F", 199, "--every", "1s", "-d", "2500ms", env=jumping(seconds)).ok()
            taken, kept, windows, lost, written, _, failed, _ = said(r)
            starts, paths = zip(*(window for of in files(d).values() for window in of))
            check(all(abs(s / 1000 - time.time() - seconds) < 60 for s in starts), "dates of windows", starts)
            equal((taken, windows, lost, failed, written), (kept, 3, 0, 0, len(paths)), r.err)
            equal(sum(folded(path).count() for path in paths), taken, "samples of all files")


def test_date_jumps_in_a_recording():
    """Times of samples are those of a clock that only goes on."""
    with Fixture("tree") as f, directory() as d:
        out = os.path.join(d, "x.pb.gz")
        run("-p", f.pid, "-F", 199, "-d", "2500ms", "--timeline", "-o", out, env=jumping(-HOUR)).ok()
        seconds = {int(s) for s in re.findall(r"^ +(\d+) +[\d.]+ ", run("report", "--by", "second", out).ok().out, re.M)}
        check({0, 1} <= seconds <= {0, 1, 2, 3}, "seconds", seconds)
