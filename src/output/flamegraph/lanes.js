/* SPDX-License-Identifier: MIT */
/*
 * A lane for each thread, below its process: what it was sampled in, when, and what it waited for. From left to right
 * is time; the colour of a stroke is that of the function that most samples were in, its height how many there were.
 * A wait is a bar as long as it lasted, in the colour of its reason (waits.js). Threads with few of both share the
 * last lane.
 */

const LANES_MOST = 30;
const LANE = 16;			/* CSS pixels */
const LANES_BELOW = 16;
const WINDOW_LEAST = 50;		/* units that are as wide as the window, at least */
const STEPS_WIDE = 200;			/* of the arrow keys, from left to right */
const NEAR = 4;				/* CSS pixels from the pointer to what is narrower than these */
const WAIT_LEAST = 2;			/* the height of what hardly waited */

class Lanes {
	constructor(panel, area) {
		this.panel = panel;
		this.area = area;
		this.canvas = element("canvas", "");
		this.image = document.createElement("canvas");
		this.rows = this.makeRows();
		this.waits = new Waits(panel.page.profile);
		this.end = this.times.end;
		this.seen = { from: 0, to: this.end };
		this.at = 0;			/* the cursor, in units, */
		this.row = this.rows.findIndex((r) => r.lanes);	/* and its lane */
		area.append(this.canvas);
		area.addEventListener("wheel", (e) => {
			if (!e.ctrlKey)
				return;
			e.preventDefault();
			this.zoomAround(e.clientX, 2 ** (-e.deltaY / WHEEL_STEP));
		}, { passive: false });
	}

	get times() {
		return this.panel.times;
	}

	/* Of a profile that has grown; what was seen as a whole still is, and the marked thread stays marked. */
	follow() {
		const { name } = this.rows[this.row] || {}, whole = this.seen.from === 0 && this.seen.to === this.end;

		this.rows = this.makeRows();
		this.waits = new Waits(this.panel.page.profile);
		this.row = Math.max(this.rows.findIndex((r) => r.lanes && r.name === name), this.rows.findIndex((r) => r.lanes));
		this.end = this.times.end;
		if (whole)
			this.seen.to = this.end;
		this.key = "";
	}

	/* { name, lanes, below }: no lanes: the title of a process, which those below it follow. */
	makeRows() {
		const { frames } = this.panel.page.profile, { first, lanes } = this.times, rows = [];
		const frameOf = (t) => frames.nfunctions + lanes[t].label, alike = new Map();
		const all = lanes.map((_, t) => ({ t, count: first[t + 1] - first[t] }))
			.filter(({ count }) => count).sort((a, b) => b.count - a.count || a.t - b.t);
		const shown = all.slice(0, all.length > LANES_MOST + 1 ? LANES_MOST : all.length), rest = all.slice(shown.length);
		const processes = new Map();

		for (const { label } of lanes)
			alike.set(label, (alike.get(label) || 0) + 1);
		/* Both in the order of their busiest thread. */
		for (const { t } of shown) {
			const frame = frames.processOf(frameOf(t)), process = `${frame} ${frames.id[frame] ? 0 : lanes[t].pid}`;

			processes.set(process, [...processes.get(process) || [], t]);
		}
		for (const threads of processes.values()) {
			const title = frames.name[frames.processOf(frameOf(threads[0]))];
			const names = threads.map((t) => {
				const { label, tid, pid } = lanes[t], name = frames.name[frameOf(t)];

				return alike.get(label) > 1 && (tid || pid) ? `${name} ${tid || pid}` : name;
			});

			if (threads.length > 1)
				rows.push({ name: title });
			else if (frames.name[frameOf(threads[0])] !== title)
				names[0] = `${title} / ${names[0]}`;
			threads.forEach((t, i) => rows.push({ name: names[i], lanes: [t], below: threads.length > 1 }));
		}
		if (rest.length)
			rows.push({ name: `${NUMBER.format(rest.length)} others`, lanes: rest.map(({ t }) => t) });
		return rows;
	}

	layout() {
		this.width = this.area.clientWidth;
		this.left = this.width < 560 ? 90 : 160;
		this.height = this.rows.length * LANE + LANES_BELOW;
		sizeCanvas(this.canvas, this.width, this.height);
		this.key = "";
	}

	xOf(units) {
		return this.left + (units - this.seen.from) * this.scale;
	}

	get scale() {
		return (this.width - this.left) / (this.seen.to - this.seen.from);
	}

	see(from, to) {
		const { end } = this.times, size = Math.min(end, Math.max(WINDOW_LEAST, to - from));

		this.seen.from = Math.max(0, Math.min(end - size, from));
		this.seen.to = this.seen.from + size;
		this.key = "";
		this.draw();
	}

	zoomAround(clientX, factor) {
		const at = this.timeAt(clientX);

		this.see(at - (at - this.seen.from) / factor, at + (this.seen.to - at) / factor);
	}

