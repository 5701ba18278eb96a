# SPDX-License-Identifier: MIT
"""Saved profiles, shown: recordings of our own and of perf, and files that are none."""
import collections
import gzip
import math
import os
import re
import shutil
import signal
import subprocess
import tempfile

from harness import (EBPROF, SHARES, Fixture, Profile, check, directory, equal, fixture_path, needs, perf_events, run, tree_shares,
                     wait_burned, wait_for)


def fed(data, *args):
    """ebprof with these bytes on standard input."""
    with tempfile.TemporaryFile() as f:
        f.write(data)
        f.seek(0)
        return run(*args, stdin=f)


def rows(text, columns):
    """The lines of a table, cut into its columns; the last one holds what is left."""
    lines = text.splitlines()
    equal(lines[0].split(), columns, "the header")
    return [line.split(None, len(columns) - 1) for line in lines[1:] if line and not line.startswith("...")]


def shares_of(text, columns, name=-1, share=0):
    return {row[name]: float(row[share]) for row in rows(text, columns)}


FUNCTIONS = ["SELF%", "TOTAL%", "SAMPLES", "IMAGE", "FUNCTION"]


def functions_in(unit):
    return FUNCTIONS[:2] + [unit] + FUNCTIONS[3:]


def near(got, expected, n, what):
    error = 100 * math.sqrt(expected / 100 * (1 - expected / 100) / n)
    check(abs(got - expected) <= 3 * error + 0.01, f"{what}: {got} %, expected {expected} +- {3 * error:.2f}")


def recorded(d, *args):
    """Of the call tree, user stacks: the paths of the folded stacks and of the table."""
    out = [os.path.join(d, "x.folded"), os.path.join(d, "x.txt")]
    with Fixture("tree", *args) as f:
        run("-p", f.pid, "-U", "-d", "1", "-F", 999, "-o", out[0], "-o", out[1]).ok()
    return out


def test_same_table_as_the_recording():
    with directory() as d:
        folded, txt = recorded(d)
        with open(txt) as f:
            own = rows(f.read().split("\n\n")[0], FUNCTIONS)
        got = rows(run("report", folded).ok().out, FUNCTIONS)
    equal([row[:3] + row[4:] for row in got], [row[:3] + row[4:] for row in own], "rows but for the image")
    check(len(own) > 5, own)


def test_summary_is_of_the_file():
    r = fed(b"x;[truncated: depth];f 2\nx;f 5\n", "report", "-").ok()
    equal(r.err, "ebprof: 7 samples: 5 complete, 2 truncated (2 depth)\n", "standard error")
    equal(fed(b"x;f 5\n", "report", "-q", "-").ok().err, "", "with -q")


def test_files_of_our_own():
    """Each of these shows a part, and holds all: what is reported of it is what the pprof file says."""
    names = ["x.html", "x.json", "x.ndjson", "x.speedscope.json", "x.html.gz"]
    with directory() as d:
        saved, *others = [os.path.join(d, name) for name in ["x.pb.gz", *names]]
        outputs = [arg for path in (saved, *others) for arg in ("-o", path)]
        with Fixture("tree", "--threads", "2") as f:
            run("-p", f.pid, "-d", "0.5", "-F", 999, "--timeline", *outputs).ok()
        for view in (["--by", "function"], ["--by", "line"], ["--by", "process"], ["--by", "thread"], ["--tree"]):
            expected = run("report", *view, saved).ok()
            check(expected.out, view)
            for path in others:
                r = run("report", *view, path).ok()
                equal((r.out, r.err), (expected.out, expected.err), f"{view} of {path}")
        with open(saved, "rb") as f:
            expected = gzip.decompress(f.read())
        for path in others:
            again = os.path.join(d, "again.pb.gz")
            run("convert", path, "-o", again).ok()
            with open(again, "rb") as f:
                equal(gzip.decompress(f.read()), expected, f"{path}, saved again")


