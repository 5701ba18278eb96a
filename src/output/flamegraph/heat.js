/* SPDX-License-Identifier: MIT */
/*
 * The sub-second heat map: a column is a second, from its beginning at the bottom to its end at the top, in 50 cells of
 * 20 ms, the darker the more samples they have. What comes again and again makes a pattern. The canvas is as large
 * as its window; a cell is a pixel of a small picture that is stretched.
 */

const HEAT_LEFT = 34;			/* CSS pixels, for the axis */
const HEAT_BELOW = 16;
const HEAT_NARROW = 3, HEAT_WIDE = 40;	/* a column */
const HEAT_STEPS = 32;			/* of the colours */
const AXIS_FONT = `10px ${FONT.slice(5)}`;

class Heat {
	constructor(panel, area) {
		this.panel = panel;
		this.area = area;
		this.canvas = element("canvas", "");
		this.space = element("div", "space");
		this.image = document.createElement("canvas");
		this.cursor = 0;			/* a cell */
		area.append(this.canvas, this.space);
		area.addEventListener("scroll", () => this.draw(), { passive: true });
	}

	get times() {
		return this.panel.times;
	}

	get seconds() {
		return this.times.cells.length / CELLS;
	}

	/* Of a profile that has grown: at the end it stays there. */
	follow() {
		this.key = "";
		this.atEnd = this.area.scrollLeft + this.area.clientWidth >= this.area.scrollWidth - 1;
	}

	/* Sizes. */
	layout() {
		const room = this.area.clientWidth, row = innerHeight < 640 ? 2 : 3;

		this.width = room;
		this.row = row;
		this.column = Math.max(HEAT_NARROW, Math.min(HEAT_WIDE, Math.floor((room - HEAT_LEFT) / this.seconds)));
		this.height = CELLS * row + HEAT_BELOW;
		sizeCanvas(this.canvas, room, this.height);
		this.space.style.width = `${HEAT_LEFT + this.seconds * this.column}px`;
		if (this.atEnd)
			this.area.scrollLeft = this.area.scrollWidth;
		this.atEnd = false;
	}

	/* Where things are in the window. */
	xOf(second) {
		return HEAT_LEFT + second * this.column - this.area.scrollLeft;
	}

	yOf(share) {
		return (1 - share) * CELLS * this.row;
	}

	/* By step: what colours 0 ... most samples. The palest stands out from what is empty. */
	get scale() {
		const { dark } = this.panel.page.colors, [pale, full] = dark ? [0.52, 0.93] : [0.65, 0.3];

		return Array.from({ length: HEAT_STEPS }, (_, i) => {
			const t = i / (HEAT_STEPS - 1);

			return oklch(pale + (full - pale) * t, 0.15 - 0.04 * t, 62 - 32 * t);
		});
	}

	/* Cells of the seconds from @first on, a pixel each. */
	paintCells(first, n) {
		const { cells, most } = this.times, pixels = new ImageData(n, CELLS);
		const colors = this.scale.map((color) => color.match(/\d+/g).map(Number));

		for (let x = 0; x < n; x++)
			for (let row = 0; row < CELLS; row++) {
				const count = cells[(first + x) * CELLS + row], at = 4 * ((CELLS - 1 - row) * n + x);

				if (count)
					pixels.data.set([...colors[Math.ceil(count / most * (HEAT_STEPS - 1))], 255], at);
			}
		this.image.width = n;
		this.image.height = CELLS;
		this.image.getContext("2d").putImageData(pixels, 0, 0);
	}

	draw() {
		const { column, seconds, row, width } = this, first = Math.floor(this.area.scrollLeft / column);
		const n = Math.min(seconds - first, Math.ceil(width / column) + 1);
		const c = startDrawing(this.canvas, this.panel.theme), key = [first, n, this.panel.page.colors.dark].join();

		if (n <= 0)
			return;
		if (key !== this.key)
			this.paintCells(first, n);
		this.key = key;
		c.save();
		c.beginPath();
		c.rect(HEAT_LEFT, 0, Math.min(width - HEAT_LEFT, this.xOf(seconds)), CELLS * row);
		c.clip();
		const picture = () => c.drawImage(this.image, this.xOf(first), 0, n * column, CELLS * row);

		c.globalAlpha = this.panel.marks.length ? 0.4 : 1;
		picture();
		c.globalAlpha = 1;
		for (const { range } of this.panel.marks) {
			c.save();
			this.outline(c, range);
			c.clip();
			c.fillStyle = this.panel.theme.back;
			c.fillRect(0, 0, width, CELLS * row);
			picture();
			c.restore();
		}
		for (const { range, color } of this.panel.marks) {
			this.outline(c, range);
			c.strokeStyle = color;
			c.lineWidth = 2;
			c.stroke();
		}
		this.drawCursor(c);
		c.restore();
		this.drawAxes(c, first, n);
	}

