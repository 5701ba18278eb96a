# SPDX-License-Identifier: MIT
"""What the flame graph page lets its reader do: leave things out, link, save, print, wheel, drag, tap, by keys and on small screens."""
import base64
import math
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
        run(READY)
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
        run(READY)
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
        kinds = run("[...document.querySelectorAll('#switches button[aria-pressed=true]')].map((b) => b.innerText)")
        check(len(kinds) > 2 and texts.issuperset(kinds), "what the colours mean:", kinds, sorted(texts))
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


# --- The menu. ---

def items():
    return run("[...document.querySelectorAll('#menu:not([hidden]) button')].map((b) => b.innerText)")


def focused():
    return run("document.activeElement.innerText || document.activeElement.id")


def test_menu_by_keys():
    with shown("full", hash="#hide=process"):
        click("main", button="right")
        by_mouse = items()
        command("press", key="Escape")
        equal(items(), [], "closed")
        run("document.querySelector('#graph').focus()")
        for _ in range(4):      # all, its thread, _start, main
            command("press", key="ArrowDown")
        name = "main"
        check(run("document.querySelector('#status').textContent").startswith(f"{name} "), "marked:", name)
        command("press", key="x")
        equal(items(), by_mouse, "the same as by a right click")
        equal(focused(), "Zoom to this box", "the first one")
        for key, entry in (("ArrowDown", items()[1]), ("ArrowUp", items()[0]), ("ArrowUp", items()[-1]), ("ArrowDown", items()[0]),
                           ("End", items()[-1]), ("Home", items()[0])):
            command("press", key=key)
            equal(focused(), entry, f"{key} goes to")
        at = run("(() => { const r = document.querySelector('#menu').getBoundingClientRect(); return [r.left, r.top]; })()")
        marked = box(name)
        check(abs(at[1] - marked["y"] - marked["height"]) < 4 or at[1] > 0, "it stands at the box:", at, marked)
        command("press", key="Escape")
        equal((items(), focused()), ([], "graph"), "closed, and the picture has the keys again")
        equal(run("ebprof.state.zoom"), 0, "nothing was chosen")
        command("press", key="x")
        command("press", key="Enter")
        wait_until("ebprof.state.zoom > 0")
        run(READY)
        near(box(name)["width"], box("all")["width"], "Enter takes the first: it zooms", 2)
        equal(items(), [], "closed by it")
        command("press", key="x")
        while not focused().startswith("Leave out"):
            command("press", key="ArrowDown")
        command("press", key="Enter")
        wait_until("ebprof.state.edits.length === 1")
        check(run("ebprof.state.edits[0]").endswith(name), "of the marked box:", run("ebprof.state.edits"))


def test_menu_by_keys_where_nothing_is_marked():
    with shown("full", hash="#hide=process"):
        command("press", key="x")
        check("Zoom to this box" in items(), "the menu of the root:", items())
        command("press", key="Escape")
        command("press", key="4")
        command("press", key="x")
        check("Zoom to this box" not in items() and "Copy the name" in items(), "that of a row:", items())


def test_copy_the_stack():
    with shown("full", hash="#hide=process"):
        run("window.copied = []; Object.defineProperty(navigator, 'clipboard', "
            "{ value: { writeText: async (text) => { copied.push(text); } } })")
        choose("hash", "Copy the stack")
        deepest = next(f for f, _ in stacks("full") if "hash" in f)
        expected_ = ["all"] + [f.replace("_", " ") if i == 0 else f for i, f in enumerate(deepest[:deepest.index("hash") + 1])]
        copied = run("copied[0]").split("\n")
        check(copied in (expected_, expected_[1:]), copied, expected_)
        equal(run("document.querySelector('#status').textContent"), f"Copied: a stack of {len(copied)} frames", "said")
        set_state(layout="flame")
        choose("hash", "Copy the stack")
        check(sorted(run("copied[1]").split("\n")) == sorted(copied), "with the roots below:", run("copied[1]"))


