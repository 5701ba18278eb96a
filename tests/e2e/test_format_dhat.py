# SPDX-License-Identifier: MIT
"""Profiles in DHAT's format, read by valgrind's own page in Chromium and by the Firefox Profiler."""
import json
import os
import subprocess

import truth
from harness import Profile, check, directory, equal, fixture_path, needs, run
from readers import FirefoxProfiler, dhat_view, hand_made

SECONDS = 10

# By frames, the innermost first: (bytes, blocks) in all, at their own maximum, at t-gmax and at the end; average lifetime, us.
ALLOCATIONS = {
    ("malloc", "work", "main", "_start"): ((7680, 120), (4480, 70), (3200, 50), (640, 10), 50000),      # of two threads
    ("malloc", "hash", "work", "main", "_start"): ((5000, 5), (5000, 5), (5000, 5), (5000, 5), 1800000),
    ("malloc", "walk", "walk", "walk", "main", "_start"): ((2400, 12), (1600, 8), (1200, 6), (800, 4), 250000),
    ("calloc", "js:~render", "clone"): ((16000, 1000), (16, 1), (0, 0), (0, 0), 2),
    ("malloc", "work"): ((700, 7), (700, 7), (300, 3), (700, 7), 571428.57),
    ("[no stack]",): ((400, 1), (400, 1), (400, 1), (400, 1), 2400000),
}
HEADINGS = ("Total", "Max", "At t-gmax", "At t-end")
HEAP_METRICS = ["Total (bytes)", "Total (blocks)", "Total (blocks), tiny", "Total (blocks), short-lived", "At t-gmax (bytes)",
                "At t-end (bytes)"]


def sums(column):
    return tuple(sum(point[column][i] for point in ALLOCATIONS.values()) for i in (0, 1))


def merged(stacks):
    """Leaf first, those of all threads as one."""
    out = {}
    for _, frames, count in stacks:
        key = tuple(reversed(frames)) or ("[no stack]",)
        out[key] = out.get(key, 0) + count
    return out


def check_allocations(trees):
    equal([t.metric for t in trees], HEAP_METRICS, "sort metrics")
    by_bytes, short, gmax = trees[0], trees[3], trees[4]
    for line in ("Mode:    heap", "Command: ebprof alloc -p 100 -d 2.5", "PID:     100",
                 "t-gmax: 1,750,000 µs (70% of program duration)", "t-end:  2,500,000 µs"):
        check(line in by_bytes.head, "no", line, "in:", by_bytes.head)
    for tree in trees:
        # All together are neither tiny nor short-lived, so that their numbers are left out.
        expected = {"Total": sums(0), "At t-gmax": sums(2), "At t-end": sums(3)} if tree not in trees[2:4] else {}
        equal(tree.all, expected, f"all by {tree.metric}")
    leaves = by_bytes.leaves()
    equal({names: (*(p.values[h] for h in HEADINGS), p.lifetime) for names, p in leaves.items()}, ALLOCATIONS, "points")
    equal(leaves[("malloc", "hash", "work", "main", "_start")].frames,
          ["0x233DEEE8: malloc (in /usr/lib/libc.so.6)", "0xE1AFD727: hash (/src/inline.h:7)",
           "0xE1AFD727: work (/src/demo.c:22)", "0xE1AB15C3: main (/src/demo.c:10)", "0xC5B3764: _start (/src/demo.c:1)"],
          "frames")
    equal(set(short.leaves()), {("calloc", "js:~render", "clone")}, "short-lived")
    equal({n: p.values["At t-gmax"] for n, p in gmax.leaves().items()},
          {n: p[2] for n, p in ALLOCATIONS.items() if p[2][0]}, "at t-gmax")


def check_samples(trees, name, words):
    """What is not of allocations has totals alone, in words of its own."""
    equal([t.metric for t in trees], [f"Total ({words})", f"Total ({words})", f"Total ({words}), tiny"], "sort metrics")
    expected = merged(truth.STACKS[name])
    for tree in trees:
        equal(tree.all, {"Total": (truth.total(truth.STACKS[name]),) * 2}, f"{name}: all")
        for names, point in tree.leaves().items():
            equal(point.values, {"Total": (expected[names],) * 2}, f"{name}: {names}")
    # Those of 0.5 %; each "main" alone in hostile's is below that.
    equal(set(tree.leaves()), {n for n, count in expected.items() if count >= 0.005 * tree.all["Total"][0]} -
          ({("main",)} if name == "hostile" else set()), f"{name}: leaves")


