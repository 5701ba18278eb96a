# SPDX-License-Identifier: MIT
"""What can be recorded, and what this machine cannot open."""
import ctypes
import os
import platform
import re
import struct

from harness import Fixture, check, equal, fixture_path, in_tracefs, run

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}
HARDWARE = {"cycles": 0, "instructions": 1, "cache-references": 2, "cache-misses": 3, "branch-misses": 5}


def test_list():
    """Functions, static probes, tracepoints with their fields; of a file, of a process."""
    path = fixture_path("probed")
    check(f"uprobe:{path}:probed_leaf\n" in run("list", f"uprobe:{path}:probed_*").ok().out, "functions")
    cpp = run("list", f"uprobe:{fixture_path('probed_cpp')}:probed::*").ok().out
    check("_ZN6probed7Thrower4stepEm  probed::Thrower::step(unsigned long)\n" in cpp, cpp)
    static = run("list", f"usdt:{path}:*").ok().out
    check(re.search(rf"^usdt:{path}:ebprof:plain  4@", static, re.M) and "ebprof:step" in static and "counts who looks" in static, static)
    with Fixture("probed", "static", "1", "wait") as f:
        mapped = run("list", "-p", f.pid, "usdt:*").ok().out
        check("probed:ebprof:step" in mapped, mapped)
    in_tracefs("events/syscalls/sys_enter_write")
    fields = run("list", "syscalls:sys_enter_write").ok().out
    check(re.search(r"^    count +size_t$", fields, re.M), fields)
    equal(run("list", "cpu-*").ok().out.split(), ["cpu-clock", "software", "cpu-migrations", "software"], "events")
    run("list", "nothing:*").fails(1, "no event matches")
    run("list", "usdt:*").fails(2, "of which files")
    run("list", f"uprobe:{path}:nothing").fails(1, "nothing like")
    run("list", f"usdt:{path}:nothing").fails(1, "nothing like '[^']*'$")
    run("list", "usdt:/bin/true:*").fails(1, "no static probes")
    run("list", "usdt:/etc/passwd:*").fails(1, "nothing like .*: ")
    equal(run("list").ok().out, run("-e", "list").ok().out, "of all")


def opens(kind, config):
    """Whether the kernel opens an event, of ourselves, in user code: perf_event_open(2), asked here without ebprof."""
    disabled, exclude_kernel = 1 << 0, 1 << 5
    attr = struct.pack("=IIQQQQQ", kind, 128, config, 0, 0, 0, disabled | exclude_kernel).ljust(128, b"\0")
    fd = ctypes.CDLL(None).syscall(PERF_EVENT_OPEN[platform.machine()], attr, 0, -1, -1, 8)
    if fd >= 0:
        os.close(fd)
    return fd >= 0


def test_hardware_events():
    """Those that the CPU counts, and how many there are that it does not."""
    listed = {line.split()[0] for line in run("list").ok().out.splitlines()}
    for name, config in HARDWARE.items():
        there = opens(0, config)
        equal(name in listed, there, name)
        said = run("list", name).ok()
        equal(said.out.split()[:2], [name, "hardware"] if there else [], name)
        equal("1 hardware event is left out, which this machine does not offer" in said.err, not there, said.err)
    left_out = re.search(r"^ebprof: (\d+) hardware events? (?:is|are) left out, which this machine does not offer$", run("list").err, re.M)
    absent = [name for name in HARDWARE if name not in listed]
    check(not absent or left_out and int(left_out[1]) >= len(absent), left_out, absent)


def test_probes_of_the_kernel():
    """Its functions are listed; whether they can be probed is said."""
    in_tracefs("events")
    r = run("list", "kprobe:vfs_read").ok()
    equal(r.out, "kprobe:vfs_read\n", "functions")
    there = os.path.exists("/sys/kernel/tracing/kprobe_events")
    equal(r.err, "" if there else "ebprof: this kernel has no kprobes: none of these can be opened\n", "whether it has kprobes")


def test_probes_of_programs():
    in_tracefs("events")
    r = run("list", f"uprobe:{fixture_path('probed')}:probed_leaf").ok()
    there = os.path.exists("/sys/kernel/tracing/uprobe_events")
    equal(r.err, "" if there else "ebprof: this kernel has no uprobes: none of these can be opened\n", "whether it has uprobes")
