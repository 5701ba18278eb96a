# SPDX-License-Identifier: MIT
"""Allocations against what the programs know of their own."""
import contextlib
import ctypes
import glob
import math
import os
import re
import shutil
import signal
import stat
import subprocess
import sys

from harness import (BUILD, EBPROF, Fixture, check, directory, equal, finish, fixture_path, needs, perf_events, run, skip,
                     start, unsanitized, wait_for)

TYPES = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space",
         "max_objects", "max_space", "lifetime")


class Allocations:
    """A command under ebprof alloc: the values of each leaf function, as callgrind's self costs, and what it printed."""

    def __init__(self, *options, program, env=None):
        with directory() as d:
            path = os.path.join(d, "out.callgrind")
            self.result = run("alloc", *options, "-o", path, "--", *program, env=env).ok()
            with open(path, encoding="utf-8") as f:
                self.sites = self.read(f.read())
        self.said = [line.split() for line in self.result.out.splitlines()]

    @staticmethod
    def read(text, types=TYPES):
        order = re.search(r"^events: (.*)$", text, re.M)[1].split()
        equal(sorted(order), sorted(types), "types")
        names, sites, at, called = {}, {}, None, False
        for line in text.split("\n\n", 1)[1].splitlines():
            m = re.match(r"c?fn=\((\d+)\)(?: (.*))?$", line)
            if m:
                names.setdefault(m[1], m[2])
                at = names[m[1]] if line.startswith("fn") else at
            elif line.startswith("calls="):
                called = True
            elif re.match(r"[\d+*-]", line):
                cost = [int(x) for x in line.split()[1:]]
                cost += [0] * (len(order) - len(cost))
                if not called and at:
                    site = sites.setdefault(at, dict.fromkeys(types, 0))
                    for name, value in zip(order, cost):
                        site[name] += value
                called = False
        return sites

    def truth(self):
        return {w[1]: dict(zip(TYPES, map(int, w[2:]))) for w in self.said if w[0] == "site"}


def test_every_block():
    a = Allocations("--alloc-interval", "all", program=(fixture_path("alloc_sites"), 3))
    truth = a.truth()
    equal(len(truth), 30, "sites")
    for name, values in truth.items():
        got = dict(a.sites.get(name, {}))
        # Measured a moment before and after; a trap of some us lies between for each block.
        lifetime = got.pop("lifetime")
        expected = values.pop("lifetime")
        check(0.8 * expected - 1e8 <= lifetime <= 1.2 * expected + 1e8, name, "lifetime", lifetime, expected)
        equal(got, values, name)
    equal(a.result.summary.lost, 0, "lost")
    check(a.result.summary.complete >= 0.99 * a.result.summary.taken, a.result.err)


def chance_of_as_many(n, expected):
    """Of @n events or more, where @expected come on average (Poisson)."""
    return 1 - sum(math.exp(-expected) * expected**i / math.factorial(i) for i in range(n))


def unbiased(a, interval, few=10):
    """What is estimated for each site of alloc_sites is as far from the truth as samples of it are, and no further."""
    errors = []
    for name, values in a.truth().items():
        for kind in ("alloc", "inuse"):
            objects, space = values[kind + "_objects"], values[kind + "_space"]
            got = a.sites.get(name, {}).get(kind + "_space", 0)
            if not objects:
                equal(got, 0, f"{name}: {kind}_space")
                continue
            # Blocks of one site differ in size by little, so by their mean.
            size = space / objects
            chance = 1 - math.exp(-size / interval)
            if objects * chance >= few:
                errors.append((got - space) / (size * math.sqrt(objects * (1 - chance) / chance)))
                continue
            # Of four blocks of 64 bytes one is sampled once in thirty runs, and that is 5.5 standard errors.
            samples = round(got * chance / size)
            check(chance_of_as_many(samples, objects * chance) > 1e-6, name, kind, samples, "samples of", objects, "blocks")
    check(len(errors) >= 50, len(errors), "sums of many samples")
    # Sizes in a site are not all equal: the true errors are up to a fifth larger.
    check(max(map(abs, errors)) < 5.5, "an error of", max(map(abs, errors)), "standard errors")
    mean, square = sum(errors) / len(errors), sum(e * e for e in errors) / len(errors)
    check(abs(mean) < 0.8, "a bias of", mean, "standard errors")
    check(0.3 < square < 2.2, "errors are spread", square, "times as they should")


def test_samples_are_unbiased():
    interval = 8192
    a = Allocations("--alloc-interval", interval, program=(fixture_path("alloc_sites"), 4))
    unbiased(a, interval)
    taken, total = a.result.summary.taken, sum(v["alloc_space"] for v in a.truth().values())
    check(taken < total / interval * 1.3, taken, "samples of", total)


