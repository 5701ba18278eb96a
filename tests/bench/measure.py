# SPDX-License-Identifier: MIT
"""
One run of a profiler: when it samples, what it and its children use, what the kernel says of its BPF program.
"""
import contextlib
import os
import re
import signal
import subprocess
import threading
import time

from harness import Fixture, perf_events, wait_for
from peers import INTERRUPTED

CPUS = len(os.sched_getaffinity(0))
BPF_STATS = "/proc/sys/kernel/bpf_stats_enabled"
POLL = 0.02     # seconds between two looks at the memory


class Unknown(Exception):
    """This cannot be measured of this profiler."""


def children(pid):
    """A process and all below it."""
    found = [pid]
    with contextlib.suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{task}/children") as f:
                for child in f.read().split():
                    found += children(int(child))
    return found


def memory(pid, known):
    """
    MiB of a process and all below it now, or the most that one of them ever had, if that is more; @known, the most so far, if it is
    not. Pages that several have count once, which takes so long to find out that it is done only for more than was known.
    Not the kernel's figure for a process that has ended: that has what it was before exec, too.
    """
    now, most, each_of = 0, 0, children(pid)
    for each in each_of:
        with contextlib.suppress(OSError), open(f"/proc/{each}/status", encoding="utf-8", errors="replace") as f:
            sizes = dict(re.findall(r"^(VmHWM|VmRSS):\s*(\d+)", f.read(), re.M))
            now += int(sizes.get("VmRSS", 0))
            most = max(most, int(sizes.get("VmHWM", 0)))
    if len(each_of) > 1 and now / 1024 > known:
        now = 0
        for each in each_of:
            with contextlib.suppress(OSError), open(f"/proc/{each}/smaps_rollup", encoding="utf-8", errors="replace") as f:
                now += sum(map(int, re.findall(r"^Pss:\s*(\d+)", f.read(), re.M)))
    return max(now / 1024, most / 1024, known)


class Usage:
    """A command that runs; after end(): its CPU seconds with its children's, the peak MiB of all of them together."""

    def __init__(self, argv, **files):
        self.start = time.monotonic()
        self.proc = subprocess.Popen(argv, stdin=subprocess.DEVNULL, **files)
        self.pid, self.rss, self.cpu, self.done = self.proc.pid, 0.0, 0.0, threading.Event()
        self.resting = False
        self.watch = threading.Thread(target=self._watch, daemon=True)
        self.watch.start()

    def _watch(self):
        while not self.done.wait(POLL):
            if not self.resting:
                self.rss = memory(self.pid, self.rss)

    @contextlib.contextmanager
    def undisturbed(self):
        """
        Its memory is looked at when this ends, not meanwhile: of a profiler of several processes that takes a tenth of a CPU, which
        would count as what the profiler takes of the workload's time.
        """
        self.resting = True
        try:
            yield
        finally:
            self.resting = False
            self.rss = memory(self.pid, self.rss)

    def end(self, timeout):
        """True if it ended by itself in time."""
        def ended():
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            return (status, usage) if pid else None
        in_time = True
        try:
            status, usage = wait_for(ended, f"{self.proc.args[0]} to end", timeout)
        except AssertionError:
            for pid in children(self.pid)[::-1]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            _, status, usage = os.wait4(self.pid, 0)
            in_time = False
        self.took = time.monotonic() - self.start
        self.done.set()
        self.watch.join()
        self.proc.returncode = os.waitstatus_to_exitcode(status)
        self.cpu = usage.ru_utime + usage.ru_stime
        return in_time


class Run:
    """A profiler that runs until interrupt(); then .cpu, .rss, .out and .err."""

    def __init__(self, peer, hz, pid, out):
        self.peer, self.dir = peer, out
        self.files = [open(f"{out}/{name}", "w+b") for name in ("stdout", "stderr")]
        self.usage = Usage(peer.command(hz, pid, out), stdout=self.files[0], stderr=self.files[1])
        self.pid, self.start = self.usage.pid, self.usage.start

    def await_sampling(self, seconds=20):
        """
        Until samples are taken, as far as can be told from outside: of a BPF program the first; perf's first one is in its data.
        ms since the start, None of perf.
        """
        try:
            if self.peer.bpf:
                with bpf_stats():
                    wait_for(lambda: self._alive() and self.programs()[0], "the first sample", seconds)
                    return 1000 * (time.monotonic() - self.start)
            wait_for(lambda: self._alive() and perf_events(self.pid) >= CPUS and self._polls(), "perf's events", seconds)
            return None
        except AssertionError:
            self.interrupt()
            raise

    def _alive(self):
        with open(f"/proc/{self.pid}/stat") as f:
            if f.read().rpartition(")")[2].split()[0] == "Z":
                self.interrupt()
                raise Unknown(f"{self.peer.name} ended: {self.tail()}")
        return True

    def _polls(self):
        with open(f"/proc/{self.pid}/wchan") as f:
            return "poll" in f.read()

    def tail(self):
        if "kernel headers" in self.out + self.err:
            return "it finds no kernel headers to compile its program with"
        return " ".join(self.err.split())[-160:]

    def interrupt(self, timeout=60):
        """Ends it; the seconds it took to end."""
        asked = time.monotonic()
        os.kill(self.pid, signal.SIGINT)
        in_time = self.usage.end(timeout)
        self.cpu, self.rss = self.usage.cpu, self.usage.rss
        self.out, self.err = (self._read(f) for f in self.files)
        if not in_time:
            raise Unknown(f"{self.peer.name} did not end in {timeout} s")
        if self.usage.proc.returncode not in INTERRUPTED:
            raise Unknown(f"{self.peer.name} failed: {self.tail()}")
        return time.monotonic() - asked

    @staticmethod
    def _read(f):
        f.seek(0)
        text = f.read().decode(errors="replace")
        f.close()
        return text

    def programs(self):
        """(runs, ns) of its perf_event program, by the kernel; needs kernel.bpf_stats_enabled."""
        found = []
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{self.pid}/fdinfo"):
                with contextlib.suppress(OSError), open(f"/proc/{self.pid}/fdinfo/{fd}") as f:
                    info = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
                    if info.get("prog_type") == "7":        # BPF_PROG_TYPE_PERF_EVENT
                        found.append(tuple(int(info.get(x, 0)) for x in ("run_cnt", "run_time_ns")))
        return max(found, default=(0, 0))

    def first_in_data(self):
        """ms from the start to the first sample in perf's data."""
        argv = [*self.peer.tool, "script", "-i", f"{self.dir}/perf.data", "-F", "time"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as proc:
            line = proc.stdout.readline()
            proc.kill()
        if not line.strip():
            raise Unknown(f"{self.peer.name} has no sample")
        return 1000 * (float(line.strip().rstrip(":")) - self.start)


@contextlib.contextmanager
def bpf_stats():
    """kernel.bpf_stats_enabled, put back at the end."""
    with open(BPF_STATS) as f:
        old = f.read()
    with open(BPF_STATS, "w") as f:
        f.write("1")
    try:
        yield
    finally:
        with open(BPF_STATS, "w") as f:
            f.write(old)


@contextlib.contextmanager
def busy(*command, n=CPUS):
    """A target on each CPU that burns for ever."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(Fixture(*command)) for _ in range(n)]


@contextlib.contextmanager
def not_idle():
    """Something for each CPU where there is nothing else: there are samples, and nobody waits for it."""
    with busy("timed", "1", "0") as targets:
        for each in targets:
            os.sched_setscheduler(each.pid, os.SCHED_IDLE, os.sched_param(0))
        yield
