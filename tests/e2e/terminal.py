# SPDX-License-Identifier: MIT
"""Terminals for tests. By tmux: keys go in, and what stands on the screen comes out. And a bare one: what is written to it."""
import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import tempfile

from harness import EBPROF, cache, check, environment, needs, nothing_refused, wait_for


class Terminal:
    """A shell on a screen of its own, until the end of the block. Waits for what is expected, and never only for time."""

    def __init__(self, columns=120, rows=30, env=None):
        self.tmux, self.dir = needs("tmux"), tempfile.mkdtemp(prefix="ebprof-e2e-tmux-")
        self.env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "LANG": "C.UTF-8", "XDG_CACHE_HOME": cache(),
                    "TMUX_TMPDIR": self.dir, "TERM": "xterm-256color", "SHELL": "/bin/sh"}
        if "LLVM_PROFILE_FILE" in os.environ:      # make coverage
            self.env["LLVM_PROFILE_FILE"] = os.environ["LLVM_PROFILE_FILE"]
        settings = " ".join(f"{k}={v}" for k, v in (env or {}).items())
        self.call("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"exec env {settings} PS1='$ ' bash --norc --noprofile")
        self.wait(r"^\$")

    def call(self, *args):
        return subprocess.run([self.tmux, "-L", "ebprof", *args], env=self.env, check=True, capture_output=True,
                              timeout=20).stdout.decode()

    def screen(self):
        return self.call("capture-pane", "-p")

    def selected(self):
        """The row that is selected, by its background (STYLE_SELECTED); "" where there is none."""
        line = next((line for line in self.call("capture-pane", "-p", "-e").splitlines() if "48;5;25m" in line), "")
        return re.sub(r"\x1b\[[\d;]*m", "", line)

    def wait(self, pattern, what=None, seconds=20):
        """Until the screen fits @pattern, which is what it gives."""
        last = [""]

        def there():
            last[0] = self.screen()
            return re.search(pattern, last[0], re.M)
        try:
            return wait_for(there, what or f"/{pattern}/", seconds)
        except AssertionError as e:
            raise AssertionError(f"{e}; on the screen:\n{last[0]}") from None

    def gone(self, text):
        """Until the screen does not hold @text: what a key hides may be there for a moment."""
        self.wait(rf"\A(?![\s\S]*{re.escape(text)})", f"{text} to go")

    def keys(self, *keys):
        self.call("send-keys", *keys)

    def type(self, text):
        self.call("send-keys", "-l", text)

    def run(self, command, pattern):
        self.type(command)
        self.keys("Enter")
        self.wait(pattern)

    def ebprof(self, *args, pattern=r"FUNCTION"):
        self.run("clear; " + " ".join([EBPROF, *map(str, args)]), pattern)

    def resize(self, columns, rows):
        self.call("resize-window", "-x", str(columns), "-y", str(rows))

    def pid(self):
        """Of the program that the shell runs in the foreground."""
        shell = self.call("display-message", "-p", "#{pane_pid}").strip()

        def child():
            with open(f"/proc/{shell}/task/{shell}/children") as f:
                return f.read().split()
        return int(wait_for(child, "a program on the terminal")[0])

    def ended(self):
        """
        For a new prompt, once the screen is the shell's: where a program is killed what gives the terminal back may come after the
        shell's prompt.
        """
        wait_for(lambda: self.call("display-message", "-p", "#{alternate_on}").strip() == "0", "the shell's screen")
        self.keys("Enter")
        self.settled()

    def settled(self):
        """The terminal is a shell's again: its own screen, with a cursor, and lines with an echo."""
        self.wait(r"^\$ ?\n*\Z")
        self.run("clear; stty -a | tr ' ;' '\\n\\n' | grep -E '^-?(icanon|echo|isig)$' | paste -sd,; echo done", r"^done$")
        words = set(re.search(r"^([a-z,-]+)$", self.screen(), re.M)[1].split(","))
        check(words == {"icanon", "echo", "isig"}, "modes of the terminal:", words)
        flags = self.call("display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag}").split()
        check(flags == ["0", "1", "0"], "alternate screen, cursor, mouse:", flags)

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        shown = b""
        with contextlib.suppress(subprocess.CalledProcessError):
            shown = self.call("capture-pane", "-p", "-J", "-S", "-").encode()
            self.call("kill-server")
        shutil.rmtree(self.dir, ignore_errors=True)
        nothing_refused(shown)


def on_terminal(*args, env=None):
    """What a terminal shows of ebprof, output and errors."""
    master, slave = pty.openpty()
    p = subprocess.Popen([EBPROF, *map(str, args)], stdin=slave, stdout=slave, stderr=slave,
                         env=environment({"TERM": "xterm", **(env or {})}), start_new_session=True)
    # We hold the terminal open and mark the end ourselves: what is under way when it hangs up may be lost.
    end, out = b"<end of the terminal>", b""
    while not out.endswith(end):
        if select.select([master], [], [], 0.1)[0]:
            out += os.read(master, 65536)
        elif p.poll() is not None:
            os.write(slave, end)
            check(select.select([master], [], [], 30)[0], "the terminal is stuck")
    os.close(master)
    os.close(slave)
    out = out[:-len(end)]
    nothing_refused(out)
    return p.wait(timeout=30), out.decode()
