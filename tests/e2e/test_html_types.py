# SPDX-License-Identifier: MIT
"""Several types of values in the flame graph page: which one gives the widths, and ratios of two as colours."""
import json
import os

import harness
from browser import command, picture, run, wait_until
from harness import check, directory, equal, fixture_path
from test_html import READY, box, click, near, set_state, shown

TYPES = ["samples", "cycles", "instructions", "cache-misses"]
SELF = {"stalls": [40, 4000, 1000, 100], "computes": [50, 5000, 15000, 15], "helps": [8, 1000, 4000, 0],
        "uncounted": [2, 0, 0, 0]}


def choose(**values):
    """As a user does, in the menus."""
    for name, value in values.items():
        run(f"(() => {{ const s = document.getElementById('{name}'); s.value = '{value}';"
            " s.dispatchEvent(new Event('change')); })()")
    run(READY)


def total(i):
    return sum(v[i] for v in SELF.values())


def functions():
    return {f["name"]: f for f in run("ebprof.functions")}


def color(name):
    b = box(name)
    return picture(b["x"] + b["width"] - 6, b["y"] + 4, 2, 2)(0, 0)


def visible(name):
    return run(f"getComputedStyle(document.getElementById('{name}')).display !== 'none'")


def test_each_type_in_each_view():
    with shown("counters"):
        equal(run("ebprof.types.map((t) => t.name)"), TYPES, "types")
        for i, name in enumerate(TYPES):
            choose(type=i)
            equal(run("[ebprof.type, ebprof.total]"), [name, total(i)], "what is shown")
            for view in ("graph", "top", "bottom-up"):
                set_state(view=view)
                truth = {f: v[i] for f, v in SELF.items() if v[i]}
                equal({n: f["self"] for n, f in functions().items() if f["self"]}, truth, f"self of {name} in {view}")
                equal(run("ebprof.nodes()[0].total"), total(i), f"root of {name} in {view}")
                if view == "top":
                    rows = run("[...document.querySelectorAll('#top-rows .row')].map((r) => r.innerText.split(/\\n/))")
                    equal({r[4] for r in rows if r[1] != "0"}, set(truth), f"the table of {name}")
            first = run("ebprof.nodes().map((n) => n.path.split('\\n')).filter((p) => p.length === 2)")
            equal([p[1] for p in first], sorted(truth, key=lambda f: -truth[f]), f"bottom-up by {name}")
            set_state(view="sandwich", fn=functions()["computes"]["fn"])
            equal(run("ebprof.nodes()[0].total"), SELF["computes"][i] + SELF["helps"][i], f"sandwich by {name}")
            set_state(view="graph", search="stalls")
            equal(run("ebprof.matched"), SELF["stalls"][i], f"what a search finds of {name}")
            near(box("stalls")["width"] / box("all")["width"], SELF["stalls"][i] / total(i), f"width by {name}", 0.01)
            set_state(search="")
        check("115 cache-misses" in run("document.querySelector('#account').innerText"), "the header follows")


def test_the_choice_is_in_the_address():
    with shown("counters"):
        click("computes")
        choose(type=1)
        near(box("computes")["width"], box("all")["width"], "the zoom stays", 2)
        wait_until("location.hash.includes('type=cycles')")
        url = run("location.href")
    with shown("counters", hash="#" + url.partition("#")[2]):
        equal(run("ebprof.type"), "cycles", "type of a link")
        near(box("computes")["width"], box("all")["width"], "zoom of a link", 2)
        command("press", key="v")
        equal(run("ebprof.type"), "instructions", "the key goes to the next one")
    for nonsense in ("#type=nonsense&of=__proto__&per=7", "#color=ratio&of=cycles&per=", "#color=change"):
        with shown("counters", hash=nonsense):
            equal(run("[ebprof.type, ebprof.total]"), ["samples", 100], f"at {nonsense}")
            check(len(run("ebprof.boxes")) > 3, "boxes at", nonsense)


