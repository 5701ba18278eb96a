# SPDX-License-Identifier: MIT
"""The flame graph page in Chromium, opened from a file: its numbers against folded stacks and the top table."""
import contextlib
import json
import os
import re
import subprocess
import urllib.parse

import harness
from browser import command, picture, run, wait_until
from harness import check, directory, equal, fixture_path, wait_for

READY = "ebprof.ready.then(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true)))))"


def write(name, form, path, *flags):
    return subprocess.run([fixture_path("profiles"), name, form, path, *flags], capture_output=True, check=True,
                          timeout=60).stdout.decode()


@contextlib.contextmanager
def shown(name, *flags, **how):
    """A hand-made profile as a page in the browser; nothing may have gone wrong there at the end."""
    with directory() as d:
        path = os.path.join(d, f"{name}.html")
        write(name, "html", path, *flags)
        command("open", file=path, wait=READY, **how)
        yield path
        equal(command("problems"), [], f"problems in the page of {name}")


def stacks(name):
    """[(frames with the thread first, count)] of a profile, as its folded text has them."""
    lines = [line.rpartition(" ") for line in write(name, "folded", "-").splitlines()]
    return [(frames.split(";"), int(count)) for frames, _, count in lines]


def total(name):
    return sum(count for _, count in stacks(name))


def top(name):
    """{(image, function): (self, total %)} of a profile, as its table has them."""
    rows = re.findall(r"^ *[\d.]+ +([\d.]+) +(\d+) +(\S+) +(.*)$", write(name, "top", "-").split("\n\n")[0], re.M)
    return {(image, function): (int(own), float(share)) for share, own, image, function in rows}


def set_state(**changes):
    run(f"ebprof.set({json.dumps(changes)})")
    run(READY)


def box(name, tree="main"):
    """The widest box of that name in the window."""
    found = [b for b in run("ebprof.boxes") if b["name"] == name and b["tree"] == tree]
    check(found, "no box of", name)
    return max(found, key=lambda b: b["width"])


def click(name, **how):
    b = box(name)
    command("click", x=b["x"] + b["width"] / 2, y=b["y"] + b["height"] / 2, **how)
    run(READY)


def near(got, expected, what, within=0.006):
    check(abs(got - expected) <= within, f"{what}: got {got}, expected {expected}")


# --- What is in the page. --------------------------------------------------------------------------------------

def test_totals_and_trees():
    for name in ("full", "one", "deep", "huge"):
        with shown(name, hash="#hide=process"):
            truth = {}
            for frames, count in stacks(name):
                key = "\n".join(["all"] + frames).replace("_one", " one")
                truth[key] = truth.get(key, 0) + count
            equal(run("ebprof.total"), sum(truth.values()), f"total of {name}")
            got = {n["path"]: n["self"] for n in run("ebprof.nodes()") if n["self"]}
            equal(got, truth, f"stacks of {name}")
            equal(run("ebprof.nodes()[0].total"), sum(truth.values()), f"root of {name}")


def test_header_accounts_for_every_sample():
    with shown("full"):
        account = run("document.querySelector('#account').innerText").split("\n")
        equal([a.strip() for a in account if a.strip()], ["114 samples", "5 truncated", "3 lost"], "account")
        equal(run("[...document.querySelectorAll('#account .chip')].map((c) => c.title)"),
              ["114 samples", "5 truncated (5 depth)", "3 lost (3 ring buffer full)"], "reasons")
        header = run("document.querySelector('header').innerText")
        for word in ("ebprof -p 100 -d 2.5", "cpu-clock", "100 Hz", "2.5 s", "4 CPUs", "box, Linux 6.1.0 x86_64"):
            check(word in header, word, "is not in the header:", header)
        equal(run("document.title"), "demo and 1 other program - ebprof", "title")
    with shown("types"):
        check("4.14 KiB" in run("document.querySelector('#account').innerText"), "bytes in the header")
        equal(run("[ebprof.type, ebprof.unit, ebprof.total]"), ["alloc_space", "bytes", 4240], "what is shown")


def test_empty():
    with shown("empty"):
        equal(run("ebprof.total"), 0, "total")
        equal(run("getComputedStyle(document.querySelector('#message')).display"), "grid", "the message")
        for view in ("top", "bottom-up", "sandwich", "graph"):
            set_state(view=view)


