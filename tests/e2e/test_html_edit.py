# SPDX-License-Identifier: MIT
"""What the flame graph page lets its reader do: leave things out, link, save, wheel, drag, tap."""
import os
import re
import xml.dom.minidom

from browser import command, picture, run, wait_until
from harness import check, directory, equal
from test_html import READY, box, click, near, set_state, shown, stacks, write

# Blobs that the page saves, by their texts.
CATCH = """(() => { window.saved = []; const make = URL.createObjectURL;
    URL.createObjectURL = (blob) => { window.saved.push(blob); return make.call(URL, blob); }; })()"""


def choose(name, entry):
    click(name, button="right")
    run(f"[...document.querySelectorAll('#menu button')].find((b) => b.innerText.startsWith({entry!r})).click()")
    run(READY)


def paths():
    return {n["path"]: n["self"] for n in run("ebprof.nodes()") if n["self"]}


def expected(keep=lambda frames: True, change=lambda frames: frames):
    out = {}
    for frames, count in stacks("full"):
        frames = [f.replace("_one", " one") for f in frames]
        if keep(frames):
            path = "\n".join(["all"] + change(frames))
            out[path] = out.get(path, 0) + count
    return out


def test_focus_and_leave_out():
    with shown("full", hash="#hide=process"):
        choose("hash", "Focus")
        equal(paths(), expected(lambda f: "hash" in f), "only stacks with hash")
        equal(run("ebprof.nodes()[0].total"), 25, "its samples")
        run("document.querySelector('#caption .edit').click()")
        equal(paths(), expected(), "taken back")
        choose("work", "Leave out")
        equal(paths(), expected(lambda f: "work" not in f), "stacks without work")
        run("history.back()")
        wait_until("ebprof.state.edits.length === 0")
        equal(paths(), expected(), "back")


def test_hide_function_and_module():
    with shown("full", hash="#hide=process"):
        choose("main", "Hide this function")
        equal(paths(), expected(change=lambda f: [x for x in f if x != "main"]), "main's callers have its time")
        run("document.querySelector('#reset').click()")
        choose("write", "Hide all of libc.so.6")
        equal(paths(), expected(change=lambda f: [x for x in f if x not in ("write", "malloc")]), "without libc")
        equal(run("ebprof.nodes()[0].total"), 114, "no sample is lost")


def test_collapse_recursion():
    with shown("full", hash="#hide=process"):
        choose("walk", "Collapse")
        equal(paths(), expected(change=lambda f: [x for i, x in enumerate(f) if x != "walk" or "walk" not in f[:i]]), "one walk")


def test_only_this_thread():
    with shown("full", hash="#hide=process"):
        choose("malloc", "Only this thread")
        equal(paths(), expected(lambda f: f[0] == "worker one"), "one thread")
        choose("malloc", "Focus")
        equal(paths(), expected(lambda f: f[0] == "worker one" and "malloc" in f), "both")


def test_edits_in_other_views():
    with shown("full", hash="#hide=process"):
        choose("hash", "Focus")
        set_state(view="top")
        equal({f["name"] for f in run("ebprof.functions")}, {"_start", "main", "work", "hash"}, "functions")
        set_state(view="bottom-up")
        equal(run("ebprof.nodes()[0].total"), 25, "bottom-up")


def test_link_means_the_same_in_another_file():
    """Numbers of functions and nodes differ there."""
    with shown("full"):
        click("work")
        set_state(view="sandwich", fn=next(f["fn"] for f in run("ebprof.functions") if f["name"] == "hash"), zoom=0)
        wait_until("location.hash.includes('view=sandwich')")
        sandwich = run("location.hash")
        command("back")
        wait_until("ebprof.state.view === 'graph'")
        set_state(hide=["process"])
        click("work")
        choose("hash", "Focus")
        wait_until("location.hash.includes('edits=')")
        link = run("location.hash")
        check(re.search("zoom=[0-9a-z]+[.]", link), "a path:", link)
    with directory() as d:
        path = os.path.join(d, "other.html")
        write("timeline", "html", path)
        for where, check_it in ((link, lambda: (box("work")["width"], box("all")["width"])),):
            command("open", file=path, hash=where, wait=READY)
            work, whole = check_it()
            near(work, whole, "work fills the width there, too", 2)
            equal(run("ebprof.nodes()[0].total"), 25, "only stacks with hash")
        command("open", file=path, hash=sandwich, wait=READY)
        check("hash" in run("document.querySelector('#caption').innerText"), "the sandwich of hash")
    with shown("deep", hash=link):
        equal(run("ebprof.state.edits"), [], "what this profile has nothing of")
        check(len(run("ebprof.boxes")) > 1, "boxes")


