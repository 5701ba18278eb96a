# SPDX-License-Identifier: MIT
"""What the numbers were measured on, without the names of its host or of anything in it."""
import os
import platform
import re
import shutil
import subprocess


def load():
    """Of the last minute, as the kernel counts it."""
    return os.getloadavg()[0]


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


def describe(peers):
    model = _first("/proc/cpuinfo", r"^model name[ \t]*:(.*)")
    memory = int(_first("/proc/meminfo", r"^MemTotal:[ ]*([0-9]+)")) / 2**20
    pmu = "with" if os.path.exists("/sys/bus/event_source/devices/cpu") else "without"
    tools = [_version(tool, "version" if tool == "go" else "--version") for tool in ("gcc", "rustc", "go", "python3", "node")]
    rows = [
        f"CPU: {model}, {os.cpu_count()} online, {_virtual()}, {pmu} a PMU",
        f"Memory: {memory:.0f} GiB",
        f"Kernel: {'.'.join(platform.release().split('.')[:2])} {platform.machine()}",
        f"Profilers: {', '.join(peer.about() for peer in peers)}",
        f"Programs: {', '.join(tool for tool in tools if tool)}",
    ]
    return "".join(f"- {row}\n" for row in rows)
