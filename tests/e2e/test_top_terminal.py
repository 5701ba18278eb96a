# SPDX-License-Identifier: MIT
"""The live view on a terminal, and saved profiles there: each key and each view, on a call tree that is known."""
import contextlib
import os
import re
import signal
import subprocess

from harness import EBPROF, Fixture, check, directory, equal, fixture_path, run, wait_for
from terminal import Terminal

ROW = re.compile(r"^ *([\d.]+) +([\d.]+) +(\d+) (\S+) +(\S+) +(\S.*)$", re.M)


@contextlib.contextmanager
def shown(*args, columns=120, rows=30, env=None, fixture=("tree",), pattern=r"\ba2$"):
    """A terminal on which the call tree is shown."""
    with Fixture(*fixture) as f, Terminal(columns, rows, env) as t:
        t.ebprof("top", "-F", 499, "-p", f.pid, *args, pattern=pattern)
        t.target = f
        yield t


def names(t):
    """Of the functions that are listed, from the top on."""
    return [m[6] for m in ROW.finditer(t.screen())]


def waited(t, what, of):
    """Until the functions that are listed are as @of says."""
    wait_for(lambda: of(names(t)), what + f", not {names(t)}", 15)


def test_functions_by_self_and_total():
    with shown() as t:
        waited(t, "the busiest first", lambda n: n[:3] == ["a2", "b2", "c2"])
        t.wait(r"^pid \d+, cpu-clock 499 Hz, last [\d.]+ s of [\d.]+: \d+ samples, \d+ truncated, \d+ lost$"
               if "cpu-clock" in t.screen() else r"^pid \d+, cycles")
        t.keys(">")
        waited(t, "the outermost first", lambda n: n and not {"a2", "b2", "c2"} & set(n[:3]))
        t.keys(">", ">", ">", ">")
        waited(t, "by name", lambda n: len(n) > 9 and n == sorted(n))
        t.keys("r")
        waited(t, "by name, the other way round", lambda n: len(n) > 9 and n == sorted(n, reverse=True))
        t.keys("q")
        t.settled()


def test_kernel_and_user():
    with shown(fixture=("syscalls",), pattern=r"\[kernel\]") as t:
        t.keys("K")
        t.wait(r"\[without kernel\]")
        t.gone("[kernel]")
        t.keys("u")
        t.wait(r"\[without programs\]")
        check(not re.search(r" syscalls +syscalls", t.screen()), t.screen())
        t.keys("u")
        t.wait(r"^\? keys")


def test_search_and_filter():
    with shown() as t:
        t.type("/^b1$")
        t.wait(r"^/\^b1\$$")
        t.keys("Enter", "i")
        t.wait(r"^name\nb1$")
        t.keys("Escape", "f")
        t.type("^b")
        t.keys("Enter")
        t.wait(r"\[filter: \^b\]")
        waited(t, "only what fits", lambda n: set(n) == {"b", "b1", "b2"})
        t.keys("f", "C-u")
        t.type("(")
        t.keys("Enter")
        t.wait("not a regular expression")
        t.keys("Escape")
        waited(t, "all again", lambda n: len(n) > 9)
        t.type("/nowhere")
        t.keys("Enter")
        t.wait("no other row matches")


def test_pause_and_window():
    with shown("--window", "2", "--refresh", "200ms") as t:
        t.keys("Space")
        t.wait(r"\[paused\]")
        first = t.wait(r"of ([\d.]+): (\d+) samples")
        t.keys("Down", "Up", "3", "1")
        t.wait("PROCESS")
        equal(t.wait(r"of ([\d.]+): (\d+) samples").groups(), first.groups(), "what stands still")
        t.keys("Space")
        wait_for(lambda: t.wait(r"of ([\d.]+): (\d+) samples").groups() != first.groups(), "it to go on")
        t.keys("w")
        t.wait(r"since start, [\d.]+ s: ")
        wait_for(lambda: float(t.wait(r"since start, ([\d.]+) s")[1]) > 3, "time to add up")
        t.keys("w")
        check(float(t.wait(r"last ([\d.]+) s of")[1]) < 3, t.screen())


