# SPDX-License-Identifier: MIT
"""ebprof push as a service: options from a file, which is read again, and what systemd gets to know."""
import os
import signal
import socket
import subprocess

from harness import EBPROF, TOP, Fixture, check, directory, equal, finish, needs, run, start, wait_for


class Notified:
    """What systemd would read."""

    def __init__(self, where):
        self.path = os.path.join(where, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.settimeout(0)
        self.got = []

    def count(self, line):
        while True:
            try:
                self.got += self.socket.recv(4096).decode().split("\n")
            except BlockingIOError:
                return sum(x.startswith(line) for x in self.got)

    def environment(self, pid=""):
        return {"NOTIFY_SOCKET": self.path, "WATCHDOG_USEC": "300000", "WATCHDOG_PID": pid}


def write(path, *lines):
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join(lines) + "\n")


def profiles(where):
    return [name for name in os.listdir(where) if name.endswith(".pb.gz")]


def test_a_file_of_options_is_read_again():
    with directory() as where, Fixture("tree") as f:
        first, second, config = (os.path.join(where, x) for x in ("first", "second", "push.conf"))
        os.mkdir(first)
        os.mkdir(second)
        notified = Notified(where)
        write(config, f"to = dir:{first}", "frequency = 199", "every = 1s", f"pid = {f.pid}")
        proc = start("push", "--config", config, env=notified.environment())
        wait_for(lambda: notified.count("READY=1") == 1, "READY=1", 20)
        wait_for(lambda: notified.count("WATCHDOG=1") >= 3, "WATCHDOG=1")
        wait_for(lambda: profiles(first), "a window in the first folder")
        wait_for(lambda: notified.count("STATUS=") > 1, "STATUS=")
        # What is wrong is said, and nothing changes.
        write(config, f"to = dir:{second}", "evry = 1s")
        proc.send_signal(signal.SIGHUP)
        have = len(profiles(first))
        wait_for(lambda: len(profiles(first)) > have + 1, "windows after a reload that failed")
        equal((notified.count("RELOADING=1"), profiles(second)), (0, []), "reloaded by a wrong file")
        write(config, f"to = dir:{second}", "frequency = 199", "every = 1s", f"pid = {f.pid}")
        proc.send_signal(signal.SIGHUP)
        wait_for(lambda: notified.count("READY=1") == 2, "READY=1 again", 20)
        equal(notified.count("RELOADING=1"), 1, "told to be reloading")
        wait_for(lambda: profiles(second), "a window in the second folder")
        # A queue that nobody reads holds a few lines.
        equal(notified.count("STOPPING=1"), 0, "told to be stopping too early")
        proc.send_signal(signal.SIGTERM)
        wait_for(lambda: notified.count("STOPPING=1") == 1, "STOPPING=1")
        r = finish(proc).ok()
    check(f"ebprof: {config}:2: unknown option 'evry'; did you mean 'every'?\nebprof: not reloaded" in r.err, r.err)
    # Each of both accounts for its samples.
    equal(r.err.count(" 0 could not be written (0 samples)"), 2, r.err)


def test_without_a_file_one_process_does_it():
    with directory() as where, Fixture("tree") as f:
        notified = Notified(where)
        r = run("push", "--to", where, "-p", f.pid, "--every", "1s", "-d", "1s", env=notified.environment()).ok()
        check(notified.count("READY=1") == 1 and notified.count("WATCHDOG=1") > 1, notified.got, r.err)


def test_lines_of_the_journal():
    """Each begins with how much it matters where standard error is what JOURNAL_STREAM says, and only there."""
    def lines(where, of, *args):
        path = os.path.join(where, "journal")
        with open(path, "wb") as f:
            st = of or os.fstat(f.fileno())
            env = {**os.environ, "JOURNAL_STREAM": f"{st.st_dev}:{st.st_ino}"}
            subprocess.run([EBPROF, "push", *args], stderr=f, env=env, check=False, timeout=60)
        with open(path, encoding="utf-8") as f:
            return f.read().splitlines()

    with directory() as where, Fixture("tree") as f:
        args = ("--to", "otlp+http://127.0.0.1:1", "--spool", where, "-p", str(f.pid), "-d", "1100ms", "-F", "199")
        got = lines(where, None, *args)
        check(all(line[:1] == "<" and line[2:].startswith(">ebprof: ") for line in got), "lines:", got)
        equal({line[:3] for line in got if "waits in" in line or " wait " in line}, {"<4>"}, "what is wrong")
        equal({line[:3] for line in got if " 0 lost" in line}, {"<6>"}, "what is not")
        equal(lines(where, None, "--to", "/nonexistent/x")[0][:11], "<3>ebprof: ", "a failure")
        check(all(line.startswith("ebprof: ") for line in lines(where, os.stat("/"), *args)), "no journal")


def test_wrong_files():
    with directory() as where:
        config = os.path.join(where, "push.conf")
        write(config, "to = /nonexistent/x")
        run("push", "--config", config).fails(1, "make the folder first")
        run("push", "--config", config, "--to", "/nonexistent/y").fails(1, "/nonexistent/y")
        write(config, "to = .", "pid = 1", "all")
        run("push", "--config", config).fails(2, "choose one target")
        run("push", "--config", where).fails(2, "no such file")
        run("record", "--config", config).fails(2, "ebprof push")


def test_the_unit_is_valid_and_closed():
    """By systemd itself, of a root that has the program where the package puts it."""
    needs("systemd-analyze")
    unit = os.path.join(TOP, "packaging", "ebprof-push.service")
    with directory() as where:
        copy = os.path.join(where, "ebprof-push.service")
        with open(unit, encoding="ascii") as f, open(copy, "w", encoding="ascii") as to:
            to.write(f.read().replace("/usr/bin/ebprof", os.path.realpath(EBPROF)))
        # Elsewhere than in its place it has no page.
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, check=False)
        equal((done.returncode, done.stderr), (0, ""), "systemd-analyze verify")
        done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=45", copy],
                              capture_output=True, text=True, check=False)
        equal(done.returncode, 0, "systemd-analyze security: " + done.stdout[-200:])
