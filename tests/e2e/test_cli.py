# SPDX-License-Identifier: MIT
"""What users of perf, samply and py-spy type, what a mistake is answered with, and the help of each command."""
import os
import re

from harness import (EBPROF, Fixture, check, directory, equal, finish, fixture_path, own_name, run, start, wait_for,
                     wait_sampling)
from test_targets import in_cgroup

RATE = ("-F", 999)
HEADING = re.compile(r"^([A-Z][\w ]+)(?: \(.*\))?:$", re.M)


def commands():
    listed = run("help").ok().out.partition("\n\n")[2].partition("Examples:")[0]
    return re.findall(r"^  ([a-z]+) {2,}\S", listed, re.M)


def options(text):
    return set(re.findall(r"^  (?:-\w, |    )--([a-z-]+)", text, re.M))


# --- Help. ---

def test_commands_are_listed():
    names = commands()
    check({"record", "alloc", "top", "report", "convert", "diff", "doctor", "help", "version"} <= set(names), names)
    equal(run("help").out, run("--help").out, "help and --help")
    for name in names:
        equal(run("help", name).ok().out, run(name, "--help").ok().out, name)
        check(run(name, "--help").out.startswith("Usage: ebprof "), name)


def test_short_help_is_short():
    for name in ((), *((c,) for c in commands())):
        lines = run(*name, "-h").ok().out.splitlines()
        check(3 < len(lines) <= 25, *name, "-h has", len(lines), "lines")
        check(max(map(len, lines)) <= 100, *name, "-h has a line of", max(lines, key=len))
    check(len(run("record", "-h").out) < len(run("record", "--help").out) / 2, "-h of record")


def test_help_of_each_command_has_its_own_options():
    record, alloc, top = (run(c, "--help").out for c in ("record", "alloc", "top"))
    equal(HEADING.findall(record),
          ["Target", "Time", "Event and rate", "Waits", "Stacks", "Names", "Output", "Help", "Formats"], "headings")
    check("Allocations" in HEADING.findall(alloc) and "Waits" not in HEADING.findall(alloc), HEADING.findall(alloc))
    check({"leaks", "alloc-interval", "min-age"} <= options(alloc), options(alloc))
    check(not {"off-cpu", "event", "window"} & options(alloc), options(alloc))
    check({"off-cpu", "wakers", "timeline"} <= options(record), options(record))
    check(not {"leaks", "window", "plain"} & options(record), options(record))
    check({"window", "leaks", "off-cpu"} <= options(top) and not {"output", "timeline"} & options(top), options(top))


def test_option_of_another_command():
    run("record", "--leaks", "--", "true").fails(2, "--leaks", "ebprof alloc and ebprof top")
    run("top", "-o", "x.html").fails(2, "-o", "ebprof record and ebprof alloc")
    run("alloc", "--off-cpu=1", "--", "true").fails(2, "--off-cpu", "ebprof record")


def test_version():
    version = run("version").ok().out
    check(re.fullmatch(r"ebprof \d+\.\d+\.\d+\n", version), version)
    equal({run(*a).ok().out for a in (("-V",), ("--version",), ("top", "-V"), ("report", "--version"))}, {version}, "all")


def test_did_you_mean():
    run("recrod").fails(2, "did you mean 'ebprof record'")
    run("reprot", "x.folded").fails(2, "did you mean 'ebprof report'")
    run("help", "toop").fails(2, "did you mean 'top'")
    run("--of-cpu", "-d", 1).fails(2, "unknown option '--of-cpu'", "did you mean '--off-cpu'")
    run("report", "--trea", "x").fails(2, "did you mean '--tree'")
    run("no-such-thing").fails(2, "no-such-thing", "ebprof help")
    run("1234").fails(2, "-p 1234")
    run("help", "record", "top").fails(2, "one command")


def test_period():
    """-c is --period everywhere, and --count its older name, but for top."""
    for command in ("record", "alloc", "top"):
        run(command, "-F", 99, "--period", 3, "-d", 1).fails(2, "-F and -c" if command != "alloc" else "leave out -F")
    run("--count", 3, "-F", 99, "-d", 1).fails(2, "-F and -c")
    run("top", "--count", "x").fails(2, "--count 'x'")
    for command in ("record", "alloc"):
        out = run(command, "--help").ok().out
        check("-c, --period PERIOD" in out and not re.search(r"--count\b", out), "listed by", command, out)


# --- What begins the command. ---

def recorded(*args, **kw):
    """The profile in a file, for the command has standard output; and the result."""
    with directory() as d:
        out = os.path.join(d, "out.folded")
        r = run(*args[:1], *RATE, "-o", out, *args[1:], **kw).ok()
        with open(out, encoding="utf-8") as f:
            r.command, r.out = r.out, f.read()
    return r


def test_a_path_begins_the_command():
    for before in (("record", "-g"), ("-g",), ("record", "--call-graph", "dwarf")):
        r = recorded(*before, fixture_path("tree"), "--seconds", "0.3")
        equal(r.profile.comms() - {"ebprof"}, {"tree"}, "comms")
        check(r.profile.count(lambda s: s.has("a1", "a2")) > 5, r.profile.head())


def test_a_name_begins_the_command():
    with own_name(fixture_path("tree")) as (path, comm):
        env = {"PATH": os.path.dirname(path) + ":" + os.environ["PATH"]}
        r = recorded("-g", comm, "--seconds", "0.3", env=env)
    check(r.profile.count(lambda s: s.comm == comm) > 5, r.profile.head())
    # What follows is the command's own, however it looks.
    r = run("-q", "-o", "/dev/null", "echo", "-p", "--help", "--", "top").ok()
    equal(r.out, "-p --help -- top\n", "what the command was given")