def test_processes_and_threads():
    with shown(fixture=("tree", "--threads", "2")) as t:
        t.keys("2")
        # Its share of one CPU, of which there are two or more.
        t.wait(rf"^100\.00 +([\d.]+) +\d+ +{t.target.pid} tree$")
        t.keys("t")
        tids = {line[1]: line[2] for line in t.target.lines if line[0] == "thread"}
        for tid, comm in tids.items():
            t.wait(rf"^ *[\d.]+ +[\d.]+ +\d+ +{t.target.pid} +{tid} {comm}$")


def test_call_tree():
    with shown() as t:
        t.keys("K", "3")        # kinds of interrupts could fill the screen
        # Open along the path that was hottest then, which a few samples decide.
        t.wait(r"^100\.00 +0\.00 +\d+ - tree$")
        t.keys("g", "H")
        t.wait(r"^ *[\d.]+ +[\d.]+ +\d+ {17,}[+ ] a2$")
        # The path of the hottest: each below its caller.
        at = [re.search(rf"- {f}$", t.screen(), re.M).start() for f in ("tree", "main", "run", "a", "a1")]
        equal(at, sorted(at), "the order of the path")
        t.keys("g", "Left")
        t.wait(r"\+ tree$")
        t.gone("main")
        t.keys("l")
        t.wait(r"- tree$")
        # What has no samples yet is not opened.
        t.wait(r"[+-] c$")
        t.keys("*")
        t.wait(r" c2$")


def test_callers_and_callees():
    with shown() as t:
        t.type("/^b1$")
        t.keys("Enter", "c")
        t.wait(r"callers:\n *([\d.]+) .*tree +b\nthe function:\n.*tree +b1\ncallees:\n.*tree +b2$")
        t.keys("Escape")
        t.wait("PROCESS")


def test_lines():
    with subprocess.Popen([fixture_path("inlined_spin")]) as spin:
        try:
            with Terminal() as t:
                t.ebprof("top", "-F", 499, "-p", spin.pid, pattern=r"inlined_step")
                t.keys("g", "L")
                t.wait(r"^ *[\d.]+ +[\d.]+ +\d+ +\d+ \S*inlined_spin\.c$")
        finally:
            spin.kill()


JUMP = r"^ +[\d.]* +[0-9a-f]+ +\\- j\w+ +0x([0-9a-f]+)"
HOT = r"^ +([\d.]+) +([\d.]+) +7 +return x \* 6364136223846793005ull"


def read_and_back(t):
    """The function that is selected: its hot line, its instructions, a jump, and out of it."""
    t.keys("Enter")
    t.wait(r"^inlined_(step|work) of inlined_spin: self [\d.]+%, total [\d.]+%$")
    t.wait(r"^spin in \S*inlined_spin$")
    t.keys("G")
    t.wait(JUMP)
    for _ in range(40):
        row = t.selected()
        jump = re.search(JUMP, row)
        if jump:
            break
        t.keys("k")
        wait_for(lambda before=row: t.selected() != before, "the row above")
    check(jump, "no jump in the last rows:", row)
    t.keys("Enter")
    wait_for(lambda: re.search(rf"^ +[\d.]* +{jump[1]} ", t.selected()), f"the row of {jump[1]}")
    t.keys("n")
    t.keys("Escape")
    t.wait(r"IMAGE +.*FUNCTION$")


def test_reading():
    """In top, under its filter of system calls, and in report."""
    with directory() as d, subprocess.Popen([fixture_path("inlined_spin")]) as spin:
        try:
            with Terminal() as t:
                t.ebprof("top", "-F", 499, "-p", spin.pid, pattern=r"inlined_step")
                read_and_back(t)
                t.type("/^inlined_step$")
                t.keys("Enter", "L")
                t.wait(r"\d+ \S*inlined_spin\.c$")
                t.keys("Enter")
                t.wait(HOT)
                t.keys("q")
                t.wait(r"\d+ \S*inlined_spin\.c$")
                t.keys("q")
                t.settled()
            path = os.path.join(d, "x.pb.gz")
            run("-p", spin.pid, "-F", 999, "-d", "1", "-o", path).ok()
        finally:
            spin.kill()
        with Terminal() as t:
            t.ebprof("report", path)
            read_and_back(t)
            t.keys("q")
            t.settled()


