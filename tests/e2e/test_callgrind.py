# SPDX-License-Identifier: MIT
"""The callgrind format, read by callgrind_annotate and by kcachegrind."""
import itertools
import os
import re
import subprocess

import truth
from harness import check, directory, equal, fixture_path, needs, run, wait_for

THREAD = "[thread]"


class Annotated:
    """What callgrind_annotate makes of a file; a function is "file:name [object]", as it shows it."""

    def __init__(self, path, *options):
        # In the directory of the sources it takes a called function's file for another than the function's own.
        done = subprocess.run([needs("callgrind_annotate"), "--threshold=100", "--auto=no", "--show-percs=no",
                               "--tree=both", *options, path], capture_output=True, timeout=60, check=True, cwd="/")
        # It tells lines and numbers that it cannot read.
        equal(done.stderr, b"", "complaints")
        self.text = done.stdout.decode()
        self.events = re.search(r"^Events recorded:\s+(.*)$", self.text, re.M)[1].split()
        numbers = r"^\s*" + r"([\d,]+|\.)\s+" * len(self.events)
        m = re.search(numbers + r"PROGRAM TOTALS( \(calculated\))?$", self.text, re.M)
        self.totals = self.values(m.groups()[:-1])
        self.functions, self.callers, self.callees = {}, {}, {}
        before = []
        for line in self.text.splitlines():
            m = re.match(numbers + r"([<*>])\s+(.*)$", line)
            if not m:
                continue
            values, kind, name = self.values(m.groups()[:-2]), m[len(self.events) + 1], m[len(self.events) + 2]
            if kind == "<":
                before.append((name, values))
            elif kind == "*":
                check(name not in self.functions, "twice:", name)
                self.functions[name], current = values, name
                self.callers[name], before = dict(before), []
            else:
                self.callees.setdefault(current, {})[name] = values

    @staticmethod
    def values(texts):
        return tuple(0 if t == "." else int(t.replace(",", "")) for t in texts)

    def by_name(self, event=0, first=False):
        """Sums by name alone, over all levels of recursion or of the first one; threads are left out."""
        out = {}
        for shown, values in self.functions.items():
            if not shown.startswith(THREAD + ":"):
                name, level = re.match(r".*?:(.*?)(?:'(\d+))? \[.*?\]+$", shown).groups()
                if not first or level in (None, "1"):
                    out[name] = out.get(name, 0) + values[event]
        return {name: value for name, value in out.items() if value}


def both(path):
    return Annotated(path, "--inclusive=yes"), Annotated(path, "--inclusive=no")


def check_functions(path, stacks, event=0, types=None):
    """Each function's own and inclusive costs are the profile's, and nothing passes its total."""
    inclusive, own = both(path)
    expected = truth.functions(stacks)
    equal(inclusive.events, types or ["samples", "cpu"], "events")
    equal(inclusive.totals[event], truth.total(stacks), "the total")
    equal(sum(v[event] for v in own.functions.values()), truth.total(stacks), "sum of the functions' own costs")
    equal(own.by_name(event), {name: v[0] for name, v in expected.items() if v[0]}, "own")
    equal(inclusive.by_name(event, first=True), {name: v[1] for name, v in expected.items()}, "inclusive")
    for name, values in inclusive.functions.items():
        check(values[event] <= inclusive.totals[event], "more than all:", name)
        callers = inclusive.callers[name]
        if callers:
            equal(sum(v[event] for v in callers.values()), values[event], f"sum of the calls of {name}")
    return inclusive


def test_functions_cost_what_was_sampled_in_them():
    with directory() as d:
        for name in ("full", "one", "huge", "deep"):
            check_functions(truth.write(name, "callgrind", f"{d}/{name}"), truth.STACKS[name])


def test_callers_and_callees():
    with directory() as d:
        got = check_functions(truth.write("full", "callgrind", f"{d}/x"), truth.FULL)
    work = "/src/demo.c:work [demo]"
    calls = {k.replace(" (1x)", ""): v[0] for k, v in got.callees[work].items()}
    equal(calls, {"/src/inline.h:hash [demo]": 25, "/src/demo.c:leaf [demo]": 5}, "called by work")
    calls = {k.replace(" (1x)", ""): v[0] for k, v in got.callers[work].items()}
    equal(calls, {"/src/demo.c:main [demo]": 65, "/src/demo.c:clone [demo]": 12, "???:[truncated: depth] [???]": 5},
          "callers of work")
    equal(got.functions["/src/demo.c:walk'3 [demo]"][0], 9, "the third level of a recursion")
    equal({k: v[0] for k, v in got.functions.items() if k.startswith(THREAD)},
          {f"{THREAD}:{comm} [{THREAD}]": n for comm, n in
           (("demo", 84), ("worker one", 21), ("server", 6), ("helper", 3))}, "threads")
    check("Profiled target:  ebprof -p 100 -d 2.5\n" in got.text, "no command in:", got.text)


