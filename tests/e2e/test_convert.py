# SPDX-License-Identifier: MIT
"""Saved profiles in other formats, and the files they are written to."""
import gzip
import os
import re
import subprocess

from harness import Fixture, check, directory, equal, fixture_path, run

PROFILES = ("full", "hostile", "one", "deep", "huge", "types", "timeline", "waits")


def made(name, form, path, *options):
    subprocess.run([fixture_path("profiles"), name, form, path, *options], check=True, timeout=30)
    with open(path, "rb") as f:
        return f.read()


def formats():
    """Names of the formats that can be written."""
    text = run("convert", "--help").ok().out.partition("Formats:\n")[2]
    return [line.split()[0] for line in text.splitlines() if line.startswith("  ")]


def test_names_of_other_tools():
    """.collapsed is FlameGraph's name of folded stacks, .pprof one that pprof's files have: written and read as these."""
    with directory() as d:
        source = os.path.join(d, "x.folded")
        expected = made("full", "folded", source)
        for name, magic in (("y.collapsed", expected[:20]), ("y.pprof", b"\x1f\x8b"), ("y.collapsed.gz", b"\x1f\x8b")):
            path = os.path.join(d, name)
            for command in ("convert", "report"):
                run(command, source, "-o", path).ok()
                with open(path, "rb") as f:
                    check(f.read().startswith(magic), command, "wrote another format to", name)
                equal(run("convert", path).ok().raw, expected, f"{name}, read again")
                run("diff", path, source).ok()
            run("convert", source, "-f", "svg", "-o", path).fails(2, "svg")
        with Fixture("tree") as tree:
            paths = [os.path.join(d, "z.collapsed"), os.path.join(d, "z.pprof")]
            run("-p", tree.pid, "-d", "0.3", "-F", 499, "-o", paths[0], "-o", paths[1]).ok()
        folded = [run("convert", path).ok().out for path in paths]
        check("main;" in folded[0], folded[0])
        equal(folded[1], folded[0], "a recording's two files")


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
        for word in ("table", "top", "text"):
            equal(run("convert", "-f", word, source).ok().out.split()[0], "SELF%", f"with -f {word}")
        run("convert", packed, "-o", packed).ok()
        with open(packed, "rb") as f:
            equal(gzip.decompress(f.read()), expected, "a file into itself")
        equal(sorted(os.listdir(d)), ["x.folded", "y.folded", "y.folded.gz", "y.txt"], "files")


def test_protected_files():
    """A file that is write-protected stays as it is, root's being no reason, unless the user says otherwise."""
    with directory() as d:
        source, out = os.path.join(d, "x.folded"), os.path.join(d, "y.folded")
        expected = made("one", "folded", source)
        for command in (("convert", source), ("diff", "-f", "folded", source, source),
                        ("-d", "0.1", "--", "true"), ("alloc", "--", "true")):
            with open(out, "w") as f:
                f.write("mine\n")
            os.chmod(out, 0o444)
            before, _, operands = " ".join(command).partition(" -- ")
            words = [*before.split(), "-o", out]
            behind = ["--", *operands.split()] if operands else []
            run(*words, *behind).fails(1, "it is write-protected; --force replaces it")
            with open(out) as f:
                equal(f.read(), "mine\n", command[0])
            run(*words, "--force", *behind)
            with open(out) as f:
                check("mine" not in f.read(), command[0], "with --force")
        run("convert", source, "-o", out).ok()
        with open(out, "rb") as f:
            equal(f.read(), expected, "a file that may be written")


def test_sample_types():
    with directory() as d:
        path = os.path.join(d, "x.folded")
        with open(path, "w") as f:
            f.write("x;f 1 3\nx;g 4 0\n")
        equal(run("convert", path).ok().out, "x;f 3\n", "after")
        equal(run("convert", path, "--sample-type", "before").ok().out, "x;f 1\nx;g 4\n", "before")
        run("convert", path, "--sample-type", "none", "-o", os.path.join(d, "y.folded")).fails(2, "before, after")
        equal(os.listdir(d), ["x.folded"], "files")


def test_lines_that_are_left_out():
    """What is missing is said, whatever is made of the rest; remarks are not missing."""
    texts = {
        "x.perf": ("# head\noops\nx 1 5.000000: 250 cycles: \n\t 10 f (/x)\n\tnothing\n\t 20 main (/x)\n",
                   "x;main;f 250\n", "2 lines were not understood, and left out; the first is line 2"),
        "y.perf": ("x 1 5.000000: 250 cycles: \n\t 10 f (/x)\n\tnothing\n", "x;f 250\n",
                   "1 line was not understood, and left out; the first is line 3"),
        "x.folded": ("# head\nx;f 1\nx;g", "x;f 1\n", "the last line is cut off, and was left out"),
        "y.folded": ("# head\nx;f 1\n", "x;f 1\n", None),
    }
    with directory() as d:
        for name, (text, stacks, said) in texts.items():
            path = os.path.join(d, name)
            with open(path, "w") as f:
                f.write(text)
            r = run("convert", path).ok()
            equal(r.out, stacks, name)
            equal(r.err, f"ebprof: {path}: {said}\n" if said else "", name)