def test_share_of_the_zoomed_box():
    with shown("full", hash="#hide=process"):
        click("main")
        whole, parent = (run(f"ebprof.nodes().find((n) => n.path.endsWith({name!r})).total") for name in ("main", "work"))
        b = box("hash")
        command("move", x=b["x"] + 20, y=b["y"] + 5)
        tip = dict(re.findall(r"^(Of [a-z ]+?)\s+([\d.]+) %$", run("document.querySelector('#tooltip').innerText"), re.M))
        near(float(tip["Of the zoomed box"]), 100 * 25 / whole, "hash of main", 0.01)
        near(float(tip["Of its parent"]), 100 * 25 / parent, "hash of work", 0.01)


# --- The header, and paper. ---

LAID = """(() => { const at = (e) => e.getBoundingClientRect(), all = [...document.querySelectorAll('header > *, .titles > *, .chip')];
    const seen = all.filter((e) => at(e).width && at(e).height && e.className !== 'titles');
    return { height: at(document.querySelector('header')).height, title: at(document.querySelector('#title')).width,
             right: Math.max(...seen.map((e) => at(e).right)), scroll: document.documentElement.scrollWidth,
             chips: [...new Set([...document.querySelectorAll('.chip')].map((e) => Math.round(at(e).top)))].length }; })()"""


def test_header_is_two_lines():
    """However narrow: the title can be read, nothing is beyond the edge, and the picture has the room."""
    for name in ("full", "hostile", "types"):
        with shown(name):
            for width in (390, 640, 700, 860, 1200):
                command("resize", width=width, height=700)
                run(READY)
                laid = run(LAID)
                check(laid["height"] <= 76, f"{name}: {width} px: the header is {laid['height']} high")
                check(laid["title"] >= min(120, width / 4), f"{name}: {width} px: the title is {laid['title']} wide")
                check(laid["right"] <= width and laid["scroll"] <= width, f"{name}: {width} px: beyond the edge:", laid)
                check(laid["chips"] <= 1, f"{name}: {width} px: numbers in {laid['chips']} lines")


def test_header_begins_with_the_target():
    with shown("full"):
        command_line = run("ebprof.meta.command")
        check(command_line, "no command")
        for what in ("#title", "#facts"):
            text = run(f"document.querySelector({what!r}).innerText")
            check(text and not text.startswith(command_line), what, "begins with the command line:", text)
        check(run("document.querySelector('#facts').innerText").endswith(command_line), "it stands last")


def test_print():
    """All of the picture, and no buttons."""
    with shown("deep", width=700, height=500):
        run("dispatchEvent(new Event('beforeprint'))")
        command("media", type="print")
        try:
            hidden = run("['#toolbar', '#graph', '.icon', '#status'].filter((s) => "
                         "document.querySelector(s).getBoundingClientRect().height)")
            equal(hidden, [], "on paper")
            size = run("(() => { const c = document.querySelector('#printed'); return [c.clientWidth, c.clientHeight, "
                       "document.documentElement.scrollHeight]; })()")
            # 500 levels of 20 pixels each.
            check(size[1] > 5000 and size[2] > size[1], "the whole picture:", size)
            check(run("document.querySelector('#title').getBoundingClientRect().height") > 0, "the title")
        finally:
            command("media", type=None)
        run("dispatchEvent(new Event('afterprint'))")
        equal(run("document.querySelector('#printed')"), None, "gone afterwards")
        paper = base64.b64decode(command("pdf"))
        pages = len(re.findall(rb"/Type\s*/Page\b", paper))
        check(paper.startswith(b"%PDF") and pages > size[1] / 1200, f"{pages} pages of paper")
        equal(run("document.querySelector('#printed')"), None, "gone after what the browser printed, too")


# --- Colours. ---

