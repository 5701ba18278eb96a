# SPDX-License-Identifier: MIT
"""Files of perf 5.10, and of the newest one that can be had: what it reads in them itself, and what we do."""
import os
import subprocess

from containers import loaded, packages_of
from harness import check, directory, equal, fixture_path, run
from test_perf_data import recorded, same

SECONDS = 20

TREE = (fixture_path("tree"), "--seconds", "0.6")


def piped(path, perf):
    with open(path, "wb") as f:
        subprocess.run([*perf, "record", "-q", "-g", "-F", "999", "-o", "-", "--", *TREE], check=False, stdin=subprocess.DEVNULL,
                       stdout=f, stderr=subprocess.DEVNULL, timeout=60)
    with open(path, "rb") as f:
        out = run("report", "--by", "function", "-", stdin=f).ok().out
    equal([line.split()[4] for line in out.splitlines()[1:4]], ["a2", "b2", "c2"], "through a pipe")


def reads(perf, version, *packed):
    """Its call chains, compressed where it can, its copies of stacks, and what comes through a pipe."""
    told = subprocess.run([*perf, "--version"], check=True, capture_output=True, text=True, timeout=60).stdout
    check(told.startswith(f"perf version {version}"), told)
    with directory() as d:
        path = os.path.join(d, "x")
        ours = same(recorded(path, "-g", *packed, command=TREE, perf=perf), perf=perf)
        check(sum(n for s, n in ours.items() if s[-5:] == ("main", "run", "a", "a1", "a2")) > 0.4 * sum(ours.values()), ours)
        ours = same(recorded(path, "--call-graph", "dwarf", *packed, command=[fixture_path("tree_frameless"), *TREE[1:]], perf=perf), perf=perf)
        whole = sum(n for s, n in ours.items() if s[1:5] == ("_start", "__libc_start_main", "__libc_start_call_main", "main"))
        check(whole >= 0.97 * sum(ours.values()), "whole stacks", ours)
        piped(path, perf)


def test_bullseye():
    """Debian builds it without zstd."""
    reads(loaded(packages_of("bullseye", "bullseye-perf", "linux-perf-5.10+"), "bin/perf_5.10"), "5.10")


def test_newest():
    reads(loaded(packages_of("sid", "sid-perf", "linux-perf+"), "bin/perf"), "", "-z")
