/* SPDX-License-Identifier: MIT */
/*
 * The picture: boxes on a canvas that is as large as its window, never as high as the stacks are deep.
 * Only rows in the window are drawn, and a box below half a pixel costs one step: what is
 * under it is skipped. Such boxes side by side are drawn as one pale strip.
 *
 * A *pane* is a tree and the stretch [from, to] of its line that is seen over the whole width; its rows
 * go down from the root's, or up. A sandwich has two panes that share the row of their roots.
 */

const ROW = 20;			/* CSS pixels, with the gap */
const GAP = 1;
const GAP_LEAST = 4;		/* narrower boxes stand without a gap */
const PAD = 5;			/* left and right of a name */
const NAME_LEAST = 24;		/* a box this wide can show three letters */
const ROUND_LEAST = 7;		/* and this wide has round corners */
const TINY = 0.5;
const MARGIN = 8;		/* around the picture */
const ZOOM_MS = 180;
const STRETCH_LEAST = 1e-7;	/* of all, what the wheel can make as wide as the window */
const NAME_MAX = 400;		/* letters; no box shows more */
const FONT = '12px ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", Arial, sans-serif';

class Graph {
	constructor(scroller, colors) {
		this.scroller = scroller;
		this.colors = colors;
		this.canvas = scroller.querySelector("canvas");
		this.space = scroller.querySelector(".space");
		this.context = this.canvas.getContext("2d");
		this.panes = [];
		this.rootY = this.height = 0;
		this.widths = new Float32Array(0);	/* of names, by frame; 0: not measured yet */
		this.pending = false;
		this.hover = this.selected = null;	/* { pane, node } */
		this.drawTime = 0;
		scroller.addEventListener("scroll", () => this.redraw(), { passive: true });
	}

	/* --- What is shown. --- */

	/* @trees: { main, callers }; @zoom: { tree: "main" or "callers", node }. */
	show(view, trees, zoom, upwards, animate) {
		const before = this.panes, k = view.value;

		this.view = view;
		this.frames = view.profile.frames;
		if (this.widths.length !== this.frames.n)
			this.widths = new Float32Array(this.frames.n);
		this.panes = Object.entries(trees).map(([name, tree]) => {
			const node = zoom.tree === name ? zoom.node : 0;

			return { name, tree, k, node, up: name === "callers" ? !upwards : upwards, hideRoot: name === "callers",
				 from: tree.x[k][node], to: tree.x[k][node] + tree.total[k][node] };
		});
		for (const pane of this.panes) {
			const old = before.find((p) => p.tree === pane.tree && p.k === k);

			pane.start = old && animate ? { from: old.seenFrom ?? old.from, to: old.seenTo ?? old.to } : null;
			pane.rows = this.rowsOf(pane);
		}
		this.hover = null;
		if (this.selected && !this.panes.some((p) => p.tree === this.selected.pane.tree))
			this.selected = null;
		else if (this.selected)
			this.selected.pane = this.panes.find((p) => p.tree === this.selected.pane.tree);
		this.startTime = this.panes.some((p) => p.start) ? performance.now() : 0;
		this.layout();
	}

	/* How many rows have a box that can be seen. */
	rowsOf(pane) {
		const { tree, k, from, to } = pane, { x, total, end } = { x: tree.x[k], total: tree.total[k], end: tree.end };
		const least = (to - from) * TINY / Math.max(200, this.scroller.clientWidth);
		let deepest = 0;

		for (let i = 0; i < tree.n;) {
			if (total[i] <= least || x[i] + total[i] <= from || x[i] >= to) {
				i = end[i];
				continue;
			}
			deepest = Math.max(deepest, tree.depth[i]);
			i++;
		}
		return deepest + 1;
	}