def test_lines():
    """callgrind_annotate finds a source file's lines and writes the costs beside them."""
    with directory() as d:
        path = truth.write("full", "callgrind", f"{d}/x")
        source = os.path.join(d, "demo.c")
        with open(source, "w") as f:
            f.writelines(f"line {i}\n" for i in range(1, 51))
        with open(path) as f:
            text = f.read()
        with open(path, "w") as f:
            f.write(text.replace("/src/demo.c", source))
        out = subprocess.run([needs("callgrind_annotate"), "--show-percs=no", "--show=samples", path, source],
                             capture_output=True, text=True, check=True, timeout=60).stdout
    got = {int(m[2]): m[1] for m in re.finditer(r"^\s*([\d,.]+)\s+line (\d+)$", out, re.M)}
    equal({line: got.get(line) for line in (20, 31, 40)}, {20: "52", 31: "9", 40: "5"}, "samples of lines")


def test_nothing_sampled():
    with directory() as d:
        got = Annotated(truth.write("empty", "callgrind", f"{d}/x"), "--inclusive=yes")
    equal((got.totals, got.functions), ((0, 0), {}), "of an empty profile")


def test_hostile_names():
    with directory() as d:
        inclusive, own = both(truth.write("hostile", "callgrind", f"{d}/x"))
    equal(inclusive.totals[0], truth.total(truth.HOSTILE), "the total")
    expected_own, expected = {}, {f"{THREAD}:{truth.HOSTILE_COMM} [{THREAD}]": sum(range(len(truth.HOSTILE_NAMES) + 1))}
    for i, name in enumerate(truth.HOSTILE_NAMES):
        shown = "_" if name == " " else name        # readers take blanks away
        first = shown + "'1" if shown == "a'2" else shown
        main, function, inlined = f"{shown}:main [{shown}]", f"/src/inline.h:{first} [demo]", f"{shown}'2"
        expected.update({main: i + 2, function: i + 1, f"{THREAD}:{first} [{THREAD}]": 1,
                         f"/src/inline.h:{inlined} [demo]": i + 1})
        expected_own.update({main: 1, f"/src/inline.h:{inlined} [demo]": i + 1})
    equal({k: v[0] for k, v in inclusive.functions.items()}, expected, "inclusive")
    equal({k: v[0] for k, v in own.functions.items() if v[0]}, expected_own, "own")


def test_all_types_are_events():
    with directory() as d:
        path = truth.write("types", "callgrind", f"{d}/x")
        check_functions(path, truth.TYPES, types=["alloc_space", "alloc_objects"])
        inclusive = Annotated(path, "--inclusive=yes")
    equal(inclusive.totals, (4240, 3), "totals")
    equal(inclusive.by_name(1, first=True), {"main": 3, "malloc": 3}, "objects")


def test_a_recording():
    """In the name that kcachegrind looks for, and with the costs of the folded stacks that were written beside it."""
    with directory() as d:
        callgrind, folded = os.path.join(d, "callgrind.out.1"), os.path.join(d, "x.folded")
        result = run("-F", 499, "-d", "0.8s", "-o", callgrind, "-o", folded, "--", fixture_path("inlined_spin")).ok()
        with open(folded) as f:
            lines = [line.rstrip("\n").rpartition(" ") for line in f]
        stacks = [(frames.split(";")[0], frames.split(";")[1:], int(count)) for frames, _, count in lines]
        equal(truth.total(stacks), result.summary.kept, "samples")
        check(result.summary.kept > 50, "too few samples:", result.err)
        got = check_functions(callgrind, stacks)
        check(any(re.match(r".*inlined_spin\.c:.* \[inlined_spin\]$", name) for name in got.functions),
              "no source file:", got.text)


def test_kcachegrind():
    """It loads files without a complaint, and its window tells whose they are."""
    tools = [needs(t) for t in ("xvfb-run", "dbus-run-session", "kcachegrind")]
    needs("xwininfo")
    with directory(0o700) as d:
        paths = [truth.write(name, "callgrind", f"{d}/callgrind.out.{name}") for name in ("full", "hostile", "deep")]
        # One window each; the last word ends the display when all are there.
        script = ('for f in "$@"; do kcachegrind "$f" & done; while read -r _; do xwininfo -root -tree; echo end; done; '
                  'kill $(jobs -p); wait')
        env = {**os.environ, "HOME": d, "XDG_RUNTIME_DIR": d, "QT_QPA_PLATFORM": "xcb", "LC_ALL": "C.UTF-8"}
        with open(f"{d}/err", "w+") as err, subprocess.Popen(
                [tools[0], "-a", tools[1], "--", "bash", "-c", script, "bash", *paths], env=env, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err) as display:
            def windows():
                check(display.poll() is None, "the display ended")
                display.stdin.write("\n")
                display.stdin.flush()
                return "".join(itertools.takewhile(lambda line: line != "end\n", display.stdout))
            try:
                wait_for(lambda: all(f"{os.path.basename(p)} [ebprof -p 100 -d 2.5]" in shown for p in paths)
                         if (shown := windows()) else False, "the windows", 30)
            finally:
                display.stdin.close()
            display.wait(20)
            err.seek(0)
            complaints = [line for line in err if line.startswith("Loading ")]
            equal(complaints, [], "complaints")