def test_hostile_names_stay_text():
    with shown("hostile", hash="#hide=process") as path:
        equal(run("[...document.scripts].map(s => s.id).sort()"), ["", "whole"], "scripts that are left in the page")
        truth = {"\n".join(frames[1:]): 0 for frames, _ in stacks("hostile")}
        names = {n["path"].split("\n")[-1] for n in run("ebprof.nodes()")}
        for name in ("</script><script>alert(1)</script>", "\"quoted\" 'name'", "a;b;c", "&amp;&lt;", "__proto__", "constructor",
                     "\u6f22\u5b57", "\\x1b[31mred\\x1b[0m"):
            check(any(name in n for n in names), name, "is not in the tree:", sorted(names))
        check(len(truth) > 20, "few hostile names:", truth)
        equal(run("document.title"), '<title> & "more" - ebprof', "title")
        set_state(view="top", search="<script>")
        check("</script><script>alert(1)</script>" in run("document.querySelector('#top-rows').innerText"), "name in the table")
        set_state(view="graph", search="")
        for b in [b for b in run("ebprof.boxes") if b["width"] > 20 and re.search("[<&\"']", b["name"])]:
            command("move", x=b["x"] + b["width"] / 2, y=b["y"] + 5)
            equal(run("document.querySelector('#tooltip .name').innerHTML").replace("&lt;", "<").replace("&gt;", ">").replace(
                "&amp;", "&"), b["name"], "the name in the tooltip is text")
            check("&lt;" in run("document.querySelector('#tooltip .name').innerHTML") or "<" not in b["name"], "escaped", b["name"])
        set_state(search="<script>")
        check(run("ebprof.matched") > 0, "the name can be found")
        # What may not stand in HTML at all: the profile's texts end no element.
        with open(path, encoding="utf-8") as f:
            equal(f.read().count("</script>"), 6, "ends of scripts in the file")


