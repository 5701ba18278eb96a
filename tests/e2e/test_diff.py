# SPDX-License-Identifier: MIT
"""ebprof diff: what changed between recordings, and that nothing is said to have changed where nothing has."""
import gzip
import json
import math
import os
import re
import signal
import time

from harness import Fixture, Profile, check, directory, equal, finish, run, start, wait_burned, wait_sampling

ROW = re.compile(r"^ *([\d.]+) +([\d.]+) +([+-][\d.]+) +([+-][\d.]+) \.\. ([+-][\d.]+) +(\S+) +(\S+) +(.+)$", re.M)


class Row:
    def __init__(self, m):
        self.before, self.after, self.change, self.low, self.high = (float(m[i]) for i in range(1, 6))
        self.relative, self.image, self.function = m[6], m[7], m[8]


def rows(text):
    """The two tables, self and total, by function."""
    own, total = text.split("\n\n")
    check(own.startswith("Self: ") and total.startswith("Total: "), "not two tables:", text)
    return [{r.function: r for r in map(Row, ROW.finditer(t))} for t in (own, total)]


def record(path, hz, cpu, *options):
    """Records the fixture until it has used so many seconds of CPU time."""
    with Fixture("tree", *options) as f:
        proc = start("-p", f.pid, "-F", hz, "-o", path)
        wait_sampling(proc)
        wait_burned(f.pid, cpu)
        proc.send_signal(signal.SIGINT)
        finish(proc).ok()
    with open(path) as f:
        return Profile.read(f.read())


def write(path, **counts):
    with open(path, "w") as f:
        f.writelines(f"x;main;{name} {n}\n" for name, n in counts.items())
    return path


def five_errors(share, *counts):
    """Percentage points by which two shares differ by chance once in a million times."""
    return 500 * math.sqrt(sum(share * (1 - share) / n for n in counts))


def test_diff_of_equal_programs():
    with directory() as d:
        a, b = os.path.join(d, "a.folded"), os.path.join(d, "b.folded")
        one, two = record(a, 1999, 1), record(b, 3999, 0.5)
        check(one.count() > 1000 and two.count() > 1000, "too few samples:", one.count(), two.count())
        most = five_errors(0.5, one.count(), two.count())
        result = run("diff", "--all", a, b, "--fail-above", most).ok()
        own, total = rows(result.out)
        for f, share in (("a", 60), ("b", 30), ("c", 10)):
            for r in (own[f + "2"], total[f], total[f + "1"]):
                check(abs(r.before - share) < most and abs(r.after - share) < most and abs(r.change) < most,
                      f"{f}: {share} % became {r.before} and {r.after}")
                check(r.low <= r.change <= r.high, "an interval without its change:", r.low, r.change, r.high)
        equal(total["main"].image, own["a2"].image)


def test_diff_of_changed_shares():
    with directory() as d:
        a, b, out = os.path.join(d, "a.folded"), os.path.join(d, "b.folded"), os.path.join(d, "out.folded")
        one, two = record(a, 1999, 1), record(b, 3999, 0.5, "--b", "6")
        n = one.count(), two.count()
        own, total = rows(run("diff", a, b, "-q").ok().out)
        for f, before, after in (("a", 6 / 10, 6 / 13), ("b", 3 / 10, 6 / 13)):
            change, error = 100 * (after - before), five_errors(0.5, *n)
            for r in (own[f + "2"], total[f], total[f + "1"]):
                check(abs(r.change - change) < error, f"{f} changed by {r.change}, expected {change} +- {error}")
                check(r.low > 0 if change > 0 else r.high < 0, "an interval with no change in it:", r.low, r.high)
        check("main" not in total, "main was on all stacks and is so still")
        equal(next(iter(own)), max(own, key=lambda f: abs(own[f].change)), "the largest change comes first")
        # A build that must not become slower.
        result = run("diff", "-q", "--fail-above", "5%", a, b).ok(7)
        check(re.search(r"^ebprof: b2? gained 1\d\.\d\d points", result.err), result.err)
        run("diff", "--fail-above", "40", a, b).ok(0)
        run("diff", "--fail-above", "20", b, a).ok(0)
        # Two counts a stack: before, scaled to the samples that there are after.
        run("diff", a, b, "-o", out).ok()
        columns = [0, 0]
        with open(out) as f:
            for line in f:
                stack, before, after = line.rsplit(" ", 2)
                columns[0] += int(before)
                columns[1] += int(after)
                was = sum(s.count for s in one if ";".join([s.comm] + s.frames) == stack)
                check(abs(int(before) - was * n[1] / n[0]) <= 0.5, "not scaled:", line, was, n)
        equal(columns[1], n[1])
        check(abs(columns[0] - n[1]) <= len(one), columns, n)


