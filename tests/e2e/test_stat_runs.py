# SPDX-License-Identifier: MIT
"""ebprof stat -r: runs of a command, or of two in turn: how many, in which order, what they print, how they end, what differs."""
import contextlib
import json
import os
import re

from harness import check, directory, equal, in_tracefs, run
from terminal import on_terminal
from test_stat import SPIN, mean, stat

WRITE = "syscalls:sys_enter_write"
# Ten more writes in each run than in the one before, and one that says so in the file.
MORE_WRITES = "read n <$0; n=$((n + 10)); echo $n >$0; i=0; while [ $i -lt $n ]; do i=$((i + 1)); echo; done"


@contextlib.contextmanager
def numbered():
    """A file for MORE_WRITES."""
    with directory() as d:
        path = os.path.join(d, "n")
        with open(path, "w", encoding="ascii") as f:
            f.write("0\n")
        yield path


def note(word, path, then="true"):
    """A command that adds a word to a file: which ones ran, in which order."""
    return "sh", "-c", f"printf {word} >>$0; {then}", path


def words(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def test_table():
    """Mean, standard deviation of single runs, least and most: of 11, 21 and 31 writes."""
    in_tracefs("events/syscalls/sys_enter_write")
    with numbered() as path:
        text = run("stat", "-r", 3, "-e", WRITE, "--", "sh", "-c", MORE_WRITES, path).ok().out
    check(text.splitlines()[0].endswith(", 3 runs"), text)
    check(re.search(r"^ +mean +deviation +least +most", text, re.M), text)
    check(re.search(rf"^{WRITE} +21  \+- +10 +11 to 31 *$", text, re.M), text)
    check(re.search(r"^elapsed +[\d.]+ [mu]s  \+- +[\d.]+ [mun]s +[\d.]+ [mu]s to [\d.]+ [mu]s", text, re.M), text)


def test_progress():
    """A line on the terminal that says which run it is, and that has gone when the table comes; none where there is no terminal."""
    code, text = on_terminal("stat", "-r", 4, "--warmup", 1, "-e", "page-faults", "--", "true")
    equal(code, 0, text)
    equal(re.findall(r"\r\x1b\[Krun (\d+ of \d+)", text), [f"{i} of 5" for i in range(1, 6)], text)
    check(re.search(r"run 5 of 5\r\x1b\[Ktrue, 4 runs", text), text)
    code, text = on_terminal("stat", "-r", 2, "-e", "page-faults", "--", "true", "---", "true")
    equal(re.findall(r"\r\x1b\[Krun (\d+ of \d+ of each)", text), ["1 of 2 of each", "2 of 2 of each"], text)
    code, text = on_terminal("stat", "-e", "page-faults", "--", "true")
    check("run 1" not in text, text)
    equal(run("stat", "-r", 4, "-e", "page-faults", "--", "true").ok().err, "", "nothing is said without a terminal")


def test_warmup():
    """These runs are made, and not counted."""
    in_tracefs("events/syscalls/sys_enter_write")
    with numbered() as path:
        out, m = stat("--warmup", 2, "-r", 3, "-e", WRITE, "--", "sh", "-c", MORE_WRITES, path)
    equal((out["runs"], m[WRITE]["a"]["values"]), (3, [31, 41, 51]), "counted runs")
    equal(len(m["elapsed"]["a"]["values"]), 3, m["elapsed"])


def test_order():
    """Each is the first one as often as the other, warm-up runs included."""
    with directory() as d:
        path = os.path.join(d, "ran")
        stat("--warmup", 1, "-r", 3, "-e", "page-faults", "--", *note("a", path), "---", *note("b", path))
        equal(words(path), "abbaabba", "order")


def test_output():
    """Shown where a command runs once, else hidden, or as it is said; that of errors, too."""
    speaks = ("sh", "-c", "echo said; echo cried >&2")
    for options, command, times in (
            ((), speaks, 1), (("--hide-output",), speaks, 0), (("--show-output",), speaks, 1),
            (("-r", 3), speaks, 0), (("-r", 3, "--show-output"), speaks, 3), (("--warmup", 1), speaks, 0),
            (("-r", 2), (*speaks, "---", *speaks), 0), (("-r", 2, "--show-output"), (*speaks, "---", *speaks), 4)):
        r = run("stat", *options, "-e", "page-faults", "--", *command).ok()
        equal((len(re.findall("^said$", r.out, re.M)), len(re.findall("^cried$", r.err, re.M))), (times, times), options)


def test_failures():
    """A run that fails ends all, and says which command it was; or all are made, and count."""
    with directory() as d:
        path = os.path.join(d, "ran")
        fails = note("b", path, "exit 3")
        r = run("stat", "-r", 3, "-e", "page-faults", "--", *note("a", path), "---", *fails)
        r.fails(1, "'sh' ended with status 3; --ignore-failure")
        equal(words(path), "ab", "runs")
        os.unlink(path)
        r = run("stat", "-f", "json", "-r", 2, "--ignore-failure", "-e", "page-faults", "--", *note("a", path), "---", *fails)
        equal(words(path), "abba", "runs")
        equal(r.code, 0, r.err)
        equal([len(json.loads(r.out)["measures"][0][side]["values"]) for side in "ab"], [2, 2], "they count")
        equal(run("stat", "-r", 2, "--ignore-failure", "-e", "page-faults", "--", *fails).code, 0, "of several runs none is told")
        equal(run("stat", "-e", "page-faults", "--", *fails).code, 3, "of one it is")
        r = run("stat", "--warmup", 1, "-e", "page-faults", "--", *fails)
        r.fails(1, "ended with status 3")
    run("stat", "-r", 2, "--", "true", "---", "/nosuch").fails(127)
    run("stat", "-r", 2, "--", "true", "---").fails(2, "there are two commands, or one")


def verdicts(*commands):
    """Of the rows that tell one, by name."""
    text = run("stat", "-r", 8, "-e", "page-faults,task-clock", "--", *commands).ok().out
    return {m[1]: m[2] for m in re.finditer(r"^(page-faults|task-clock) .*?((?:no difference seen \()?[+-][\d.]+.*)$", text, re.M)}


def test_no_difference():
    """
    Of equal commands that is the verdict, and no other: each interval misses what is true in 5 % of all comparisons, so that
    of five three are wrong by chance once in a thousand times.
    """
    equal_ones = [verdicts("true", "---", "true")["page-faults"] for _ in range(5)]
    interval = r"no difference seen \([+-][\d.]+ to [+-][\d.]+ %\)"
    check(sum(bool(re.fullmatch(interval, v)) for v in equal_ones) >= 3, equal_ones)


def test_difference():
    """Half as much again is seen in each comparison, by its own CPU time, whatever else the machine does."""
    share = verdicts(*SPIN, 40000, "---", *SPIN, 80000)["task-clock"]
    m = re.fullmatch(r"\+([\d.]+) % \(\+([\d.]+) to \+([\d.]+) %\)", share)
    check(m and float(m[2]) < float(m[1]) < float(m[3]) and 30 < float(m[1]) < 170, share)
    _, one = stat("-r", 4, "-e", "page-faults", "--", "true", "---", "sh", "-c", "true")
    check(one["page-faults"]["change"]["low"] > 0 and mean(one, "page-faults", "b") > mean(one, "page-faults"), one)