	/* Sizes: of the canvas, of what can be scrolled, and the row of the roots, which stays where it is in the window. */
	layout() {
		const { scroller, canvas } = this, ratio = window.devicePixelRatio || 1;
		const seenAt = this.rootY - scroller.scrollTop - this.anchor * this.height;
		const width = scroller.clientWidth, height = scroller.clientHeight;
		const ups = this.panes.filter((p) => p.up), downs = this.panes.filter((p) => !p.up);
		const above = Math.max(0, ...ups.map((p) => p.rows - 1)), below = Math.max(0, ...downs.map((p) => p.rows - 1));
		const content = (above + 1 + below) * ROW + 2 * MARGIN;

		this.width = width;
		this.height = height;
		this.ratio = ratio;
		if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
			canvas.width = Math.round(width * ratio);
			canvas.height = Math.round(height * ratio);
			canvas.style.width = `${width}px`;
			canvas.style.height = `${height}px`;
		}
		/* The canvas stands still in the window, so it is not part of what is scrolled. */
		this.space.style.height = `${Math.max(0, content - height)}px`;
		this.contentHeight = Math.max(content, height);
		/* A picture that is lower than its window stands at its ground. */
		this.rootY = ups.length && !downs.length ? this.contentHeight - MARGIN - ROW : MARGIN + above * ROW;
		scroller.scrollTop = this.rootY - seenAt - this.anchor * height;
		this.redraw();
	}

	/* Which part of the window the roots belong to: the top, the bottom, or the middle of a sandwich. */
	get anchor() {
		return this.panes.length > 1 ? 0.5 : this.panes.length && this.panes[0].up ? 1 : 0;
	}

	scrollToRoot() {
		this.scroller.scrollTop = this.rootY - this.anchor * (this.height - ROW) + (this.anchor === 1 ? MARGIN : -MARGIN);
	}

	/* The row of a node, wholly into the window. */
	scrollTo(pane, node) {
		const y = this.rowY(pane, pane.tree.depth[node]), top = this.scroller.scrollTop;

		if (y - MARGIN < top)
			this.scroller.scrollTop = y - MARGIN;
		else if (y + ROW + MARGIN > top + this.height)
			this.scroller.scrollTop = y + ROW + MARGIN - this.height;
	}

	rowY(pane, depth) {
		return this.rootY + (pane.up ? -depth : depth) * ROW;
	}

	/* --- Drawing. --- */

	redraw() {
		if (this.pending)
			return;
		this.pending = true;
		requestAnimationFrame(() => {
			this.pending = false;
			this.draw();
		});
	}

	draw() {
		const began = performance.now();
		const style = getComputedStyle(this.scroller), get = (name) => style.getPropertyValue(name).trim();

		this.theme = { text: get("--box-text"), found: get("--found"), foundText: get("--found-text"),
			       back: get("--back"), tiny: get("--tiny"), line: get("--text"), accent: get("--accent") };
		let t = this.startTime ? Math.min(1, (began - this.startTime) / ZOOM_MS) : 1;

		t = 1 - (1 - t) ** 3;
		for (const pane of this.panes) {
			const s = pane.start;

			pane.seenFrom = s ? s.from + (pane.from - s.from) * t : pane.from;
			pane.seenTo = s ? s.to + (pane.to - s.to) * t : pane.to;
		}
		this.paint();
		this.drawTime = performance.now() - began;
		if (t < 1)
			this.redraw();
		else
			this.startTime = 0;
	}

	paint() {
		const { context: c, width, height, ratio } = this;

		c.setTransform(ratio, 0, 0, ratio, 0, 0);
		c.clearRect(0, 0, width, height);
		c.font = FONT;
		c.textBaseline = "middle";
		c.direction = "ltr";
		for (const pane of this.panes)
			this.drawPane(pane);
		this.drawMarked(this.selected, 2, this.theme.accent);
		this.drawMarked(this.hover, 1.5, this.theme.line);
	}

	get legend() {
		return placeLegend(wholeMeaning(this.view, this.colors), this.width, this.context);
	}

	get wholeHeight() {
		return this.contentHeight + legendHeight(this.legend);
	}

	/* All rows, and not only those in the window, and what their colours mean, on another context. Returns the height. */
	paintOn(context, ratio) {
		const { contentHeight, legend, theme } = this;

		Object.assign(Object.create(this), { context, ratio, height: contentHeight, scroller: { scrollTop: 0 },
						     hover: null, selected: null }).paint();
		context.globalAlpha = 1;
		drawLegend(context, legend, contentHeight, theme.line);
		return contentHeight + legendHeight(legend);
	}

	/* --- Wheel and drag: another stretch of the line, whatever is zoomed into. --- */

	get moved() {
		return this.panes.some((p) => p.moved);
	}

	see(pane, from, to) {
		const all = pane.tree.total[pane.k][0], size = Math.min(all, Math.max(to - from, all * STRETCH_LEAST));

		pane.from = Math.min(Math.max(0, from), all - size);
		pane.to = pane.from + size;
		pane.start = null;
		pane.moved = true;
		pane.rows = this.rowsOf(pane);
		this.layout();
	}

	paneAt(clientY) {
		const y = clientY - this.canvas.getBoundingClientRect().top + this.scroller.scrollTop;

		return this.panes.find((p) => p.up === y < this.rootY) || this.panes[0];
	}

	/* Makes all @factor times as wide, around a point of the window. */
	zoomAround(clientX, clientY, factor) {
		const pane = this.paneAt(clientY), left = this.canvas.getBoundingClientRect().left + MARGIN;

		if (!pane)
			return;
		const value = pane.from + (clientX - left) / this.scale({ seenFrom: pane.from, seenTo: pane.to });

		this.see(pane, value - (value - pane.from) / factor, value + (pane.to - value) / factor);
	}

	pan(pane, dx, dy) {
		const by = dx / this.scale({ seenFrom: pane.from, seenTo: pane.to });

		this.scroller.scrollTop -= dy;
		this.see(pane, pane.from - by, pane.to - by);
	}

	/* Where a node's box is in the window: { x, y, width, height }, cut to it left and right. */
	boxOf(pane, node) {
		const { tree, k } = pane, scale = this.scale(pane);
		const left = MARGIN + (tree.x[k][node] - pane.seenFrom) * scale, right = left + tree.total[k][node] * scale;
		const x = Math.max(MARGIN, left);

		return { x, y: this.rowY(pane, tree.depth[node]) - this.scroller.scrollTop,
			 width: Math.min(this.width - MARGIN, right) - x, height: ROW - GAP };
	}

	scale(pane) {
		return (this.width - 2 * MARGIN) / (pane.seenTo - pane.seenFrom || 1);
	}

	drawPane(pane) {
		const { tree, k, seenFrom, seenTo } = pane, { depth, end, parent } = tree, x = tree.x[k], total = tree.total[k];
		const { scrollTop } = this.scroller, top = scrollTop - ROW, bottom = scrollTop + this.height;
		const scale = this.scale(pane), left = (i) => MARGIN + (x[i] - seenFrom) * scale;
		const strips = [];	/* by depth: boxes too small, side by side */
		const lastRow = Math.max(...[top, bottom].map((y) => (pane.up ? this.rootY - y : y - this.rootY) / ROW));
		const zoomDepth = depth[pane.node];

		for (let i = 0; i < tree.n;) {
			if (x[i] >= seenTo && i > 0) {
				/* So is all that comes after it below the same caller. */
				i = end[parent[i]];
				continue;
			}
			const width = total[i] * scale, d = depth[i];

			if (d > lastRow || x[i] + total[i] <= seenFrom) {
				i = end[i];
				continue;
			}
			const y = this.rowY(pane, d), seen = y >= top && y <= bottom && !(pane.hideRoot && i === 0);

			if (width < TINY) {
				if (seen && width > 0)
					this.addToStrip(strips, d, left(i), width, y - scrollTop, tree.frame[i]);
				i = end[i];
				continue;
			}
			if (seen)
				this.drawBox(pane, i, left(i), width, y - scrollTop, d < zoomDepth);
			i++;
		}
		for (const strip of strips)
			this.drawStrip(strip);
	}

	drawBox(pane, node, left, width, y, isAncestor) {
		const { context: c, theme } = this, { tree } = pane, frame = tree.frame[node], found = this.view.found;
		/* On the edges of the screen's own pixels, so that a row of narrow boxes is not a blur. */
		const x = this.snap(Math.max(MARGIN, left)), right = this.snap(Math.min(this.width - MARGIN, left + width));
		const w = Math.max(TINY, right - x - (right - x > GAP_LEAST ? GAP : 0));
		const isFound = found && frame !== NONE && found[frame];

		c.globalAlpha = found && !isFound ? 0.38 : isAncestor ? 0.55 : 1;
		c.fillStyle = isFound ? theme.found : this.colors.of(frame, tree.total, node);
		if (w >= ROUND_LEAST) {
			c.beginPath();
			c.roundRect(x, y, w, ROW - GAP, 2.5);
			c.fill();
		} else {
			c.fillRect(x, y, w, ROW - GAP);
		}
		if (w >= NAME_LEAST) {
			const name = this.fit(frame, node ? this.view.nameOf(frame) : this.rootName(pane), w - 2 * PAD);

			c.globalAlpha = found && !isFound ? 0.6 : isAncestor ? 0.8 : 1;
			c.fillStyle = isFound ? theme.foundText : theme.text;
			if (name)
				c.fillText(name, x + PAD, y + (ROW - GAP) / 2 + 0.5);
		}
		c.globalAlpha = 1;
	}

	rootName({ tree, k }) {
		const name = this.view.nameOf(tree.frame[0]), { profile } = this.view;
		const half = profile.difference ? ` ${profile.sides[k]}` : "";

		return tree.frame[0] === NONE ? `${name}${half}: ${quantity(profile, tree.total[k][0])}` : name;
	}

	snap(x) {
		return Math.round(x * this.ratio) / this.ratio;
	}

	addToStrip(strips, depth, x, width, y, frame) {
		const strip = strips[depth], found = this.view.found && this.view.found[frame];

		if (strip && x - strip.to < TINY) {
			strip.to = x + width;
			strip.found += found ? width : 0;
			return;
		}
		if (strip)
			this.drawStrip(strip);
		strips[depth] = { from: x, to: x + width, y, found: found ? width : 0 };
	}

	/* The more of it is found, the more it has of that colour. */
	drawStrip(strip) {
		const c = this.context, width = strip ? strip.to - strip.from : 0;

		if (width < TINY)
			return;
		c.fillStyle = this.theme.tiny;
		c.fillRect(strip.from, strip.y, width, ROW - GAP);
		if (strip.found) {
			c.globalAlpha = Math.min(1, 0.15 + strip.found / width);
			c.fillStyle = this.theme.found;
			c.fillRect(strip.from, strip.y, width, ROW - GAP);
			c.globalAlpha = 1;
		}
	}

	/* An outline. */
	drawMarked(at, line, color) {
		if (!at || !this.panes.includes(at.pane))
			return;
		const box = this.boxOf(at.pane, at.node), c = this.context;

		if (box.width <= 0)
			return;
		const inset = (line - 1) / 2;

		c.lineWidth = line;
		c.strokeStyle = color;
		c.beginPath();
		c.roundRect(box.x + inset, box.y + inset, Math.max(1, box.width - line), box.height - line + 1, 2.5);
		c.stroke();
	}

	/* As much of a name as fits, "" where that is too little. What has no name is told by its end: [image+0xoffset]. */
	fit(frame, full, room) {
		const name = full.length > NAME_MAX ? full.slice(0, NAME_MAX) : full, c = this.context;
		let width = frame === NONE ? 0 : this.widths[frame];

		if (!width) {
			width = c.measureText(name).width || 1;
			if (frame !== NONE)
				this.widths[frame] = width;
		}
		if (width <= room && name.length === full.length)
			return name;
		const byEnd = full.startsWith("[") && full.includes("+0x");
		let shortest = name;

		for (const shorter of byEnd || name.length < full.length ? [] : shorterNames(name)) {
			if (c.measureText(shorter).width <= room)
				return shorter;
			shortest = shorter.length < shortest.length ? shorter : shortest;
		}
		let n = Math.min(shortest.length, Math.ceil(name.length * room / width) + 2);

		for (; n >= 2; n--) {
			const cut = byEnd ? `…${full.slice(-n)}` : `${shortest.slice(0, n).replace(/[\ud800-\udbff]$/, "")}…`;

			if (c.measureText(cut).width <= room)
				return cut;
		}
		return "";
	}

	/* --- Where is what. --- */

	/* The box at a point of the window, or NULL. */
	at(clientX, clientY) {
		const area = this.canvas.getBoundingClientRect(), px = clientX - area.left - MARGIN;
		const y = clientY - area.top + this.scroller.scrollTop;

		for (const pane of this.panes) {
			const row = Math.floor((y - this.rootY) / ROW) * (pane.up ? -1 : 1), scale = this.scale(pane);
			const value = pane.seenFrom + px / scale, { tree, k } = pane;
			let node = 0;

			if (row < 0 || (pane.hideRoot && row === 0) || px < 0 || px > this.width - 2 * MARGIN)
				continue;
			while (node >= 0 && tree.depth[node] < row)
				node = tree.child(node, (c) => tree.x[k][c] <= value && value < tree.x[k][c] + tree.total[k][c]);
			if (node >= 0 && tree.total[k][node] * scale >= TINY)
				return { pane, node };
		}
		return null;
	}

	/* The boxes in the window, from the roots on. */
	*boxes() {
		for (const pane of this.panes) {
			const { tree, k } = pane, scale = this.scale(pane);

			for (let i = 0; i < tree.n;) {
				const box = this.boxOf(pane, i);

				if (tree.total[k][i] * scale < TINY || box.width <= 0) {
					i = tree.end[i];
					continue;
				}
				if (box.y > -ROW && box.y < this.height && !(pane.hideRoot && i === 0))
					yield { pane, node: i, ...box };
				i++;
			}
		}
	}

	/* The neighbour of a box that can be seen: "caller", "callee", "before" or "after" it; NULL: none. */
	neighbour({ pane, node }, way) {
		const { tree, k } = pane, { parent, end } = tree, total = tree.total[k];
		const least = TINY / this.scale(pane);
		const siblings = (of) => {
			const list = [];

			for (let c = of + 1; c < end[of]; c = end[c])
				if (total[c] >= least && tree.x[k][c] < pane.to && tree.x[k][c] + total[c] > pane.from)
					list.push(c);
			return list;
		};
		let found;

		if (way === "caller") {
			found = node ? parent[node] : undefined;
		} else if (way === "callee") {
			found = siblings(node).sort((a, b) => total[b] - total[a])[0];
		} else if (node) {
			const list = siblings(parent[node]);

			found = list[list.indexOf(node) + (way === "after" ? 1 : -1)];
		}
		return found === undefined ? null : { pane, node: found };
	}
}