def test_diff_of_several_runs():
    """Shares that differ as much between runs of one side as between the sides are no change; steady ones are."""
    with directory() as d:
        before = [write(os.path.join(d, f"a{i}"), wild=2000 + 900 * (i % 3), steady=3000, rest=5000 - 900 * (i % 3))
                  for i in range(6)]
        after = [write(os.path.join(d, f"b{i}"), wild=2600 + 900 * (i % 3), steady=3300, rest=4100 - 900 * (i % 3))
                 for i in range(6)]
        own, _ = rows(run("diff", before[0], after[0]).ok().out)
        check(own["wild"].change == 6 and own["steady"].change == 3, "one of each:", own)
        result = run("diff", *before, "--", *after, "-o", "-").ok()
        own, total = rows(result.out)
        equal(list(own), ["steady"], "what changed")
        equal(list(total), ["steady"], "what changed, in total")
        # The spread is none, so it is that of counts; t of 10 degrees is 2.23.
        reach = 2.23 * 100 * math.sqrt(2 * 0.315 * 0.685 / 60000)
        check(abs(own["steady"].low - 3 + reach) < 0.02 and abs(own["steady"].high - 3 - reach) < 0.02,
              "interval:", own["steady"].low, own["steady"].high, "expected 3 +-", reach)
        check("60000 samples of 6 files before, 60000 of 6 after" in result.err, result.err)


def test_diff_writes_what_is_named():
    with directory() as d:
        a, b = write(os.path.join(d, "a"), hot=300, cold=600), write(os.path.join(d, "b"), hot=900, cold=900)
        text, folded, html = (os.path.join(d, n) for n in ("x.txt.gz", "x.folded", "x.html"))
        run("diff", a, b, "-o", text, "-o", folded, "-o", html, "--title", "a <title>").ok()
        with gzip.open(text, "rt") as f:
            equal(f.read(), run("diff", "-q", a, b).ok().out)
        with open(folded) as f:
            equal(f.read(), "x;main;cold 1200 900\nx;main;hot 600 900\n")
        with open(html) as f:
            check("a \\u003ctitle\\u003e" in f.read(), "no title in the page")
        out = json.loads(run("diff", "-f", "json", "--normalize", "none", a, b).ok().out)
        equal((out["normalize"], out["unit"], out["before"], out["after"]), ("none", "samples", 900, 1800))
        hot = out["self"][0]
        equal((hot["function"], hot["significant"]), ("hot", True))
        equal([round(hot[k], 4) for k in ("before", "after", "change")], [0.3333, 1, 0.6667])
        check(0.5 < hot["low"] < 0.6667 < hot["high"] < 0.8 and hot["p"] < 1e-20, hot)
        equal([len(out[k]) for k in ("self", "total")], [2, 3], "rows that are significant")
        equal(run("diff", a, b, "-f", "folded", "--normalize", "none").out, "x;main;cold 600 900\nx;main;hot 300 900\n")


def window(folder, service, ago, **counts):
    """As ebprof push writes it: a window that began so many seconds ago."""
    with directory() as d:
        stamp = time.strftime("%Y%m%dT%H%M%S.123Z", time.gmtime(time.time() - ago))
        path = os.path.join(folder, f"{service}.{stamp}.pb.gz")
        run("convert", write(os.path.join(d, "x.folded"), **counts), "-o", path).ok()


def test_diff_since_a_time():
    """The windows of as long before are compared with those since; older ones, and other services, are left alone."""
    with directory() as d:
        run("diff", "--since", "1h", d).fails(1, "no windows of ebprof push that are so new")
        for i in range(6):
            window(d, "db.x", 6600 - 60 * i, busy=70 + i, idle=30)
        run("diff", "--since", "1h", d).fails(1, "no windows since")
        for i in range(6):
            window(d, "db.x", 3000 - 60 * i, busy=20 + i, idle=80)
            window(d, "db.x", 9000 - 60 * i, other=100)
        own, _ = rows(run("diff", "--since", "1h", "--stdio", d).ok().out)
        check(own["busy"].before > 65 and own["busy"].after < 30 and "other" not in own, own)
        run("diff", "--since", "2s", d).fails(1, "no windows")
        window(d, "web", 100, busy=1)
        run("diff", "--since", "1h", d).fails(2, "several services", f"{d}/db.x")
        r = run("diff", "--since", "1h", "--stdio", f"{d}/db.x").ok()
        equal(rows(r.out)[0]["busy"].change, own["busy"].change, "by its name")
        check("6 files before" in r.err and "of 6 after" in r.err, r.err)
        run("diff", "--since", "1h", d, d).fails(2, "takes one folder")
        run("diff", "--since", "1h", os.path.join(d, "no", "such")).fails(1, "No such file")


def test_diff_tells_what_is_wrong():
    with directory() as d:
        a, empty = write(os.path.join(d, "a"), f=3), os.path.join(d, "empty.folded")
        with open(empty, "w") as f:
            f.write("x;f 0\n")
        run("diff", a).fails(2, "two files")
        run("diff").fails(2, "two files")
        run("diff", a, a, a).fails(2, "BEFORE... -- AFTER")
        run("diff", a, "--").fails(2, "two files")
        run("diff", a, a, "-o", os.path.join(d, "x.svg")).fails(2, "x.svg", "folded", "html")
        run("diff", a, a, "-f", "svg").fails(2, "'svg'", "table")
        run("diff", a, a, "-f", "table", "-o", os.path.join(d, "x.json")).fails(2, "that of another format, json; leave out -f")
        run("diff", a, a, "--normalize", "watts").fails(2, "watts", "samples, seconds or none")
        run("diff", a, a, "--normalize", "seconds").fails(2, "does not say how long", "--normalize samples")
        run("diff", a, os.path.join(d, "none")).fails(1, "none", "No such file")
        run("diff", a, empty).fails(5, "empty.folded", "no samples")
        run("diff", a, a, "--sample-type", "bytes").fails(2, "bytes")
        equal(sorted(os.listdir(d)), ["a", "empty.folded"], "files that were left behind")