def test_save_as_svg_and_png():
    with shown("hostile", hash="#hide=process"):
        run(CATCH)
        for entry in ("Save as SVG", "Save as PNG", "Copy a link"):
            run("document.querySelector('#save-open').click()")
            run(f"[...document.querySelectorAll('#menu button')].find((b) => b.innerText === {entry!r}"
                f" || b.innerText.startsWith({entry!r})).click()")
        wait_until("window.saved.length === 2")
        text = run("window.saved[0].text()")
        root = xml.dom.minidom.parseString(text).documentElement
        texts = {"".join(c.data for c in t.childNodes) for t in root.getElementsByTagName("text")}
        check('<b>"comm";1 2' in texts, "a hostile name as a text:", sorted(texts))
        check(len(root.getElementsByTagName("rect")) > 50, "boxes in the picture")
        equal(run("window.saved[1].type"), "image/png", "type")
        size = run("createImageBitmap(window.saved[1]).then((b) => [b.width, b.height, "
                   "document.querySelector('canvas').clientWidth])")
        equal(size[0], 2 * size[2], "a sharp picture:")


def test_wheel_and_drag():
    with shown("full", hash="#hide=process"):
        whole = box("hash")
        command("wheel", x=whole["x"] + 50, y=whole["y"] + 5, by=-240, hold=["Control"])
        wait_until("document.querySelector('#reset').disabled === false")
        run(READY)
        near(box("hash")["width"], 2 * whole["width"], "twice as wide", 4)
        near(box("hash")["x"] + 100, whole["x"] + 50, "around the pointer", 4)
        before = box("hash")["x"]
        command("drag", x=whole["x"] + 50, y=whole["y"] + 5, dx=30, dy=0)
        run(READY)
        near(box("hash")["x"], before + 30, "dragged", 3)
        equal(run("ebprof.state.zoom"), 0, "a drag is no click")
        run("document.querySelector('#reset').click()")
        run(READY)
        near(box("hash")["width"], whole["width"], "reset", 1)


def test_find_key():
    with shown("full"):
        command("press", key="f", hold=["Control"])
        equal(run("document.activeElement.id"), "search", "Ctrl F")


def test_small_screen_and_touch():
    with shown("full", width=390, height=700, touch=True, hash="#hide=process"):
        edges = run("[...document.querySelectorAll('#views button')].map((b) => b.getBoundingClientRect().right)")
        check(max(edges) <= 390, "tabs are in the window:", edges)
        b = box("main")
        tap = {"x": b["x"] + b["width"] / 2, "y": b["y"] + 8}
        command("tap", **tap)
        wait_until("!document.querySelector('#tooltip').hidden")
        check("main" in run("document.querySelector('#tooltip').innerText"), "numbers of what was tapped")
        equal(run("ebprof.state.zoom"), 0, "not zoomed yet")
        command("tap", **tap)
        wait_until("ebprof.state.zoom > 0")


def test_time_beside_samples():
    """Only where the profile says how much time a sample is."""
    with shown("types"):
        equal(run("ebprof.each"), 0, "bytes")
    with shown("full"):
        b = box("main")
        command("move", x=b["x"] + 30, y=b["y"] + 5)
        tip = run("document.querySelector('#tooltip').innerText")
        check("840 ms" in tip and "84" in tip, "time of 84 samples at 100 Hz:", tip)


def test_names_that_do_not_fit():
    cases = {
        "std::vector<int, std::allocator<int> > ns::outer<T>::inner<U>(int, std::string const&) const": [
            "ns::outer<T>::inner<U>(int, std::string const&) const", "ns::outer<T>::inner<U>(…)", "ns::outer<…>::inner<…>",
            "…::outer<…>::inner<…>", "…::inner<…>"],
        "operator new(unsigned long)": ["operator new(unsigned long)", "operator new(…)", "operator new"],
        "main.(*T).run": ["main.(*T).run"],
        "a::operator()(int) const": ["a::operator()(int) const", "a::operator()(…)", "a::operator()", "…::operator()"],
        "(anonymous namespace)::f()": ["(anonymous namespace)::f()", "(anonymous namespace)::f()", "(anonymous namespace)::f", "…::f"],
        "<T as core::fmt::Display>::fmt": ["<T as core::fmt::Display>::fmt", "…::fmt"],
        "broken<(": [],
    }
    with shown("one"):
        for name, forms in cases.items():
            equal(run(f"ebprof.shorterNames({name!r})"), forms, name)


def test_kinds_look_different():
    """Hue and lightness of user, inlined and kernel code, in light and dark."""
    for dark in (False, True):
        with shown("full", dark=dark):
            colors = {}
            for name in ("main", "hash", "ksys_write"):
                b = box(name)
                colors[name] = picture(b["x"] + b["width"] - 8, b["y"] + 2, 2, 2)(0, 0)
            for x, y in (("main", "hash"), ("main", "ksys_write"), ("hash", "ksys_write")):
                far = sum(abs(a - b) for a, b in zip(colors[x], colors[y]))
                check(far >= 70, f"{x} and {y} look alike:", colors)
