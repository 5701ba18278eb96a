# SPDX-License-Identifier: MIT
"""The static flame graph: valid XML whose boxes are as wide as the truth, and a picture that a browser shows."""
import base64
import json
import os
import re
import subprocess
import xml.etree.ElementTree as ET

import truth
from harness import check, directory, equal, fixture_path, needs, run

NAMES = ("full", "hostile", "one", "empty", "deep", "huge", "types")
GRAPH = 1168.0
SVG = "{http://www.w3.org/2000/svg}"
CHAR = 6.65


class Box:
    def __init__(self, g):
        rect = g.find(f"{SVG}rect")
        self.title, self.style = g.find(f"{SVG}title").text, g.get("class")
        self.x, self.y, self.width = (float(rect.get(k)) for k in ("x", "y", "width"))
        m = re.match(r"(.*): (\d+) (\S+), ([\d.]+) %(; ([\d.]+) % in itself)?$", self.title)
        check(m, "a title of another form:", self.title)
        self.label, self.count, self.unit, self.percent = m[1], int(m[2]), m[3], float(m[4])
        self.inner, self.children = g.find(f"{SVG}svg"), []

    def is_of(self, name):
        return self.label == name or self.label.startswith(name + " (")


class Picture:
    def __init__(self, path):
        self.path = path
        subprocess.run([needs("xmllint"), "--noout", path], check=True, timeout=30)
        self.root = ET.parse(path).getroot()
        self.width, self.height = (int(v) for v in self.root.get("viewBox").split()[2:])
        self.boxes = [Box(g) for g in self.root.iter(f"{SVG}g")]
        self.texts = ["".join(t.itertext()) for t in self.root.findall(f"{SVG}text")]
        # Who stands on whom.
        levels = {}
        for box in self.boxes:
            levels.setdefault(box.y, []).append(box)
        self.levels = [levels[y] for y in sorted(levels, reverse=True)]
        for below, above in zip(self.levels, self.levels[1:]):
            equal(below[0].y - above[0].y, self.levels[0][0].y - self.levels[1][0].y, "height of a level")
            for box in above:
                under = [b for b in below if b.x - 0.001 <= box.x and box.x + box.width <= b.x + b.width + 0.001]
                equal(len(under), 1, f"boxes under {box.title}")
                under[0].children.append(box)

    def check_geometry(self):
        """Widths are counts; children stand beside one another and are not wider than what is below them."""
        everything = self.boxes[0]
        equal((everything.label, everything.width), ("all", GRAPH), "the root")
        for box in self.boxes:
            check(abs(box.width - GRAPH * box.count / everything.count) <= 0.011, "width of", box.title, box.width)
            check(abs(box.percent - 100 * box.count / everything.count) <= 0.0051, "percent of", box.title)
            check(sum(c.count for c in box.children) <= box.count, "more above than below", box.title)
            children = sorted(box.children, key=lambda c: c.x)
            for a, b in zip(children, children[1:]):
                check(b.x - a.x - a.width > -0.001, "boxes lie on one another:", a.title, b.title)
            if box.inner is not None:
                x, width = float(box.inner.get("x")), float(box.inner.get("width"))
                check(x >= box.x and x + width <= box.x + box.width, "a text outside of its box:", box.title)
                shown = "".join(box.inner.itertext())
                check(len(shown) * CHAR <= box.width, "a text too long for its box:", shown)
                # What is cut says so; a name may do without what says least of it.
                check("…" in shown or shown in box.label, "a name that is cut, without an ellipsis:", shown, box.label)
            check(box.y >= 0 and box.y < self.height and box.x + box.width <= self.width, "outside:", box.title)

    def stacks(self, expected):
        """path of names -> count, as far as it is drawn, with names from the expected paths."""
        out = {}

        def descend(box, path):
            for child in box.children:
                names = [p[len(path)] for p in expected if len(p) == len(path) + 1 and p[:-1] == path
                         and child.is_of(p[len(path)])]
                check(names, "a box of nothing:", path, child.title)
                name = path + (max(names, key=len),)
                out[name] = out.get(name, 0) + child.count
                descend(child, name)
        descend(self.boxes[0], ())
        return out


def inclusive(stacks):
    out = {}
    for comm, frames, count in stacks:
        path = (comm, *frames)
        for i in range(len(path)):
            out[path[:i + 1]] = out.get(path[:i + 1], 0) + count
    return out


def test_boxes_are_the_profile():
    with directory() as d:
        for name in ("full", "hostile", "one", "huge", "types"):
            picture = Picture(truth.write(name, "svg", f"{d}/{name}.svg"))
            picture.check_geometry()
            expected = inclusive(truth.STACKS[name])
            equal(picture.boxes[0].count, truth.total(truth.STACKS[name]), f"{name}: the total")
            equal(picture.stacks(expected), expected, name)
            equal({b.unit for b in picture.boxes}, {"bytes" if name == "types" else "samples"}, f"{name}: units")


def test_what_is_told():
    with directory() as d:
        full, hostile, empty, deep = (Picture(truth.write(n, "svg", f"{d}/{n}.svg")) for n in ("full", "hostile", "empty", "deep"))
    for line in ("demo and 1 other program", "ebprof -p 100 -d 2.5", "cpu-clock at 100 Hz, 2.5 s, 4 CPUs, box, Linux 6.1.0 x86_64",
                 "117 samples: 109 complete, 5 truncated (5 depth), 3 lost (3 ring buffer full)"):
        check(line in full.texts, "no", line, "in", full.texts)
    check('<title> & "more"' in hostile.texts, "no title in", hostile.texts)
    check("no samples" in empty.texts and not empty.boxes, "not empty:", empty.texts)
    check("421 deeper levels not drawn" in deep.texts, "of 500:", deep.texts)
    equal(len(deep.levels), 81, "levels")
    check(deep.height < 1600, "height", deep.height)
    deep.check_geometry()


