# SPDX-License-Identifier: MIT
"""ebprof annotate: the lines and the instructions of a function, with shares that add up, of the very file that was sampled."""
import os
import re
import shutil
import subprocess

from harness import TOP, check, directory, equal, fixture_path, needs, run

INSTRUCTION = re.compile(r"^( *[\d.]*) +([0-9a-f]+)  (\S.*)$", re.M)


def recorded(d, program, *args):
    path = os.path.join(d, "x.pb.gz")
    run("-q", "-F", 999, "-d", "1", "-o", path, "--", program, *args).ok()
    return path


def test_instructions_are_those_of_objdump():
    with directory() as d:
        path = recorded(d, fixture_path("tree"))
        out = run("annotate", "a2", path).ok().out
        share = float(re.search(r"^a2 of tree: self ([\d.]+)%, total", out)[1])
        check(40 < share < 75, out)
        check("there is no debug information" in out, out)
        shown = INSTRUCTION.findall(out)
        total = sum(float(s) for s, _, _ in shown if s.strip())
        check(abs(total - share) < 0.1 + 0.01 * len(shown), f"instructions have {total} of {share}")
        listing = subprocess.run([needs("objdump"), "-d", "--disassemble=a2", "-M", "intel", fixture_path("tree")], check=True,
                                 capture_output=True, timeout=60).stdout.decode()
        theirs = re.findall(r"^ +([0-9a-f]+):\t[0-9a-f ]+\t(\S+)", listing, re.M)
        equal([(a, t.split()[0]) for _, a, t in shown], theirs, "addresses and mnemonics")


def test_lines_of_source():
    with directory() as d:
        path = recorded(d, fixture_path("inlined_spin"))
        out = run("annotate", "inlined_step", path).ok().out
        with open(os.path.join(TOP, "tests", "fixtures", "inlined_spin.c"), encoding="ascii") as f:
            source = f.read().splitlines()
        rows = re.findall(r"^ +([\d.]+) +([\d.]+) +(\d+)  (.*)$", out, re.M)
        check(rows, out)
        for _, _, number, text in rows:
            equal(text, source[int(number) - 1].expandtabs(), f"line {number}")
        check(re.search(r"inlined_spin\.c:\d+ \[inlined_step\] < inlined_spin\.c:\d+", out), "what was inlined", out)
        shutil.copy(os.path.join(TOP, "tests", "fixtures", "inlined_spin.c"), d)
        with open(os.path.join(d, "inlined_spin.c"), "a", encoding="ascii") as f:
            f.write("")
        equal(run("annotate", "--source-dir", d, "inlined_step", path).ok().out, out, "from another folder")


def test_another_file():
    with directory() as d:
        program = os.path.join(d, "program")
        shutil.copy(fixture_path("tree"), program)
        path = recorded(d, program)
        shutil.copy(fixture_path("tree_static"), program)
        check("the file that was sampled is not here" in run("annotate", "a2", path).ok().out, "another build id")
        run("annotate", "a22", path).fails(1, "did you mean 'a2'?")
        run("annotate").fails(2, "takes a function's name")
