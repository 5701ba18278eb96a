# SPDX-License-Identifier: MIT
"""
The profilers that are compared: how each is started, and how its recording becomes named stacks. All are asked for the same:
the whole system or one process, so many samples a second of the CPU clock, user and kernel stacks, until they are
interrupted. They are the newest that Debian has (sid), unpacked beside the tests and not installed; where that cannot be had, this
machine's own. bcc's profile needs the kernel's headers; what cannot run here is told by available().
"""
import dataclasses
import functools
import gzip
import os
import re
import shutil
import signal
import subprocess
import tempfile

import stacks
from containers import loaded, packages_of
from harness import EBPROF, SUMMARY, Fixture, Skip, wait_burned

# Of sid: the folder of its own, the package, the program below usr.
NEWEST = {
    "perf": ("sid-perf", "linux-perf+", "bin/perf"),
    "bpftrace": ("sid-bpftrace", "bpftrace+", "bin/bpftrace"),
    "profile-libbpf": ("sid-libbpf-tools", "libbpf-tools+", "sbin/profile-libbpf"),
    "offcputime-libbpf": ("sid-libbpf-tools", "libbpf-tools+", "sbin/offcputime-libbpf"),
    "valgrind": ("sid-valgrind", "valgrind+", "bin/valgrind.bin"),
}
STACKS = 131072     # that a profiler may keep; bpftrace's table of stacks has so many


