# SPDX-License-Identifier: MIT
"""
The profilers that are compared: how each is started, and how its recording becomes named stacks. All are asked for the same:
the whole system or one process, so many samples a second of the CPU clock, user and kernel stacks, until they are
interrupted. bcc's profile needs the kernel's headers; what cannot run here is told by available().
"""
import dataclasses
import os
import re
import shutil
import signal
import subprocess
import tempfile

import stacks
from harness import EBPROF, SUMMARY, Fixture


def _ebprof(tool, hz, pid, out):
    # As the first run on a machine.
    return [tool, "--no-cache", "-F", str(hz), *(["-p", str(pid)] if pid else ["-a"]), "-o", f"{out}/text"]


def _perf(*graph):
    def command(tool, hz, pid, out):
        # A clock that can be compared with ours; no copies of what was sampled in a cache of its own (-B).
        return [tool, "record", "-q", "-B", *graph, "-e", "cpu-clock", "-k", "CLOCK_MONOTONIC", "-F", str(hz),
                "-o", f"{out}/perf.data", *(["-p", str(pid)] if pid else ["-a"])]
    return command


def _bpftrace(tool, hz, pid, out):
    # Its -p does not filter a profile probe, so the program does.
    where = f"/pid == {pid}/ " if pid else ""
    return [tool, "-q", "-o", f"{out}/text", "-e", f"profile:hz:{hz} {where}{{ @[kstack, ustack, comm] = count(); }}"]


def _bcc(tool, hz, pid, _):
    return [tool, "-f", "-F", str(hz), *(["-p", str(pid)] if pid else [])]


@dataclasses.dataclass(frozen=True)
class Peer:
    name: str
    tool: str           # its path, once it is available
    make: object
    read: object        # stacks of its text
    bpf: bool = True    # a BPF program, which the kernel counts and times
    file: str = "text"  # that holds its stacks, in its directory
    version: tuple = ("--version",)

    def command(self, hz, pid, out):
        return self.make(self.tool, hz, pid, out)

    def script(self, out, *options):
        """What makes text of its recording, where that is a step of its own."""
        return None if self.bpf else [self.tool, "script", "-i", f"{out}/perf.data", "-F", "comm,pid,tid,time,ip,sym,dso", *options]

    def lost(self, run, out):
        """(samples lost as it says itself, how often it was throttled), None where it does not tell."""
        if self.name == "ebprof":
            found = SUMMARY.search(run.err)
            return (int(found[9]) if found else None), None
        if not self.bpf:
            said = subprocess.run([self.tool, "report", "--stats", "-i", f"{out}/perf.data"], capture_output=True, text=True, check=False)
            kinds = {k: int(v) for k, v in re.findall(r"^\s*(\w+) events:\s+(\d+)", said.stdout, re.M)}
            return kinds.get("LOST_SAMPLES", 0) + kinds.get("LOST", 0), kinds.get("THROTTLE", 0)
        found = [int(n) for n in re.findall(r"(?:Lost|lost|WARNING:) (\d+) (?:events|stack traces)", run.err)]
        return (sum(found) if found or self.name != "bpftrace" else None), None

    def about(self):
        said = subprocess.run([self.tool, *self.version], capture_output=True, text=True, check=False)
        found = re.search(r"\d+(\.\d+)+", said.stdout + said.stderr)
        return f"{self.name} {found[0]}" if found else self.name


PEERS = [
    Peer("ebprof", EBPROF, _ebprof, stacks.folded),
    Peer("perf -g", "perf", _perf("-g"), stacks.perf_script, bpf=False),
    Peer("perf dwarf", "perf", _perf("--call-graph", "dwarf"), stacks.perf_script, bpf=False),
    Peer("bpftrace", "bpftrace", _bpftrace, stacks.bpftrace),
    Peer("bcc profile", "profile-bpfcc", _bcc, stacks.folded, file="stdout"),
]
LIBBPF_TOOLS = "libbpf-tools: has no profiler of CPU time (its `offcputime` is one of waits)"


def _tried(peer):
    """Why a profiler does not work here; None if it does."""
    from measure import Run, Unknown    # which starts what is described here
    with tempfile.TemporaryDirectory(prefix="ebprof-bench-") as out, Fixture("timed", "1", "0"):
        try:
            run = Run(peer, 99, None, out)
            run.await_sampling()
            run.interrupt()
        except (Unknown, AssertionError) as e:
            return str(e)
    return None


def available():
    """The profilers that are here and work, and why the others do not."""
    found, notes = [], []
    for peer in PEERS:
        path = shutil.which(peer.tool, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        why = f"{peer.tool} is not installed" if not path else None
        peer = dataclasses.replace(peer, tool=path)
        why = why or _tried(peer)
        if why:
            notes.append(f"{peer.name}: {why}")
        else:
            found.append(peer)
    return found, [*notes, LIBBPF_TOOLS]


INTERRUPTED = (0, -signal.SIGINT, 128 + signal.SIGINT)
