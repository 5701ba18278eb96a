# SPDX-License-Identifier: MIT
"""Outputs of hand-made profiles, byte for byte."""
import difflib
import gzip
import os
import re
import subprocess

from harness import TOP, check, equal, fixture_path

GOLDEN = os.path.join(TOP, "tests", "golden")


def written(name, form):
    raw = subprocess.run([fixture_path("profiles"), name, form, "-"], capture_output=True, check=True, timeout=30).stdout
    raw = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
    # The whole profile beside what is shown, as this zlib packs it; test_report.py reads it back.
    return re.sub(rb'"pprof":"[A-Za-z0-9+/=]+"', b'"pprof":""', raw)


def test_golden_files():
    names = sorted(n for n in os.listdir(GOLDEN) if not n.endswith(".md") and "." in n)
    check(len(names) >= 5, "too few golden files:", names)
    for name in names:
        with open(os.path.join(GOLDEN, name), "rb") as f:
            expected = f.read()
        got = written(*name.split(".", 1))
        if got != expected:
            lines = difflib.unified_diff(*(x.decode(errors="replace").splitlines() for x in (expected, got)), lineterm="", n=0)
            equal(got == expected, True, f"{name}: " + "\n".join(list(lines)[:20]))
