# SPDX-License-Identifier: MIT
"""Profiles for the Firefox Profiler, read by it."""
import gzip
import json
import os
import subprocess

from harness import Profile, check, directory, equal, fixture_path, needs, run
from readers import FirefoxProfiler, hand_made

# The hand-made profile "full": its threads and the stacks of two of them.
FULL_THREADS = {("demo", "demo", "100", "100"): 84, ("worker one", "demo", "100", "101"): 21,
                ("server", "server", "200", "200"): 6, ("helper", "server", "200", "207"): 3}
FULL_DEMO = {("_start", "main", "work"): 40, ("_start", "main", "work", "hash"): 25, ("_start", "main", "walk", "walk", "walk"): 9,
             ("_start", "main", "write", "entry_SYSCALL_64", "ksys_write"): 10}
FULL_WORKER = {("clone", "work"): 12, ("[truncated: depth]", "work", "leaf"): 5, ("clone", "js:~render", "malloc"): 4}


def identity(thread):
    return tuple(thread[k] for k in ("name", "processName", "pid", "tid"))


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        return json.loads(f.read())


def sound(profile):
    """Columns of a table are of one length, and what is an index points to something."""
    strings, libs = len(profile["shared"]["stringArray"]), len(profile["libs"])
    categories = len(profile["meta"]["categories"])
    for thread in profile["threads"]:
        size = {}
        for name, table in thread.items():
            if isinstance(table, dict):
                size[name] = table["length"]
                for key, column in table.items():
                    if isinstance(column, list):
                        equal(len(column), table["length"], f"{name}.{key}")
        for table, column, limit in (
                ("samples", "stack", size["stackTable"]), ("stackTable", "frame", size["frameTable"]),
                ("stackTable", "prefix", size["stackTable"]), ("frameTable", "func", size["funcTable"]),
                ("frameTable", "nativeSymbol", size["nativeSymbols"]), ("frameTable", "category", categories),
                ("funcTable", "resource", size["resourceTable"]), ("funcTable", "name", strings),
                ("funcTable", "fileName", strings), ("resourceTable", "lib", libs), ("resourceTable", "name", strings),
                ("nativeSymbols", "libIndex", libs), ("nativeSymbols", "name", strings)):
            least = -1 if column == "resource" else 0
            check(all(i is None or least <= i < limit for i in thread[table][column]), f"{table}.{column} points to nothing")
        check(all(p is None or p < i for i, p in enumerate(thread["stackTable"]["prefix"])), "a stack before its prefix")
        equal(sorted(thread["samples"]["time"]), thread["samples"]["time"], "times in order")
    check(profile["threads"], "no thread")
    return profile


def test_call_trees():
    with directory() as d, FirefoxProfiler(d) as firefox:
        for name in ("full", "timeline"):
            path = hand_made(d, name, "firefox", ".json")
            sound(read(path))
            firefox.load(path)
            threads = {identity(t): h for h, t in firefox.threads().items()}
            equal(set(threads), set(FULL_THREADS), f"threads of {name}")
            for thread, total in FULL_THREADS.items():
                equal(firefox.stacks(threads[thread])[1], total, f"total of {thread} in {name}")
            for thread, stacks in (("demo", FULL_DEMO), ("worker one", FULL_WORKER)):
                handle = next(h for t, h in threads.items() if t[0] == thread)
                equal(firefox.stacks(handle)[0], stacks, f"stacks of {thread} in {name}")
        work = firefox.tree()["children"][0]["children"][0]["children"][0]
        equal((work["name"], round(work["totalPercentage"], 2), round(work["selfPercentage"], 2)), ("work", 77.38, 47.62))
        equal((work["nameWithLibrary"], work["children"][0]["inlineStatus"]), ("demo!work", "inlined"), "library and inlining")
        kinds = {c["name"]: c["samples"] for h, t in firefox.threads().items()
                 for c in firefox.ask("thread", "samples", "--thread", h)["categoryBreakdown"]["categories"]
                 if t["name"] == "demo"}
        equal(kinds, {"User": 74, "Kernel": 10}, "categories")


def test_times():
    with directory() as d:
        made_up, true = (read(hand_made(d, name, "firefox", ".json")) for name in ("full", "timeline"))
        equal(made_up["meta"]["interval"], 10, "interval")
        equal(made_up["meta"]["startTime"], 1700000000123.456789, "start")
        for thread in made_up["threads"]:
            check(all(0 <= t < 2500 for t in thread["samples"]["time"]), "made-up times lie in the recording")
            # 10 ms a sample, evenly over 2.5 s.
            samples, n = thread["samples"], sum(thread["samples"]["weight"])
            for i in range(1, samples["length"]):
                share = samples["threadCPUDelta"][i] / 1e6 / (samples["time"][i] - samples["time"][i - 1])
                check(abs(share - n / 250) < 0.001, f"use of the CPU {share}, expected {n / 250}")
        # Sample i of 10 has its k-th tick at (1 + 10 k + i) / 4 times 10 ms (tests/fixtures/profiles.c).
        helper = next(t for t in true["threads"] if t["name"] == "helper")
        equal(helper["samples"]["time"], [22.5, 25, 47.5], "times of the samples 8, 9, 8")
        equal(helper["samples"]["weight"], [1, 1, 1])