	/* For each pixel of a row: samples, and the frame of most of them, if it has more than half. */
	count({ lanes }, width) {
		const { times } = this, { frame } = this.panel.page.profile.shape, { from, to } = this.seen;
		const counts = new Float64Array(width), most = new Uint32Array(width), votes = new Float64Array(width);

		for (const t of lanes)
			for (let i = times.search(t, from), end = times.search(t, to); i < end; i++) {
				const x = Math.floor((times.at[i] - from) * width / (to - from)), leaf = frame[times.node[i]];

				if (times.span && times.span[i])
					continue;
				counts[x] += times.valueOf(i);
				/* Boyer and Moore's vote. */
				if (!votes[x])
					most[x] = leaf;
				votes[x] += most[x] === leaf ? 1 : -1;
			}
		return { counts, most };
	}

	/* By reason, for each pixel of a row, how many threads waited on the average; those that are switched off not. */
	cover({ lanes }, width) {
		const { times, waits } = this, { from, to } = this.seen, scale = width / (to - from);
		const { quiet: off } = this.panel.page.now;
		const covers = waits.names.map((name) => off.includes(name) ? null : new Float64Array(width + 2));

		for (const t of lanes)
			times.eachSpan(t, from, to, (i, inside) => {
				const cover = covers[waits.at(times.node[i]).reason];
				const left = (Math.max(from, times.at[i]) - from) * scale, right = left + inside * scale;
				const first = Math.floor(left), last = Math.floor(right);

				if (!cover)
					return;
				/* Differences from one pixel to the next, so that a long wait costs no more than a short one. */
				cover[first] += first + 1 - left;
				cover[first + 1] += left - first;
				cover[last] -= last + 1 - right;
				cover[last + 1] -= right - last;
			});
		for (const cover of covers)
			for (let x = 1; cover && x < width; x++)
				cover[x] += cover[x - 1];
		return covers;
	}

	/* Bars of waits in the row at @y, one reason on the other. */
	paintWaits(c, row, y, width) {
		const covers = this.cover(row, width), { dark } = this.panel.page.colors;
		const colors = covers.map((_, reason) => this.waits.color(reason, dark));
		let most = 1;

		for (let x = 0; x < width && row.lanes.length > 1; x++)
			most = Math.max(most, covers.reduce((all, cover) => all + (cover ? cover[x] : 0), 0));
		for (let x = 0; x < width; x++) {
			let bottom = y + LANE - 1;

			covers.forEach((cover, reason) => {
				const part = cover ? cover[x] : 0;

				if (part < 1e-6)
					return;
				const height = Math.max(WAIT_LEAST, (LANE - 3) * Math.min(1, part / most));

				c.fillStyle = colors[reason];
				c.fillRect(this.left + x, bottom - height, 1, height);
				bottom -= height;
			});
		}
	}

	/* All strokes, without what is marked: it stays until the window changes. */
	paint() {
		const { page, theme } = this.panel, ratio = window.devicePixelRatio || 1, width = this.width - this.left;
		const rows = this.rows.map((row) => row.lanes ? this.count(row, width) : null);
		const most = rows.reduce((all, row) => row ? row.counts.reduce((a, b) => Math.max(a, b), all) : all, 1);

		this.image.width = this.canvas.width;
		this.image.height = this.canvas.height;
		const c = startDrawing(this.image, theme);

		c.font = FONT.replace("12px", "11px");
		this.rows.forEach(({ name, below }, i) => {
			const y = i * LANE, row = rows[i];

			c.fillStyle = row ? theme.text : theme.dim;
			c.fillText(this.fit(c, name, this.left - (below ? 16 : 8)), below ? 12 : 4, y + LANE / 2);
			if (row && this.times.span)
				this.paintWaits(c, this.rows[i], y, width);
			for (let x = 0; row && x < width; x++) {
				const height = row.counts[x] && Math.max(3, (LANE - 3) * row.counts[x] / most);

				if (!height)
					continue;
				c.fillStyle = page.colors.plain(row.most[x]);
				c.fillRect(this.left + x, y + LANE - 1 - height, Math.max(1, 1 / ratio), height);
			}
			c.fillStyle = theme.tiny;
			c.fillRect(row ? this.left : 0, y + LANE - 1, this.width, 1);
		});
		this.drawAxis(c);
	}

	fit(c, name, room) {
		let text = name.slice(0, NAME_MAX);

		while (text.length > 2 && c.measureText(text).width > room)
			text = `${text.slice(0, -2)}…`;
		return text;
	}

	drawAxis(c) {
		const { from, to } = this.seen, second = 1e9 / this.times.unit, least = 80 / this.scale;
		const step = niceStep(least / second * 1e4) * second / 1e4, y = this.rows.length * LANE + LANES_BELOW / 2;

		c.font = AXIS_FONT;
		c.fillStyle = this.panel.theme.dim;
		for (let t = Math.ceil(from / step) * step; t < to; t += step)
			c.fillText(this.times.textOf(t), this.xOf(t), y);
	}