def test_the_page_shows_what_is_in_a_profile():
    names = ("allocations", "full", "deep", "one", "huge", "empty", "hostile", "types")
    with directory() as d:
        read = dict(zip(names, dhat_view(*(hand_made(d, name, "dhat", ".dhat.json") for name in names))))
    check_allocations(read["allocations"])
    for name in ("full", "deep", "one", "huge", "empty", "hostile"):
        check_samples(read[name], name, "samples")
    check("Mode:    samples\n  Command: ebprof -p 100 -d 2.5\n  PID:     0\n" in read["full"][0].head, read["full"][0].head)
    types = read["types"]
    equal([t.metric for t in types], HEAP_METRICS[:3], "metrics without lifetimes")
    equal({n: p.values for n, p in types[0].leaves().items()},
          {("malloc", "main"): {"Total": (144, 3)}, ("malloc", "work", "main"): {"Total": (4096, 0)}}, "types")


def test_the_firefox_profiler_shows_it_too():
    with directory(0o700) as d, FirefoxProfiler(d) as firefox:
        def stacks(handle="t-0"):
            found, total = firefox.stacks(handle)
            return {tuple(reversed(frames[1:])): n for frames, n in found.items()}, total     # its root is the command
        firefox.load(hand_made(d, "allocations", "dhat", ".dhat.json"))
        equal([t["name"] for t in firefox.threads().values()],
              ["Total Bytes", "Maximum Bytes", "Bytes at Global Max", "Bytes at End"], "threads")
        for i in range(4):
            equal(stacks(f"t-{i}"), ({n: p[i][0] for n, p in ALLOCATIONS.items() if p[i][0]}, sums(i)[0]), HEADINGS[i])
        firefox.load(hand_made(d, "hostile", "dhat", ".dhat.json"))
        equal(stacks(), (merged(truth.HOSTILE), truth.total(truth.HOSTILE)), "hostile names")


PROGRAM = """
#include <stdlib.h>
__attribute__((noinline)) void *kept(int n) { return calloc(1, n); }
__attribute__((noinline)) void *deeper(int n, int level) { return level ? deeper(n, level - 1) : malloc(n); }
void *all[10];
int main(void)
{
	for (int i = 0; i < 10; i++)
		all[i] = kept(100);
	for (int i = 0; i < 5; i++)
		free(deeper(1000, 2));
	return 0;
}
"""


def by_place(tree):
    """What each function of the program has, by the page."""
    return {next(f for f in n if f in ("kept", "deeper")): tuple(p.values[h] for h in HEADINGS) for n, p in tree.leaves().items()
            if {"kept", "deeper"} & set(n)}


def test_as_valgrind_counts():
    """The same program in the same numbers at the same places, by valgrind and by us; and the page is read rightly."""
    with directory() as d:
        program, out = os.path.join(d, "program"), os.path.join(d, "dhat.out.1")
        subprocess.run([needs("gcc"), "-O1", "-fno-optimize-sibling-calls", "-g", "-x", "c", "-", "-o", program], input=PROGRAM,
                       text=True, check=True, timeout=60)
        subprocess.run([needs("valgrind"), "--tool=dhat", f"--dhat-out-file={out}", program], capture_output=True, check=True,
                       timeout=60)
        trees = dhat_view(out)[0]
        ours = os.path.join(d, "dhat.out.2")
        run("alloc", "--alloc-interval", "all", "-o", ours, "--", program).ok()
        equal(by_place(dhat_view(ours)[0][0]), by_place(trees[0]), "by ebprof and by valgrind")
    by_bytes = trees[0]
    equal(by_bytes.all, {"Total": (6000, 15), "At t-gmax": (2000, 11), "At t-end": (1000, 10)}, "all")
    equal({n: tuple(p.values[h] for h in HEADINGS) for n, p in by_bytes.leaves().items()}, {
        ("calloc", "kept", "main"): ((1000, 10), (1000, 10), (1000, 10), (1000, 10)),
        ("malloc", "deeper", "deeper", "deeper", "main"): ((5000, 5), (1000, 1), (1000, 1), (0, 0)),
    }, "points")
    check({t.metric for t in trees} > set(HEAP_METRICS), "metrics:", [t.metric for t in trees])


def test_a_recording():
    """In the name that valgrind gives its own."""
    with directory(0o700) as d, FirefoxProfiler(d) as firefox:
        dhat, folded = os.path.join(d, "dhat.out.1"), os.path.join(d, "x.folded")
        r = run("-F", "499", "-o", dhat, "-o", folded, "--", fixture_path("tree"), "--seconds", "1", "--threads", "2").ok()
        with open(folded) as f:
            profile = Profile.read(f.read())
        with open(dhat) as f:
            points = json.load(f)["pps"]
        equal(len({tuple(p["fs"]) for p in points}), len(points), "each stack once")
        equal(dhat_view(dhat)[0][0].all, {"Total": (r.summary.kept,) * 2}, "samples")
        firefox.load(dhat)
        found, total = firefox.stacks()
        equal(total, r.summary.kept, "samples in the Firefox Profiler")
        expected = merged((s.comm, s.frames, s.count) for s in profile if not s.cut)
        got = {tuple(reversed(s[1:])): n for s, n in found.items() if not s[1].startswith("[truncated")}
        equal(got, expected, "stacks")
