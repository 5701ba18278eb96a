# SPDX-License-Identifier: MIT
"""Time in the flame graph page: heat map and lanes, views of a range, two ranges compared."""
import json
import math
import os
import re
import sys

import harness
from browser import command, picture, run, wait_until
from harness import check, directory, equal, fixture_path
from test_html import READY, near, set_state, shown
from test_html_edit import CATCH, contrast, parsed

# The profile "bursts" of tests/fixtures/profiles.c: (function, process, milliseconds at which it is sampled).
STEADY = {"late": [ms for ms in range(6000, 10000) if ms % 5 == 0]}
STEADY["even"] = [ms for ms in range(0, 10000, 2) if ms not in STEADY["late"]]
STEADY["odd"] = [ms for ms in range(1, 10000, 2) if ms not in STEADY["late"]]
BURSTS = [ms for ms in range(10000) if ms % 500 < 100]


def between(times, begin, end):
    return sum(begin <= ms < end for ms in times)


def expected(begin, end):
    """Samples of the functions where stacks end, in a range of milliseconds."""
    return {name: n for name, n in [(name, between(times, begin, end))
                                    for name, times in {**STEADY, "memcpy": BURSTS}.items()] if n}


def shown_self():
    return {f["name"]: f["self"] for f in run("ebprof.functions") if f["self"]}


