# SPDX-License-Identifier: MIT
"""What `ebprof selftest` finds on this machine, where runtimes are missing, and where a runtime does something else."""
import json
import os
import re
import shutil
import subprocess
import sys

from harness import EBPROF, STATIC, check, directory, equal, needs, run, unsanitized

SECONDS = 26

NATIVE = ["native", "native-waits", "native-memory"]


def found(*args, code=0, **kw):
    """The programs by name, as JSON has them."""
    result = json.loads(run("selftest", "-f", "json", *args, timeout=600, **kw).ok(code).out)
    programs = result["programs"]
    for state in ("right", "wrong", "skipped"):
        equal(result[state], sum(p["state"] == state for p in programs), state)
    return {p["name"]: p for p in programs}


def script(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)


def test_native():
    unsanitized("malloc() is the sanitizer's there")
    programs = found(*NATIVE)
    equal([p["state"] for p in programs.values()], ["right"] * 3, programs)
    share = programs["native"]
    check(abs(share["share"]["measured"] - 2 / 3) <= share["share_bound"] < 0.09, share)
    equal(programs["native-memory"]["blocks"], {"truth": 300, "measured": 300}, "blocks")


def runtimes(*names):
    """Of those that are installed each is right."""
    programs = found(*names)
    equal(list(programs), list(names))
    for name, p in programs.items():
        check(p["state"] == "right" if shutil.which(name) else p["why"] == "not installed", p)


def test_runtimes():
    runtimes("python3", "node", "java")


def test_more_runtimes():
    runtimes("ruby", "php", "perl")


def test_static():
    """Its functions have names though it was stripped."""
    programs = found(*NATIVE, ebprof=STATIC)
    equal([p["state"] for p in programs.values()], ["right", "right", "skipped"], programs)


def test_not_installed():
    with directory() as d:
        programs = found("native-waits", "python3", "java", env={"PATH": d})
    equal([p["state"] for p in programs.values()], ["right", "skipped", "skipped"], programs)
    equal(programs["java"]["why"], "not installed")


def test_runtimes_that_lie():
    """One that runs something else, one whose functions use other shares, one that fails."""
    python = sys.executable
    lies = (("exec sleep 0.1", "wrong", "it did not run to its end what it was given"),
            (f'exec {python} -c "$(printf %s "$2" | sed "s/2 [*] n/n/")"', "wrong", "the shares are further off"),
            (f'exec {python} -c "$(printf %s "$2" | sed "s/def rest.*/def rest(): pass/")"', "wrong", "functions that ran"),
            ("echo broken >&2; exit 1", "skipped", "broken"))
    for text, state, why in lies:
        with directory() as d:
            script(d, "python3", text)
            p = found("python3", code=state == "wrong", env={"PATH": f"{d}:{os.environ['PATH']}"})["python3"]
        equal(p["state"], state, p)
        check(p["why"].startswith(why), p)


def test_hostile_runtime():
    """What it says is shown as text, and what it writes into the profile's place is no profile."""
    with directory() as d:
        script(d, "python3", r"printf 'selftest \033[31m\t9%0100d 1 2\n' 1 >&2; head -c 100000 /dev/urandom")
        r = run("selftest", "python3", env={"PATH": f"{d}:{os.environ['PATH']}"}).ok(1)
    check(re.match(r"^wrong +python3", r.out), r.out)
    check("\033" not in r.out + r.err, r.out, r.err)


def test_invoking_user():
    """A program runs as who called sudo, whose it is."""
    with directory() as d:
        os.chmod(d, 0o777)
        script(d, "python3", f"id -u >{d}/who")
        found("python3", code=1, env={"PATH": f"{d}:{os.environ['PATH']}", "SUDO_UID": "65534", "SUDO_GID": "65534"})
        with open(os.path.join(d, "who"), encoding="ascii") as f:
            equal(f.read(), "65534\n")


def test_not_permitted():
    with directory() as d:
        path = os.path.join(d, "ebprof")
        subprocess.run(["install", "-m", "755", EBPROF, path], check=True)
        run("selftest", ebprof=path, prefix=(needs("setpriv"), "--reuid", "65534", "--regid", "65534",
                                             "--clear-groups")).fails(3, "CAP_BPF")


def test_usage():
    run("selftest", "cobol").fails(2, "no program 'cobol'")
    run("selftest", "-f", "xml").fails(2, "table or json")
    equal(run("selftest", "--be", "nobody").ok(2).out, "")