def test_ratio():
    with shown("counters"):
        equal([visible(n) for n in ("type", "of", "per", "palette")], [True, False, False, False], "menus at first")
        choose(color="ratio")
        equal([visible(n) for n in ("type", "of", "per", "palette")], [True] * 4, "menus of a ratio")
        equal(run("[ebprof.ratio, ebprof.type]"), ["IPC", "samples"], "the ratio to begin with")
        rates = {n: f["ratio"] for n, f in functions().items()}
        equal([rates[n] for n in ("stalls", "computes", "helps")], [0.25, 3, 4], "IPC of functions themselves")
        near(box("stalls")["width"] / box("all")["width"], 0.4, "the widths are samples still", 0.01)
        slow, fast, none = color("stalls"), color("computes"), color("uncounted")
        check(slow[0] > slow[1] + 40, "few instructions per cycle are red:", slow)
        check(max(none) - min(none) < 20, "what was not counted has no colour:", none)
        check(fast != slow and fast[1] > fast[0], "many are green:", fast)
        b = box("computes")
        command("move", x=b["x"] + 30, y=b["y"] + 5)
        tip = run("document.querySelector('#tooltip').innerText").split("\n")
        check(any("Self IPC" in t and t.endswith("3") for t in tip), "own IPC:", tip)
        check(any(t.startswith("IPC") and t.endswith("3.17") for t in tip), "IPC with what it calls:", tip)
        check("IPC" in run("document.querySelector('#legend').innerText"), "the legend")
        check("2 of all" in run("document.querySelector('#legend').innerText"), "the ratio of all")
        choose(of=3, per=2)
        equal(run("ebprof.ratio"), "cache-misses per 1000 instructions", "misses")
        equal({n: f["ratio"] for n, f in functions().items() if n in ("stalls", "computes")}, {"stalls": 100, "computes": 1}, "misses")
        check(color("stalls")[0] > color("stalls")[1] + 40, "many misses are red:", color("stalls"))
        set_state(view="top")
        run("document.querySelector('#top-head [data-by=ratio]').click()")
        rows = run("[...document.querySelectorAll('#top-rows .row')].map((r) => r.innerText.split(/\\n/))")
        equal([(r[5], r[4]) for r in rows][:2], [("stalls", "100"), ("computes", "1")], "the table by ratio")
        set_state(view="bottom-up")
        nodes = {n["path"]: n["total"] for n in run("ebprof.nodes()")}
        equal(nodes["all\nhelps"], 8, "bottom-up, with a ratio")
        choose(of=1, per=0)
        equal(run("ebprof.ratio"), "cycles per sample", "any by any")


def test_no_menu_of_one_type():
    for name, flags in (("full", []), ("difference", ["--difference"])):
        with shown(name, *flags):
            equal([visible(n) for n in ("type", "of", "per")], [False] * 3, f"menus of {name}")
            equal("ratio" in json.dumps(run("ebprof.state.color")), False, "colour")


def test_allocations():
    with shown("allocations"):
        equal(run("ebprof.type"), "inuse_space", "what is shown at first")
        names = run("ebprof.types.map((t) => t.name)")
        choose(type=names.index("alloc_objects"))
        equal(run("ebprof.total"), 1145, "blocks")
        choose(color="ratio", of=names.index("alloc_space"), per=names.index("alloc_objects"))
        equal(run("ebprof.ratio"), "alloc_space per alloc_object", "bytes per block")
        equal(run("[...document.querySelectorAll('#type option')].map((o) => o.textContent)").count("Widths: alloc_space (bytes)"), 1,
              "the menu's words")
        check("28.1 B of all" in run("document.querySelector('#legend').innerText"), "in its unit")
        near(next(f["ratio"] for f in run("ebprof.functions") if f["name"] == "calloc"), 16, "bytes of a block")


def test_recording():
    """--counters, on any machine: software events are counted, too."""
    with directory() as d:
        path = os.path.join(d, "out.html")
        result = harness.run("-F", 499, "-d", 1, "--counters", "task-clock,page-faults", "-o", path, "--", fixture_path("tree"), "1")
        command("open", file=path, wait=READY)
        names = run("ebprof.types.map((t) => t.name)")
        equal(names, ["samples", "task-clock", "page-faults"], "types, without the time that samples stand for")
        equal(run("ebprof.total"), result.summary.kept, "samples of the summary")
        choose(type=names.index("task-clock"))
        check(run("ebprof.total") > 0 and box("all")["width"] > 500, "the clock's time gives the widths")
        equal(command("problems"), [], "problems")
