# SPDX-License-Identifier: MIT
"""The last recording, which report has without a file; and what is said of files that are written."""
import contextlib
import os
import re
import signal
import stat
import subprocess
import sys

from harness import Fixture, Profile, check, directory, equal, finish, in_tracefs, run, start, wait_sampling
from terminal import on_terminal

USER = {"SUDO_UID": "65534", "SUDO_GID": "65534"}
NONE = "no recording is kept for this user"


@contextlib.contextmanager
def cache(owner=0):
    """(environment with a cache of @owner's own, the path of what is kept there)"""
    with directory() as d:
        os.chown(d, owner, owner)
        env = {"XDG_CACHE_HOME": d} | (USER if owner else {})
        yield env, os.path.join(d, "ebprof", "last", "recording.pb.gz")


def record(env, *options, code=0):
    """A recording of the call tree."""
    with Fixture("tree") as f:
        return run("-p", f.pid, "-d", "0.3", "-F", 999, *options, env=env).ok(code)


def test_report_without_a_file():
    with cache() as (env, _):
        run("report", env=env).fails(2, NONE)
        r = record(env, "-f", "folded")
        again = run("report", "-f", "folded", env=env).ok()
        equal(again.out, r.out, "stacks of the recording and of what was kept")
        m = re.match(r"ebprof: the last recording, begun \d{4}-\d\d-\d\d \d\d:\d\d:\d\d: ebprof -p \d+ -d 0.3 -F 999 -f folded\n",
                     again.err)
        check(m, "which it is:", again.err)
        table = run("report", env=env).ok()
        check(table.out.startswith("   SELF%") and "main" in table.out, table.out)
        equal(run("report", "-q", "-f", "folded", env=env).ok().err, "", "with -q")


def test_the_newer_one_takes_its_place():
    with cache() as (env, path):
        record(env, "-q", "-o", "/dev/null")
        first = os.stat(path).st_ino
        r = record(env, "-f", "folded", "--title", "second")
        check(os.stat(path).st_ino != first, "the first one was written into")
        equal(os.listdir(os.path.dirname(path)), ["recording.pb.gz"], "files")
        equal(run("report", "-f", "folded", env=env).ok().out, r.out, "stacks")


def test_what_is_not_kept():
    with cache() as (env, path):
        record(env, "-o", "/dev/null", "--no-keep")
        run("report", env=env).fails(2, NONE)
        check(not os.path.exists(os.path.dirname(path)), "a folder for nothing")
        r = record(env, "-f", "folded")
        # No samples say nothing that is worth the older ones.
        run("-n", f"none-{os.getpid()}", "-d", "0.1", env=env).ok(5)
        equal(run("report", "-f", "folded", env=env).ok().out, r.out, "stacks of the one before")


# Names that do not pack, each of a function that is called once.
TOO_LARGE = r"""
import ctypes, mmap, os, random, string, sys
CODE = {"x86_64": bytes.fromhex("b86e0000000f05c3"), "aarch64": bytes.fromhex("a81580d2010000d4c0035fd6")}[os.uname().machine]
N, ROOM = 24000, 16
code = mmap.mmap(-1, N * ROOM, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
at = ctypes.addressof(ctypes.c_char.from_buffer(code))
letters = ("_$" + string.ascii_letters + string.digits).encode() * 4
with open(f"/tmp/perf-{os.getpid()}.map", "wb") as f:
    for i in range(N):
        code[i * ROOM:i * ROOM + len(CODE)] = CODE      # getppid()
        f.write(b"%x %x f%s\n" % (at + i * ROOM, ROOM, random.randbytes(4000).translate(letters)))
try:
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(N):
        ctypes.CFUNCTYPE(ctypes.c_int)(at + i * ROOM)()
    print("done", flush=True)
    sys.stdin.readline()
finally:
    os.unlink(f.name)
"""


def test_too_large_to_be_kept():
    """The one before stays."""
    event = "syscalls:sys_enter_getppid"
    in_tracefs("events/syscalls/sys_enter_getppid")
    with cache() as (env, path), directory() as d:
        first = record(env, "-f", "folded").out
        out = os.path.join(d, "x.pb.gz")
        p = subprocess.Popen([sys.executable, "-c", TOO_LARGE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            equal(p.stdout.readline(), b"ready\n", "its functions")
            e = start("-p", p.pid, "-e", event, "-c", 1, "-U", "-o", out, env=env)
            wait_sampling(e)
            p.stdin.write(b"\n")
            p.stdin.flush()
            equal(p.stdout.readline(), b"done\n", "its calls")
            e.send_signal(signal.SIGINT)
            r = finish(e, 240)
        finally:
            p.communicate()
        check(r.ok().summary.taken >= 24000, r.err)
        check(os.path.getsize(out) > 64 << 20, f"it has only {os.path.getsize(out)} bytes")
        equal(re.findall("^.*too large.*$", r.err, re.M),
              ["ebprof: too large to be kept for ebprof report (64 MiB at most); save it with -o out.pb.gz"], r.err)
        equal(os.listdir(os.path.dirname(path)), ["recording.pb.gz"], "files")
        equal(run("report", "-f", "folded", env=env).ok().out, first, "stacks of the one before")


def test_it_belongs_to_the_invoking_user():
    with cache(65534) as (env, path):
        r = record(env, "-f", "folded")
        st = os.stat(path)
        equal((st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)), (65534, 65534, 0o600), "owner and mode")
        equal(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode), 0o700, "mode of its folder")
        equal(run("report", "-f", "folded", env=env).ok().out, r.out, "stacks")
        # Root's own is another one.
        run("report", env={"XDG_CACHE_HOME": env["XDG_CACHE_HOME"]}).fails(1, "last recording")


