# SPDX-License-Identifier: MIT
"""Values that are no samples, live and from files: memory and waits, against what the programs know of their own."""
import os
import re
import signal

from harness import Fixture, check, directory, equal, fixture_path, finish, perf_events, run, start, stolen, wait_for
from terminal import Terminal
from test_alloc import TYPES, probed
from test_waits import FUNCTION

HEADING = re.compile(r"^(?:\d\d:\d\d:\d\d )?(.+?), (alloc every \d+|off-cpu|wall \d+ Hz|cpu-clock \d+ Hz|page-faults every \d+)"
                     r"(?:, (\S+) ([\d.]+)(?: (\w+))?)?, "
                     r"(last|since start,|now, after) ([\d.]+) s(?: of [\d.]+)?: (\d+) (?:samples|intervals), (\d+) truncated, (\d+) lost$")
SCALE = {"KIB": 1024, "MIB": 1 << 20, "GIB": 1 << 30, "MS": 1e-3, "S": 1, "COUNT": 1, "SAMPLES": 1}


class Table:
    """A table: its heading; of functions their own values, and shares with what they call."""

    def __init__(self, heading, lines):
        self.heading, self.rows, self.askers = heading, {}, {}
        words = lines[0].split()
        equal((words[:2], words[3:5]), (["SELF%", "TOTAL%"], ["IMAGE", "FUNCTION"]), "the header")
        equal(words[5:], ["CALLED", "FROM"] if heading[3] in ("off-cpu", "wall", "fault_space") else [], "its last column")
        self.unit = words[2]
        for line in lines[1:]:
            w = line.split(None, 4)
            if len(w) == 5 and re.match(r"[\d.]+$", w[0]):
                name, _, asker = (re.split(r"( {2,})", w[4]) + ["", ""])[:3]
                self.askers[name] = asker
                self.rows[name] = (float(w[2]) * SCALE[self.unit], float(w[1]) / 100)
        self.sum = float(heading[4] or 0) * SCALE[(heading[5] or "COUNT").upper()]

    def total(self, name):
        return self.rows.get(name, (0, 0))[1] * self.sum


def tables(text):
    lines = text.split("\n")
    at = [i for i, line in enumerate(lines) if HEADING.match(line)] + [len(lines)]
    return [Table(HEADING.match(lines[i]), lines[i + 1:end]) for i, end in zip(at, at[1:])]


def truth_of(lines):
    return {w[1]: dict(zip(TYPES, map(int, w[2:]))) for w in lines if w and w[0] == "site"}


def kib(value):
    return f"{value / 1024:.1f}"


def test_command_and_its_allocations():
    """The last table is of all that was allocated: exactly what the program knows."""
    r = run("top", "--alloc", "--alloc-interval", "all", "--plain", "--refresh", "20s", "--window", "20s", "--since-start",
            "--rows", 100, "--", fixture_path("alloc_sites"), 3).ok()
    table = tables(r.out)[-1]
    truth = truth_of(map(str.split, r.out.splitlines()))
    equal(len(truth), 30, "sites")
    equal((table.heading[2], table.heading[3], table.unit), ("alloc every 1", "alloc_space", "KIB"), "heading")
    for name, values in truth.items():
        equal(kib(table.rows[name][0]), kib(values["alloc_space"]), name)


def test_refreshed_without_counting_twice():
    """Many tables while it goes on: all since the start never exceeds the truth, and is that in the end."""
    r = run("top", "--alloc", "--alloc-interval", "all", "--plain", "--refresh", "100ms", "--window", "20s", "--since-start",
            "--rows", 100, "--", fixture_path("alloc_sites"), 20).ok()
    got = tables(r.out)
    check(len(got) > 2, "tables:", len(got))
    truth = truth_of(map(str.split, r.out.splitlines()))
    sums = [t.sum for t in got]
    equal(sums, sorted(sums), "what was allocated never becomes less")
    check(len(set(sums)) > 2, "it grows from table to table:", sums)
    for t in got:
        for name, values in truth.items():
            check(t.rows.get(name, (0,))[0] <= values["alloc_space"] + 52, name, t.rows.get(name), values["alloc_space"])


