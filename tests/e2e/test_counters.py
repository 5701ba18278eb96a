# SPDX-License-Identifier: MIT
"""--counters: what other events counted between samples, by stack; -e of events that few machines have is tried in a guest (tests/vm)."""
import os
import re
import subprocess

from harness import Profile, check, directory, equal, fixture_path, run

PAGES = 200000


def values(path, kind):
    """The values of one type, as stacks."""
    return Profile.read(run("report", "--sample-type", kind, "-f", "folded", path).ok().out)


def test_values():
    """Page faults are with the code that touches pages; what is counted most of the time is with most samples."""
    with directory() as d:
        out = os.path.join(d, "out.pb.gz")
        r = run("-F", 2999, "-e", "cpu-clock", "--counters", "page-faults,task-clock", "-o", out, "--",
                fixture_path("syscalls"), "touch", PAGES).ok()
        samples, faults, clock = (values(out, kind) for kind in ("samples", "page-faults", "task-clock"))
    touched = faults.count(lambda s: s.has("touch_pages"))
    check(touched > 0.5 * PAGES, touched, "of", PAGES, faults.head())
    check(touched > 0.7 * faults.count(), faults.head())
    # One period at least is with each sample of a clock.
    check(clock.count() > 0.9 * samples.count() * 1e9 / 2999, clock.count(), samples.count())
    check(samples.count() == r.summary.kept, samples.count(), r.err)


def test_every_form():
    """Each format that has several types has these; lost and rescued samples are counted once."""
    with directory() as d:
        out = os.path.join(d, "out.json")
        r = run("-F", 999, "-e", "cpu-clock", "--timeline", "--counters", "page-faults", "-o", out, "--",
                fixture_path("syscalls"), "touch", PAGES).ok()
        equal(r.summary.kept + r.summary.lost, r.summary.taken, r.err)
        check(values(out, "page-faults").count() > 0, r.err)


def test_refused():
    run("--counters", "page-faults", "--off-cpu", "-d", 1).fails(2, "--counters is for samples of")
    run("--counters", "page-faults", "-e", "sched:sched_switch", "-d", 1).fails(2, "--counters is for samples of")
    run("--counters", "pagefaults", "-d", 1).fails(2, "did you mean 'page-faults'")
    run("--counters", "cs,cs,cs,cs,cs,cs,cs,cs,cs", "-d", 1).fails(2, "at most 8")


def test_no_pmu():
    """One clear line where a CPU has no counters."""
    perf = subprocess.run(["perf", "stat", "-e", "cycles", "true"], capture_output=True, text=True, check=False)
    if "<not supported>" not in perf.stderr:
        return
    r = run("-e", "cpu-clock", "--counters", "cycles", "-d", 1)
    equal(r.code, 3, r.err)
    equal(len(re.findall("does not count that", r.err)), 1, r.err)