def test_perf_periods():
    """Both are kept: what samples weigh, and how many there were."""
    with directory() as d:
        path, packed = os.path.join(d, "x.perf"), os.path.join(d, "x.pb.gz")
        with open(path, "w") as f:
            f.write("x 1 5.000000: 250 cycles: \n\t 10 f (/x)\n\nx 1 5.000001: 7 cycles: \n\t 20 g (/x)\n")
        run("convert", path, "-o", packed).ok()
        for file in (path, packed):
            equal(run("convert", file).ok().out, "x;f 250\nx;g 7\n", "periods")
            equal(run("convert", "--sample-type", "samples", file).ok().out, "x;f 1\nx;g 1\n", "samples")


def test_what_is_shown():
    """record, report, convert and diff have the same options for it."""
    with directory() as d:
        path, page = os.path.join(d, "x.folded"), os.path.join(d, "x.html")
        with open(path, "w") as f:
            f.write("x;run<int>();big<A<int>>;in<int>_[i] 3\nx;run<int>();low 1\nx;run<char>();low 1\n")

        def table(*args):
            return [line.split()[-1] for line in run(*args).ok().out.split("\n\n")[0].splitlines()[1:] if line[:3] != "..."]

        for command in (("report", "--plain", path), ("convert", "-f", "table", path)):
            equal(table(*command)[:2], ["in<int>", "low"], "by self")
            equal(table(*command, "--sort", "total")[0], "run<int>()", "by total")
            equal(len(table(*command, "--rows", "1")), 1, "rows")
            equal(table(*command, "--no-inline")[0], "big<A<int>>", "inlined functions")
            equal(set(table(*command, "--short-templates")), {"in<...>", "low", "run<...>()", "big<...>"}, "templates")
            run(*command, "--sort", "name").fails(2, "--sort 'name': expected one of self, total")
        equal(run("convert", path, "--short-templates", "--no-inline").ok().out, "x;run<...>();big<...> 3\nx;run<...>();low 2\n")
        for command in (("report", path), ("convert", path), ("diff", path, path),
                        ("-F", 499, fixture_path("tree"), "--seconds", "0.2")):
            run(*command[:2], "--title", "what I <b>did</b>", "-o", page, *command[2:]).ok()
            with open(page) as f:
                check('"title":"what I \\u003cb\\u003edid' in f.read(), f"the title of {command[0]}'s page")
        r = run("diff", "--all", "--short-templates", "--no-inline", path, path).ok().out
        check("run<...>()" in r and "in<" not in r and "int" not in r, r)
        check("Total:" in r and "Total:" not in run("diff", "--sort", "self", path, path).ok().out, "the first table")
        check("Self:" not in run("diff", "--sort", "total", path, path).ok().out, "the second table")
        check("... and 4 more" in run("diff", "--all", "--rows", "1", path, path).ok().out, "rows of a difference")
        out = os.path.join(d, "x.txt")
        run("-F", 999, "--rows", "1", "--sort", "total", "-o", out, "--", fixture_path("tree"), "--seconds", "0.5").ok()
        with open(out) as f:
            lines = f.read().split("\n\n")[0].splitlines()
        equal(len(lines), 3, "the header, a row and what is left")
        check(float(lines[1].split()[1]) > 90, lines)


def test_bad_options():
    with directory() as d:
        path, out = os.path.join(d, "x.folded"), os.path.join(d, "out.folded")
        made("one", "folded", path)
        run("convert").fails(2, "takes one file")
        run("convert", path, path).fails(2, "takes one file")
        run("convert", path, "-f", "none").fails(2, "unknown format 'none'; a profile is written as .*folded")
        run("convert", path, "-o", os.path.join(d, "x.none")).fails(2, "the name does not say which format")
        run("convert", path, "-o", "/nonexistent/out.folded").fails(1, "no folder")
        run("convert", path, "-f", "pprof", "-o", os.path.join(d, "x.svg")).fails(2, "another format, svg; leave out -f, .*out.pb")
        run("convert", os.path.join(d, "missing"), "-o", out).fails(1, "No such file")
        equal(os.listdir(d), ["x.folded"], "files")


def test_help():
    for command in ("report", "convert"):
        r = run(command, "--help").ok()
        check(re.match(rf"Usage: ebprof {command} ", r.out) and "--sample-type" in r.out, r.out)
        equal(r.err, "", "standard error")