def place(cell, at="heat"):
    """The middle of a cell of the heat map, in pixels of the page."""
    box = run(f"(({{ x, y }}) => [x, y])(document.querySelector('#{at} canvas').getBoundingClientRect())")
    return {"x": box[0] + 34 + (cell // 50 + 0.5) * 40, "y": box[1] + (49 - cell % 50 + 0.5) * 3}


def drag(begin, end, **how):
    a, b = place(begin), place(end)
    command("drag", **a, dx=b["x"] - a["x"], dy=b["y"] - a["y"], **how)
    run(READY)


def click(cell):
    command("click", **place(cell))
    run(READY)


def state(*names):
    return [run("ebprof.state")[name] for name in names]


# --- What is where. ---

def test_cells_and_threads_are_where_samples_were():
    with shown("bursts"):
        timeline = run("ebprof.timeline")
        equal([timeline["seconds"], timeline["cellMs"], len(timeline["cells"])], [10, 20, 500], "the map")
        all_ = [*BURSTS, *(ms for times in STEADY.values() for ms in times)]
        equal(timeline["cells"], [between(all_, ms, ms + 20) for ms in range(0, 10000, 20)], "samples by cell")
        threads = {t["name"]: t["times"] for t in timeline["threads"]}
        equal(threads, {"periodic 31": BURSTS, "steady 20": list(range(10000))}, "times by thread")


def test_pattern_can_be_seen():
    with shown("bursts"):
        pixels = {cell: picture(place(cell)["x"] - 1, place(cell)["y"] - 1, 3, 3)(1, 1) for cell in (0, 12, 26, 40, 50, 412)}
        check(pixels[0] == pixels[26] == pixels[50] and pixels[12] == pixels[40] == pixels[412] != pixels[0],
              "bursts are darker:", pixels)
        set_state(time="lanes")
        box = run("(({ x, y, width }) => [x, y, width])(document.querySelector('#lanes canvas').getBoundingClientRect())")
        at = lambda ms, lane: picture(box[0] + 160 + (box[2] - 160) * ms / 10000, box[1] + lane * 16 + 13, 1, 1)(0, 0)
        equal([at(ms, 1) == at(300, 1) for ms in (50, 200, 550, 800, 9050, 9200)], [False, True] * 3, "the lane of bursts")
        check(at(300, 0) != at(300, 1), "the other one has no gap")


def test_hot_and_cold_can_be_told():
    """The palest cell stands out from what is empty: WCAG 1.4.11, 3:1; texts of the panel: 4.5:1."""
    for dark in (False, True):
        with shown("timeline", dark=dark):
            box = run("(({ x, y }) => [x, y])(document.querySelector('#heat canvas').getBoundingClientRect())")
            pixel = picture(box[0] + 34, box[1], 120, 150)
            back, dim, accent = (parsed(run(f"getComputedStyle(document.body).getPropertyValue('--{name}')"))
                                 for name in ("back", "dim", "accent"))
            cells = {pixel(x, y) for x in range(2, 118, 4) for y in range(1, 149, 3)} - {back}
            check(len(cells) > 1, "shades:", cells)
            scale = [parsed(color.replace(" ", "")) for color in re.findall(r"rgb\([^)]*\)", run(
                "getComputedStyle(document.querySelector('#time .scale')).backgroundImage"))]
            check(len(scale) == 32 and cells <= set(scale), "the legend has them all:", cells - set(scale))
            text = run("document.querySelector('.time-head > .dim').innerText").split()
            check(text[0] == "0" and text[1].isdigit() and text[-3:] == ["in", "20", "ms"], text)
            check(min(contrast(c, back) for c in cells) >= 3, "dark" if dark else "light", [contrast(c, back) for c in cells])
            check(contrast(dim, back) >= 4.5 and contrast(accent, back) >= 3, "texts and marks")


def test_no_times_no_panel():
    with shown("full", hash="#range=1s-2s&against=2s-3s&color=change&time=lanes"):
        equal([run("document.querySelector('#time').hidden"), run("ebprof.total"), run("ebprof.timeline")], [True, 114, None], "")
        command("press", key="h")
        command("press", key="Escape")
        equal(state("color", "range"), ["kind", ""], "state")


# --- A range. ---

def test_all_views_are_of_the_range():
    with shown("bursts", hash="#range=2.1s-6.02s"):
        begin, end = 2100, 6020
        want, all_ = expected(begin, end), between(range(10000), begin, end) + between(BURSTS, begin, end)
        equal(run("ebprof.total"), all_, "total")
        equal(shown_self(), want, "functions")
        leaves = {n["path"].split("\n")[-1]: n["self"] for n in run("ebprof.nodes()") if n["self"]}
        equal(leaves, want, "the flame graph")
        set_state(view="bottom-up")
        roots = {n["path"].split("\n")[1]: n["total"] for n in run("ebprof.nodes()") if n["path"].count("\n") == 1}
        equal(roots, want, "bottom-up")
        set_state(view="sandwich", fn=[f["fn"] for f in run("ebprof.functions") if f["name"] == "main"][0])
        equal(run("ebprof.nodes()[0].total"), between(range(10000), begin, end), "main's callees")
        set_state(view="graph", search="burst")
        equal(run("ebprof.matched"), between(BURSTS, begin, end), "search")
        account = run("document.querySelector('#account').innerText")
        check(f"{all_:,} of 12,000 samples" in account and "in all" in account, "the heading:", account)
        set_state(range="", search="")
        equal(run("ebprof.total"), 12000, "all of it")


def test_range_is_that_of_report():
    """Times are cut to 0.1 ms in the page: what such times bound is the same."""
    with shown("timeline") as path:
        for begin, end in ((0, 0.03), (0.0025, 0.1), (0.1, 0.2), (0.05, 9)):
            set_state(range=f"{begin}s-{end}s")
            folded = harness.run("report", "--from", f"{begin}s", "--to", f"{end}s", "-f", "folded", path).ok().out
            want = {}
            for line in folded.splitlines():
                stack, _, n = line.rpartition(" ")
                leaf = stack.split(";")[-1] if ";" in stack else None
                want[leaf] = want.get(leaf, 0) + int(n)
            equal(run("ebprof.total"), sum(want.values()), f"total of {begin} to {end}")
            leaves = {}
            for n in run("ebprof.nodes()"):
                path_ = n["path"].split("\n")
                leaf = path_[-1] if len(path_) > 3 else None
                leaves[leaf] = leaves.get(leaf, 0) + n["self"]
            equal({k: v for k, v in leaves.items() if v}, want, "where stacks end")


def test_switches_and_edits_within_a_range():
    """A range that has everything looks like no range, whatever is left out."""
    nodes = "JSON.stringify(ebprof.nodes())"
    with shown("timeline"):
        key = run("ebprof.colors.profile.frames.keyOf(ebprof.functions.find((f) => f.name === 'work') && "
                  "ebprof.colors.profile.frames.name.indexOf('work'))")
        for edits in ([], [f"focus:{key}"], [f"drop:{key}"], [f"hide:{key}"], [f"collapse:{key}"]):
            for hide in ([], ["process"], ["kernel", "inlined"], ["thread", "process", "user"]):
                set_state(range="", edits=edits, hide=hide)
                whole = run(nodes)
                set_state(range="0s-100s")
                equal(json.loads(run(nodes)), json.loads(whole), f"{edits} {hide}")
        set_state(edits=[f"drop:{key}"], hide=[], range="0s-0.1s")
        check(0 < run("ebprof.nodes()[0].total") < run("ebprof.total"), "what is left out still counts for all")


def test_choose_by_drag_clicks_and_text():
    with shown("bursts"):
        drag(105, 234)
        equal(state("range"), ["2.1s-4.7s"], "a drag: from the first cell to the last one")
        equal(run("ebprof.total"), 2600 + between(BURSTS, 2100, 4700), "its samples")
        check("range=2.1s-4.7s" in run("location.hash"), run("location.hash"))
        drag(234, 105)
        equal(state("range"), ["2.1s-4.7s"], "backwards")
        click(50)
        equal(state("range"), ["2.1s-4.7s"], "a click begins one")
        click(99)
        equal(state("range"), ["1s-2s"], "a second one ends it")
        click(7)
        command("press", key="Escape")
        equal(state("range"), ["1s-2s"], "Escape ends what was begun,")
        command("press", key="Escape")
        equal(state("range"), [""], "then the range")
        run("document.querySelector('#range').focus()")
        command("type", text="500ms to 1.5")
        command("press", key="Enter")
        equal(state("range"), [""], "not a range")
        equal(run("document.querySelector('#range').ariaInvalid"), "true", "and is told")
        run("document.querySelector('#range').select()")
        command("type", text="500ms - 1.5s")
        command("press", key="Enter")
        wait_until("ebprof.state.range === '0.5s-1.5s'")
        run("document.querySelector('#range-clear').click()")
        equal([*state("range"), run("ebprof.total")], ["", 12000], "the button")
        command("back")
        wait_until("ebprof.total !== 12000")
        equal(state("range"), ["0.5s-1.5s"], "back")


def test_choose_by_keys():
    with shown("bursts"):
        run("document.querySelector('#heat').focus()")
        for key in ("ArrowRight", "ArrowRight", "ArrowUp", "Enter"):
            command("press", key=key)
        check("a range begins" in run("document.querySelector('#status').textContent"), "said to who does not see it")
        for key in ("ArrowRight", "ArrowDown", "Enter"):
            command("press", key=key)
        equal(state("range"), ["2.02s-3.02s"], "from cell to cell")
        command("press", key="ArrowRight")
        command("press", key="Enter", hold=["Shift"])
        command("press", key="ArrowRight")
        command("press", key="Enter", hold=["Shift"])
        equal(state("range", "against"), ["2.02s-3.02s", "4s-5.02s"], "a second one")
        command("press", key="Escape")
        equal(state("range", "against", "color"), ["2.02s-3.02s", "", "kind"], "Escape")
        command("press", key="h")
        equal(state("time"), ["lanes"], "h")
        run("document.querySelector('#lanes').focus()")
        for key in ("ArrowDown", "ArrowRight", "Enter", "ArrowRight", "Enter"):
            command("press", key=key)
        wait_until("ebprof.state.range !== '2.02s-3.02s'")


def test_choose_in_lanes():
    with shown("bursts", hash="#time=lanes"):
        box = run("(({ x, y, width }) => [x, y, width])(document.querySelector('#lanes canvas').getBoundingClientRect())")
        scale = (box[2] - 160) / 10000
        command("drag", x=box[0] + 160 + 2000 * scale, y=box[1] + 8, dx=3000 * scale, dy=0)
        run(READY)
        begin, end = (float(s[:-1]) for s in state("range")[0].split("-"))
        near(begin, 2, "begin", 2 / scale / 1000)
        near(end, 5, "end", 2 / scale / 1000)
        run("document.querySelector('#range-zoom').click()")
        command("drag", x=box[0] + 160 + 1000 * scale, y=box[1] + 8, dx=1000 * scale, dy=0)
        run(READY)
        near(float(state("range")[0].split("s-")[0]), 2.3, "zoomed", 0.01)
        command("move", x=box[0] + 300, y=box[1] + 8)
        check("steady" in run("document.querySelector('#tooltip').textContent"), run("document.querySelector('#tooltip').textContent"))


# --- Waits. ---

def lane_picture(width=1280):
    """(ms, lane) -> the colour there, of 2.5 s in lanes."""
    box = run("(({ x, y, width }) => [x, y, width])(document.querySelector('#lanes canvas').getBoundingClientRect())")
    at = lambda ms: box[0] + 160 + (box[2] - 160) * ms / 2500
    return (lambda ms, lane: picture(at(ms), box[1] + lane * 16 + 9, 1, 1)(0, 0)), (lambda ms, lane: (at(ms), box[1] + lane * 16 + 9))


def test_waits_are_bars():
    """In the profile "waits" a thread sleeps and waits for a CPU three times, and another one waits for a lock all the time."""
    with shown("waits", hash="#time=lanes"):
        threads = {t["name"]: list(zip(t["times"], t["lasted"])) for t in run("ebprof.timeline.threads")}
        sleeps = [span for second in (0, 1000, 2000) for span in ((second + 100, 250), (second + 350, 2))]
        equal({name.split()[0]: [tuple(map(round, span)) for span in spans] for name, spans in threads.items()},
              {"server": sleeps, "locker": [(0, 2500)]}, "begins and lengths, ms")
        color, place_ = lane_picture()
        server, locker = (1, 2) if "server" in run("ebprof.timeline.rows[1]") else (2, 1)
        blocked, runnable, nothing = color(200, server), color(351, server), color(700, server)
        equal(len({blocked, runnable, nothing}), 3, "colours of reasons, and of no wait")
        equal([color(ms, server) for ms in (110, 340, 1200, 2300, 50, 400, 1090, 2400)], [blocked] * 4 + [nothing] * 4, "sleeps")
        equal([color(ms, locker) for ms in (5, 700, 1700, 2490)], [blocked] * 4, "a wait from end to end")
        x, y = place_(1200, server)
        command("move", x=x, y=y)
        text = run("document.querySelector('#tooltip').innerText")
        check(re.search(r"blocked: hrtimer_nanosleep\n.*server.*250 ms: 1.1s – 1.35s\nin main", text), "what, how long, where:", text)
        run("[...document.querySelectorAll('.reasons button')].find((b) => b.textContent === 'blocked').click()")
        equal(run("ebprof.state.quiet"), ["[blocked]"], "the legend")
        equal([color(200, server), color(351, server)], [nothing, runnable], "leaves a reason out")
        check("quiet=%5Bblocked%5D" in run("ebprof.link"), "the link:", run("ebprof.link"))


def test_bars_can_be_seen():
    for dark in (False, True):
        with shown("waits", dark=dark):
            back = parsed(run("getComputedStyle(document.body).getPropertyValue('--back')"))
            colors = run("ebprof.timeline.reasons")
            check(len(colors) == 5 and len(set(colors.values())) == 5, "reasons:", colors)
            for name, color in colors.items():
                check(contrast(parsed(color), back) >= 3, name, color, "dark" if dark else "light")


def test_range_has_parts_of_waits():
    """Of a wait that goes on beyond the range what is within, as `report --from --to` has it; the heat map has where each began."""
    with shown("waits") as path:
        equal([i for i, n in enumerate(run("ebprof.timeline.cells")) if n], [0, 5, 17, 55, 67, 105, 117], "the heat map")
        for begin, end in ((0.2, 0.3), (0.34, 0.3515), (1, 2), (0, 2.5), (0.5, 0.9)):
            folded = harness.run("report", "--from", f"{begin}s", "--to", f"{end}s", "-f", "folded", path).ok().out
            want = sum(int(line.rpartition(" ")[2]) for line in folded.splitlines())
            set_state(range=f"{begin}s-{end}s")
            near(run("ebprof.total"), want, f"waited from {begin} to {end}", want * 1e-6 + 1)
        set_state(type=0, range="0.2s-1.2s")
        near(run("ebprof.total"), 1 + 103 / 3, "a number counts where each wait begins", 1)


def test_who_ended_a_wait():
    with directory() as d:
        path = os.path.join(d, "out.html")
        harness.run("-e", "cpu-clock", "-F", 499, "--off-cpu", "--wakers", "--no-keep", "-o", path, "--",
                    fixture_path("waits"), 1).ok()
        command("open", file=path, wait=READY, hash="#time=lanes")
        waits = run("ebprof.timeline.waits()")
        found = [w for w in waits if re.search(r"woken by wake_others, in \w+", w["text"])]
        check(found and any(w["text"].startswith("blocked: ") for w in found), "waits:", [w for w in waits if "woken by" in w["text"]][:9])
        total = sum(n["self"] for n in run("ebprof.set({ type: ebprof.types.findIndex((t) => t.name === 'off-cpu') }), ebprof.nodes()"))
        set_state(range="0s-1000s")
        near(run("ebprof.total"), total, "a range with all, of waits beside samples", total * 1e-6)
        equal(command("problems"), [], "problems")


# --- Two ranges. ---

def mid_p(a, b, share):
    """Lancaster's, two-sided, of a binomial."""
    n = a + b
    weights = [math.exp(math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1) + k * math.log(share) +
                        (n - k) * math.log(1 - share)) for k in range(n + 1)]
    return min(1, 2 * min(sum(weights[:a]) + weights[a] / 2, sum(weights[a + 1:]) + weights[a] / 2))


def test_chance():
    with shown("bursts", hash="#range=0s-2s&against=4s-7s"):
        for a, b in ((0, 6), (3, 3), (10, 15), (20, 40), (60, 40), (300, 400), (4, 100)):
            got, want = run(f"ebprof.timeline.chance({a}, {b})"), mid_p(a, b, 0.4)
            check(abs(got - want) <= 1e-6 + 0.002 * want, f"{a} of {a + b}: {got}, exactly {want}")
        got, want = run("ebprof.timeline.chance(1000, 1590)"), mid_p(1000, 1590, 0.4)
        check(abs(got - want) < 0.005, "by the normal distribution:", got, want)
        equal(run("ebprof.timeline.chance(0, 4)"), 1, "too few")


def table():
    rows = run("[...document.querySelectorAll('#top-rows .row')].map((r) => [...r.children].map((c) => c.textContent))")
    return {r[5]: r[:5] for r in rows}


def test_compare_two_ranges():
    with shown("bursts"):
        drag(150, 249)
        drag(350, 449, hold=["Shift"])
        equal(state("range", "against", "color", "sort"), ["3s-5s", "7s-9s", "change", "change"], "marked")
        equal(run("ebprof.total"), [2400, 2400], "both")
        nodes = {n["path"].split("\n")[-1]: n["self"] for n in run("ebprof.nodes()")}
        equal([nodes["late"], nodes["even"], nodes["memcpy"]], [[0, 400], [1000, 800], [400, 400]], "before and after")
        set_state(view="top")
        rows = table()
        equal([rows["late"][3], rows["even"][3]], ["new", "\u221220.0 %"], "what differs")
        for name in ("memcpy", "main", "burst"):
            equal(rows[name][2:], ["=", "in noise", "="], f"{name} does not")
        legend = run("document.querySelector('#legend').textContent")
        check("no difference seen" in legend, legend)
        set_state(view="graph")
        run(CATCH)
        run("document.querySelector('#save-open').click()")
        run("[...document.querySelectorAll('#menu button')].find((b) => b.innerText === 'Save as SVG').click()")
        wait_until("window.saved.length === 1")
        saved = re.findall('<text [^>]*y="([0-9.]+)"[^>]*>([^<]*)</text>', run("window.saved[0].text()"))
        words = ["gone", "half", "same share", "twice", "new", "no difference seen"]
        equal([text for _, text in saved[-len(words):]], words, "the legend of a picture")
        check(all(float(saved[-1][0]) > float(y) for y, text in saved if text not in words), "below it:", saved)
        url = run("location.hash")
    with shown("bursts", hash=url):
        equal([*state("range", "against", "color"), run("ebprof.total")], ["3s-5s", "7s-9s", "change", [2400, 2400]], "a link")
        run("document.querySelector('#range-clear').click()")
        equal([*state("range", "against", "color", "sort"), run("ebprof.total")], ["", "", "kind", "self", 12000], "ended")
        check(not run("document.body.classList.contains('difference')"), "no menu of widths")
        set_state(view="top")
        equal(table()["main"][:2], ["0.00", "0"], "the usual table")


def test_ranges_of_two_lengths():
    """What is as frequent is the same, however long each range is; and what is said of a box."""
    with shown("bursts", hash="#range=0s-5s&against=5s-7s&color=change"):
        equal(run("ebprof.total"), [6000, 2400], "both")
        colors = run("[ebprof.colors.of(0, [[500], [200]], 0), ebprof.colors.of(0, [[500], [300]], 0), "
                     "ebprof.colors.of(0, [[500], [201]], 0), ebprof.colors.onScale(NaN)]")
        check(colors[0] == colors[2] == colors[3] != colors[1], "colours:", colors)
        b = next(b for b in run("ebprof.boxes") if b["name"] == "main")
        command("move", x=b["x"] + 30, y=b["y"] + 8)
        text = run("document.querySelector('#tooltip').innerText")
        check(re.search(r"range 1.*range 2", text) and "no difference seen" in text, "tooltip:", text)


def test_button_marks_the_second():
    with shown("bursts"):
        drag(0, 49)
        run("document.querySelector('#mark').click()")
        drag(100, 149)
        equal(state("range", "against"), ["0s-1s", "2s-3s"], "without Shift")
        drag(150, 199)
        equal(state("range", "against"), ["3s-4s", "2s-3s"], "then the first again")
        run("document.querySelector('#against').value = ''; document.querySelector('#against').onchange()")
        equal(state("range", "against"), ["3s-4s", ""], "an empty field")


# --- Screens, and what is real. ---

def test_small_screen():
    with shown("bursts", width=390, height=760, touch=True):
        equal(run("document.documentElement.scrollWidth <= 390"), True, "no wider than the screen")
        check(run("document.querySelector('#graph').clientHeight") > 200, "the picture has room")
        box = run("(({ x, y, width }) => [x, y, width])(document.querySelector('#heat canvas').getBoundingClientRect())")
        column = (box[2] - 34) // 10
        for second in (2, 4):
            command("tap", x=box[0] + 34 + (second + 0.5) * column, y=box[1] + 75)
        wait_until("ebprof.state.range !== ''")
        equal([s.split(".")[0] for s in state("range")[0].split("-")], ["2", "4"], "two taps")
        equal(run("document.querySelector('.time-head').scrollWidth <= 390"), True, "all buttons are on the screen")


def test_million_times():
    with shown("million-times"):
        equal(run("ebprof.total"), 1000000, "total")
        set_state(range="10s-12s")
        equal(run("ebprof.total"), 8000, "a range")
        equal(run("ebprof.nodes()[0].total"), 8000, "its tree")
        set_state(range="10s-110s")
        equal(run("ebprof.total"), 400000, "a large one")
        check(run("ebprof.timeline.cells.length") == 250 * 50, "cells")


# Bursts and sleeps, and when they were: CPU time of each, and begin and end by the clock.
BURSTING = """
import json, time
marks = []
for i in range(12):
    time.sleep(0.06 + 0.01 * (i % 3))
    begin, cpu = time.time(), time.thread_time()
    while time.thread_time() - cpu < 0.04:
        sum(range(300))
    marks.append([begin, time.time(), time.thread_time() - cpu])
print(json.dumps(marks), flush=True)
time.sleep(0.3)
"""


def test_bursts_are_where_they_were():
    with directory() as d:
        path = os.path.join(d, "out.html")
        result = harness.run("-F", 4999, "--timeline", "--no-keep", "-o", path, "--", sys.executable, "-c", BURSTING).ok()
        marks = json.loads(result.out)
        command("open", file=path, wait=READY)
        start = run("ebprof.meta.start") / 1000
        times = [start + t / 1000 for thread in run("ebprof.timeline.threads") for t in thread["times"]]
        within = [t for t in times if marks[0][0] - 0.05 <= t <= marks[-1][1] + 0.25]
        outside = [t for t in within if not any(begin - 0.001 <= t <= end + 0.001 for begin, end, _ in marks)]
        # Going to sleep and waking up take a sample now and then.
        check(len(outside) <= len(within) / 50, f"{len(outside)} of {len(within)} samples in sleeps:", outside[:5], marks)
        for begin, end, cpu in marks:
            n = sum(begin - 0.001 <= t <= end + 0.001 for t in within)
            # What a host takes of its guest's CPU is the thread's for the clock of samples, not in its CPU time.
            check(0.7 * cpu <= n / 4999 <= 1.3 * (end - begin), f"a burst of {cpu:.3f} s in {end - begin:.3f} s has {n} samples")
        equal(command("problems"), [], "problems")