def test_waits():
    """Markers of each thread, which have a beginning, an end, and the stack that waits; and what is waited in the tree."""
    with directory() as d, FirefoxProfiler(d) as firefox:
        path = hand_made(d, "waits", "firefox", ".json")
        profile = sound(read(path))
        firefox.load(path)
        threads = {t["name"]: h for h, t in firefox.threads().items()}
        # Shorter sleeps, 50 ms of them, are with those that have times.
        equal(firefox.stacks(threads["locker"]), ({("main", "take", "futex_wait", "[blocked]"): 2500}, 2500), "the lock, ms")
        total = firefox.stacks(threads["server"])[1]
        check(abs(total - 806) < 0.01, total)
        markers = firefox.ask("thread", "markers", "--thread", threads["server"])
        stats = {m["markerName"]: m for m in markers["byType"]}
        equal({name: (m["count"], m["durationStats"]["min"], m["durationStats"]["max"]) for name, m in stats.items()},
              {"blocked": (3, 250, 250), "runnable": (3, 2, 2)}, "markers of the server")
        strings = profile["shared"]["stringArray"]
        for thread in profile["threads"]:
            for data in thread["markers"]["data"]:
                equal(strings[data["place"]], "futex_wait" if thread["name"] == "locker" else "hrtimer_nanosleep", "place")
                frame = thread["stackTable"]["frame"][data["cause"]["stack"]]
                function = thread["funcTable"]["name"][thread["frameTable"]["func"][frame]]
                check(strings[function] in ("[blocked]", "[runnable]"), strings[function])
        server = next(t for t in profile["threads"] if t["name"] == "server")
        equal(server["markers"]["startTime"], [100, 350, 1100, 1350, 2100, 2350], "beginnings")
        equal(server["markers"]["endTime"], [350, 352, 1350, 1352, 2350, 2352], "ends")


def test_extremes():
    with directory() as d, FirefoxProfiler(d) as firefox:
        def load(name, suffix=".json"):
            path = hand_made(d, name, "firefox", suffix)
            firefox.load(path)
            return sound(read(path))

        load("deep", ".firefox.json.gz")
        functions = firefox.functions()
        equal({f: functions[f] for f in ("level_000", "again", "level_400", "level_499")},
              {"level_000": (0, 15), "again": (3, 14), "level_400": (0, 11), "level_499": (10, 10)}, "deep")
        load("huge")
        equal(firefox.stacks(), ({("main", "work"): 5000000000, ("main", "leaf"): 12345678901}, 17345678901), "huge")
        load("one")
        equal(firefox.stacks(), ({("main",): 1}, 1), "one")
        load("empty")
        equal((firefox.stacks(), len(firefox.threads())), (({}, 0), 1), "empty")
        types = load("types")
        equal(types["threads"][0]["samples"]["weightType"], "bytes")
        equal(firefox.stacks(), ({("main", "malloc"): 144, ("main", "work", "malloc"): 4096}, 4240), "types")


def test_hostile_names():
    with directory() as d, FirefoxProfiler(d) as firefox:
        path = hand_made(d, "hostile", "firefox", ".json")
        with open(hand_made(d, "hostile", "json", ".ndjson")) as f:
            rows = [json.loads(line) for line in f]
        sound(read(path))
        firefox.load(path)
        threads = firefox.threads()
        equal({(t["pid"], t["name"]) for t in threads.values()},
              {(str(r["pid"]), r["comm"]) for r in rows if r["type"] == "process"}, "threads")
        stacks, total = firefox.stacks("t-0")
        equal(total, 28 * 29 // 2, "total of the first")
        # The frame is what was inlined into it, too.
        names = {r["name"] for r in rows if r["type"] == "function" and r["module"] == "demo"}
        equal({path[-1] for path in stacks}, names, "functions")
        equal(len(names), 28)


def test_recording():
    with directory() as d, FirefoxProfiler(d) as firefox:
        path, folded = os.path.join(d, "tree.firefox.json"), os.path.join(d, "tree.folded")
        r = run("-F", "499", "-o", path, "-o", folded, "--", fixture_path("tree"), "--seconds", "1", "--threads", "2").ok()
        with open(folded) as f:
            profile = Profile.read(f.read())
        firefox.load(path)
        threads = {h: t for h, t in firefox.threads().items()}
        found = {}
        for handle, t in threads.items():
            found[t["name"]] = found.get(t["name"], 0) + firefox.stacks(handle)[1]
        equal(found, {c: profile.count(lambda s, c=c: s.comm == c) for c in profile.comms()}, "samples by thread")
        equal(sum(found.values()), r.summary.kept, "samples in all")
        handle = next(h for h, t in threads.items() if t["name"] == "tree-0")
        expected = {tuple(s.frames): s.count for s in profile if s.comm == "tree-0" and not s.cut}
        got = {s: n for s, n in firefox.stacks(handle)[0].items() if not s[0].startswith("[truncated")}
        equal(got, expected, "stacks of tree-0")
        needs("readelf")
        notes = subprocess.run(["readelf", "-n", fixture_path("tree")], capture_output=True, text=True, check=True).stdout
        lib = next(lib for lib in read(path)["libs"] if lib["name"] == "tree")
        check(lib["codeId"] in notes, "another build id:", lib["codeId"], notes)
        # The id as Breakpad has it: three numbers of little-endian bytes, eight bytes, an age.
        raw = bytes.fromhex(lib["codeId"])
        equal(lib["breakpadId"], (raw[3::-1] + raw[5:3:-1] + raw[7:5:-1] + raw[8:16]).hex().upper() + "0", "breakpad id")
