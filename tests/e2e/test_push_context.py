# SPDX-License-Identifier: MIT
"""Services by what processes publish of themselves (OpenTelemetry's process context), and labels by where they are."""
import os
import signal
import subprocess
import sys

from harness import Fixture, check, directory, equal, finish, run, skip, start, wait_for, wait_sampling
from test_containers import folders, join
from test_push import files, in_folder
from test_push_servers import Receiver

PROGRAM = r"""
import ctypes, mmap, os, struct, sys
PAGE = mmap.PAGESIZE
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]

def field(number, data):
    return bytes([number << 3 | 2]) + varint(len(data)) + data

def varint(n):
    return bytes([n]) if n < 128 else bytes([n & 127 | 128]) + varint(n >> 7)

def attribute(key, value):
    return field(1, field(1, key) + field(2, field(1, value)))

def publish(name, mark=b"OTEL_CTX", version=2, published=1, size=None, address=None):
    context = field(1, attribute(b"host.name", b"h") + attribute(b"service.name", name)) + field(2, field(1, b"k"))
    fd = os.memfd_create("OTEL_CTX")
    os.ftruncate(fd, PAGE)
    at = libc.mmap(None, PAGE, 3, 2, fd, 0)
    os.close(fd)
    ctypes.memmove(at + 64, context, len(context))
    header = mark + struct.pack("<IIQQ", version, len(context) if size is None else size, published, at + 64 if address is None else address)
    ctypes.memmove(at, header, len(header))

def burn():
    while True:
        pass

def child(*args, **kw):
    if not os.fork():
        publish(*args, **kw)
        burn()
"""


def publish(where, code):
    """A program that is called so, which runs what makes contexts; it ends with us."""
    program = os.path.join(where, "publisher")
    os.symlink(os.path.realpath(sys.executable), program)
    return subprocess.Popen([program, "-c", PROGRAM + code], start_new_session=True)


def end(proc):
    os.killpg(proc.pid, signal.SIGKILL)
    proc.wait()


@in_folder
def test_a_process_says_what_its_service_is(where):
    """Before its program does; also where that comes later."""
    out = os.path.join(where, "out")
    os.mkdir(out)
    read, write = os.pipe()
    os.set_inheritable(read, True)
    proc = publish(where, "publish(b'shop/cart-1')\nburn()")
    code = PROGRAM + f"import signal\nsignal.signal(signal.SIGUSR1, lambda *a: publish(b'late'))\nos.write({write}, b'x')\nburn()"
    late = subprocess.Popen([os.path.join(where, "publisher"), "-c", code], pass_fds=[write], start_new_session=True)
    try:
        os.read(read, 1)
        push = start("push", "--to", out, "--every", "1s", "-F", 99, "-p", f"{proc.pid},{late.pid}")
        wait_sampling(push)
        python = os.path.basename(os.path.realpath(sys.executable))
        wait_for(lambda: python in files(out), "a window of the program's name")
        late.send_signal(signal.SIGUSR1)
        wait_for(lambda: "late" in files(out), "a window of the name that was published")
        push.send_signal(signal.SIGTERM)
        finish(push).ok()
    finally:
        end(proc)
        end(late)
        os.close(read)
        os.close(write)
    equal(sorted(files(out)), sorted(["late", python, "shop_cart-1"]), "services")


@in_folder
def test_contexts_that_lie(where):
    """None of them is believed, and nobody is hurt."""
    out = os.path.join(where, "out")
    os.mkdir(out)
    wrong = ["b''", "b'unknown_service:python'", "b'x', mark=b'OTEL_CTY'", "b'x', version=1", "b'x', published=0", "b'x', size=0", "b'x', size=2**32 - 1",
             "b'x', size=9", "b'x', address=1", "b'x', address=2**64 - 1", "b'x', address=2**63"]
    proc = publish(where, "".join(f"child({w})\n" for w in wrong) + "child(b'\\xff\\x1b[2J../' + b'y' * 300)\nburn()")
    try:
        run("push", "--to", out, "--every", "1s", "-F", 199, "-p", proc.pid, "-d", "2500ms").ok()
    finally:
        end(proc)
    python = os.path.basename(os.path.realpath(sys.executable))
    equal(sorted(files(out)), sorted(["___2J.._" + "y" * 55, python]), "services")


def cgroup(pid):
    """As the label has it: of the unified hierarchy, else the first that is not the root."""
    with open(f"/proc/{pid}/cgroup", encoding="utf-8") as f:
        paths = [line.rstrip("\n").split(":", 2) for line in f]
    unified = [path for number, _, path in paths if number == "0" and path != "/"]
    return (unified + [path for _, _, path in paths if path != "/"] + [None])[0]


def hierarchy():
    """The one that tells: the unified one, or that of systemd, which /proc names first."""
    with open("/proc/mounts", encoding="ascii") as f:
        mounts = [line.split() for line in f]
    found = [m[1] for m in mounts if m[2] == "cgroup2"] + [m[1] for m in mounts if m[2] == "cgroup" and "name=systemd" in m[3]]
    return found[0] if found else skip("no cgroups")


def test_the_cgroup_is_a_label():
    """Of one its path, of several what is above them."""
    top = os.path.join(hierarchy(), f"ebprof-e2e-{os.getpid()}")
    groups = [os.path.join(top, name) for name in ("a", "ab")]
    with folders(groups[0]), folders(groups[1]), directory() as spool, Fixture("tree") as f, Fixture("tree") as g, Receiver() as server:
        join(groups[0], f.pid)
        join(groups[1], g.pid)
        own = cgroup(f.pid)
        check(own and own.endswith("/a"), "not in its cgroup:", own)
        for pids in (f.pid, f"{f.pid},{g.pid}"):
            run("push", "--to", server.url("otlp"), "--spool", spool, "-F", 199, "-p", pids, "-d", "1100ms").ok()
    equal([s["labels"].get("cgroup") for s in server.series()], [own, os.path.dirname(own)], "labels")
