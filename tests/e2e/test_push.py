# SPDX-License-Identifier: MIT
"""Windows of a recording without end, as files of a folder."""
import calendar
import functools
import gzip
import os
import re
import shutil
import signal
import subprocess
import time

from harness import Fixture, Profile, check, directory, equal, finish, run, start, wait_burned, wait_for, wait_sampling

SECONDS = 35

NAME = re.compile(r"^(.+)\.(\d{8}T\d{6})\.(\d{3})Z\.pb\.gz$")
SAID = re.compile(r"ebprof: (\d+) samples?: (\d+) in (\d+) windows?, (\d+) lost\n"
                  r"ebprof: (\d+) files? of (\d+) bytes in all, (\d+) could not be written \((\d+) samples?\)\n")


def in_folder(test):
    """Gives the test a folder of its own."""
    @functools.wraps(test)
    def inner():
        with directory() as where:
            test(where)
    del inner.__wrapped__
    return inner


def files(where):
    """{service: [(start in ms, path)]}, the oldest first."""
    out = {}
    for name in sorted(os.listdir(where)):
        # One that is being written.
        if name.startswith(".ebprof-"):
            continue
        m = NAME.match(name)
        check(m, "not a name of ours:", name)
        ms = calendar.timegm(time.strptime(m[2], "%Y%m%dT%H%M%S")) * 1000 + int(m[3])
        out.setdefault(m[1], []).append((ms, os.path.join(where, name)))
    return out


def raw(path):
    """What `go tool pprof -raw` says of a payload."""
    done = subprocess.run(["go", "tool", "pprof", "-raw", path], capture_output=True, text=True, check=False)
    equal(done.returncode, 0, "go tool pprof: " + done.stderr)
    return done.stdout


def when(path):
    """When the window of a file began, and how long it was, in ns: profile.proto's time_nanos and duration_nanos."""
    done = subprocess.run(["protoc", "--decode_raw"], input=gzip.open(path).read(), capture_output=True, check=True)
    return tuple(int(re.search(rf"^{field}: (\d+)$", done.stdout.decode(), re.M)[1]) for field in (9, 10))


def folded(path):
    return Profile.read(run("report", "-f", "folded", path).ok().out)


def said(result):
    m = SAID.search(result.err)
    check(m, "no account:", result.err)
    return [int(x) for x in m.groups()]