def test_files_beside_one_another():
    with directory() as d:
        paths = [os.path.join(d, name) for name in ("before.folded", "after.folded")]
        for path, parse, write in zip(paths, (60, 30), (40, 170)):
            with open(path, "w", encoding="ascii") as f:
                f.write(f"app;main;parse {parse}\napp;main;write {write}\n")
        r = run("report", "--across", "file", *paths).ok()
        equal(r.out.split(), ["before", "after", "IMAGE", "FUNCTION", "40.00", "85.00", "-", "write", "60.00", "15.00", "-", "parse",
                              "0.00", "0.00", "-", "main", "SAMPLES", "%", "LABEL", "200", "66.67", paths[1], "100", "33.33", paths[0]],
              "shares of each file")
        total = run("report", "-q", "--across", "file", "--sort", "total", "--rows", 1, *paths).ok().out.splitlines()
        equal(total[1].split(), ["100.00", "100.00", "-", "main"], "with what it calls")
        check(run("report", "-q", "--across", "file", paths[0]).ok().out.split()[0].endswith("lded"), "one file")
        r = run("report", "-q", "--by", "file", *paths).ok()
        equal(r.out.split(), ["SAMPLES", "%", "LABEL", "200", "66.67", paths[1], "100", "33.33", paths[0]], "a row for each file")
        many = [shutil.copy(paths[0], os.path.join(d, f"{i}.folded")) for i in range(10)]
        r = run("report", "-q", "--across", "file", "--by", "module", *many).ok()
        equal(r.out.split()[:9], [*"01234567", "IMAGE"], "columns")
        check(r.out.endswith("\nthe last 2 of them have no column\n"), r.out)
        run("report", "--across", "pod", *paths).fails(2, "--across 'pod': expected file, or a label that the samples have")
        run("report", "--across", "file", "--by", "process", *paths).fails(2, "not --by process")
        run("report", "--across", "file", "--tree", *paths).fails(2, "one view")
        run("report", "--across", "file", "-o", os.path.join(d, "x.html"), *paths).fails(2, "--across")


