# SPDX-License-Identifier: MIT
"""Names of programs whose file, root, libc or code is not where most have it."""
import contextlib
import os
import signal
import sys

from harness import (Fixture, check, directory, equal, finish, fixture_path, run, start, tree_shares, wait_burned,
                     wait_sampling)

RATE = ("-F", 999)

# A root of its own in a mount namespace of its own: nobody else sees the files, and both end with the process.
OWN_ROOT = """
import ctypes, os, shutil, sys
libc = ctypes.CDLL(None, use_errno=True)
root, program = sys.argv[1:3]

def call(function, *args):
    if function(*args):
        raise OSError(ctypes.get_errno(), str(args))

call(libc.unshare, 0x20000)                             # CLONE_NEWNS
call(libc.mount, None, b"/", None, 0x44000, None)       # MS_REC | MS_PRIVATE
call(libc.mount, b"own", root.encode(), b"tmpfs", 0, None)
shutil.copy(program, root + "/e2e_server")
os.chdir(root)
call(libc.pivot_root, b".", b".")
call(libc.umount2, b".", 2)                             # MNT_DETACH
os.execv("/e2e_server", ["e2e_server"])
"""


def test_program_in_a_memfd():
    """There is no such file anywhere; with and without frame pointers."""
    for name in ("tree", "tree_frameless"):
        fd = os.memfd_create("hidden", 0)
        with open(fixture_path(name), "rb") as f, open(fd, "wb", closefd=False) as to:
            to.write(f.read())
        with Fixture("tree", path=f"/proc/{os.getpid()}/fd/{fd}") as f:
            os.close(fd)
            check(os.readlink(f"/proc/{f.pid}/exe").startswith("/memfd:hidden"), "not run from the memfd")
            r = run("-p", f.pid, "-U", "-d", "0.6", *RATE).ok()
        tree_shares(r.profile, least=60)
        equal(r.summary.truncated, 0, "truncated stacks")


def test_another_libc():
    """musl has no call frame information: its code tells, and stacks are whole."""
    for name in ("tree_musl", "tree_musl_static"):
        with Fixture(name) as f:
            r = run("-p", f.pid, "-U", "-d", "0.6", *RATE).ok()
        tree_shares(r.profile, least=60)
        equal(r.summary.truncated, 0, "truncated stacks")
        whole = r.profile.count(lambda s: s.frames[0] == "_start" and s.has("main", "run"))
        equal(whole, r.profile.count(), "samples below _start")


def test_container_that_is_gone():
    """Files that only the target could see, and that are no more when names are given."""
    with directory() as d:
        profiler = start("-a", "-d", "30s", *RATE)
        wait_sampling(profiler)
        with Fixture("tree", prefix=(sys.executable, "-c", OWN_ROOT, d), path=fixture_path("tree_static")) as f:
            equal(os.listdir(d), [], "what is seen from here")
            # From here, which may be a root of its own, too.
            check(os.readlink(f"/proc/{f.pid}/exe").endswith("/e2e_server"), "in a root of its own")
            wait_burned(f.pid, 0.5)
        profiler.send_signal(signal.SIGINT)
        r = finish(profiler).ok()
    tree_shares(r.profile, lambda s: s.comm == "e2e_server", least=60)


def test_perf_maps_of_interpreters():
    """The forms of CPython 3.12 (-X perf) and of agents of JVMs, to the letter but for what separates frames."""
    names = ("py::outer.<locals>.inner:/srv/an app/file.py", "py::<module>:/srv/x.py", "Lcom/foo/Bar;::method",
             "Ljava/lang/Object;::<init>", "Interpreter")
    with Fixture("jit_names", *names) as f:
        try:
            r = run("-p", f.pid, "-U", "-d", "0.8", *RATE, "--short-templates").ok()
        finally:
            with contextlib.suppress(OSError):
                os.unlink(f"/tmp/perf-{f.pid}.map")
    leaves = {name: r.profile.count(lambda s: s.frames[-1] == name.replace(";", ":")) for name in names}
    check(all(0.1 * r.profile.count() < n < 0.3 * r.profile.count() for n in leaves.values()), leaves, r.profile.head())
    check(all(s.any("^main$") for s in r.profile), r.profile.head())