	/* The path around a range: the end of one column, whole ones, the beginning of the last one. */
	outline(c, { from, to }) {
		const second = this.times.cell * CELLS, [a, b] = [Math.floor(from / second), Math.floor((to - 1) / second)];
		const [low, high] = [from / second - a, to / second - b], x = (s) => this.xOf(s), y = (share) => this.yOf(share);

		c.beginPath();
		if (a === b) {
			c.rect(x(a), y(high), this.column, y(low) - y(high));
			return;
		}
		for (const [px, py] of [[a, low], [a, 1], [b, 1], [b, high], [b + 1, high], [b + 1, 0], [a + 1, 0], [a + 1, low]])
			c.lineTo(x(px), y(py));
		c.closePath();
	}

	drawCursor(c) {
		const focused = document.activeElement === this.area, second = Math.floor(this.cursor / CELLS);
		const top = this.yOf((this.cursor % CELLS + 1) / CELLS);

		if (!focused && !this.panel.anchor)
			return;
		c.strokeStyle = this.panel.theme.text;
		c.lineWidth = 1.5;
		c.strokeRect(this.xOf(second) - 0.5, top - 1, this.column + 1, this.row + 2);
	}

	drawAxes(c, first, n) {
		const { column, row } = this, step = niceStep(48 / column);

		c.fillStyle = this.panel.theme.back;
		c.fillRect(0, 0, HEAT_LEFT, this.height);
		c.fillStyle = this.panel.theme.dim;
		c.font = AXIS_FONT;
		c.textAlign = "right";
		for (const [text, share] of [["1 s", 0.96], ["0.5", 0.5], ["0 s", 0.04]])
			c.fillText(text, HEAT_LEFT - 5, this.yOf(share));
		c.textAlign = "left";
		for (let s = Math.ceil(first / step) * step; s < first + n; s += step)
			if (this.xOf(s) >= HEAT_LEFT)
				c.fillText(`${NUMBER.format(s)} s`, this.xOf(s), CELLS * row + HEAT_BELOW / 2 + 1);
	}

	/* The cell at a point of the window, as a range. */
	spanAt(clientX, clientY) {
		const box = this.canvas.getBoundingClientRect(), inside = (v, most) => Math.max(0, Math.min(most, v));
		const second = Math.floor((clientX - box.left - this.xOf(0)) / this.column);
		const row = CELLS - 1 - Math.floor((clientY - box.top) / this.row);

		return this.span(inside(second, this.seconds - 1) * CELLS + inside(row, CELLS - 1));
	}

	span(cell) {
		return { from: cell * this.times.cell, to: (cell + 1) * this.times.cell };
	}

	point({ from }) {
		this.cursor = from / this.times.cell;
	}

	/* By a key: the cursor's new place. */
	move(key) {
		const by = { ArrowUp: 1, ArrowDown: -1, ArrowRight: CELLS, ArrowLeft: -CELLS }[key], cell = this.cursor + by;

		if (cell >= 0 && cell < this.times.cells.length)
			this.cursor = cell;
		const x = this.xOf(Math.floor(this.cursor / CELLS));

		if (x < HEAT_LEFT || x + this.column > this.width)
			this.area.scrollLeft += x - this.width / 2;
		return this.span(this.cursor);
	}

	get marked() {
		return this.span(this.cursor);
	}

	/* What is at a place, in lines. */
	describe({ from, to }) {
		const { times } = this, count = times.cells[from / times.cell];

		return [quantity(this.panel.page.profile.ofTimes, count), `${times.textOf(from)} – ${times.textOf(to)}`];
	}
}

/* 1, 2, 5, 10, 20, ...: the next one. */
function niceStep(least) {
	let step = 1;

	for (let i = 0; step < least; i++)
		step *= i % 3 === 1 ? 2.5 : 2;
	return step;
}

function sizeCanvas(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;

	canvas.width = Math.round(width * ratio);
	canvas.height = Math.round(height * ratio);
	canvas.style.width = `${width}px`;
	canvas.style.height = `${height}px`;
}

/* A context in CSS pixels, with nothing on it. */
function startDrawing(canvas, theme) {
	const c = canvas.getContext("2d"), ratio = window.devicePixelRatio || 1;

	c.setTransform(ratio, 0, 0, ratio, 0, 0);
	c.fillStyle = theme.back;
	c.fillRect(0, 0, canvas.width, canvas.height);
	c.imageSmoothingEnabled = false;
	c.textBaseline = "middle";
	return c;
}