def test_kinds_and_names_have_colours():
    with directory() as d:
        full = Picture(truth.write("full", "svg", f"{d}/full.svg"))
        other = Picture(truth.write("timeline", "svg", f"{d}/other.svg"))
    styles = {}
    for box in full.boxes:
        styles.setdefault(box.label, set()).add(box.style)
    equal({k: v for k, v in styles.items() if len(v) > 1}, {}, "one function in two colours")
    letters = {label: style.copy().pop()[0] for label, style in styles.items()}
    expected = {"all": "t", "demo": "t", "main (demo)": "u", "hash (demo, inlined)": "i", "js:~render ([jit])": "j",
                "kthread ([kernel])": "k", "[truncated: depth]": "m", "malloc (libc.so.6)": "u"}
    equal({k: letters[k] for k in expected}, expected, "kinds")
    equal([b.style for b in other.boxes], [b.style for b in full.boxes], "colours in another picture")
    check(len({b.style for b in full.boxes if b.style[0] == "u"}) >= 4, "shades")


def test_nothing_in_it_runs_or_loads():
    with directory() as d:
        for name in NAMES:
            with open(truth.write(name, "svg", f"{d}/{name}.svg")) as f:
                text = f.read()
            root = ET.fromstring(text)
            tags = {e.tag for e in root.iter()}
            check(tags <= {SVG + t for t in ("svg", "g", "title", "style", "rect", "text")}, "elements:", tags)
            names = {a for e in root.iter() for a in e.attrib}
            check(names <= {"class", "x", "y", "width", "height", "rx", "viewBox", "style", "role"}, "attributes:", names)
            check("url(" not in text and "@import" not in text, "loads something:", name)


# Tells the colours of a picture's points, and whether it could be drawn.
PAGE = """<!doctype html><pre id=out></pre><script>
const image = new Image(), points = %s, out = document.getElementById("out");
image.onerror = () => out.textContent = "error";
image.onload = () => {
	const canvas = document.createElement("canvas"), context = canvas.getContext("2d");
	canvas.width = image.naturalWidth;
	canvas.height = image.naturalHeight;
	context.drawImage(image, 0, 0);
	out.textContent = JSON.stringify([canvas.width, canvas.height,
		points.map(p => Array.from(context.getImageData(p[0], p[1], 1, 1).data.slice(0, 3)))]);
};
image.src = "data:image/svg+xml;base64,%s";
</script>"""


def colours(picture, d, points, dark):
    with open(picture.path, "rb") as f:
        data = base64.b64encode(f.read()).decode()
    page = os.path.join(d, "page.html")
    with open(page, "w") as f:
        f.write(PAGE % (json.dumps(points), data))
    dom = subprocess.run([needs("chromium"), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={d}/chromium",
                          f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--virtual-time-budget=10000",
                          "--dump-dom", f"file://{page}"], capture_output=True, text=True, timeout=60, check=True).stdout
    out = re.search(r"<pre id=\"out\">(.*?)</pre>", dom)[1]
    check(out not in ("", "error"), "it was not drawn:", out)
    width, height, got = json.loads(out)
    equal((width, height), (picture.width, picture.height), "size")
    return [tuple(c) for c in got]


def test_a_browser_shows_it():
    with directory() as d:
        for name, dark in (("full", False), ("full", True), ("hostile", False)):
            picture = Picture(truth.write(name, "svg", f"{d}/{name}.svg"))
            wide = [b for b in picture.boxes if b.width > 20]
            # At the right end of a box, where no text is; and beside the graph.
            points = [[int(b.x + b.width - 3), int(b.y + 3)] for b in wide] + [[5, 5]]
            *got, background = colours(picture, d, points, dark)
            equal(background, (0x16, 0x18, 0x1d) if dark else (255, 255, 255), "background")
            for box, colour in zip(wide, got):
                red, green, blue = colour
                check(colour != background, "not drawn:", box.title)
                if box.style[0] == "k":
                    check(blue > green > red, "not blue:", box.title, colour)
                if box.style[0] in "ui":
                    check(red >= green > blue, "not warm:", box.title, colour)
            check(len(set(got)) > 4, "few colours:", set(got))


def test_a_recording():
    with directory() as d:
        svg, folded = os.path.join(d, "x.svg"), os.path.join(d, "x.folded")
        result = run("-F", 499, "-d", "0.8s", "-o", svg, "-o", folded, "--", fixture_path("inlined_spin")).ok()
        picture = Picture(svg)
        with open(folded) as f:
            lines = [line.rstrip("\n").rpartition(" ") for line in f]
    expected = inclusive([(s.split(";")[0], s.split(";")[1:], int(n)) for s, _, n in lines])
    picture.check_geometry()
    equal(picture.boxes[0].count, result.summary.kept, "samples")
    equal(picture.stacks(expected), expected, "stacks")
    check(any(b.label == "inlined_work (inlined_spin, inlined)" for b in picture.boxes), "nothing inlined")