def test_flame_graph():
    with shown() as t:
        t.keys("6")
        t.wait(r"^▏a2 +▏b2 +▏c2")
        line = re.search(r"^▏a1 +▏b1 +▏c1", t.screen(), re.M)[0]
        check(60 < line.index("▏b1") < 84 and 96 < line.index("▏c1") < 118, "60 %, 30 % and 10 % of 120 columns:", line)
        t.keys("j", "j", "j", "j", "j", "j", "j", "j", "l")
        t.wait(r"^[\d.]+% self [\d.]+% [abc]")
        t.keys("g", "Enter")
        t.type("/^b1$")
        t.keys("Enter", "Enter")
        t.wait(r"^▏b1 {50,}$|^▏b1 *$")
        t.gone("a2")
        t.keys("Escape")
        t.wait(r"^▏a2 +▏b2")


def test_images_tabs_and_help():
    with shown() as t:
        t.keys("7")
        t.wait(r"^ *[\d.]+ +[\d.]+ +\d+ tree$")
        t.keys("Tab")
        t.wait("PROCESS")
        t.keys("BTab")
        t.wait(r"^ *[\d.]+ +[\d.]+ +\d+ tree$")
        t.keys("?")
        t.wait(r"follow the hottest path")
        t.keys("q")
        t.wait(r"^ *[\d.]+ +[\d.]+ +\d+ tree$")


def test_mouse():
    with shown() as t:
        t.type("\033[M" + "".join(chr(32 + n) for n in (0, 20, 3)))      # a press at column 20, row 3: "processes"
        t.wait(rf"{t.target.pid} tree$")


def test_every_size():
    with shown(columns=40, rows=10) as t:
        for columns, rows in ((40, 10), (300, 100), (20, 4), (10, 2), (80, 24)):
            t.resize(columns, rows)
            for key in "1234567?q":
                t.keys(key)
        t.keys("1")
        t.wait(r"^ SELF% TOTAL%  SAMPLES IMAGE +FUNCTION$")
        t.wait(r"a2$")
        t.keys("q")
        t.settled()


def test_snapshot_is_readable():
    with directory() as d, shown() as t:
        waited(t, "names of all", lambda n: n[:3] == ["a2", "b2", "c2"])
        for name in ("x.pb.gz", "x.folded"):
            path = os.path.join(d, name)
            t.keys("s")
            t.wait("^save as:")
            t.type(path)
            t.keys("Enter")
            t.wait(r"saved: ")
            out = run("report", path).ok().out
            check([line.split()[4] for line in out.splitlines()[1:4]] == ["a2", "b2", "c2"], out)
        t.keys("s")
        t.type(os.path.join(d, "x.unknown"))
        t.keys("Enter")
        t.wait("does not say which format")
        t.keys("s")
        t.type("/nonexistent/x.svg")
        t.keys("Enter")
        t.wait("there is no folder /nonexistent")


def test_terminal_is_given_back():
    for ends in (signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGSEGV):
        with shown() as t:
            pid = t.pid()
            equal(os.path.basename(os.readlink(f"/proc/{pid}/exe")), "ebprof", "the program on the terminal")
            os.kill(pid, ends)
            wait_for(lambda: not os.path.exists(f"/proc/{pid}"), "it to end")
            t.ended()


def test_ends_with_its_target():
    with shown() as t:
        t.target.__exit__()
        t.ended()


def test_stops_and_goes_on():
    with shown() as t:
        t.keys("C-z")
        t.wait(r"Stopped")
        t.type("fg")
        t.keys("Enter")
        t.wait(r"\ba2$")
        t.keys("2")
        t.wait(r"COMM")
        t.keys("C-c")
        t.settled()


def test_other_terminals():
    for env in ({"TERM": "vt100"}, {"TERM": "xterm"}, {"NO_COLOR": "1"}, {"LC_ALL": "C"}):
        with shown(env=env) as t:
            t.keys("6")
            t.wait(r"^.a2 +.b2 +.c2")
            check("LC_ALL" not in env or t.screen().isascii(), t.screen())
            t.keys("q")
            t.settled()
    with Fixture("tree") as f, Terminal(env={"TERM": "nonsense"}) as t:
        t.run(f"{EBPROF} top -p {f.pid}", r"the terminal 'nonsense' is not known here; --plain prints tables")
        t.settled()