def test_in_use_while_it_runs():
    """Of a process that goes on: what it holds now."""
    with Fixture("alloc_sites", "1", "wait") as f:
        e = start("top", "--alloc", "--alloc-interval", "all", "--leaks", "--plain", "--refresh", "200ms", "--rows", 100, "-p", f.pid)
        wait_for(lambda: probed(e.pid), "the probes", 20)
        f.lines.clear()
        f.go()
        f.wait("done")
        truth = {name: kib(values["inuse_space"]) for name, values in truth_of(f.lines).items()}

        # It did all by now: a table of all comes, as soon as the machine lets us.
        def got():
            said, line = "", ""
            while line != "\n":
                line = e.stdout.readline().decode()
                check(line, "ebprof ended too early")
                said += line
            table = (tables(said) or [None])[-1]
            rows = {name: kib(table.rows.get(name, (0,))[0]) for name in truth} if table else {}
            return rows == truth and table
        table = wait_for(got, "a table of what is in use in the end")
        equal((table.heading[3], table.heading[6], table.heading[10]), ("inuse_space", "now, after", "0"), "heading")
        e.send_signal(signal.SIGINT)
        finish(e).ok()


def test_all_types_on_a_terminal():
    with Fixture("alloc_sites", "1", "wait") as f, Terminal(140, 50) as t:
        t.ebprof("top", "--alloc", "--alloc-interval", "all", "--refresh", "200ms", "--since-start", "-p", f.pid, pattern="FUNCTION")
        wait_for(lambda: probed(t.pid()), "the probes", 20)
        f.lines.clear()
        f.go()
        f.wait("done")
        site = truth_of(f.lines)["site_16"]
        t.wait(r"^pid \d+, alloc every 1, alloc_space [\d.]+ [KM]iB, since start, ")
        for name in ("alloc_space", "inuse_objects", "inuse_space", "peak_objects", "peak_space", "max_objects", "max_space"):
            level = not name.startswith("alloc")
            t.wait(rf", {name} \d[\d.]*(?: [KM]iB)?, {'now, after' if level else 'since start,'} [\d.]+ s: ")
            value = kib(site[name]) if name.endswith("space") else str(site[name])
            unit = "KIB" if name.endswith("space") else "COUNT"
            if site[name]:
                t.wait(rf"^ SELF% TOTAL% +{unit} IMAGE", name)
                t.wait(rf"^ *[\d.]+ +[\d.]+ +{re.escape(value)} alloc_sites +alloc_sites/{f.pid} +site_16$", f"{name} {value}")
            t.keys("v")
        t.wait(r", lifetime ")
        t.keys("V", "V", "V", "V", "V")
        t.wait(r", inuse_space ")
        t.keys("w")
        t.wait(r"inuse_space [\d.]+ [KM]iB, now, after ")
        every_view(t, "site_16", kib(site["inuse_space"]), "KIB")
        t.keys("q")
        t.settled()


def every_view(t, name, value, unit):
    """One value in all of the views; and a share in the flame graph, which has no numbers."""
    number = re.escape(value)
    t.keys("1", "g")
    t.type(f"/^{name}$")
    t.keys("Enter")
    t.wait(rf"^ SELF% TOTAL% +{unit} IMAGE +PROCESS +FUNCTION$")
    t.wait(rf"^ *[\d.]+ +[\d.]+ +{number} \S+ +\S+ +{name}$")
    t.keys("i")
    word = {"KIB": " KiB", "MS": " ms", "S": " s"}.get(unit, "")
    t.wait(rf"self [\d.]+% \({number}{word}\)")
    t.keys("Escape", "c")
    t.wait(rf"^ SELF% TOTAL% +{unit} IMAGE +FUNCTION$")
    t.wait(rf"the function:\n *[\d.]+ +[\d.]+ +{number} ")
    t.keys("3")
    t.type(f"f^{name}$")
    t.keys("Enter")
    t.wait(rf"^TOTAL%  SELF% +{unit} FUNCTION$")
    t.wait(rf"^ *[\d.]+ +[\d.]+ +{number} +[+ ] {name}$")
    t.keys("2")
    t.wait(rf"^ +% +{unit} +PID COMM$")
    t.keys("f", "C-u", "Enter", "6", "1", "L")
    t.wait(rf"^ SELF% TOTAL% +{unit} +LINE FILE$")
    t.keys("7")
    t.wait(rf"^ SELF% TOTAL% +{unit} IMAGE$")
    t.keys("1")


