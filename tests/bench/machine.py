# SPDX-License-Identifier: MIT
"""What the numbers were measured on, without the names of its host or of anything in it."""
import os
import platform
import re
import shutil
import subprocess
import time

from scheduling import AUTOGROUPS

IDLE = 5        # % of all CPUs that may be busy on a machine that is called idle
PATIENCE = 30   # s that a part waits for that: what the part before it ran may still be ending


def _spent():
    """CPU time of all CPUs since they started, in ticks: all of it, and the idle."""
    with open("/proc/stat", encoding="utf-8") as f:
        times = [int(x) for x in f.readline().split()[1:9]]     # proc(5): user to steal
    return sum(times), times[3] + times[4]


def busy():
    """% of the CPUs' time that others use, or a host keeps from us, over a second; once that is little, or PATIENCE is over."""
    for _ in range(PATIENCE):
        before = _spent()
        time.sleep(1)
        every, idle = (after - was for after, was in zip(_spent(), before))
        share = 100 * (1 - idle / max(every, 1))
        if share < IDLE:
            break
    return share


def _first(path, pattern):
    with open(path, encoding="utf-8") as f:
        found = re.search(pattern, f.read(), re.M)
    return found[1].strip() if found else "unknown"


def _virtual():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return "a virtual machine" if re.search(r"^flags\s*:.*\bhypervisor\b", f.read(), re.M) else "no virtual machine"


def _version(tool, *args):
    if not shutil.which(tool):
        return None
    said = subprocess.run([tool, *args], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
    return f"{tool} {found[0]}" if found else None


def _groups():
    """Whether the scheduler has groups of sessions now (scheduling.one_group() turns them off)."""
    try:
        with open(AUTOGROUPS, encoding="ascii") as f:
            return ", without the scheduler's groups of sessions (autogroup)" if f.read().strip() == "0" else ""
    except OSError:     # a kernel without
        return ""


def describe(peers):
    model = _first("/proc/cpuinfo", r"^model name[ \t]*:(.*)")
    memory = int(_first("/proc/meminfo", r"^MemTotal:[ ]*([0-9]+)")) / 2**20
    pmu = "with" if os.path.exists("/sys/bus/event_source/devices/cpu") else "without"
    tools = [_version(tool, "version" if tool == "go" else "--version") for tool in ("gcc", "rustc", "go", "python3", "node")]
    rows = [
        f"CPU: {model}, {os.cpu_count()} online, {_virtual()}, {pmu} a PMU",
        f"Memory: {memory:.0f} GiB",
        f"Kernel: {'.'.join(platform.release().split('.')[:2])} {platform.machine()}" + _groups(),
        f"Profilers: {', '.join(peer.about() for peer in peers)}",
        f"Programs: {', '.join(tool for tool in tools if tool)}",
    ]
    return "".join(f"- {row}\n" for row in rows)