def test_hostile_names():
    with Fixture("names") as f, Terminal() as t:
        t.ebprof("top", "-F", 499, "-p", f.pid, pattern=r"IMAGE")
        wait_for(lambda: names(t), "rows")
        for key in "1234567":
            t.keys(key)
        t.keys("1", "q")
        t.settled()


def test_saved_profile():
    with directory() as d, Fixture("tree") as f, Terminal() as t:
        path = os.path.join(d, "x.pb.gz")
        run("-p", f.pid, "-F", 999, "-d", "1", "-o", path).ok()
        t.ebprof("report", path, pattern=r"\ba2$")
        # On a busy machine the kernel's switches are in it, too.
        equal([n for n in names(t) if n in ("a2", "b2", "c2")], ["a2", "b2", "c2"], "the busiest functions")
        t.keys("3", "H")
        t.wait(r" a2$")
        t.keys("q")
        t.wait("samples")
        t.settled()
        t.run(f"clear; {EBPROF} report --plain {path}", r"SELF%  TOTAL%  SAMPLES  IMAGE +FUNCTION")
        t.run(f"clear; {EBPROF} report --stdio {path}", r"SELF%  TOTAL%  SAMPLES  IMAGE +FUNCTION")


def test_code_of_a_difference():
    """Enter on what changed: the lines and instructions of the newer file's function, with their shares there."""
    with directory() as d, Terminal() as t:
        before, after = os.path.join(d, "before.pb.gz"), os.path.join(d, "after.pb.gz")
        for path in (before, after):
            run("-U", "-F", 999, "-d", "0.5", "-o", path, "--", fixture_path("inlined_spin")).ok()
        t.ebprof("diff", before, after, pattern=r"BEFORE% AFTER%  CHANGE 95% INTERVAL +TOTAL IMAGE +FUNCTION$")
        t.type("/inlined_step$")
        t.keys("Enter", "Enter")
        shown = t.wait(r"^inlined_step of inlined_spin: self ([\d.]+)%, total [\d.]+%$")
        t.wait(HOT)
        t.wait(r"^spin in \S*inlined_spin$")
        top = run("report", "--plain", after).ok().out
        check(re.search(rf"^ +{shown[1]} .* inlined_step$", top, re.M), shown[0], top)
        t.keys("Escape")
        t.wait("changes")


def test_saved_difference():
    """What differs between two files, and their shares beside one another."""
    with directory() as d, Terminal() as t:
        before, after = os.path.join(d, "before.folded"), os.path.join(d, "after.folded")
        for path, counts in ((before, (500, 100, 50)), (after, (100, 500, 51))):
            with open(path, "w", encoding="ascii") as f:
                for name, count in zip(("quick", "slow", "same"), counts):
                    f.write(f"x;main;{name} {count}\n")
        t.ebprof("diff", before, after, pattern=r"BEFORE% AFTER%  CHANGE 95% INTERVAL +TOTAL IMAGE +FUNCTION$")
        t.wait(r"^ +15\.38  76\.80 +\+61\.4\d \+[\d.]+ \.\. \+[\d.]+ +\+61\.4\d - +slow$")
        t.type("/^slow$")
        t.keys("Enter", "Enter")
        t.wait(r"callers:\n.*main\nthe function:\n.*slow$")
        t.keys("1")
        t.wait(r"SELF% TOTAL%")
        t.resize(90, 20)
        t.keys("Escape")
        t.wait(r"8 changes")
        t.keys("8", "f")
        t.type("^quick$")
        t.keys("Enter")
        t.wait(r"quick$")
        t.gone("slow")
        t.keys("q")
        t.settled()
        t.run(f"clear; {EBPROF} diff --stdio {before} {after}", r"2 of \d functions changed")
        t.ebprof("report --across file", before, after, pattern=r"^ +before +after IMAGE +PROCESS +FUNCTION$")
        t.wait(r"^ +76\.92 +15\.36 .* quick\n +15\.38 +76\.80 .* slow$")
        t.keys(">")
        t.wait(r"^ +15\.38 +76\.80 .* slow\n +76\.92 +15\.36 .* quick$")
        t.keys("q")
        t.settled()
