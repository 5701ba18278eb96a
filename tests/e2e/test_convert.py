# SPDX-License-Identifier: MIT
"""Saved profiles in other formats, and the files they are written to."""
import gzip
import os
import re
import subprocess

from harness import check, directory, equal, fixture_path, run

PROFILES = ("full", "hostile", "one", "deep", "huge", "types", "timeline")


def made(name, form, path, *options):
    subprocess.run([fixture_path("profiles"), name, form, path, *options], check=True, timeout=30)
    with open(path, "rb") as f:
        return f.read()


def formats():
    """Names of the formats that can be written."""
    text = run("convert", "--help").ok().out.partition("Formats:\n")[2]
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ")]


def test_round_trips():
    """Through each format that can be read: the same stacks."""
    through = [form for form in ("folded", "pprof", "perf-script") if form in formats()]
    check("folded" in through, formats())
    with directory() as d:
        one, two, three = (os.path.join(d, name) for name in ("one.folded", "two", "three.folded"))
        for name in PROFILES:
            for options in ([], ["--annotate"]):
                expected = made(name, "folded", one, *options)
                for form in through:
                    if form == "perf-script" and name == "huge":
                        continue        # a block of lines for each of its samples
                    run("convert", one, "-f", form, *options, "-o", two).ok()
                    run("convert", *options, two, "-o", three).ok()
                    with open(three, "rb") as f:
                        equal(f.read(), expected, f"{name} {options} through {form}")


def test_files():
    with directory() as d:
        source, folded, packed, table = (os.path.join(d, n) for n in ("x.folded", "y.folded", "y.folded.gz", "y.txt"))
        expected = made("full", "folded", source)
        equal(run("convert", source, "-o", folded, "-o", packed, "-o", table, "-o", "-").ok().raw, expected, "standard output")
        with open(folded, "rb") as f:
            equal(f.read(), expected, "the file")
        with open(packed, "rb") as f:
            equal(gzip.decompress(f.read()), expected, "the packed file")
        with open(table) as f:
            equal(f.read().split()[:5], ["SELF%", "TOTAL%", "SAMPLES", "IMAGE", "FUNCTION"], "the table")
        equal(run("convert", "-f", "top", source).ok().out.split()[0], "SELF%", "with -f")
        run("convert", packed, "-o", packed).ok()
        with open(packed, "rb") as f:
            equal(gzip.decompress(f.read()), expected, "a file into itself")
        equal(sorted(os.listdir(d)), ["x.folded", "y.folded", "y.folded.gz", "y.txt"], "files")


def test_sample_types():
    with directory() as d:
        path = os.path.join(d, "x.folded")
        with open(path, "w") as f:
            f.write("x;f 1 3\nx;g 4 0\n")
        equal(run("convert", path).ok().out, "x;f 3\n", "after")
        equal(run("convert", path, "--sample-type", "before").ok().out, "x;f 1\nx;g 4\n", "before")
        run("convert", path, "--sample-type", "none", "-o", os.path.join(d, "y.folded")).fails(2, "before, after")
        equal(os.listdir(d), ["x.folded"], "files")


def test_bad_options():
    with directory() as d:
        path, out = os.path.join(d, "x.folded"), os.path.join(d, "out.folded")
        made("one", "folded", path)
        run("convert").fails(2, "takes one file")
        run("convert", path, path).fails(2, "takes one file")
        run("convert", path, "-f", "none").fails(2, "unknown format 'none'; known: .*folded")
        run("convert", path, "-o", os.path.join(d, "x.none")).fails(2, "its name tells no format")
        run("convert", path, "-o", "/nonexistent/out.folded").fails(1, "no folder")
        run("convert", os.path.join(d, "missing"), "-o", out).fails(1, "No such file")
        equal(os.listdir(d), ["x.folded"], "files")


def test_help():
    for command in ("report", "convert"):
        r = run(command, "--help").ok()
        check(re.match(rf"Usage: ebprof {command} ", r.out) and "--sample-type" in r.out, r.out)
        equal(r.err, "", "standard error")
