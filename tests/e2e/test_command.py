# SPDX-License-Identifier: MIT
"""The command behind "--": what it shares with ebprof, and how it ends."""
import os
import re
import select
import signal
import time

from harness import check, child_of, equal, finish, start, state, wait_for
from terminal import on_terminal

IGNORES = ("sh", "-c", 'trap "" TERM; while :; do :; done')


def read_line(pipe, pattern, seconds=20):
    """The first line of @pipe that fits."""
    seen, end = b"", time.monotonic() + seconds
    while True:
        check(select.select([pipe], [], [], max(0, end - time.monotonic()))[0], f"no /{pattern}/ in:", seen)
        got = os.read(pipe.fileno(), 65536)
        check(got, f"ended without /{pattern}/:", seen)
        seen += got
        m = re.search(pattern, seen.decode(), re.M)
        if m:
            return m


def ignores_any(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return int(re.search(r"^SigIgn:\s*(\w+)", f.read(), re.M)[1], 16) != 0


def waits_for(command, expected, sent=None):
    proc = start("-d", "0.2" if not sent else 60, "-o", "/dev/null", "--", *command)
    if sent:
        pid = child_of(proc.pid, "sh")
        wait_for(lambda: ignores_any(pid), "the trap")
        proc.send_signal(sent)
    m = read_line(proc.stderr, r"^ebprof: waiting for the command sh \(PID (\d+)\), which (.*)\n")
    pid = int(m[1])
    equal(m[2], expected.format(pid) + "; Ctrl-C ends only ebprof", "the message")
    check(state(pid) in "RTS", "the command is there:", state(pid))
    os.kill(pid, signal.SIGKILL)
    return finish(proc).code


def test_command_that_ignores_the_end():
    code = waits_for(IGNORES, "goes on after SIGTERM; kill -KILL {} ends it")
    check(code in (0, 5), "exit status, with samples and without:", code)


def test_command_that_is_stopped():
    waits_for(("sh", "-c", "kill -STOP $$"), "is stopped; kill -CONT {} lets it go on and end")


def test_command_that_ignores_ctrl_c():
    waits_for(("sh", "-c", 'trap "" INT; while :; do :; done'), "goes on after SIGINT; kill -KILL {} ends it",
              signal.SIGINT)


def test_command_that_ends_in_time():
    """Nobody is told of a wait that is none; nor with -q."""
    proc = start("-d", "0.2", "-o", "/dev/null", "--", "sh", "-c", "while :; do :; done")
    r = finish(proc)
    check(r.code in (0, 5) and "waiting" not in r.err, "it waits:", r.code, r.err)
    proc = start("-q", "-d", "0.2", "-o", "/dev/null", "--", *IGNORES)
    pid = child_of(proc.pid, "sh")
    time.sleep(1.5)     # longer than it is patient; sooner than it would be there is nothing to see
    os.kill(pid, signal.SIGKILL)
    equal(finish(proc).err, "", "standard error")


def test_progress_does_not_mix_with_the_command():
    """Its lines stay as they are, though some are not ended while it runs."""
    code, text = on_terminal("-F", 99, "-o", "/dev/null", "--", "sh", "-c",
                               "printf begun; sleep 1; echo; echo done")
    equal(code, 0, text)
    check("begun\r\ndone\r\n" in text, "torn:", repr(text))
    check("\033" not in text, "a progress line:", repr(text))
