# SPDX-License-Identifier: MIT
"""Profiles for speedscope, read by its page in Chromium and checked against its schema."""
import collections
import json
import os

from harness import Profile, check, directory, equal, fixture_path, run
from readers import hand_made, speedscope, valid_speedscope

SECONDS = 9

NAMES = ("full", "types", "huge", "deep", "one", "empty", "timeline", "hostile")

FULL_WORKER = {("clone", "work"): 12, ("[truncated: depth]", "work", "leaf"): 5, ("clone", "js:~render", "malloc"): 4}
FULL_OTHERS = {("_start", "main", "work"): 40, ("_start", "main", "work", "hash"): 25,
               ("_start", "main", "walk", "walk", "walk"): 9, ("_start", "[server+0x1234]"): 6, ("[no stack]",): 1,
               ("_start", "main", "write", "entry_SYSCALL_64", "ksys_write"): 10, ("kthread", "worker_thread"): 2}
FULL_PROFILES = [("all threads", 114), ("demo (pid 100, tid 100)", 84), ("worker one (pid 100, tid 101)", 21),
                 ("server (pid 200, tid 200)", 6), ("helper (pid 200, tid 207)", 3)]


def test_hand_made_profiles():
    with directory() as d:
        files = [hand_made(d, name, "speedscope", ".speedscope.json") for name in NAMES]
        valid_speedscope(*files)
        read = dict(zip(NAMES, speedscope(*files)))
        for name in ("full", "timeline"):
            profiles, frames = read[name]
            equal([(p.name, p.total) for p in profiles], FULL_PROFILES, "profiles")
            equal({p.unit for p in profiles}, {"none"}, "unit")
            equal(profiles[0].stacks, FULL_OTHERS | FULL_WORKER, "stacks of all threads")
            equal(profiles[2].stacks, FULL_WORKER, "stacks of one")
            where = {f["name"]: (f.get("file"), f.get("line")) for f in frames}
            equal((where["walk"], where["hash"]), (("/src/demo.c", 30), ("/src/inline.h", 7)), "sources")
            equal((where["malloc"], where["[no stack]"]), (("libc.so.6", None), (None, None)), "without sources")
        equal([(p.unit, p.total, p.stacks) for p in read["types"][0]],
              [("bytes", 4240, {("main", "malloc"): 144, ("main", "work", "malloc"): 4096})], "types")
        equal(read["huge"][0][0].stacks, {("main", "work"): 5000000000, ("main", "leaf"): 12345678901}, "huge")
        deep = read["deep"][0][0].stacks
        equal((max(map(len, deep)), deep[max(deep, key=len)], sum(deep.values())), (500, 10, 15), "deep")
        equal([(p.name, p.stacks) for p in read["one"][0]], [("one (pid 7, tid 7)", {("main",): 1})], "one")
        equal([(p.total, p.stacks) for p in read["empty"][0]], [(0, {})], "empty")
        with open(hand_made(d, "hostile", "json", ".ndjson")) as f:
            rows = [json.loads(line) for line in f]
        profiles, frames = read["hostile"]
        equal(profiles[0].total, 28 * 29 // 2 + 28, "hostile")
        equal({f["name"] for f in frames}, {r["name"] for r in rows if r["type"] == "function"}, "functions")
        equal({p.name.rpartition(" (pid ")[0] for p in profiles[1:]}, {r["comm"] for r in rows if r["type"] == "process"}, "threads")


def test_recording():
    with directory() as d:
        path, folded = os.path.join(d, "tree.speedscope.json"), os.path.join(d, "tree.folded")
        r = run("-F", "499", "-o", path, "-o", folded, "--", fixture_path("tree"), "--seconds", "1", "--threads", "2").ok()
        valid_speedscope(path)
        with open(folded) as f:
            profile = Profile.read(f.read())
        profiles, frames = speedscope(path)[0]
        equal(profiles[0].total, r.summary.kept, "samples")
        for comm in profile.comms():
            expected = {tuple(s.frames): s.count for s in profile if s.comm == comm and not s.cut}
            # Of the process's name there may be three threads: a thread has it until it takes its own.
            got = collections.Counter()
            for p in profiles:
                if p.name.startswith(comm + " ("):
                    got.update({s: n for s, n in p.stacks.items() if not s[0].startswith("[truncated")})
            equal(dict(got), expected, f"stacks of {comm}")
        check(any(f["name"] == "a2" and f["file"] == "tree" for f in frames), "the image of a function without a source")
