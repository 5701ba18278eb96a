# SPDX-License-Identifier: MIT
"""Who called the kernel's functions (CALLED FROM), in tables of waits and events, against the stacks of the same recording."""
import collections
import os
import re

from harness import check, directory, equal, fixture_path, in_tracefs, run

KERNEL = "_[k]"


def plain(frame):
    return re.sub(r"_\[[ij]\]$", "", frame)


def askers(folded):
    """By function of the kernel: its value under each function that called it, however deep."""
    out = collections.defaultdict(collections.Counter)
    for line in folded.splitlines():
        stack, _, n = line.rpartition(" ")
        frames = stack.split(";")[1:]
        # Who woke it stands above the mark of a wait.
        mark = next((i for i, f in enumerate(frames) if re.match(r"\[(blocked|runnable|.* wait|uninterruptible|stopped)\]$", f)),
                    len(frames))
        below = frames[:mark]
        own = next((i for i in reversed(range(len(below))) if not below[i].endswith(KERNEL)), None)
        if own is not None and not below[own].startswith("["):
            for name in {f[:-len(KERNEL)] for f in below[own + 1:]}:
                out[name][plain(below[own])] += int(n)
    return out


def rows(table):
    """{function: (image, who called it)} of those that are there once."""
    lines = table.split("\n\n")[0].splitlines()
    function, called = lines[0].index("FUNCTION"), lines[0].index("CALLED FROM")
    out, several = {}, set()
    for line in lines[1:]:
        name = line[function:called].strip()
        several |= {name} & set(out)
        out[name] = line.split()[3], line[called:].strip()
    return {name: row for name, row in out.items() if name not in several}


def compare(*options, program):
    """The table's column with the stacks; gives it of the kernel's functions."""
    with directory() as d:
        paths = [os.path.join(d, name) for name in ("x.folded", "x.txt")]
        run(*options, "--annotate", "--rows", 5000, "-o", paths[0], "-o", paths[1], "--", *program).ok()
        texts = []
        for path in paths:
            with open(path, encoding="utf-8") as f:
                texts.append(f.read())
    folded, table = texts
    truth = askers(folded)
    got = rows(table)
    kernel = {name: asker for name, (image, asker) in got.items() if image == "[kernel]" and name in truth}
    check(len(kernel) >= 2, "functions of the kernel:", table)
    for name, asker in kernel.items():
        most = max(truth[name].values())
        m = re.fullmatch(r"(.*?)(?:, \+(\d+) more)?", asker)
        equal(truth[name][m[1]], most, f"{name} is called from {asker}, of {truth[name]}: the most of it")
        # Functions of one name may be of two libraries.
        check(int(m[2] or 0) >= len(truth[name]) - 1, f"{name} is called from {asker}, of {truth[name]}: others")
    equal({name: asker for name, (image, asker) in got.items() if image in ("waits", "syscalls", "libc.so.6") and asker}, {},
          "programs' own functions are called from")
    return kernel


def called_from(kernel, function, caller):
    check(any(re.search(function, name) and re.search(caller, asker) for name, asker in kernel.items()),
          f"no {function} is called from {caller}:", kernel)


def test_waits():
    for options in (("--off-cpu",), ("--wall",), ("--off-cpu", "--wakers")):
        kernel = compare(*options, program=(fixture_path("waits"), 1))
        called_from(kernel, "nanosleep", "nanosleep|wait_sleep")
        called_from(kernel, "pipe_read|vfs_read", "read")
        called_from(kernel, "futex", "futex|lock|cond")


def test_tracepoint():
    in_tracefs("events/raw_syscalls/sys_enter")
    kernel = compare("-e", "raw_syscalls:sys_enter", "-c", 1, program=(fixture_path("syscalls"), "loop", 1))
    called_from(kernel, "syscall|SYSCALL|el0_svc", r"^call_(getppid|write)")


def test_time_on_cpus_has_no_such_column():
    with directory() as d:
        path = os.path.join(d, "x.txt")
        run("-F", 499, "-o", path, "--", fixture_path("syscalls"), "loop", 1).ok()
        with open(path, encoding="utf-8") as f:
            check("CALLED FROM" not in f.readline(), "it has the column")
