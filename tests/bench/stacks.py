# SPDX-License-Identifier: MIT
"""
Stacks as each profiler writes them, read as (comm, frames from the root to the leaf, count), and what can be said of their
quality by a measure that is the same for all: names, not marks of the profiler's own.
"""
import re

from harness import TRUNCATED

# Where a thread begins; one of the outermost frames of a stack that is complete.
ROOT = re.compile(r"_start$|^_dl_start|^__libc_start_|^start_thread$|^_*clone3?$|^_*vfork$|^runtime\.(goexit|mstart|rt0_go|mcall|systemstack)")
# The kernel begins or ends a process, which has no user stack then.
NO_USER = re.compile(r"^(do_exit|begin_new_exec|load_elf_binary|bprm_execve|ret_from_fork(_asm)?|schedule_tail)$")
UNNAMED = re.compile(r"^(\[unknown\]|0|0x[0-9a-f]+|\[[^\]]*\+0x[0-9a-f]+\])$")

# perf 7.2 takes the names of C functions for types of C++, which are mangled so.
DEMANGLED = {"signed char": "a", "bool": "b", "char": "c"}


def folded(text):
    """ebprof's and bcc's."""
    for line in text:
        head, _, count = line.rstrip("\n").rpartition(" ")
        comm, *frames = head.split(";")
        if count.isdigit():
            yield comm, [f.removesuffix("_[k]") for f in frames if not TRUNCATED.match(f) and f != "-"], int(count)


def perf_script(text):
    comm, frames = None, []
    for line in text:
        if line[0] not in "\t \n":
            comm = line.rsplit(None, 2)[0].strip() if line.count("/") else line.split()[0]
            frames = []
        elif line == "\n":
            if comm is not None:
                yield comm, frames[::-1], 1
            comm = None
        elif comm is not None:
            words = line.split(None, 1)
            name = words[1].rpartition(" (")[0] if len(words) > 1 else "[unknown]"
            name = name.removesuffix(" (inlined)")
            frames.append(DEMANGLED.get(name, name))
    if comm is not None:
        yield comm, frames[::-1], 1


def bpftrace(text):
    kernel, user, now = [], [], None
    for line in text:
        line = line.rstrip("\n")
        if line.startswith("@["):
            kernel, user = [], []
            now = kernel
            line = line[2:]
        if line.startswith("    "):
            now.append(re.sub(r"\+\d+$", "", line.strip()))
            continue
        if line.startswith(", "):
            now = user
            line = line[2:]
        end = re.match(r"(?:, )?(.+)\]: (\d+)$", line)
        if end:
            yield end[1], user[::-1] + kernel[::-1], int(end[2])


def is_complete(frames):
    return any(ROOT.search(f) for f in frames[:4])


class Quality:
    """Of the samples of a workload: how many, how whole, how well named, and how near to the truth."""

    def __init__(self, stacks, workload):
        self.kept = self.whole = self.able = self.frames = self.unknown = self.exited = self.exited_named = 0
        counts = dict.fromkeys(workload.shares, 0)
        for comm, frames, count in stacks:
            if not workload.comms.match(comm):
                continue
            self.kept += count
            self.frames += count * len(frames)
            self.unknown += count * sum(1 for f in frames if UNNAMED.match(f))
            if not any(NO_USER.match(f) for f in frames):
                self.able += count
                self.whole += count * bool(workload.complete(frames))
            if workload.exited and workload.exited.match(comm) and not any(NO_USER.match(f) for f in frames):
                self.exited += count
                self.exited_named += count * any(ROOT.search(f) or f == "main" for f in frames[:4])
            for name in counts:
                counts[name] += count * (name in frames)
        self.error = max((abs(counts[n] / self.kept - share) for n, share in workload.shares.items()), default=None) \
            if self.kept else None

    @staticmethod
    def percent(part, of):
        return 100 * part / of if of else None

    def figures(self):
        return {"complete": self.percent(self.whole, self.able), "unknown": self.percent(self.unknown, self.frames),
                "exited": self.percent(self.exited_named, self.exited), "kept": self.kept,
                "error": None if self.error is None else 100 * self.error}