def test_policy_stops_foreign_scripts():
    """The Content-Security-Policy knows the page's own script alone."""
    with directory() as d:
        path = os.path.join(d, "page.html")
        write("one", "html", path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(text.replace("<header>", "<header><script>window.foreign = 1</script><img src=x onerror='window.foreign = 1'>"))
        command("open", file=path, wait=READY)
        equal(run("window.foreign === undefined"), True, "a foreign script did not run")
        check(any("Content Security Policy" in p for p in command("problems")), "the browser told so")


# --- Numbers. ----------------------------------------------------------------------------------------------------

def test_functions_are_those_of_top():
    for name in ("full", "deep", "huge"):
        with shown(name, hash="#view=top"):
            truth, all_samples = top(name), total(name)
            got = {(f["module"] or "-", f["name"]): f for f in run("ebprof.functions")}
            equal(set(got), set(truth), f"functions of {name}")
            for key, (own, share) in truth.items():
                equal(got[key]["self"], own, f"self of {key}")
                near(100 * got[key]["total"] / all_samples, share, f"total of {key}")
            rows = run("[...document.querySelectorAll('#top-rows .row')].map((r) => r.innerText.split(/\\n/))")
            own = [int(re.sub(",", "", r[1])) for r in rows]
            equal(own, sorted((o for o, _ in truth.values()), reverse=True)[:len(own)], "order of the table")
            run("document.querySelector('#top-head [data-by=name]').click()")
            equal(run("ebprof.state.sort"), "name", "order")


def test_bottom_up_and_sandwich_agree_with_top():
    truth = top("full")
    own, shares = {}, {}
    for (_, function), (count, share) in truth.items():
        own[function] = own.get(function, 0) + count
        shares[function] = share
    with shown("full", hash="#view=bottom-up&hide=process"):
        first = [n["path"].split("\n") + [n["total"]] for n in run("ebprof.nodes()")]
        got = {p[1]: p[2] for p in first if len(p) == 3 and p[1] != "helper"}
        equal(got, {f: n for f, n in own.items() if n and f != "[no stack]"}, "the first level of bottom-up")
        equal([p[2] for p in first if len(p) == 3], sorted((p[2] for p in first if len(p) == 3), reverse=True), "the widest first")
        # All who call write, down to the thread.
        equal([n["total"] for n in run("ebprof.nodes()") if n["path"] == "\n".join(
            ["all", "ksys_write", "entry_SYSCALL_64", "write", "main", "_start", "demo"])], [10], "callers of ksys_write")
        for f in run("ebprof.functions"):
            if f["fn"] < 0:
                continue
            set_state(view="sandwich", fn=f["fn"])
            for tree in ("main", "callers"):
                root = run(f"ebprof.nodes('{tree}')[0]")
                equal((root["path"], root["total"]), (f["name"], f["total"]), f"root of the {tree} of {f['name']}")
        work = next(f["fn"] for f in run("ebprof.functions") if f["name"] == "work")
        set_state(fn=work)
        callees = {n["path"]: n["total"] for n in run("ebprof.nodes()")}
        equal(callees, {"work": 82, "work\nhash": 25, "work\nleaf": 5}, "what work calls")
        callers = {n["path"]: n["total"] for n in run("ebprof.nodes('callers')") if n["path"].count("\n") == 1}
        equal(callers, {"work\nmain": 65, "work\nclone": 12, "work\n[truncated: depth]": 5}, "who calls work")


def test_table_beside_a_sandwich():
    """Where the window is wide: a click and keys choose another function, a search leaves out others."""
    rows = "[...document.querySelectorAll('#top-rows .row')].map((r) => [r.innerText.split('\\n').at(-1), r.classList.contains('at')])"
    cells = "[...document.querySelectorAll('#top-rows .row')].map((r) => [...r.children].map((c) => c.clientWidth > 0))"
    with shown("full", hash="#view=sandwich"):
        own = run("ebprof.functions")
        found = dict(run(rows))
        equal(len(found), len(own), "functions in the table")
        equal([name for name, at in found.items() if at], [run("document.querySelector('#caption b').innerText")], "the marked one")
        equal(run(cells)[0], [True, False, True, False, False, True, False], "columns")
        sides = run("['#top', '#graph'].map((s) => document.querySelector(s).getBoundingClientRect()).map(({ left, right }) => "
                    "[left, right])")
        check(sides[0][1] < sides[1][0] < sides[1][1] == 1280, "side by side:", sides)
        other = next(name for name, at in found.items() if not at and name.isidentifier())
        run(f"[...document.querySelectorAll('#top-rows .row')].find((r) => r.innerText.endsWith({other!r})).click()")
        run(READY)
        equal([name for name, at in run(rows) if at], [other], "after a click")
        equal(run("document.querySelector('#caption b').innerText"), other, "its sandwich")
        run("document.querySelector('#top-rows').focus()")
        names = [name for name, _ in run(rows)]
        way = 1 if names.index(other) == 0 else -1
        command("press", key="ArrowDown" if way > 0 else "ArrowUp")
        command("press", key="Enter")
        run(READY)
        equal(run("document.querySelector('#caption b').innerText"), names[names.index(other) + way], "by keys")
        set_state(search=f"^{other}$")
        equal([name for name, _ in run(rows)], [other], "what the search finds")
        command("resize", width=1000, height=700)
        run(READY)
        check(run("document.querySelector('#top').hidden"), "a narrow window has no room")
        equal(run("document.querySelector('#graph').clientWidth"), 1000, "the picture has all of it")
    with shown("full", width=900, hash="#view=sandwich"):
        check(run("document.querySelector('#top').hidden"), "the same from the beginning")


def test_search_counts_a_stack_once():
    for name, pattern in (("full", "work"), ("full", "^(main|walk)$"), ("full", "^walk$"), ("full", "e"), ("full", "[A-Z]"), ("full", "("),
                          ("deep", "again"), ("huge", "leaf")):
        flags = 0 if re.search("[A-Z]", pattern) else re.I
        regex = re.compile(re.escape(pattern) if pattern == "(" else pattern, flags)
        truth = sum(n for frames, n in stacks(name) if any(regex.search(f) for f in frames))
        with shown(name, hash="#" + urllib.parse.urlencode({"hide": "process", "search": pattern})):
            equal(run("ebprof.matched"), truth, f"samples with {pattern} in {name}")
            text = run("document.querySelector('#matches').innerText")
            near(float(text.split()[0]), 100 * truth / total(name), f"share of {pattern} in {name}")
            set_state(view="bottom-up")
            equal(run("ebprof.matched"), truth, f"the same bottom-up: {pattern} in {name}")


def test_switches():
    with shown("full"):
        kinds = lambda: {n["kind"] for n in run("ebprof.nodes()")}  # noqa: E731
        equal(kinds(), {"root", "process", "thread", "user", "inlined", "jit", "kernel", "mark"}, "kinds at first")
        for hide, gone in (("kernel", {"kernel"}), ("inlined", {"inlined"}), ("user", {"user", "jit"}), ("mark", {"mark"}),
                           ("thread", {"thread"}), ("process", {"process"})):
            run(f"document.querySelector('#switches [data-name={hide}]').click()")
            check(not kinds() & gone, f"without {hide}:", kinds())
            equal(run("ebprof.nodes()[0].total"), 114, f"all samples, without {hide}")
            run(f"document.querySelector('#switches [data-name={hide}]').click()")
        set_state(hide=["process", "thread"])
        truth = {}
        for frames, count in stacks("full"):
            path = "\n".join(["all"] + frames[1:])
            truth[path] = truth.get(path, 0) + count
        nodes = run("ebprof.nodes()")
        equal({n["path"]: n["self"] for n in nodes if n["self"]}, truth, "without threads their stacks are one tree")
        equal(len({n["path"] for n in nodes}), len(nodes), "each path once")
        set_state(hide=["kernel", "process", "thread"])
        equal({n["path"]: n["self"] for n in run("ebprof.nodes()") if n["path"].endswith("write")}, {"all\n_start\nmain\nwrite": 10},
              "the kernel's time is its caller's")
        equal(run("ebprof.nodes()[0].self"), 3, "stacks of which nothing is shown")
    with shown("huge"):
        equal(run("[...document.querySelectorAll('#switches button')].map((b) => b.dataset.name)"), ["thread", "user"], "switches of use")


def test_difference():
    with shown("difference", "--difference"):
        equal(run("ebprof.total"), [150, 300], "before and after")
        got = {f["name"]: f["self"] for f in run("ebprof.functions")}
        equal(got["faster"], [60, 20], "faster")
        equal((got["free"], got["malloc"]), ([50, 0], [0, 150]), "gone and new")
        names = lambda: {b["name"] for b in run("ebprof.boxes")}  # noqa: E731
        check("new" in names() and "gone" not in names(), "widths after:", names())
        near(box("slower")["width"] / box("main")["width"], 90 / 300, "width after", 0.01)
        rgb = {n: picture(box(n)["x"] + box(n)["width"] / 2, box(n)["y"] + 4, 2, 2)(0, 0) for n in ("faster", "slower", "same")}
        check(rgb["slower"][0] > rgb["slower"][1] + 40, "slower is red:", rgb)
        check(rgb["faster"][1] > rgb["faster"][0] + 40, "faster is green:", rgb)
        check(max(rgb["same"]) - min(rgb["same"]) < 20, "the same share has no colour:", rgb)
        set_state(widths="before", palette="orange-blue")
        check("gone" in names() and "new" not in names(), "widths before:", names())
        near(box("faster")["width"] / box("main")["width"], 60 / 150, "width before", 0.01)
        r, _, b = picture(box("gone")["x"] + 50, box("gone")["y"] + 4, 2, 2)(0, 0)
        check(b > r + 40, "what is gone is blue:", r, b)
        click("faster")
        b = box("faster")
        command("move", x=b["x"] + 30, y=b["y"] + 5)
        tip = run("document.querySelector('#tooltip').innerText")
        for word in ("faster", "/src/demo.c:20", "60", "20", "\u221283.3 %", "40.00 %", "6.67 %"):
            check(word in tip, word, "is not in the tooltip:", tip)
        set_state(view="bottom-up", zoom=0)
        equal(run("ebprof.nodes()[0].total"), [150, 300], "bottom-up")
        set_state(view="top")
        check("gone" in run("document.querySelector('#top-rows').innerText"), "what is gone is in the table")


# --- Looking around. -------------------------------------------------------------------------------------------------

def test_zoom_and_back():
    with shown("full"):
        whole = box("work")["width"]
        near(whole / box("all")["width"], 65 / 114, "width of work", 0.01)
        click("work")
        near(box("work")["width"], box("all")["width"], "work fills the width", 2)
        equal([b["name"] for b in run("ebprof.boxes")], ["all", "demo", "demo", "_start", "main", "work", "hash"], "ancestors stay")
        for name in ("all", "main", "work", "hash"):
            b = box(name)
            check(picture(b["x"] + b["width"] - 40, b["y"] + 4, 2, 2)(0, 0) != (255, 255, 255), name, "is not drawn")
        check("zoom=" in run("location.hash"), "the zoom is in the URL:", run("location.hash"))
        click("hash")
        near(box("hash")["width"], box("all")["width"], "hash fills the width", 2)
        command("back")
        wait_until("ebprof.boxes.filter((b) => b.name === 'hash')[0].width < 800")
        near(box("work")["width"], box("all")["width"], "back at work", 2)
        run("document.querySelector('#reset').click()")
        run(READY)
        near(box("work")["width"], whole, "reset", 1)
        click("work")
        click("main")
        near(box("main")["width"], box("all")["width"], "a click on an ancestor zooms out", 2)
        url = run("location.href")
    with shown("full", hash="#" + url.partition("#")[2]):
        near(box("main")["width"], box("all")["width"], "a URL brings the zoom back", 2)


# Zooms, and tells how wide the box was drawn in each frame until it stays so.
ZOOMED = """(async () => {
    const widths = [], frame = () => new Promise((r) => requestAnimationFrame(r));
    ebprof.set({ zoom: ebprof.state.zoom ? 0 : 2 });
    for (let same = 0; same < 20; same = widths.at(-1) === widths.at(-2) ? same + 1 : 0) {
        await frame();
        widths.push(Math.round(Math.max(...ebprof.boxes.filter((b) => b.node === 2).map((b) => b.width))));
    }
    return new Set(widths).size;
})()"""


def test_zoom_moves_unless_that_is_not_wanted():
    with shown("full"):
        check(all(run(ZOOMED) <= 2 for _ in range(4)), "it moves")
        command("motion")
        # A machine that is busy may skip what is between.
        wait_for(lambda: run(ZOOMED) > 2, "a zoom that moves")


def test_url_of_nonsense():
    for nonsense in ("#zoom=99999999&fn=4&pane=callers", "#view=nonsense&zoom=-1&hide=a.b.kernel", "#fn=77777&view=sandwich",
                     "#search=%28&sort=constructor&layout=%3Cb%3E&color=change", "#%%%", "#search=%E0%A4%A"):
        with shown("full", hash=nonsense):
            equal(run("ebprof.total"), 114, f"total at {nonsense}")
            check(run("0 <= ebprof.state.zoom && ebprof.state.zoom < 40 && ebprof.state.fn < 20"), "state at", nonsense)
            check(len(run("ebprof.boxes")) > 1, "boxes at", nonsense)


def test_keys():
    with shown("full", hash="#hide=process"):
        for key, view in (("2", "bottom-up"), ("3", "sandwich"), ("4", "top"), ("1", "graph")):
            command("press", key=key)
            equal(run("ebprof.state.view"), view, f"key {key}")
        command("press", key="/")
        command("type", text="work")
        wait_until("ebprof.matched !== null")
        equal(run("ebprof.matched"), 65 + 21 + 2, "samples with what was typed")
        command("press", key="Enter")
        check("work" in run("document.querySelector('#status').textContent"), "the first match is told")
        equal(run("document.querySelector('#matches').innerText").split()[-1], "1/3", "number of the match")
        command("press", key="Escape")
        equal(run("ebprof.state.search"), "", "Escape ends the search")
        for key, name in (("ArrowDown", "hash"), ("ArrowUp", "work"), ("ArrowUp", "main"), ("ArrowUp", "_start"), ("Enter", "_start")):
            command("press", key=key)
            check(run("document.querySelector('#status').textContent").startswith(f"{name} "), f"{key} goes to {name}")
        run(READY)
        near(box("_start")["width"], box("all")["width"], "Enter zooms to the marked box", 2)
        command("press", key="c")
        equal(run("document.querySelector('#status').textContent"), "Copied: _start", "copied")
        command("press", key="s")
        check("_start" in run("document.querySelector('#caption').innerText"), "the sandwich of the marked function")
        command("press", key="i")
        wait_until("ebprof.state.layout === 'flame'")
        command("press", key="1")
        run(READY)
        check(box("all")["y"] > box("main")["y"] > 0, "roots are below")
        command("press", key="?")
        equal(run("document.querySelector('#help').open"), True, "help")
        check("regular expression" in run("document.querySelector('#help').innerText"), "the help tells of the search")
        command("press", key="Escape")
        equal(run("document.querySelector('#help').open"), False, "help closed")


def test_keys_at_once():
    """The browser tells of a view's address when the next key was pressed already."""
    with shown("full", hash="#hide=process"):
        run("for (const key of ['2', 'i']) dispatchEvent(new KeyboardEvent('keydown', { key }))")
        wait_until("location.hash.includes('layout=flame')")
        equal(run("ebprof.state.view + ' ' + ebprof.state.layout"), "bottom-up flame", "both")
        run("history.back()")
        wait_until("ebprof.state.view === 'graph'")


def test_menu_and_tooltip():
    with shown("full"):
        b = box("work")
        command("move", x=b["x"] + 30, y=b["y"] + 5)
        tip = run("document.querySelector('#tooltip').innerText")
        for word in ("work", "demo", "/src/demo.c:20", "40", "35.09 %", "65", "57.02 %", "Of its parent", "77.38 %"):
            check(word in tip, word, "is not in the tooltip:", tip)
        click("work", button="right")
        run("[...document.querySelectorAll('#menu button')].find((b) => b.innerText.startsWith('Callers')).click()")
        equal(run("ebprof.state.view"), "sandwich", "view")
        check("work" in run("document.querySelector('#caption').innerText"), "sandwich of work")


def test_deep_stacks_and_sizes():
    with shown("deep", width=700, height=500, scale=2):
        size = run("(() => { const c = document.querySelector('canvas'); return [c.width, c.height, c.clientWidth, c.clientHeight]; })()")
        equal(size[:2], [2 * size[2], 2 * size[3]], "pixels of a screen of high density")
        check(size[3] < 500, "the canvas is as high as its window:", size)
        check("level_499" not in {b["name"] for b in run("ebprof.boxes")}, "the end is not in the window")
        run("document.querySelector('#graph').scrollTop = 1e9")
        run(READY)
        check("level_499" in {b["name"] for b in run("ebprof.boxes")}, "the end can be scrolled to")
        command("resize", width=1000, height=700)
        run(READY)
        wait_until("document.querySelector('canvas').clientWidth > 900")
        equal(run("document.querySelector('canvas').width === document.querySelector('canvas').clientWidth"), True, "after a resize")
        set_state(layout="flame")
        check(box("all")["y"] > 500, "the root is in the window")


def test_light_and_dark():
    colors = {}
    for dark in (False, True):
        with shown("full", dark=dark):
            b = box("main")
            pixel = picture(b["x"] + b["width"] - 40, b["y"] + 2, 30, 30)
            colors[dark] = [pixel(5, 5), pixel(5, 25), run("getComputedStyle(document.body).backgroundColor")]
            check(pixel(5, 5) != pixel(5, 25), "a blank picture:", colors)
    check(sum(colors[False][1]) > sum(colors[True][1]) and colors[False][2] != colors[True][2], "light and dark are the same:", colors)


# --- What is large, and what is real. ----------------------------------------------------------------------------------

def test_million():
    with shown("million"):
        equal(run("ebprof.total"), 2000000, "total")
        set_state(search="function_77\\b")
        check(0 < run("ebprof.matched") < 2000000, "the search found some")
        set_state(view="bottom-up", search="")
        check(box("all")["width"] > 1000, "bottom-up")


def test_recording():
    with directory() as d:
        path = os.path.join(d, "out.html")
        result = harness.run("-F", 999, "-d", 1, "-o", path, "--", fixture_path("tree"), "1")
        command("open", file=path, wait=READY)
        equal(run("ebprof.total"), result.summary.kept, "samples of the summary")
        check(any(f["name"] == "a2" for f in run("ebprof.functions")), "the functions of the fixture:",
              [f["name"] for f in run("ebprof.functions")][:10])
        equal(command("problems"), [], "problems")