@functools.cache
def command_of(tool):
    """The command that is the newest of such a profiler; without anything where there is none."""
    if tool in NEWEST:
        folder, package, program = NEWEST[tool]
        try:
            root = packages_of("sid", folder, package)
            tools = ("env", f"VALGRIND_LIB={root}/usr/libexec/valgrind") if tool == "valgrind" else ()
            return (*tools, *loaded(root, program))
        except (Skip, OSError, subprocess.SubprocessError):
            pass
    path = shutil.which(tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
    return (path,) if path else ()


def version(command, *args):
    """What it says of itself, or what a list of changes says of its package; "" where neither does."""
    if not command:
        return ""
    if "libbpf-tools" in command[-1]:   # all of them are 0.1 since there are any
        root = command[-1].partition("/usr/")[0]
        with gzip.open(f"{root}/usr/share/doc/libbpf-tools/changelog.Debian.gz", "rt", encoding="utf-8") as f:
            return re.search(r"\d+(\.\d+)+", f.readline())[0]
    said = subprocess.run([*command, *args], capture_output=True, text=True, check=False)
    found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
    return found[0] if found else ""


def _ebprof(tool, hz, pid, out):
    # As the first run on a machine.
    return [*tool, "--no-cache", "-F", str(hz), *(["-p", str(pid)] if pid else ["-a"]), "-o", f"{out}/text"]


def _perf(*graph):
    def command(tool, hz, pid, out):
        # A clock that can be compared with ours; no copies of what was sampled in a cache of its own (-B).
        return [*tool, "record", "-q", "-B", *graph, "-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-F", str(hz),
                "-o", f"{out}/perf.data", *(["-p", str(pid)] if pid else ["-a"])]
    return command


def _bpftrace(tool, hz, pid, out):
    # Its -p does not filter a profile probe, so the program does. It drops what is more than 4,096 different stacks unless told otherwise.
    where = f"/pid == {pid}/ " if pid else ""
    return ["env", f"BPFTRACE_MAX_MAP_KEYS={STACKS}", *tool, "-q", "-o", f"{out}/text", "-e", f"profile:hz:{hz} {where}{{ @[kstack, ustack, comm] = count(); }}"]


def _bcc(tool, hz, pid, _):
    return [*tool, "-f", "-F", str(hz), *(["-p", str(pid)] if pid else [])]


def _libbpf(tool, hz, pid, out):
    # It keeps 1,024 unless told otherwise.
    return [*_bcc(tool, hz, pid, out), "--stack-storage-size", str(STACKS)]


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    program: str        # its name
    make: object
    read: object        # stacks of its text
    bpf: bool = True    # a BPF program, which the kernel counts and times
    file: str = "text"  # that holds its stacks, in its directory
    version: tuple = ("--version",)
    tool: tuple = ()    # the command, once it is available

    def command(self, hz, pid, out):
        return self.make(self.tool, hz, pid, out)

    def script(self, out, *options):
        """What makes text of its recording, where that is a step of its own."""
        return None if self.bpf else [*self.tool, "script", "-i", f"{out}/perf.data", "-F", "comm,pid,tid,time,ip,sym,dso", *options]

    def lost(self, run, out):
        """(samples lost as it says itself, how often it was throttled), None where it does not tell."""
        if self.name == "ebprof":
            found = SUMMARY.search(run.err)
            return (int(found[9]) if found else None), None
        if not self.bpf:
            said = subprocess.run([*self.tool, "report", "--stats", "-i", f"{out}/perf.data"], capture_output=True, text=True, check=False)
            kinds = {k: int(v) for k, v in re.findall(r"^\s*(\w+) events:\s+(\d+)", said.stdout, re.M)}
            return kinds.get("LOST_SAMPLES", 0) + kinds.get("LOST", 0), kinds.get("THROTTLE", 0)
        found = [int(n) for n in re.findall(r"(?:Lost|lost|WARNING:) (\d+) (?:events|stack traces)", run.err)]
        found += [1] * run.err.count("Map full; can't update element")
        return (sum(found) if found or self.name != "bpftrace" else None), None

    def about(self):
        return f"{self.name} {version(self.tool, *self.version)}".rstrip()


PEERS = [
    Peer("ebprof", EBPROF, _ebprof, stacks.folded, tool=(EBPROF,)),
    Peer("perf -g", "perf", _perf("-g"), stacks.perf_script, bpf=False),
    Peer("perf dwarf", "perf", _perf("--call-graph", "dwarf"), stacks.perf_script, bpf=False),
    Peer("bpftrace", "bpftrace", _bpftrace, stacks.bpftrace),
    Peer("libbpf-tools", "profile-libbpf", _libbpf, stacks.folded, file="stdout"),
    Peer("bcc profile", "profile-bpfcc", _bcc, stacks.folded, file="stdout"),
]


def ready(peer):
    """With its command, where there is one."""
    return dataclasses.replace(peer, tool=peer.tool or command_of(peer.program))


def named(name):
    return ready(next(peer for peer in PEERS if peer.name == name))


def _tried(peer):
    """Why a profiler does not work here; None if it does, and sees what is busy."""
    from measure import Run, Unknown    # which starts what is described here
    with tempfile.TemporaryDirectory(prefix="ebprof-bench-") as out, Fixture("timed", "1", "0") as target:
        try:
            run = Run(peer, 999, target.pid, out)
            run.await_sampling()
            wait_burned(target.pid, 0.3)
            run.interrupt()
        except (Unknown, AssertionError) as e:
            return str(e)
        if peer.script(out):
            with open(f"{out}/text", "wb") as text:
                subprocess.run(peer.script(out, "--no-inline"), stdout=text, stderr=subprocess.DEVNULL, check=False)
        with open(os.path.join(out, peer.file), encoding="utf-8", errors="replace") as text:
            if not any(comm == "timed" for comm, _, _ in peer.read(text)):
                return f"no sample of a program that is busy: {run.tail()}"
    return None


def available():
    """The profilers that are here and work, and why the others do not."""
    found, notes = [], []
    for peer in map(ready, PEERS):
        why = _tried(peer) if peer.tool else f"{peer.program} is not installed"
        if why:
            notes.append(f"{peer.name}: {why}")
        else:
            found.append(peer)
    return found, notes


INTERRUPTED = (0, -signal.SIGINT, 128 + signal.SIGINT)
