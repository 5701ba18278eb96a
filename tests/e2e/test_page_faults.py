# SPDX-License-Identifier: MIT
"""Page faults against what a program knows that it touched: ebprof alloc --page-faults."""
import os
import re
import signal
import subprocess

from harness import Fixture, check, directory, equal, finish, fixture_path, needs, own_name, run, skip, start, wait_sampling
from test_targets import _cgroup, _mounts

PAGE = os.sysconf("SC_PAGESIZE")
PLACES = ("touch_mapped", "touch_again", "touch_more", "touch_block", "touch_heap", "touch_by_read", "touch_child")


def kernel():
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", os.uname().release).groups()))


def folded(path, kind):
    """{function: value} of those whose names begin with touch_, by Go's pprof, as everybody reads the profile."""
    text = subprocess.run([needs("go"), "tool", "pprof", "-top", "-nodecount=0", "-nodefraction=0", f"-sample_index={kind}",
                           "-unit=bytes" if kind == "fault_space" else "-unit=count", path],
                          check=True, capture_output=True, timeout=60).stdout.decode()
    rows = re.findall(r"^ *\S+ +\S+ +\S+ +(\d+)B? +\S+ +(touch_\w+)$", text, re.M)
    return {name: int(value) for value, name in rows}


class Touched:
    """The fixture under ebprof alloc --page-faults: what it told, and what was counted. Another one beside it is not meant."""

    def __init__(self, *options, target=lambda f: ("-p", f.pid), path=None, beside=True):
        with directory() as d, Fixture("page_faults", path=path) as f, Fixture("page_faults") as other:
            out = os.path.join(d, "out.pb.gz")
            e = start("alloc", "--page-faults", *options, *target(f), "-o", out)
            wait_sampling(e)
            for each in (f, other) if beside else (f,):
                each.go()
                each.wait("done")
            e.send_signal(signal.SIGINT)
            self.result = finish(e).ok()
            self.faults, self.space = folded(out, "page_faults"), folded(out, "fault_space")
            self.truth = {w[1]: (int(w[2]), int(w[3])) for w in f.lines if w[0] == "place"}
        equal(self.result.summary.lost, 0, "lost: " + self.result.err)
        # Of a program that has just begun one may be read while its stack is not there yet; none of a place that it tells is.
        check(not beside or self.result.summary.truncated <= 0.001 * self.result.summary.taken, "truncated:", self.result.err)

    def exact(self):
        for name in PLACES:
            equal((self.faults.get(name, 0), self.space.get(name, 0)), self.truth[name], name)


def test_every_fault():
    """Where memory came by mmap, malloc or brk, who touched it: exact, for each fault is a sample."""
    t = Touched()
    t.exact()
    total = re.search(r"^ebprof: ([\d.]+) MiB in (\d+) page faults", t.result.err, re.M)
    equal(int(total[2]), t.result.summary.taken, "faults and samples")
    check(int(total[2]) >= sum(pages for pages, _ in t.truth.values()), total[0])


def test_huge_pages():
    t = Touched()
    huge = t.truth.get("touch_huge", (0, 0))
    if not huge[0]:
        skip("no huge page was to be had")
    if kernel() < (6, 3):
        equal(t.space["touch_huge"], 8 * PAGE, "taken for small pages")
        check("does not tell huge ones" in t.result.err, t.result.err)
        return
    equal((t.faults["touch_huge"], t.space["touch_huge"]), (8, huge[1]), "huge pages")


def test_major_faults():
    """What had to be read is one of them."""
    t = Touched()
    faults, major = t.truth["touch_file"]
    if not major:
        skip("the file system keeps its files in memory")
    equal(t.faults["touch_file"], faults, f"faults, {major} of them major")


def test_some_faults():
    """
    One of ten. Each CPU and each kind of fault counts for itself, and where the program is moved, or another place ends, less than ten
    faults are waited for: so it is off by less than ten for each time that may be.
    """
    t = Touched("-c", 10)
    for name in ("touch_mapped", "touch_more", "touch_by_read"):
        pages = t.truth[name][0]
        check(t.faults[name] % 10 == 0, name, "stand for ten each:", t.faults[name])
        check(abs(t.faults[name] - pages) <= 10 * (1 + os.cpu_count()), name, t.faults[name], "of", pages)
        equal(t.space[name], t.faults[name] * PAGE, name)
    check("page-faults every 10 " in t.result.err, t.result.err)


def test_times():
    """Each sample at its time, and worth as many faults as it stands for."""
    with directory() as d:
        out = os.path.join(d, "out.perf")
        for period in (1, 10):
            r = run("alloc", "--page-faults", "--timeline", "-c", period, "-o", out, "--", fixture_path("page_faults"), "end").ok()
            with open(out, encoding="utf-8") as f:
                records = re.findall(r"^\S+ .* (\d+\.\d+): +(\d+) page-faults: $", f.read(), re.M)
            times = [float(time) for time, _ in records]
            equal(times, sorted(times), "in the order of time")
            check(len(set(times)) > 400, len(set(times)), "times")
            equal(sum(int(value) for _, value in records), r.summary.taken * period, "faults")


def test_whole_system():
    """Others fault, too, but not at these places."""
    for target in ((), ("-a",)):
        Touched(target=lambda f, target=target: target, beside=False).exact()


def test_by_name():
    with own_name(fixture_path("page_faults")) as (path, comm):
        Touched(path=path, target=lambda f: ("-n", comm)).exact()


def test_cgroup():
    mounts = [where for where, options in _mounts("cgroup") if "cpu" in options or "memory" in options] + \
             [where for where, _ in _mounts("cgroup2")]
    if not mounts:
        skip("no cgroups")
    with _cgroup(mounts[0]) as path:
        def move(f):
            with open(os.path.join(path, "cgroup.procs"), "w", encoding="ascii") as procs:
                procs.write(str(f.pid))
            return "-G", path
        Touched(target=move).exact()


def test_command():
    """From its first instruction, so what the loader touches is there, too."""
    with directory() as d:
        out = os.path.join(d, "out.pb.gz")
        r = run("alloc", "--page-faults", "-o", out, "--", fixture_path("page_faults"), "end").ok()
        faults = folded(out, "page_faults")
        truth = {w[1]: int(w[2]) for w in map(str.split, r.out.splitlines()) if w[0] == "place"}
        for name in PLACES:
            equal(faults.get(name, 0), truth[name], name)
        check("_dl_" in run("report", "--plain", "--by", "function", out).ok().out, "the loader")


def test_nothing_touched():
    with Fixture("page_faults") as f:
        r = run("alloc", "--page-faults", "-p", f.pid, "-d", "300ms")
        equal(r.code, 5, r.err)


def test_refused():
    run("--page-faults", "--", "true").fails(2, "ebprof alloc")
    for more in (("--leaks",), ("--min-age", "1s"), ("--alloc-interval", "all")):
        run("alloc", "--page-faults", *more, "--", "true").fails(2, "leave out")
    for more in (("-e", "cycles"), ("-F", "99"), ("--off-cpu",), ("--wall",)):
        run("alloc", "--page-faults", *more, "--", "true").fails(2, "leave out")
    run("alloc", "--page-faults", "-c", "0", "-a").fails(2, "--period")
    run("alloc", "-a", "-d", "1").fails(2, "--page-faults is cheap enough")
