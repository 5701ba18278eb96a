# SPDX-License-Identifier: MIT
"""What the shells themselves complete by the files that `ebprof completion` prints."""
import contextlib
import os
import pty
import re
import select
import shutil
import subprocess
import time

from harness import EBPROF, check, directory, equal, run, skip

PATH = os.path.dirname(EBPROF) + ":" + os.environ["PATH"]

# What is typed, and what must be among the replies, and what must not.
LINES = [
    ("ebprof recor", {"record"}, {"alloc"}),
    ("ebprof --of", {"--off-cpu"}, {"--leaks"}),
    ("ebprof record --lea", set(), {"--leaks"}),
    ("ebprof alloc --lea", {"--leaks"}, {"--off-cpu"}),
    ("ebprof top --win", {"--window"}, set()),
    ("ebprof report --by mod", {"module"}, {"function"}),
    ("ebprof diff -f ht", {"html"}, set()),
    ("ebprof convert -f fol", {"folded"}, {"html"}),
    ("ebprof completion ba", {"bash"}, {"zsh"}),
    ("ebprof help conv", {"convert"}, {"record"}),
    ("ebprof -e page-f", {"page-faults"}, {"cpu-clock"}),
    ("ebprof -o /etc/passw", {"/etc/passwd"}, set()),
    ("ebprof record /bin/tru", {"/bin/true"}, set()),
]


@contextlib.contextmanager
def script(shell):
    if not shutil.which(shell):
        skip(f"no {shell}")
    with directory() as d:
        path = os.path.join(d, "_ebprof")
        with open(path, "w", encoding="utf-8") as f:
            f.write(run("completion", shell).ok().out)
        yield path


def replies(shell, args):
    r = subprocess.run([shell, *args], capture_output=True, text=True, env={**os.environ, "PATH": PATH}, timeout=60, check=False)
    equal(r.returncode, 0, f"{shell}: {r.stderr}")
    return r.stdout.splitlines()


def test_bash():
    with script("bash") as path:
        for line, present, absent in LINES:
            asked = (f'. {path}; compopt() {{ :; }}; COMP_LINE="{line}" COMP_POINT={len(line)}; _ebprof; '
                     'printf "%s\\n" "${COMPREPLY[@]}"')
            got = set(replies("bash", ("--norc", "-c", asked)))
            check(present <= got and not absent & got, f"{line!r}:", got)
        # "=" ends a word for bash, and so does a colon.
        asked = f'. {path}; COMP_LINE="ebprof report --sort=to" COMP_POINT=23; _ebprof; echo "${{COMPREPLY[@]}}"'
        equal(replies("bash", ("--norc", "-c", asked)), ["total"], "--sort=to")


def test_fish():
    with script("fish") as path:
        for line, present, absent in LINES:
            got = {r.partition("\t")[0] for r in replies("fish", ("-N", "-c", f"source {path}; complete -C '{line}'"))}
            check(present <= got and not absent & got, f"{line!r}:", got)


class Zsh:
    """It completes at a terminal alone."""

    def __init__(self, path):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            os.execvpe("zsh", ["zsh", "-f", "-i"], {**os.environ, "PATH": PATH, "TERM": "dumb", "HOME": "/nonexistent"})
        self.shown = ""
        self.type("PS1='>' LISTMAX=1000; unsetopt zle prompt_sp; setopt zle\n")
        self.type(f"autoload -Uz compinit && compinit -u -D && . {path} && print load''ed\n")
        self.until("loaded")

    def type(self, text):
        os.write(self.fd, text.encode())

    def until(self, text):
        end = time.monotonic() + 60
        while text not in self.shown:
            check(time.monotonic() < end, f"no {text!r} in {self.shown!r}")
            if select.select([self.fd], [], [], 0.1)[0]:
                self.shown += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|\x07", "", os.read(self.fd, 65536).decode(errors="replace"))

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


def test_zsh():
    with script("zsh") as path:
        for line, present, _ in (LINES[i] for i in (0, 1, 3, 5, 9)):
            z = Zsh(path)
            try:
                z.shown = ""
                z.type(line + "\t")
                z.until(line.rpartition(" ")[0] + " " + min(present))
            finally:
                z.close()


def test_unknown_shell():
    run("completion", "tcsh").fails(2, "bash, zsh or fish")
    run("completion").fails(2, "bash, zsh or fish")