def test_a_command_of_ours_goes_first():
    """`report` may be a program, too; behind -- it is."""
    with directory() as d:
        program = os.path.join(d, "report")
        with open(program, "w", encoding="utf-8") as f:
            f.write("#!/bin/sh\necho program\n")
        os.chmod(program, 0o755)
        env = {"PATH": d + ":" + os.environ["PATH"]}
        run("report", env=env).fails(2, "takes files")
        equal(run("-q", "-o", "/dev/null", "--", "report", env=env).out, "program\n", "behind --")


# --- A command beside another target. ---

def test_as_long_as_a_command():
    with own_name(fixture_path("tree")) as (path, comm), Fixture("tree", path=path) as tree, Fixture("names", "other"):
        r = run("-p", tree.pid, *RATE, "--", "sleep", "0.7").ok()
        named = run("-n", comm, *RATE, "sleep", "0.3").ok()
    check(0.6 < r.summary.duration < 10, "sampled for", r.summary.duration)
    equal(r.profile.comms(), {comm}, "comms")
    equal(named.profile.comms(), {comm}, "comms")


def test_cgroup_as_long_as_a_command():
    """The command is not of the cgroup, and not seen; its end ends the recording."""
    with own_name(fixture_path("tree")) as (path, comm), in_cgroup() as (group, tree), directory() as d:
        out = os.path.join(d, "out.folded")
        r = run("-G", group, *RATE, "-o", out, "--", path, "--seconds", "0.7").ok()
        with open(out, encoding="utf-8") as f:
            r.out = f.read()
        equal(tree.proc.poll(), None, "what runs in the cgroup has ended")
        run("-q", "-o", "/dev/null", "-G", group, "--", "sh", "-c", "exit 7").ok(7)
    check(0.6 < r.summary.duration < 10, "sampled for", r.summary.duration)
    equal(r.profile.comms(), {"tree"}, f"comms, of which {comm} is the command's")


def test_whole_system_as_long_as_a_command():
    """There the command is seen, too: it is a part of the system."""
    with directory() as d, own_name(fixture_path("tree")) as (path, comm):
        out = os.path.join(d, "out.folded")
        r = run("-a", *RATE, "-o", out, "--", path, "--seconds", "1").ok()
        with open(out, encoding="utf-8") as f:
            r.out = f.read()
    check(r.profile.count(lambda s: s.comm == comm) > 5, r.profile.head())


def test_status_of_the_command_beside_another_target():
    with Fixture("tree") as tree:
        run("-p", tree.pid, *RATE, "--", "sh", "-c", "sleep 0.2; exit 7").ok(7)
        run("-p", tree.pid, "--", "./no/such/program").fails(127, "no/such/program")


def test_the_command_outlasts_the_target():
    with directory() as d, Fixture("tree") as tree:
        go = os.path.join(d, "go")
        os.mkfifo(go)
        p = start("-p", tree.pid, *RATE, "--", "sh", "-c", f"read line < {go}; exit 9")
        wait_sampling(p)
        tree.proc.kill()
        tree.proc.wait()
        with open(go, "w", encoding="utf-8") as f:
            f.write("\n")
        r = finish(p)
    equal(r.code, 9, "the command's status, which nobody ended:\n" + r.err)


# --- Numbers. ---

def test_several_processes():
    with Fixture("names", "one") as one, Fixture("names", "two") as two:
        for pids in ((f"{one.pid} {two.pid}",), (f"{one.pid}\n{two.pid}\n",), (f"{one.pid}, {two.pid}",),
                     (one.pid, two.pid)):
            r = run("-p", *pids, "-d", "0.5", *RATE).ok()
            equal(r.profile.comms(), {"one", "two"}, f"comms of -p {pids}")
    run("-p", "", "-d", 1).fails(2, "no number")
    run("-p", " ", "-d", 1).fails(2, "no number")
    run("-p", "12x", "-d", 1).fails(2, "12x")


def test_rates():
    def most():
        with open("/proc/sys/kernel/perf_event_max_sample_rate", encoding="ascii") as f:
            return int(f.read())
    with Fixture("tree") as tree:
        for rate, hz in (("99Hz", 99), ("499hz", 499), ("1kHz", 1000)):
            equal(run("-p", tree.pid, "-d", "0.3", "-F", rate).ok().summary.hz, hz, f"-F {rate}")
        # The kernel lowers its limit where interrupts take long.
        before, hz = most(), run("-p", tree.pid, "-d", "0.1", "-F", "max").ok().summary.hz
        check(most() <= hz <= before, f"-F max is {hz} Hz, of {before}")
    for rate in ("99Mhz", "Hz", "-1", "1.5", "0Hz", "maximum"):
        run("-a", "-d", 1, "-F", rate).fails(2, "99Hz|-1")


def test_singular_and_plural():
    r = run("-v", "-e", "sched:sched_process_exec", "-o", "/dev/null", "--", "true")
    n, plural = re.search(r"^ebprof: (\d+) sample(s?) of sched:sched_process_exec in ", r.err, re.M).groups()
    equal(plural, "" if n == "1" else "s", f"plural of {n}")
    check(re.search(r"peak memory \d+\.\d MiB", r.err), r.err)


def test_delay():
    """1.5s as well as plain milliseconds."""
    for delay in ("0.4s", "400", "400ms"):
        r = run("--delay", delay, *RATE, "-o", "/dev/null", fixture_path("tree"), "--seconds", "1").ok()
        check(0 < r.summary.duration < r.seconds - 0.4, delay, "and then", r.summary.duration, "of", r.seconds)