def test_where_it_cannot_be_kept():
    """It is no error, and nothing is promised."""
    with directory() as d:
        for place in ("/dev/null", "/proc/none", d):
            # Root's folder, which the user may not write.
            r = record(USER | {"XDG_CACHE_HOME": place}, "-f", "top")
            check("kept" not in r.err, r.err)
        equal(os.listdir(d), [], "what was left there")


def test_planted_in_its_place():
    """A link, a FIFO, another's file: not followed, not waited for, not read."""
    with cache() as (env, path), directory() as d:
        other = os.path.join(d, "other")
        with open(other, "w", encoding="ascii") as f:
            f.write("x;f 1\n")
        record(env, "-q", "-o", "/dev/null")
        os.unlink(path)
        os.symlink(other, path)
        run("report", env=env).fails(1, "the last recording: Too many levels")
        r = record(env, "-f", "top")
        check("kept" not in r.err, r.err)
        with open(other, encoding="ascii") as f:
            equal(f.read(), "x;f 1\n", "what the link points to")
        os.unlink(path)
        os.mkfifo(path)
        run("report", env=env).fails(1, "the last recording: ")
        os.unlink(path)
        os.rename(other, path)
        os.chmod(path, 0o666)
        run("report", env=env).fails(1, "the last recording: Operation not permitted")
        os.chmod(path, 0o600)
        equal(Profile.read(run("report", "-f", "folded", env=env).ok().out).count(), 1, "the user's own file")
        os.chown(path, 65534, 65534)
        run("report", env=env).fails(1, "the last recording: Operation not permitted")


def test_damaged():
    with cache() as (env, path):
        record(env, "-q", "-o", "/dev/null")
        with open(path, "r+b") as f:
            f.truncate(os.path.getsize(path) // 2)
        run("report", env=env).fails(1, "cannot read the last recording: damaged gzip")


def test_last_line_below_the_table():
    with cache() as (env, _), Fixture("tree") as f:
        args = ("-p", f.pid, "-d", "0.3", "-F", 999)
        code, text = on_terminal(*args, env=env)
        equal(code, 0, text)
        last = "ebprof: this recording is kept: ebprof report opens it again, ebprof report -o out.html draws it"
        equal(text.rstrip("\r\n").rpartition("\n")[2], last, "the last line")
        # Who has it in a file or a pipe needs no second one.
        check("this recording" not in run(*args, env=env).ok().err, "said of a pipe")
        check("this recording" not in run(*args, "-q", "-f", "top", env=env).ok().err, "said with -q")


def wrote(err):
    return re.findall(r"^ebprof: wrote (.*)$", err, re.M)


def test_files_are_named():
    advice = {"a.html": "; open it in a browser", "a.svg": "; open it in a browser",
              "a.svg.gz": "; unpacked by gunzip, open it in a browser",
              "a.pb.gz": "; look at it with: ebprof report {0} (or: go tool pprof -http : {0})",
              "a.folded": "; look at it with: ebprof report {0}", "a.txt": "", "a.ndjson": "",
              "it's; a.folded": "; look at it with: ebprof report {0}",
              "a.json.gz": "; load it at https://profiler.firefox.com",
              "a.speedscope.json": "; drop it on https://www.speedscope.app",
              "callgrind.out.1": "; look at it with: kcachegrind {0}"}
    with cache() as (env, _), directory() as d:
        def names(paths):
            return [x for p in paths for x in ("-o", os.path.join(d, p))]

        def expected(paths):
            shown = [f"'{d}/it'\\''s; a.folded'" if "it's" in p else f"{d}/{p}" for p in paths]
            return [s + advice[p].format(s) for p, s in zip(paths, shown)]
        r = record(env, *names(advice), "-o", "/dev/null")
        equal(wrote(r.err), expected(list(advice)), "what was written")
        equal(r.out, "", "standard output")
        equal(wrote(record(env, *names(["a.html"]), "-q").err), [], "with -q")
        for command in (("report",), ("convert", os.path.join(d, "a.pb.gz"))):
            equal(wrote(run(*command, *names(["a.svg"]), env=env).ok().err), expected(["a.svg"]), command)
            equal(run(*command, "-q", *names(["a.svg"]), env=env).ok().err, "", "with -q")
        both = os.path.join(d, "a.folded")
        equal(wrote(run("diff", both, both, *names(["a.html", "a.txt"])).ok().err), expected(["a.html", "a.txt"]), "diff")


def test_file_that_is_not_written_is_not_named():
    with cache() as (env, _), directory() as d:
        os.mkdir(os.path.join(d, "a.html"))
        with Fixture("tree") as f:
            run("-p", f.pid, "-d", "0.1", "-o", os.path.join(d, "a.html"), env=env).fails(1, "it is a folder")


def test_report_writes_all_or_prints_a_view():
    with cache() as (env, _), directory() as d:
        record(env, "-q", "-o", "/dev/null")
        for view in (("--tree",), ("--by", "line"), ("--focus", "main")):
            run("report", "-o", os.path.join(d, "x.txt"), *view, env=env).fails(2, "-o and -f write all of the profile")
        run("report", "-f", "none", env=env).fails(2, "unknown format 'none'")
        equal(os.listdir(d), [], "files")