def test_saved_allocations():
    """report on a terminal has the same keys and units."""
    with directory() as d, Terminal(140, 50) as t:
        path = os.path.join(d, "x.pb.gz")
        r = run("alloc", "--alloc-interval", "all", "-o", path, "--", fixture_path("alloc_sites"), 2).ok()
        site = truth_of(map(str.split, r.out.splitlines()))["site_16"]
        t.ebprof("report", path, pattern="FUNCTION")
        t.wait(r"x\.pb\.gz: alloc_space, [\d.]+ [KM]iB$")
        every_view(t, "site_16", kib(site["alloc_space"]), "KIB")
        t.keys("v")
        t.wait(r"x\.pb\.gz: inuse_objects, \d+ count$")
        t.wait(rf"^ *[\d.]+ +[\d.]+ +{site['inuse_objects']} \S+ +\S+ +site_16$")
        t.keys("q")
        t.wait("samples|alloc")
        t.settled()


def test_page_faults_live():
    """Both kinds of values have a window, for they happen."""
    with Fixture("page_faults") as f, Terminal(140, 30) as t:
        t.ebprof("top", "--alloc", "--page-faults", "--refresh", "200ms", "--since-start", "-p", f.pid, pattern="FUNCTION")
        wait_for(lambda: perf_events(t.pid()) > os.cpu_count(), "the events")
        t.keys("w", "w")
        f.go()
        f.wait("done")
        t.wait(r", page-faults every 1, fault_space [\d.]+ [KM]iB, since start, ")
        t.wait(r" +12000\.0 page_faults +page_faults/\d+ +touch_more$")
        t.keys("v")
        t.wait(r"^ SELF% TOTAL% +COUNT IMAGE")
        t.wait(r" +3000 page_faults +page_faults/\d+ +touch_more$")


def check_waits(table, said, taken, share=0.01):
    """@taken: CPU seconds that the hypervisor took meanwhile."""
    truth = {}
    for w in said:
        if w and w[0] == "wait":
            truth[FUNCTION[w[1]]] = truth.get(FUNCTION[w[1]], 0) + float(w[2])
    equal(len(truth), 5, "kinds of waits")
    for name, seconds in truth.items():
        # Those that starve take for waiting what interrupts and the hypervisor take of their time, too.
        rough, more = (0.06, taken) if name == "starve" else (share, 0)
        bound = rough * seconds + 0.01 + table.sum * 0.0001 + more
        check(abs(table.total(name) - seconds) <= bound, name, table.total(name), "expected", seconds)


def test_waits_as_a_table():
    before = stolen()
    r = run("top", "--off-cpu", "--plain", "--refresh", "20s", "--window", "20s", "--since-start", "--rows", 1000,
            "--", fixture_path("waits"), 2).ok()
    table = tables(r.out)[-1]
    equal((table.heading[2], table.heading[3], table.unit, table.heading[10]), ("off-cpu", "off-cpu", "MS", "0"), "heading")
    check_waits(table, map(str.split, r.out.splitlines()), stolen() - before)
    kernel = {name: asker for name, asker in table.askers.items() if re.search("nanosleep", name)}
    check(any(re.search("nanosleep", asker) for asker in kernel.values()), "who called for the sleeps:", kernel)
    equal(table.askers[FUNCTION["sleep"]], "", "a program's own function is called from")