	draw() {
		const { page, theme, marks } = this.panel, { colors } = page;
		const key = `${colors.dark} ${colors.mode === "module"} ${page.now.quiet}`;
		const height = this.rows.length * LANE, c = startDrawing(this.canvas, theme);

		/* There is no window yet. */
		if (this.width <= this.left)
			return;
		if (key !== this.key)
			this.paint();
		this.key = key;
		c.drawImage(this.image, 0, 0, this.width, this.height);
		c.beginPath();
		c.rect(this.left, 0, this.width, height);
		c.save();
		c.clip();
		for (const { range, color } of marks) {
			const x = this.xOf(range.from), wide = Math.max(1, this.xOf(range.to) - x);

			c.globalAlpha = 0.15;
			c.fillStyle = color;
			c.fillRect(x, 0, wide, height);
			c.globalAlpha = 1;
			c.strokeStyle = color;
			c.lineWidth = 2;
			c.strokeRect(x, 1, wide, height - 2);
		}
		if (document.activeElement === this.area || this.panel.anchor) {
			c.strokeStyle = theme.text;
			c.lineWidth = 1.5;
			c.strokeRect(this.xOf(this.at) - 2, this.row * LANE, 4, LANE - 1);
		}
		c.restore();
	}

	timeAt(clientX) {
		const x = clientX - this.canvas.getBoundingClientRect().left - this.left;

		return Math.round(Math.max(this.seen.from, Math.min(this.seen.to, this.seen.from + x / this.scale)));
	}

	rowAt(clientY) {
		return Math.floor((clientY - this.canvas.getBoundingClientRect().top) / LANE);
	}

	spanAt(clientX, clientY) {
		const from = this.timeAt(clientX);

		this.hovered = this.rowAt(clientY);
		return { from, to: Math.min(this.times.end, Math.max(from + 1, this.timeAt(clientX + 1))) };
	}

	point({ from }) {
		this.at = from;
		if (this.rows[this.hovered]?.lanes)
			this.row = this.hovered;
	}

	move(key) {
		const { rows, seen } = this, step = Math.max(1, Math.round((seen.to - seen.from) / STEPS_WIDE));
		let row = this.row + ({ ArrowUp: -1, ArrowDown: 1 }[key] || 0);

		while (rows[row] && !rows[row].lanes)
			row += key === "ArrowUp" ? -1 : 1;
		this.row = this.hovered = rows[row] ? row : this.row;
		this.at += ({ ArrowLeft: -step, ArrowRight: step }[key] || 0);
		this.at = Math.max(0, Math.min(this.times.end - 1, this.at));
		if (this.at < seen.from || this.at >= seen.to)
			this.see(this.at - (seen.to - seen.from) / 2, this.at + (seen.to - seen.from) / 2);
		return this.marked;
	}

	get marked() {
		return { from: this.at, to: this.at + 1 };
	}

	/* The sample of a row, or the wait, that is nearest, within some pixels; a wait where it goes on, first. */
	nearest({ from }, { lanes }) {
		const { times } = this, room = NEAR / this.scale, { span, at } = times, off = this.panel.page.now.quiet;
		let best = null;
		const offer = (i, far) => {
			if (far <= room && (!best || far < best.far))
				best = { i, far };
		};

		for (const t of lanes) {
			times.eachSpan(t, from - room, from + room, (i) => {
				if (!off.includes(this.waits.names[this.waits.at(times.node[i]).reason]))
					offer(i, Math.max(0, at[i] - from, from - at[i] - span[i]));
			});
			for (const i of [times.search(t, from) - 1, times.search(t, from)])
				if (i >= times.first[t] && i < times.first[t + 1] && !(span && span[i]))
					offer(i, Math.abs(at[i] - from));
		}
		return best && best.i;
	}

	/* What is told of each wait: { row, text }. */
	told() {
		const { times, waits } = this, list = [];

		for (const { name, lanes } of this.rows)
			for (const t of lanes || [])
				times.eachSpan(t, 0, times.end, (i) => {
					list.push({ row: name, text: waits.describe(i, name).join("\n") });
				});
		return list;
	}

	describe(where) {
		const row = this.rows[this.hovered], { times } = this, { frames, shape } = this.panel.page.profile;

		if (!row?.lanes)
			return null;
		const i = this.nearest(where, row);

		if (i === null)
			return [row.name, `${times.textOf(where.from)}: not sampled`];
		return times.span && times.span[i] ? this.waits.describe(i, row.name) :
			[frames.name[shape.frame[times.node[i]]], `${row.name}, ${times.textOf(times.at[i])}`];
	}
}
