# SPDX-License-Identifier: MIT
"""
Python in containers and venvs: Debian's 3.9 and 3.13 (static, stripped) with their own C library, in namespaces and below roots of their
own, at paths at which the machine has nothing; packages of a venv.
"""
import glob
import json
import os
import subprocess

from containers import contained
from harness import Fixture, check, directory, equal, run, skip, wait_burned
from test_python import TREE, known_shares, python_stacks, sampled, whole_deep
from test_python_programs import says_itself

SECONDS = 8


def known(suite, minor):
    """Known shares, 1,000 deep, and names, files and lines as the program says them."""
    python = contained(suite, f"python3.{minor}")
    profile = python_stacks(sampled(python, TREE, burned=0))
    known_shares(python, minor, profile)
    check(profile.comms() == {f"python3.{minor}"}, profile.comms())
    whole_deep(1000, [(python, minor)], burned=0)
    says_itself(python)


def test_bullseye():
    known("bullseye", 9)


def test_trixie():
    known("trixie", 13)


PACKAGE = """
def spin():
    s = 0
    for i in range(10000): s += i
    return s
"""
USER = """
import json, sys
from package.inner import spin
text = json.dumps(list(range(300)))
def main():
    print('ready', flush=True)
    while True:
        spin()
        json.loads(text, parse_int=lambda x: int(x))
main()
"""


def test_venv():
    """The image of what a venv or the library has is as an import sees it; the program's own is its path."""
    with directory() as d:
        made = subprocess.run(["/usr/bin/python3", "-m", "venv", "--without-pip", f"{d}/venv"], capture_output=True, text=True, check=False)
        if made.returncode:
            skip(f"no venv can be made: {made.stderr}")
        package = os.path.join(glob.glob(f"{d}/venv/lib/python3*/site-packages")[0], "package")
        os.mkdir(package)
        for path, text in ((f"{package}/inner.py", PACKAGE), (f"{package}/__init__.py", ""), (f"{d}/user.py", USER)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
        with Fixture("python", f"{d}/user.py", path=f"{d}/venv/bin/python3") as target:
            wait_burned(target.pid, 0.1)
            out = run("-p", target.pid, "-F", 999, "-d", 1, "-f", "json").ok().out
        functions = [x for x in map(json.loads, out.splitlines()) if x["type"] == "function" and x["kind"] == "python"]
        images = {x["name"]: x["module"] for x in functions}
        expected = {"spin": "package/inner.py", "loads": "json/__init__.py", "JSONDecoder.decode": "json/decoder.py",
                    "main": f"{d}/user.py", "<module>": f"{d}/user.py"}
        equal({name: images.get(name) for name in expected}, expected)
