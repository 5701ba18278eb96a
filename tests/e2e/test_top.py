# SPDX-License-Identifier: MIT
"""The live view, as tables."""
import re
import signal
import subprocess
import tempfile

from harness import Fixture, check, cpu_seconds, equal, finish, run, start, wait_for

SECONDS = 35

HEADING = re.compile(r"^(?:\d\d:\d\d:\d\d )?(.+?), (\S+ \d+ Hz), (last|since start,?) ([\d.]+) s(?: of ([\d.]+))?: "
                     r"(\d+) samples, (\d+) truncated, (\d+) lost$")


def tables(text):
    """(heading, {function: (self, total, samples)}) of each table."""
    out = []
    for part in text.rstrip("\n").split("\n\n"):
        lines = part.split("\n")
        heading = HEADING.match(lines[0])
        check(heading, "not a heading:", repr(lines[0]))
        equal(lines[1].split(), ["SELF%", "TOTAL%", "SAMPLES", "IMAGE", "FUNCTION"], "the header")
        rows = [line.split(None, 4) for line in lines[2:] if not line.startswith("...")]
        out.append((heading, {row[4]: (float(row[0]), float(row[1]), int(row[2])) for row in rows}))
    return out


def test_tables_for_a_script():
    with Fixture("tree") as f:
        got = tables(run("top", "-p", f.pid, "-U", "-F", 999, "--count", 3, "--refresh", "500ms").ok().out)
    equal(len(got), 3, "tables")
    heading, rows = got[-1]
    equal(heading[1], f"pid {f.pid}", "whom it is of")
    equal(sorted(rows, key=lambda name: -rows[name][0])[:3], ["a2", "b2", "c2"], "the busiest functions")
    near = 100 * 4 * (0.6 * 0.4 / max(1, sum(r[2] for r in rows.values()))) ** 0.5
    check(abs(rows["a2"][0] - 60) < near + 2, "a2:", rows["a2"], "expected 60 +-", near)
    check(rows["main"][1] > 95 and rows["main"][0] < 1, "main:", rows["main"])


def test_window_forgets():
    with Fixture("timed", "20") as f:
        got = tables(run("top", "-p", f.pid, "-F", 999, "--count", 6, "--refresh", "300ms", "--window", "600ms").ok().out)
    counts = [sum(r[2] for r in rows.values()) for _, rows in got]
    spans = [float(heading[4]) for heading, _ in got]
    check(max(spans[3:]) < 1.2, "the window's length:", spans)
    check(float(got[-1][0][5]) > 1.5, "the time in all:", got[-1][0][0])
    check(max(counts) <= 999 * max(spans) * 1.1 + 5, "samples of the window:", counts, spans)


def test_since_start_adds_up():
    with Fixture("tree") as f:
        got = tables(run("top", "-p", f.pid, "-F", 999, "--count", 4, "--refresh", "300ms", "--window", "300ms", "--since-start").ok().out)
    counts = [sum(r[2] for r in rows.values()) for _, rows in got]
    equal(counts, sorted(counts), "samples never become fewer")
    check(counts[-1] > 2 * counts[0], "samples add up:", counts)


def test_renewed_profile_adds_up():
    """Ever new stacks: the profile becomes too large again and again, and what was in it is kept by functions."""
    with Fixture("storm", "1", "0") as f, tempfile.TemporaryFile() as out:
        proc = start("top", "-p", f.pid, "-U", "-F", 9999, "--plain", "--rows", 1000, "--refresh", "200ms", "--window", "1s", "--since-start",
                     "-v", stdout=out)
        wait_for(lambda: cpu_seconds(f.pid) > 12, "the target to have run", 100)
        proc.send_signal(signal.SIGINT)
        result = finish(proc).ok()
        out.seek(0)
        got = tables(out.read().decode())
    check(re.search(r"stacks forgotten \d+ time", result.err), "a profile that was renewed:", result.err)
    before = 0
    for heading, rows in got:
        # What was taken after the counts were fetched is in the next table.
        check(before <= sum(r[2] for r in rows.values()) <= int(heading[6]), "samples", rows, "of", heading[0], "after", before)
        before = int(heading[6])


def test_ends_with_its_target_and_its_time():
    with Fixture("tree") as f:
        proc = start("top", "-p", f.pid, "--refresh", "200ms")
        wait_for(lambda: cpu_seconds(f.pid) > 1, "the target to run")
    result = finish(proc).ok()
    check(tables(result.out), result.out)
    with Fixture("tree") as f:
        got = tables(run("top", "-p", f.pid, "-d", "1", "--refresh", "10s", "--window", "10s").ok().out)
    equal(len(got), 1, "tables of a time that is shorter than the refresh")


def test_command_and_its_status():
    result = run("top", "--refresh", "200ms", "--", "sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3")
    equal(result.code, 3, "the command's status")


def test_reader_goes_away():
    with Fixture("tree") as f:
        proc = start("top", "-p", f.pid, "--refresh", "100ms", "--window", "1s")
        proc.stdout.readline()
        proc.stdout.close()
        equal(proc.wait(10), 0, "exit status where nobody reads")
        equal(proc.stderr.read(), b"", "standard error")


def test_signal_ends_it():
    with Fixture("tree") as f:
        proc = start("top", "-p", f.pid, "--refresh", "200ms")
        proc.stdout.readline()
        proc.send_signal(signal.SIGTERM)
        finish(proc).ok()


def test_wrong_options():
    run("top", "--refresh", "1ms").fails(2, "--refresh")
    run("top", "--refresh", "10s", "--window", "1s").fails(2, "--window")
    run("top", "-p", "999999999").fails((2, 4), "999999999")


def test_dumb_terminal_gets_tables():
    with Fixture("tree") as f:
        argv = ["script", "-qec", f"TERM=dumb {run.__globals__['EBPROF']} top -p {f.pid} --refresh 200ms -d 1", "/dev/null"]
        out = subprocess.run(argv, capture_output=True, timeout=30, stdin=subprocess.DEVNULL).stdout.decode()
    check("\033" not in out, "an escape code on a dumb terminal:", repr(out[:200]))
    check("FUNCTION" in out and "a2" in out, out)
