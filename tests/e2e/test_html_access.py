# SPDX-License-Identifier: MIT
"""The page without a mouse, and for weak eyes: menus and zoom by keys, contrast of texts, a legend that filters."""
import json

from browser import command, run
from harness import check, equal
from test_html import set_state, shown
from test_html_edit import contrast

# Each text of the page: [its words, its colour, what is behind it], without what is disabled (WCAG 1.4.3 leaves that out).
TEXTS = """(() => {
    const rgb = (c) => c.match(/[\\d.]+/g).map(Number), over = ([r, g, b, a = 1], back) => [r, g, b].map((v, i) => v * a + back[i] * (1 - a));
    const behind = (e) => {
        const list = [];
        for (; e; e = e.parentElement)
            list.push(rgb(getComputedStyle(e).backgroundColor));
        return list.reverse().reduce((back, c) => over(c, back), [255, 255, 255]);
    };
    const opacity = (e) => e ? Number(getComputedStyle(e).opacity) * opacity(e.parentElement) : 1;
    const texts = [...document.querySelectorAll("body *")].filter((e) => e.checkVisibility() && !e.disabled && !e.closest("svg, script, style") &&
        [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()));
    return texts.map((e) => {
        const back = behind(e), color = over(rgb(getComputedStyle(e).color), back);
        return [e.textContent.trim().slice(0, 30), over([...color, opacity(e)], back).map(Math.round), back.map(Math.round)];
    });
})()"""


def test_texts_have_contrast():
    """WCAG AA, 4.5:1, in both themes, in each view, with the panel of time, chips, switches that are off, and dialogs."""
    for dark in (False, True):
        for state in ({"view": "graph", "time": "lanes", "quiet": ["[runnable]"]}, {"view": "top", "color": "module"},
                      {"view": "sandwich", "hide": ["kernel"], "search": "main"}):
            with shown("waits", dark=dark):
                set_state(**state)
                if state["view"] == "top":
                    run("document.querySelector('#help-open').click()")
                texts = run(TEXTS)
                check(len(texts) > 20, "texts:", len(texts))
                bad = [(t, round(contrast(tuple(c), tuple(b)), 2)) for t, c, b in texts if contrast(tuple(c), tuple(b)) < 4.5]
                equal(bad, [], f"{'dark' if dark else 'light'} {state['view']}")


def test_rows_have_a_menu():
    """A right click, and x."""
    with shown("full", hash="#view=top"):
        box = run("(({ x, y }) => [x, y])(document.querySelectorAll('.row')[1].getBoundingClientRect())")
        command("click", x=box[0] + 300, y=box[1] + 10, button="right")
        by_mouse = run("document.querySelector('#menu').innerText")
        check("Focus" in by_mouse and "Callers and callees" in by_mouse and "Zoom" not in by_mouse, by_mouse)
        command("press", key="Escape")
        command("press", key="ArrowDown")
        command("press", key="x")
        equal(run("document.querySelector('#menu').innerText"), by_mouse, "by the keyboard")
        run("[...document.querySelectorAll('#menu button')].find((b) => b.textContent.startsWith('Leave out')).click()")
        check(run("ebprof.state.edits")[0].startswith("drop:"), "an edit")


def test_zoom_and_move_by_keys():
    with shown("full"):
        frame = "new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(() => r(true))))"
        widths = lambda: run(frame) and {b["node"]: (b["x"], b["width"]) for b in run("ebprof.boxes")}
        before = widths()
        command("press", key="+")
        wide = widths()
        node = next((n for n in wide if n in before and abs(wide[n][1] / before[n][1] - 1.5) < 0.05), None)
        check(node is not None, "wider by a half:", {n: round(wide[n][1] / before[n][1], 2) for n in wide if n in before})
        command("press", key=">")
        moved = widths()
        check(node not in moved or moved[node] != wide[node], "moved:", wide[node], moved.get(node))
        command("press", key="0")
        equal(widths(), before, "reset")


def test_modules_are_filtered_by_the_legend():
    with shown("full", hash="#color=module"):
        names = run("[...document.querySelectorAll('#legend button')].map((b) => b.textContent)")
        run("document.querySelector('#legend button').click()")
        equal(run("ebprof.state.edits"), [f"module:{names[0]}"], "a click hides a module")
        check(not any(f["module"] == names[0] for f in run("ebprof.functions")), "its functions are gone")
        off = "[...document.querySelectorAll('#legend button')].filter((b) => b.ariaPressed === 'false')"
        equal(run(f"{off}.map((b) => b.textContent)"), [names[0]], "it stays in the legend")
        run(f"{off}[0].click()")
        equal([run("ebprof.state.edits"), json.loads(run("JSON.stringify(ebprof.functions)")) != []], [[], True], "another one takes it back")