def test_cpp():
    a = Allocations("--alloc-interval", "all", "--leaks", program=(fixture_path("alloc_new"),))
    equal(a.said, [["caught"]], "an exception through operator new")
    equal(a.sites["leak()"]["inuse_objects"], 10, "leaked blocks")
    equal(a.sites["leak()"]["inuse_space"], 123450, "leaked bytes")
    new = a.sites["new_all(int)"]
    equal((new["alloc_objects"], new["alloc_space"]), (700, 100 * (2000 + 2 * 4 + 4 * 512)), "by each operator")
    equal(new["inuse_objects"], 0, "all of it deleted")


def needs_links():
    """Probes by links: Linux 6.6 has them, and sees all threads since 6.10."""
    if tuple(map(int, os.uname().release.split(".")[:2])) < (6, 10):
        skip("needs Linux 6.10")


class Running(Allocations):
    """The same of processes that run already."""

    def __init__(self, *options, fixtures):
        with directory() as d, contextlib.ExitStack() as stack:
            path = os.path.join(d, "out.callgrind")
            targets = [stack.enter_context(f) for f in fixtures]
            e = start("alloc", "--max-overhead", "none", *options, "-p", ",".join(str(f.pid) for f in targets), "-o", path)
            self.wait(e)
            for f in targets:
                f.lines.clear()
                f.go()
                f.wait("done")
            e.send_signal(signal.SIGINT)
            self.result = finish(e).ok()
            self.said = [line for f in targets for line in f.lines]
            with open(path, encoding="utf-8") as f:
                self.sites = self.read(f.read())

    @staticmethod
    def wait(e):
        def there():
            check(e.poll() is None, "ebprof ended too early:", e.poll())
            return probed(e.pid)
        wait_for(there, "the probes")


def probed(pid):
    """Links for the two programs that follow forks and exits, its probes, and then it waits."""
    with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
        n = links(pid)
        return (n > 2 or (n == 2 and perf_events(pid) > os.cpu_count())) and "poll" in f.read()


def links(pid):
    n = 0
    with contextlib.suppress(OSError):
        for fd in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                n += os.readlink(f"/proc/{pid}/fd/{fd}") == "anon_inode:bpf_link"
    return n


def test_running_every_block():
    a = Running("--alloc-interval", "all", fixtures=[Fixture("alloc_sites", "1", "wait")])
    truth = a.truth()
    equal(len(truth), 30, "sites")
    for name, values in truth.items():
        got = dict(a.sites.get(name, {}))
        got.pop("lifetime", 0)
        values.pop("lifetime")
        equal(got, values, name)
    equal(a.result.summary.lost, 0, "lost")


def test_running_cpp():
    """Operators that ask malloc() are nobody's own allocations, as with a command."""
    a = Running("--alloc-interval", "all", fixtures=[Fixture("alloc_new", "wait")])
    equal([name for name in a.sites if name.startswith("operator new")], [], "operators that allocate for themselves")
    new, leak = a.sites["new_all(int)"], a.sites["leak()"]
    equal(new["alloc_objects"], 700, "blocks")
    equal((leak["alloc_objects"], leak["alloc_space"]), (10, 123450), "leaked")


def test_running_samples():
    interval = 8192
    a = Running("--alloc-interval", interval, fixtures=[Fixture("alloc_sites", "4", "wait")])
    unbiased(a, interval)


def test_running_two():
    """Two processes of one program, their blocks at equal addresses or not."""
    a = Running("--alloc-interval", "all", fixtures=[Fixture("alloc_sites", "1", "wait"), Fixture("alloc_sites", "1", "wait")])
    for name, values in a.truth().items():
        for kind in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space"):
            equal(a.sites[name][kind], 2 * values[kind], f"{name} {kind}")


def test_running_static():
    for name in ("alloc_sites_static", "alloc_sites_musl"):
        a = Running("--alloc-interval", "all", "-U", fixtures=[Fixture(name, "1", "wait")])
        truth = a.truth()
        space = sum(v["alloc_space"] for v in truth.values())
        got = sum(a.sites.get(n, {}).get("alloc_space", 0) for n in truth)
        equal(got, space, name)


def test_running_removed():
    """The program's file is gone; and the probes go with us, even when we are killed, and are not missed."""
    with directory() as d:
        copy = shutil.copy(fixture_path("alloc_sites_static"), d)
        with Fixture(copy, "1", "wait", path=copy) as f:
            os.remove(copy)
            e = start("alloc", "--max-overhead", "none", "--alloc-interval", "all", "-p", f.pid)
            Running.wait(e)
            e.kill()
            e.wait()
            e.stdout.close()
            e.stderr.close()
            f.lines.clear()
            f.go()
            f.wait("done")      # it would die of a breakpoint that nobody handles