def test_files_of_different_rates():
    """What ran for one second counts one second, however often it was sampled."""
    with directory() as d:
        files = [os.path.join(d, name) for name in ("slow.pb.gz", "fast.pb.gz")]
        times = []
        for path, hz in zip(files, (99, 999)):
            run("-U", "-F", hz, "-o", path, "--", fixture_path("tree"), "--seconds", "1").ok()
            samples = int(rows(run("report", "-q", "--by", "process", path).ok().out, ["PID", "COMM", "SAMPLES", "%"])[0][2])
            times.append(samples * (10**9 // hz) / 1e6)
        r = run("report", "--by", "process", *files).ok()
        got = sorted(float(row[2]) for row in rows(r.out, ["PID", "COMM", "MS", "%"]))
        check(all(abs(a - b) < 0.01 for a, b in zip(got, sorted(times))), "ms:", got, times)
        check("sampled at different rates, so stacks are weighted by time" in r.err, r.err)
        r = run("report", "--by", "process", "--sample-type", "samples", *files).ok()
        check("weighted" not in r.err, r.err)
        rows(r.out, ["PID", "COMM", "SAMPLES", "%"])
        r = run("report", "--by", "process", files[0], files[0]).ok()
        check("weighted" not in r.err, r.err)
        rows(r.out, ["PID", "COMM", "SAMPLES", "%"])


def test_pages_that_are_not_ours():
    fed(b"<!doctype html><p>x</p>\n", "report", "-").fails(1, "its format is unknown")
    fed(b'{"frames": []}\n', "report", "-").fails(1, "its format is unknown")
    fed(b'{"pprof":"H4sIAAAA"}', "report", "-").fails(1, "the profile inside of it is damaged")


def test_focus():
    with directory() as d:
        folded, _ = recorded(d)
        with open(folded) as f:
            n = tree_shares(Profile.read(f.read()), least=40)
        for name, share in SHARES.items():
            r = run("report", "--focus", f"^{name}[12]$", folded).ok()
            own, callers, callees = r.out.split("\n\n")
            near(float(re.search(r"in focus: ([\d.]+)%", own)[1]), 100 * share, n, name)
            table = rows(own.rsplit("\n", 1)[0], FUNCTIONS)
            equal({row[4] for row in table}, {name + "1", name + "2"}, "functions in focus")
            (caller,) = rows(callers, ["%", "OF", "FOCUS%", "SAMPLES", "IMAGE", "CALLER"])
            equal((caller[1], caller[-1]), ("100.00", name), "the caller")
            equal(rows(callees, ["%", "OF", "FOCUS%", "SAMPLES", "IMAGE", "CALLEE"]), [], "callees")
        run_callees = run("report", "--focus", "^run$", folded).ok().out.split("\n\n")[2]
        calls = {row[-1]: float(row[1]) for row in rows(run_callees, ["%", "OF", "FOCUS%", "SAMPLES", "IMAGE", "CALLEE"])}
        for name, share in SHARES.items():
            near(calls[name], 100 * share, n, f"calls of {name}")


def test_tree():
    with directory() as d:
        folded, _ = recorded(d)
        text = run("report", "--tree", folded).ok().out
        pruned = run("report", "--tree", "--min", "20", folded).ok().out
    lines = [line for line in text.splitlines()[1:]]
    depths = {line.split()[-1]: len(line[26:]) - len(line[26:].lstrip()) for line in lines}
    for name in SHARES:
        equal([depths[name + x] - depths["run"] for x in ("", "1", "2")], [2, 4, 6], f"depths of {name} below run")
    order = [line.split()[-1] for line in lines if line.split()[-1] in SHARES]
    equal(order, ["a", "b", "c"], "siblings by their share")
    names = {line.split()[-1] for line in pruned.splitlines()[1:]}
    check({"a2", "b2"} <= names and not {"c", "c2"} & names, "with --min 20:", names)


def test_threads_and_processes():
    with directory() as d:
        out = os.path.join(d, "x.folded")
        with Fixture("tree", "--threads", "2") as f:
            run("-p", f.pid, "-U", "--per-thread", "-d", "0.6", "-F", 999, "-o", out).ok()
            tids = {line[1]: line[2] for line in f.lines if line[0] == "thread"}
        threads = rows(run("report", "--by", "thread", out).ok().out, ["PID", "TID", "COMM", "SAMPLES", "%"])
        processes = rows(run("report", "--by", "process", out).ok().out, ["PID", "COMM", "SAMPLES", "%"])
    equal({row[1]: row[2] for row in threads}, tids, "threads")
    equal({row[0] for row in threads + processes}, {str(f.pid)}, "their process")
    equal(processes[0][3], "100.00", "its share")


# --- Files of perf. ---

def perf_recording(d, *options):
    """perf.data of the call tree."""
    data = os.path.join(d, "perf.data")
    with Fixture("tree") as f:
        p = subprocess.Popen([needs("perf"), "record", "-q", "-e", "cpu-clock", "-F", "999", *options, "-o", data,
                              "-p", str(f.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        wait_for(lambda: perf_events(p.pid), "perf to sample")
        wait_burned(f.pid, 0.6)
        p.send_signal(signal.SIGINT)
        _, err = p.communicate(timeout=60)
    check(os.path.exists(data), "perf record:", err)
    return data


def perf(*args):
    return subprocess.run([needs("perf"), *args], check=True, capture_output=True, timeout=60).stdout


COUNTED = ("--sample-type", "samples")      # for periods are what is shown


def collapse(text, periods=False):
    """What perf's default text says, read in another way than ours: samples, or the sum of their periods."""
    stacks = collections.Counter()
    for block in text.split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip()]
        if not lines:
            continue
        comm = re.match(r"\s*(.+?)\s+\d+", lines[0])[1].replace(" ", "_")
        frames = [re.sub(r"\+0x[0-9a-f]+$", "", re.match(r"\s*[0-9a-f]+ (.*) \(.*\)$", line)[1]) for line in lines[1:]]
        frames = [re.sub(r"^\[unknown\]$", lambda _: nameless(line), frame) for frame, line in zip(frames, lines[1:])]
        period = int(re.search(r": +(\d+) cpu-clock", lines[0])[1])
        stacks[";".join([comm, *reversed(frames)])] += period if periods else 1
    return stacks


def nameless(line):
    """What a frame without a symbol is called: its file."""
    name = os.path.basename(re.search(r"\(([^()]*)\)$", line)[1]).replace("[kernel.kallsyms]", "[kernel]")
    return name if name.startswith("[") else f"[{name}]"


def folded(text):
    return collections.Counter({s.rsplit(" ", 1)[0]: int(s.rsplit(" ", 1)[1]) for s in text.splitlines()})


def test_perf_script():
    with directory() as d:
        data = perf_recording(d, "-g")
        text = perf("script", "-i", data)
        r = fed(text, "convert", "-", "-f", "folded", *COUNTED).ok()
        weighed = fed(text, "convert", "-", "-f", "folded").ok().out
        table = fed(text, "report", "-q", "-", *COUNTED).ok().out
        counted = perf("report", "-i", data, "--stdio", "--no-children", "-g", "none", "-s", "sym", "-F", "sample,sym").decode()
        modules = perf("report", "-i", data, "--stdio", "--no-children", "-g", "none", "-s", "dso", "-F", "sample,dso").decode()
        by_module = fed(text, "report", "-q", "--by", "module", "-", *COUNTED).ok().out
    equal(r.err, "", "lines left out")
    equal(folded(r.out), collapse(text.decode()), "stacks")
    equal(folded(weighed), collapse(text.decode(), periods=True), "periods")
    tree_shares(Profile.read(r.out), least=40)
    samples = {row[4]: int(row[2]) for row in rows(table, FUNCTIONS) if row[2] != "0"}
    equal(samples, {m[2]: int(m[1]) for m in re.finditer(r"^\s*(\d+)\s+\[[.k]\] (.+?)\s*$", counted, re.M)}, "samples by perf report")
    samples = {row[3]: int(row[2]) for row in rows(by_module, FUNCTIONS[:4]) if row[2] != "0"}
    theirs = {m[2].replace("[kernel.kallsyms]", "[kernel]"): int(m[1])
              for m in re.finditer(r"^\s*(\d+)\s+(\S+)\s*$", modules, re.M)}
    equal(samples, theirs, "modules by perf report")


def test_perf_script_with_other_fields():
    """The same stacks, whatever else perf was asked to print."""
    with directory() as d:
        data = perf_recording(d, "--sample-cpu", "-g")
        plain = fed(perf("script", "-i", data), "convert", "-", *COUNTED).ok().out
        check(len(plain.splitlines()) >= len(SHARES), plain)
        for fields in ("comm,pid,tid,cpu,time,event,ip,sym,dso", "comm,tid,ip,sym,dso", "comm,pid,tid,time,ip,sym,dso", "+srcline",
                       "+pid", "comm,cpu,time,period,event,ip,sym,symoff,dso", "+insn"):
            text = perf("script", "-i", data, "-F", fields)
            r = fed(text, "convert", "-", *COUNTED).ok()
            equal(r.out + r.err, plain, f"with -F {fields}")
        for option in ("--ns", "--header", "--show-task-events", "--show-mmap-events"):
            r = fed(perf("script", "-i", data, option), "convert", "-", *COUNTED).ok()
            equal(r.out + r.err, plain, f"with {option}")


def test_perf_script_without_call_chains():
    with directory() as d:
        data = perf_recording(d)
        table = fed(perf("script", "-i", data), "report", "-q", "-", *COUNTED).ok().out
    shares, n = shares_of(table, FUNCTIONS), sum(int(row[2]) for row in rows(table, FUNCTIONS))
    for name, share in SHARES.items():
        check(abs(shares[name + "2"] - 100 * share) < 300 * math.sqrt(share * (1 - share) / n) + 3, name, shares)


def test_periods():
    data = b"x 1 5.000000: 1000 cpu-clock: \n\t 10 f (/x)\n\nx 1 5.500000: 3000 cpu-clock: \n\t 20 g (/x)\n"
    r = fed(data, "report", "-", *COUNTED).ok()
    equal(r.err, "ebprof: 2 samples of cpu-clock in 0.5 s\n", "standard error")
    equal(shares_of(r.out, FUNCTIONS), {"f": 50, "g": 50}, "shares of samples")
    r = fed(data, "report", "-").ok()
    equal(shares_of(r.out, functions_in("MS")), {"f": 25, "g": 75}, "shares of time")
    equal([row[2] for row in rows(r.out, functions_in("MS"))], ["0.003", "0.001"], "ms")
    equal(r.err, "ebprof: 2 samples of cpu-clock in 0.5 s\nebprof: cpu, in nanoseconds: 4000 in all; also there: samples\n", "standard error")


# --- Where profiles come from. ---

def test_standard_input_and_gzip():
    plain = b"x;main;f 3\nx;main 1\n"
    expected = fed(plain, "report", "-").ok().out
    equal([row[4] for row in rows(expected, FUNCTIONS)], ["f", "main"], "functions")
    equal(fed(gzip.compress(plain), "report", "-").ok().out, expected, "packed")
    equal(fed(gzip.compress(plain[:12]) + gzip.compress(plain[12:]), "report", "-").ok().out, expected, "packed in two")
    with directory() as d:
        path, fifo = os.path.join(d, "any name"), os.path.join(d, "fifo")
        with open(path, "wb") as f:
            f.write(gzip.compress(plain))
        equal(run("report", path).ok().out, expected, "a file without a suffix")
        equal(run("report", "--", path).ok().out, expected, "behind --")
        os.mkfifo(fifo)
        with subprocess.Popen(["sh", "-c", 'cat "$1" > "$2"', "sh", path, fifo]):
            equal(run("report", fifo).ok().out, expected, "a FIFO")


def test_differential():
    data = b"x;f 1 3\nx;g 4 5\n"
    r = fed(data, "report", "-").ok()
    equal([row[2] for row in rows(r.out, functions_in("COUNT"))], ["5", "3"], "after")
    equal(r.err, "ebprof: after, in count: 8 in all; also there: before\n", "standard error")
    before = fed(data, "report", "--sample-type", "before", "-").ok().out
    equal([row[2] for row in rows(before, functions_in("COUNT"))], ["4", "1"], "before")
    fed(data, "report", "--sample-type", "none", "-").fails(2, "has before, after$")


def test_bad_files():
    for data, pattern in ((b"", "it is empty"), (b"\0\0\0\0", "format is unknown"), (b"x;f 1\nx;g\n", "line 2 is no folded stack"),
                          (b"x;f 1\nx;g 1,5\n", "line 2"), (gzip.compress(b"x;f 1\n")[:-3], "damaged gzip"),
                          (b"\x1f\x8b\x08" + os.urandom(1), "damaged gzip"), (gzip.compress(b""), "it is empty"),
                          (gzip.compress(bytes(1 << 20)), "format is unknown"), (b"\x7fELF\2\1\1" + bytes(100), "format is unknown"),
                          (b"x 1 5.000000: PERF_RECORD_COMM: x:1/1\n", "no samples")):
        fed(data, "report", "-").fails(1, "cannot read -: .*" + pattern)
        fed(data, "convert", "-").fails(1, "cannot read -: .*" + pattern)
    for form, what in (("callgrind", "a callgrind file"), ("dhat", "a DHAT file"), ("table", "a table"), ("perfetto", "a Perfetto trace")):
        with directory() as d:
            path = os.path.join(d, "x")
            fed(b"x;f 1\n", "convert", "-f", form, "-o", path, "-").ok()
            run("report", path).fails(1, f"it is {what}, which ebprof writes and does not read")
    run("report", "/nonexistent/x.folded").fails(1, "cannot read /nonexistent/x.folded: No such file")
    run("report", "/tmp").fails(1, "it is a folder")
    run("report", "/dev/zero").fails(1, "it is not a file")


def test_bad_options():
    with directory() as d:
        path = os.path.join(d, "x.folded")
        with open(path, "w") as f:
            f.write("x;f 1\n")
        run("report").fails(2, "no recording is kept for this user; report takes files")
        twice = run("report", "--rows", 1, path, path).ok()
        once = run("report", "--rows", 1, path).ok()
        equal(twice.out.split()[7], str(2 * int(once.out.split()[7])), "samples of two runs")
        run("report", path, "--by", "colour").fails(2, "function, module, line, process, thread")
        run("report", path, "--sort", "colour").fails(2, "self, total")
        run("report", path, "--tree", "--focus", "f").fails(2, "one view")
        run("report", path, "--focus", "(").fails(2, "Unmatched")
        run("report", path, "--focus", "f" * 300).fails(2, "256")
        run("report", path, "--focus", "none").fails(1, "no function has such a name")
        for percent in ("-1", "101", "x", "1x", ""):
            run("report", path, "--min", percent).fails(2, "--min")
        run("report", path, "--rows", "0").fails(2, "--rows")
        run("report", path, "--frequency", "9").fails(2, "--frequency")
        equal(run("report", path, "--min", "7.5%", "--tree").ok().out.splitlines()[-1].split()[-1], "f", "a good --min")


def test_needs_no_privileges():
    with directory() as d:
        path, ebprof = os.path.join(d, "x.folded"), os.path.join(d, "ebprof")
        with open(path, "w") as f:
            f.write("x;f 1\n")
        subprocess.run(["install", "-m", "755", EBPROF, ebprof], check=True)
        run("report", path, ebprof=ebprof,
            prefix=(needs("setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups")).ok()


def test_no_samples():
    r = fed(b"x;f 0\n", "report", "-")
    equal((r.code, len(r.out.splitlines())), (5, 1), "status and lines")


def test_hostile_names():
    text = subprocess.run([fixture_path("profiles"), "hostile", "folded", "-"], capture_output=True, check=True).stdout
    for options in ([], ["--tree"], ["--focus", "."], ["--by", "thread"]):
        out = fed(text + b"\x1b[31m;\x07\xff\x1b]0;x 5\n", "report", *options, "-").ok().out
        check(not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", out), "control characters:", repr(out))