@in_folder
def test_windows_add_up_and_touch(where):
    with Fixture("tree") as f:
        r = run("push", "--to", "dir:" + where, "-p", f.pid, "-F", 499, "--every", "1s", "-d", "3500ms").ok()
    taken, kept, windows, lost, written, size, failed, _ = said(r)
    equal((taken, windows, lost, failed), (kept, 4, 0, 0), r.err)
    got = files(where)
    equal(list(got), ["tree"], "services")
    paths = [path for _, path in got["tree"]]
    equal((len(paths), sum(map(os.path.getsize, paths))), (written, size), "files and bytes")
    equal(sum(folded(path).count() for path in paths), taken, "samples of all files")
    for path in paths:
        p = folded(path)
        check(p.count(lambda s: s.has("main")) > 0.95 * p.count(), "whole stacks:", p.head())
        check("samples/count" in raw(path), "pprof's types")
    # A window begins where the one before it ended, to the nanosecond.
    times = [when(path) for path in paths]
    for (begin, duration), (then, _) in zip(times, times[1:]):
        equal(begin + duration, then, "the end of a window, and the next one's beginning")
    for (begin, _), (ms, _) in zip(times, got["tree"]):
        equal(begin // 10**6, ms, "the time in the name")


@in_folder
def test_a_profile_for_each_service(where):
    with Fixture("tree") as a, Fixture("timed", "20") as b:
        r = run("push", "--to", where, "-p", f"{a.pid},{b.pid}", "-F", 999, "--every", "400ms", "-d", "600ms").ok()
    got = files(where)
    equal(sorted(got), ["timed", "tree"], "services")
    for service, windows in got.items():
        comms = set().union(*(folded(path).comms() for _, path in windows))
        equal(comms, {service}, "whose samples they are")
    both = [path for _, path in got["tree"]][:2]
    run("diff", *both).ok()
    equal(sum(folded(p).count() for w in got.values() for _, p in w), said(r)[0], "samples of all files")


@functools.cache
def rate_of(path):
    """Of a file that is there as a whole: Hz by the period of a window's samples, what its remark says, its samples, and the CPU time that these stand for."""
    text = raw(path)
    period = int(re.search(r"^Period: (\d+)$", text, re.M)[1])
    remark = re.search(r"sampled at (\d+) Hz instead of (\d+), to keep --max-overhead", text)
    rows = [(int(n), int(ns)) for n, ns in re.findall(r"^ +(\d+) +(\d+): ", text, re.M)]
    return round(10**9 / period), remark and tuple(map(int, remark.groups())), sum(n for n, _ in rows), sum(ns for _, ns in rows), period


@in_folder
def test_a_rate_that_the_machine_bears(where):
    """What is too much is lowered, and each window says its own rate: by it samples are weighed."""
    def lowered():
        rates = [rate_of(path) for _, path in files(where).get("tree", [])]
        return any(a[0] <= 5 and b[0] <= 5 for a, b in zip(rates, rates[1:]))

    with Fixture("tree") as f:
        proc = start("push", "--to", where, "-F", 99, "--every", "1100ms", "--max-overhead", "0.01", "-p", f.pid)
        wait_for(lowered, "a low rate, twice", 90)
        proc.send_signal(signal.SIGTERM)
        taken, kept, _, lost, *_ = said(finish(proc).ok())
    equal(taken, kept + lost, "samples")
    windows = [path for _, path in files(where)["tree"]]
    rates = [rate_of(path) for path in windows]
    equal((rates[0][0], rates[0][1]), (99, None), "the first window")
    equal(sum(n for _, _, n, _, _ in rates), kept, "samples of all files")
    for path, before, (hz, remark, n, ns, period) in zip(windows[1:], rates, rates[1:]):
        equal(ns, n * period, "the time of samples")
        equal(remark, (hz, 99) if hz != 99 else None, "the remark")
        # One thread, where no sample can be of the rate before.
        if before[0] <= 5 and hz <= 5:
            check(n <= 5 * when(path)[1] / 10**9 + 5, "samples of a low rate:", n, hz)
    run("push", "--to", where, "-c", 1000000, "--max-overhead", 1, "-d", "1s").fails(2, "leave out -c")


@in_folder
def test_churn_and_a_signal(where):
    """Of thousands of processes that came and went every sample is in a window."""
    churn = subprocess.Popen(["sh", "-c", "while :; do /bin/true; done"])
    try:
        proc = start("push", "--to", where, "-F", 999, "--every", "500ms", "-p", churn.pid)
        wait_sampling(proc)
        wait_for(lambda: len(files(where).get("dash", [])) + len(files(where).get("sh", [])) >= 4, "windows", 20)
        proc.send_signal(signal.SIGTERM)
        r = finish(proc).ok()
    finally:
        churn.kill()
        churn.wait()
    taken, kept, _, lost, *_, dropped = said(r)
    equal((taken, dropped), (kept + lost, 0), r.err)
    equal(sum(folded(p).count() for w in files(where).values() for _, p in w), kept, "samples of all files")
    check("_" not in files(where), "processes without a name:", files(where).get("_"))


@in_folder
def test_stacks_that_were_sent_are_forgotten(where):
    """Memory is bounded, no sample is lost by it, and no stack is another's."""
    with Fixture("paths") as a, Fixture("tree") as b:
        proc = start("push", "--to", where, "-F", 1999, "--every", "100ms", "--keep-size", "64M", "-p", f"{a.pid},{b.pid}")
        wait_sampling(proc)
        wait_burned(a.pid, 2)
        wait_for(lambda: len(files(where).get("tree", [])) >= 60, "windows", 20)
        proc.send_signal(signal.SIGTERM)
        r = finish(proc).ok()
    taken, kept, windows, lost, *_, failed = said(r)
    check(re.search(r"stacks forgotten \d+ times?, to bound memory", r.err), "never began anew:", r.err)
    equal((taken, failed), (kept + lost, 0), r.err)
    got = files(where)
    equal(sorted(got), ["paths", "tree"], "services")
    p = {service: Profile.read(run("report", "-f", "folded", *(path for _, path in found)).ok().out) for service, found in got.items()}
    equal(sum(x.count() for x in p.values()), kept, "samples of all files")
    # Windows are too short for all names to be there in time, but not for frames.
    for service, deep in (("paths", 60), ("tree", 5)):
        whole = p[service].count(lambda s: not s.cut and len(s.frames) > deep)
        check(whole > 0.95 * p[service].count(), f"{whole} of {p[service].count()} are whole in {windows} windows:", p[service].head(3))
    check(not p["paths"].where(lambda s: any(s.has(f) for f in ("a2", "b2", "c2"))), "tree's frames in", p["paths"].head(3))
    check(not p["tree"].where(lambda s: any(s.has(f) for f in ("left", "right", "leaf"))), "paths' frames in", p["tree"].head(3))


@in_folder
def test_a_folder_that_is_gone_for_a_while(where):
    """What is not written is counted and said, sampling goes on, and so does the rest when the folder is back."""
    with Fixture("tree") as f:
        proc = start("push", "--to", where, "-p", f.pid, "-F", 199, "--every", "400ms")
        wait_sampling(proc)
        wait_for(lambda: files(where), "a window")
        shutil.rmtree(where)
        wait_burned(f.pid, 1)
        os.mkdir(where)
        wait_for(lambda: files(where), "a window in the new folder")
        proc.send_signal(signal.SIGTERM)
        r = finish(proc)
    equal(r.code, 1, r.err)
    taken, kept, _, lost, written, _, failed, dropped = said(r)
    got = [path for w in files(where).values() for _, path in w]
    equal(taken, kept + lost, r.err)
    check(failed >= 1 and 0 < len(got) < written, "windows that were not written, and that were:", r.err)
    check(sum(folded(path).count() for path in got) + dropped < kept, "samples of windows that were removed:", r.err)
    equal((r.err.count("cannot write to"), r.err.count("can write to")), (1, 1), "each change is said once: " + r.err)


def test_usage():
    run("push").fails(2, "--to dir:PATH")
    run("push", "--to", "http://localhost:1").fails(2, r"otlp\+http://")
    run("push", "--to", "/nonexistent/x").fails(1, "make the folder first")
    run("push", "--to", "/tmp", "--every", "10ms").fails(2, "--every")
    run("record", "--every", "5s", "--", "true").fails(2, "--every", "ebprof push")