def test_wall_as_a_table():
    """The time of threads, running or not, is theirs as a whole; starve() and main() also ran."""
    r = run("top", "--wall", "--plain", "--refresh", "20s", "--window", "20s", "--since-start", "--rows", 1000,
            "--", fixture_path("waits"), 2).ok()
    table = tables(r.out)[-1]
    equal((table.heading[3], table.unit, table.heading[10]), ("wall", "MS", "0"), "heading")
    said = [line.split() for line in r.out.splitlines()]
    lived = sum(float(w[2]) for w in said if w and w[0] == "thread")
    check(lived - 0.05 <= table.total("start_thread") + table.total("[running]") <= lived * 1.05 + 0.3,
          "threads:", table.total("start_thread"), "s, lived", lived)
    for w in said:
        if w and w[0] == "wait" and w[1] in ("sleep", "pipe", "cond"):
            check(abs(table.total(FUNCTION[w[1]]) - float(w[2])) <= 0.03 * float(w[2]) + 0.02, w, table.total(FUNCTION[w[1]]))


def seconds_of(t, pattern):
    """(span of the heading, value of the row that fits), both in s, of one screen."""
    seen = {}

    def there():
        screen = t.screen()
        unit, span = re.search(r" (MS|S)\b", screen), re.search(r", last ([\d.]+) s of ([\d.]+)", screen)
        row = re.search(pattern, screen, re.M)
        if unit and span and row and float(span[2]) > 3:
            seen["of"] = float(span[1]), float(row[1]) * SCALE[unit[1]]
        return seen
    wait_for(there, f"/{pattern}/ on:\n{t.screen()}", 20)
    return seen["of"]


def test_waits_on_a_terminal():
    """A thread that does nothing but naps waits all the time, in each view."""
    with Terminal(140, 40) as t:
        program = f"'exec {fixture_path('waits')} 60 >/dev/null'"
        t.ebprof("top", "--off-cpu", "--window", 2, "--refresh", "500ms", "--", "sh", "-c", program, pattern=r"FUNCTION")
        t.wait(r"^sh, off-cpu, off-cpu [\d.]+ (ms|s), last [\d.]+ s of [\d.]+: \d+ intervals, ")
        t.keys("2", "t")
        rows = [("2", r"^ *[\d.]+ +([\d.]+) +\d+ +\d+ sleep$"), ("3", r"^ *[\d.]+ +[\d.]+ +([\d.]+) [+-] sleep$")]
        for key, pattern in rows:
            t.keys(key)
            span, seconds = seconds_of(t, pattern)
            check(0.6 * span <= seconds <= 1.2 * span + 0.2, pattern, seconds, "s in", span)
        t.keys("1")
        t.type("/^wait_sleep$")
        t.keys("Enter", "c")
        span, seconds = seconds_of(t, r"the function:\n *[\d.]+ +[\d.]+ +([\d.]+) waits +wait_sleep$")
        check(0.6 * span <= seconds <= 1.2 * span + 0.2, "callers:", seconds, "s in", span)
        t.wait(r"callees:\n *[\d.]+ +[\d.]+ +[\d.]+ \S+ +\S*nanosleep")
        t.keys("6")
        t.wait("▏wait_sleep")
        t.keys("1", "V")
        t.wait(r", waits \d+, last ")
        t.wait(r"^ SELF% TOTAL% +COUNT IMAGE")
        t.gone("CPU ")
        t.keys("q")
        t.settled()


def test_wakers_on_a_terminal():
    """Who ended a wait stands above it, in the tree and the flame graph."""
    with Terminal(140, 60) as t:
        program = f"'exec {fixture_path('waits')} 60 >/dev/null'"
        t.ebprof("top", "--off-cpu", "--wakers", "--window", 2, "--refresh", "500ms", "--", "sh", "-c", program, pattern=r"FUNCTION")
        t.keys("3")
        t.type("fwoken by")
        t.keys("Enter")
        t.wait(r"^TOTAL%  SELF% +(MS|S) FUNCTION$")
        t.wait(r"^ *[\d.]+ +[\d.]+ +[\d.]+ .*\[woken by (an interrupt|\w+)\]$")
        t.keys("q")
        t.settled()


def test_refused():
    run("top", "--alloc").fails(2, "COMMAND, or -p PID", "--page-faults")
    run("top", "--leaks", "-a").fails(2, "top --alloc")
    run("top", "--alloc", "-e", "cycles", "-p", os.getpid()).fails(2, "leave out -e")
    run("top", "--alloc", "--page-faults", "--leaks").fails(2, "leave out")