def luminance(rgb):
    """WCAG 2.1, relative luminance."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def oklab(rgb):
    """By which a step of 0.02 can just be seen, in any direction (bottosson.github.io/posts/oklab)."""
    r, g, b = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in rgb))
    x = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    y = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    z = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (0.2104542553 * x + 0.7936177850 * y - 0.0040720468 * z, 1.9779984951 * x - 2.4285922050 * y + 0.4505937099 * z,
            0.0259040371 * x + 0.7827717662 * y - 0.8086757660 * z)


def parsed(color):
    m = re.fullmatch(r"rgb\((\d+),(\d+),(\d+)\)|#(..)(..)(..)", color.strip())
    return tuple(int(x) for x in m.groups()[:3]) if m[1] else tuple(int(x, 16) for x in m.groups()[3:])


# All colours that boxes have: of each kind by a thousand names, of as many modules, of the scales; and those of matches.
COLORS = """(() => {
    const { colors } = ebprof, names = Array.from({ length: 1000 }, (_, i) => `name${i}`), all = {};
    const kinds = Object.keys(colors.palette).filter((k) => !["lightness", "lighter"].includes(k));
    kinds.forEach((kind, i) => { all[kind] = ["", ...names].map((name) => colors.ofKind(i, name)); });
    const frames = { module: names, kind: names.map(() => kinds.indexOf("user")) };
    const of = Object.assign(Object.create(colors), { profile: { frames } });
    all.module = names.map((_, i) => of.ofModule(i));
    for (const palette of ["red-green", "orange-blue"]) {
        const other = Object.assign(Object.create(colors), { key: "" });
        other.use("change", palette, colors.dark);
        all[palette] = other.scale;
    }
    return all; })()"""


def test_names_can_be_read_on_all_colours():
    """WCAG AA: 4.5:1, in both themes, in the page and in the svg."""
    for dark in (False, True):
        with shown("full", dark=dark):
            style = {name: parsed(run(f"getComputedStyle(document.body).getPropertyValue('--{name}')"))
                     for name in ("box-text", "found", "found-text")}
            colors = run(COLORS)
        check(len(colors) == 11, sorted(colors))
        for kind, all_ in colors.items():
            worst = min(contrast(parsed(c), style["box-text"]) for c in all_)
            check(worst >= 4.5, f"{'dark' if dark else 'light'}: text on {kind}: {worst:.2f}:1")
        check(contrast(style["found"], style["found-text"]) >= 4.5, "text on a match")


def svg_themes():
    """(text colour, {letter of a kind: its colours}) of the light and of the dark theme of an svg."""
    with directory() as d:
        path = os.path.join(d, "x.svg")
        write("full", "svg", path)
        with open(path, encoding="utf-8") as f:
            style = re.search(r"<style>(.*?)</style>", f.read(), re.S)[1]
    for part in style.split("@media (prefers-color-scheme:dark)"):
        kinds = {}
        for letter, color in re.findall(r"\.([a-z])\d\{fill:(#\w{6})\}", part):
            kinds.setdefault(letter, []).append(parsed(color))
        yield parsed(re.search(r"text\{[^}]*fill:(#\w{6})", part)[1]), kinds


def test_svg_has_the_colours_of_the_page():
    """Each shade is one that a name gives in the page, but for what rounding does; and text can be read on it."""
    for (text, kinds), dark in zip(svg_themes(), (False, True)):
        with shown("full", dark=dark):
            page = run(COLORS)
        equal(sorted(kinds), sorted("tuijkm"), "kinds")
        for letter, kind in zip("tuijkm", ("thread", "user", "inlined", "jit", "kernel", "mark")):
            ours = [parsed(c) for c in page[kind]]
            for shade in kinds[letter]:
                nearest = min(max(abs(a - b) for a, b in zip(shade, c)) for c in ours)
                check(nearest <= 4, f"{kind}: {shade} is {nearest} from the page's nearest")
                check(contrast(shade, text) >= 4.5, f"text on {kind}: {contrast(shade, text):.2f}:1")
        for x, y in (("u", "i"), ("u", "k"), ("i", "k")):
            far = min(math.dist(oklab(p), oklab(q)) for p in kinds[x] for q in kinds[y])
            check(far >= 0.09, f"{x} and {y} look alike: {far:.3f}")
