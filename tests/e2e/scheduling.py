# SPDX-License-Identifier: MIT
"""What the machine's scheduler is told while tests and benchmarks run."""
import contextlib

AUTOGROUPS = "/proc/sys/kernel/sched_autogroup_enabled"


@contextlib.contextmanager
def one_group():
    """
    No groups of the scheduler for sessions (sched(7), autogroup) until the end of the block. Each program here has a
    session, and Linux 6.18 leaves one without a CPU for 2 to 11 s while the threads of another wake one another.
    """
    try:
        with open(AUTOGROUPS, "r+") as file:
            before = file.read()
            file.write("0")
    except OSError:     # not root, or a kernel without
        yield
        return
    try:
        yield
    finally:
        with open(AUTOGROUPS, "w") as file:
            file.write(before)