def test_running_maps_a_device():
    """A device that is mapped as code is not opened, for that may do something to it."""
    program = "import mmap, os, sys; f = os.open(sys.argv[1], os.O_RDONLY); " \
        "m = mmap.mmap(f, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC); print(flush=True); sys.stdin.read()"
    with directory() as d:
        device = os.path.join(d, "zero")
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(1, 5))
        libc = ctypes.CDLL(None)
        command = [sys.executable, "-c", program, device]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as target:
            target.stdout.readline()
            watch = libc.inotify_init1(os.O_NONBLOCK)
            check(libc.inotify_add_watch(watch, device.encode(), 0x20) >= 0, "no watch of what is opened")
            run("alloc", "-p", target.pid, "-d", "0.1s").ok(5)
            try:
                check(not os.read(watch, 4096), "the device was opened")
            except BlockingIOError:
                pass
            os.close(watch)


def test_named_allocator():
    """Functions with a prefix: what they take of malloc() is theirs, and what the program takes of it is its own."""
    path = fixture_path("alloc_own")
    a = Running("--alloc-interval", "all", "--allocator", path + ":own_", fixtures=[Fixture("alloc_own")])
    truth = {w[1]: tuple(map(int, w[2:])) for w in a.said if w[0] == "site"}
    equal(len(truth), 4, "sites")
    for name, values in truth.items():
        got = a.sites.get(name, {})
        equal(tuple(got.get(k, 0) for k in ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")), values, name)
    check("own_" not in a.result.err, "nothing of it is missing:", a.result.err)
    a = Running("--alloc-interval", "all", fixtures=[Fixture("alloc_own")])
    equal(a.sites.get("own_malloc", {}).get("alloc_objects"), 600, "without the option its memory is what it takes itself")


def test_named_allocator_refused():
    path = fixture_path("alloc_own")
    with Fixture("alloc_own") as f, Fixture("alloc_rate", "1", "1") as other, directory() as d:
        run("alloc", "--allocator", path, "-p", f.pid).fails(2, "PATH|begin with")
        run("alloc", "--allocator", path + ":", "-p", f.pid).fails(2, "begin with")
        run("alloc", "--allocator", ":own_", "-p", f.pid).fails(2, "begin with")
        run("alloc", "--allocator", path + ":" + "x" * 5000, "-p", f.pid).fails(2, "too long")
        run("alloc", "--allocator", os.path.join(d, "none") + ":own_", "-p", f.pid).fails(1, f"process {f.pid} has not mapped")
        run("alloc", "--allocator", path + ":own_", "-p", other.pid).fails(1, f"process {other.pid} has not mapped")
        run("alloc", "--allocator", path + ":other_", "-p", f.pid).fails(1, r"no function other_malloc\(\)")
        run("alloc", "--allocator", path + ":own_", "--", path).fails(2, "-p")
        run("alloc", "--allocator", path + ":own_", "-a").fails(2, "-p")
        run("--allocator", path + ":own_", "-a").fails(2, "ebprof alloc")
        r = run("alloc", "--allocator", path + ":part_", "-p", f.pid, "-d", "10ms", "-o", "/dev/null").ok(5)
        check(f"{path} has no function part_calloc(), part_realloc(), part_free()\n" in r.err, r.err)


def with_child(*options, args=(), before=False):
    """A process that forks, before or while it is recorded, and a child that then allocates: sites and truth."""
    with directory() as d, Fixture("alloc_fork", *args) as f:
        path = os.path.join(d, "out.callgrind")
        if before:
            f.go()
            f.wait("forked")
        e = start("alloc", "--max-overhead", "none", "--alloc-interval", "all", *options, "-p", f.pid, "-o", path)
        Running.wait(e)
        n = links(e.pid)
        if not before:
            f.go()
            f.wait("forked")
            if "--no-inherit" not in options:
                wait_for(lambda: links(e.pid) >= 2 * n - 2, "the child's probes")
        f.go()
        f.wait("done")
        wait_for(lambda: links(e.pid) <= n, "the end of the child's probes")
        e.send_signal(signal.SIGINT)
        result = finish(e).ok()
        with open(path, encoding="utf-8") as file:
            sites = Allocations.read(file.read())
    equal(result.summary.lost, 0, "lost")
    truth = {w[1]: tuple(map(int, w[2:])) for w in f.lines if w[0] == "site"}
    equal(sorted(truth), ["site_child", "site_parent"], "sites")
    kinds = ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space")
    return {name: tuple(sites.get(name, {}).get(k, 0) for k in kinds) for name in truth}, truth


def test_running_children():
    """Children that it forks, that then execute a program with the same libc, and that it had before."""
    needs_links()
    for case in ({}, {"args": ("exec",)}, {"before": True}, {"args": ("exec",), "before": True}):
        got, truth = with_child(**case)
        equal(got, truth, str(case))


def test_running_without_children():
    for before in (False, True):
        got, truth = with_child("--no-inherit", before=before)
        equal(got, {"site_parent": truth["site_parent"], "site_child": (0, 0, 0, 0)}, f"before: {before}")


def own_frames(result, name):
    """Of folded stacks: the counts of those through function @name."""
    return sum(int(line.rpartition(" ")[2]) for line in result.out.splitlines() if re.search(rf"[;:]{name}[;( ]", line))


def allocator(pattern):
    found = sorted(glob.glob(f"/usr/lib/*/{pattern}"))
    if not found:
        needs(pattern)
    return found[0]


def each_operator(library, *args):
    unsanitized("it has an allocator of its own, and gets this one, too")
    r = run("alloc", "--alloc-interval", "all", "--leaks", "-f", "folded", "--", fixture_path("alloc_new"), *args,
            env={"LD_PRELOAD": library}).ok()
    check(args or "caught" in r.out, r.out)
    equal(own_frames(r, "leak"), 123450, f"leaked bytes with {library}:\n{r.out}\n{r.err}")
    equal(own_frames(r, "new_all"), 0, "bytes that are not leaked")


def test_jemalloc():
    each_operator(allocator("libjemalloc.so.2"))


def test_mimalloc():
    """Its operators abort where they should throw."""
    each_operator(allocator("libmimalloc.so.2*"), "never fail")


def test_tcmalloc():
    each_operator(allocator("libtcmalloc_minimal.so.4"))


def test_rust():
    if not shutil.which("rustc"):
        needs("rustc")
    with directory() as d:
        with open(os.path.join(d, "a.rs"), "w", encoding="utf-8") as f:
            f.write("#[inline(never)] fn keep(n: usize) -> Vec<u8> { let mut v = Vec::with_capacity(n); v.push(1); v }\n"
                    "#[inline(never)] fn grow() -> usize { let mut v: Vec<u64> = Vec::new();\n"
                    "  for i in 0..std::env::args().count() * 1000 { v.push(i as u64); } v.len() }\n"
                    "fn main() { for i in 0..50 { std::mem::forget(keep(1000 + i)); } println!(\"{}\", grow()); }\n")
        subprocess.run(["rustc", "-C", "opt-level=1", "-g", "-o", os.path.join(d, "a"), f.name], check=True, cwd=d)
        r = run("alloc", "--alloc-interval", "all", "--leaks", "-f", "folded", "--", os.path.join(d, "a")).ok()
    equal(own_frames(r, "a::keep"), sum(1000 + i for i in range(50)), f"leaked bytes:\n{r.out}")
    equal(own_frames(r, "a::grow"), 0, "freed by realloc and drop")


def test_min_age():
    """What is young at the end is no leak."""
    program = ("sh", "-c", "exec " + fixture_path("alloc_sites"))
    r = run("alloc", "--alloc-interval", "all", "--leaks", "--min-age", "1h", "-f", "folded", "--", *program).ok()
    check("0.00 MiB in 0 blocks never freed" in r.err, r.err)


def test_environment():
    """The command's own LD_PRELOAD stays, and its exit status is told."""
    r = run("alloc", "-q", "-f", "folded", "-o", "/dev/null", "--", "sh", "-c", "echo $LD_PRELOAD; exit 7",
            env={"LD_PRELOAD": "/lib/x86_64-linux-gnu/libm.so.6"}).ok(7)
    check(re.fullmatch(r"/\S+/ebprof-alloc\.so:/lib/x86_64-linux-gnu/libm\.so\.6\n", r.out), r.out)


def test_unseen():
    """A static program is not followed, and that is said."""
    r = run("alloc", "--", fixture_path("brief_child")).ok()
    check("no allocation was seen" in r.err, r.err)


def test_refused():
    run("alloc", "-a", "-d", "1").fails(2, "-p|COMMAND")
    run("alloc", "-e", "cycles", "--", "true").fails(2, "leave out")
    run("alloc", "--max-overhead", "5", "--", "true").fails(2, "--alloc-interval")
    run("--max-overhead", "5", "-a").fails(2, "ebprof alloc -p")
    run("--off-cpu", "--max-overhead", "some", "-a").fails(2, "percentage")
    run("top", "--alloc", "--max-overhead", "none", "-p", os.getpid()).fails(2)
    run("--leaks", "--", "true").fails(2, "ebprof alloc")
    run("alloc", "--alloc-interval", "some", "--", "true").fails(2, "whole number")


def test_library_of_others():
    """A library that others may write is not run."""
    with directory() as d:
        copy = shutil.copy(EBPROF, d)
        library = shutil.copy(os.path.join(BUILD, "ebprof-alloc.so"), d)
        os.chmod(library, 0o777)
        run("alloc", "--", "true", ebprof=copy).fails(1, "somebody else")
        os.remove(library)
        run("alloc", "--", "true", ebprof=copy).fails(1, "cannot find ebprof-alloc.so")
