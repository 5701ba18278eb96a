/* SPDX-License-Identifier: MIT */
/*
 * When samples were taken and how long each wait lasted, of a recording with a timeline (output/html_times.h), and
 * what a stretch of time has of the profile. Times are whole numbers of units since the recording began. What is kept
 * of each is called a tick: a moment, or a span of time.
 */

const CELL_NS = 20e6;			/* of the heat map */
const CELLS = 50;			/* a second */
const SECONDS_MOST = 100000;		/* of the heat map; what comes later is in no cell */
const BLOCK = 64;			/* ticks of which the last end is known */

/*
 * Ticks as columns, lane by lane and by time in each; a lane is a thread: { unit, each, lanes: [{ label, pid, tid }],
 * first, at, node, value, span }. value: NULL: 1 each; span, in units: NULL: all are moments.
 */
function emptyTicks(unit, each, lanes, n) {
	return { unit, each, lanes, first: new Uint32Array(lanes.length + 1), at: new Uint32Array(n), node: new Uint32Array(n),
		 value: null, span: null };
}

class Times {
	constructor(ticks, duration, shape) {
		const { unit, at, node } = ticks;

		Object.assign(this, ticks);
		this.n = at.length;
		this.cell = CELL_NS / unit;
		this.lasts = this.span && this.findLasts();
		this.end = Math.max(Math.ceil(duration * 1e6 / unit), this.lastEnd());
		this.rooms = [];		/* of sums() */
		/* By node: what all its ticks have. */
		this.all = new Float64Array(shape.n);
		for (let i = 0; i < this.n; i++)
			this.all[node[i]] += this.valueOf(i);
		if (this.span) {
			this.begun = new Float64Array(shape.n);
			this.lasting = new Float64Array(shape.n);
			for (let i = 0; i < this.n; i++) {
				this.begun[node[i]] += this.span[i] ? 1 : 0;
				this.lasting[node[i]] += this.span[i];
			}
		}
		this.cells = this.countCells();
		this.most = this.cells.reduce((a, b) => Math.max(a, b), 1);
	}

	/* Of each block of ticks when the last of them ends. */
	findLasts() {
		const { at, span, n } = this, lasts = new Float64Array(Math.ceil(n / BLOCK));

		for (let i = 0; i < n; i++)
			lasts[Math.floor(i / BLOCK)] = Math.max(lasts[Math.floor(i / BLOCK)], at[i] + span[i]);
		return lasts;
	}

	lastEnd() {
		let last = 0;

		for (let i = 0; i < this.n; i++)
			last = Math.max(last, this.at[i] + 1);
		return this.lasts ? this.lasts.reduce((a, b) => Math.max(a, Math.ceil(b)), last) : last;
	}

	valueOf(i) {
		return (this.value ? this.value[i] : 1) * this.each;
	}

	/* The first tick of a lane that is not before @time. */
	search(lane, time) {
		let low = this.first[lane], high = this.first[lane + 1];

		while (low < high) {
			const middle = (low + high) >>> 1;

			if (this.at[middle] < time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	/* Calls take(i, units) for each span of a lane that has some of a range, with how much that is. */
	eachSpan(lane, from, to, take) {
		const { at, span, lasts } = this;

		if (!span)
			return;
		for (let i = this.first[lane], end = this.search(lane, to); i < end; i++) {
			/* What came long before mostly ended long before. */
			if (i % BLOCK === 0 && lasts[i / BLOCK] <= from && i + BLOCK <= end) {
				i += BLOCK - 1;
				continue;
			}
			const inside = span[i] ? Math.min(to, at[i] + span[i]) - Math.max(from, at[i]) : 0;

			if (inside > 0)
				take(i, inside);
		}
	}

	/*
	 * What each node of all stacks has in a range, as columns { values, begun, lasted }: of spans also how many began in it,
	 * and how long all were in it; else NULL. They are those of this @place until it is asked for again.
	 */
	sums({ from, to }, place) {
		const { node, span, first } = this, room = this.roomOf(place), [values, begun = null, lasted = null] = room;

		for (let lane = 0; lane + 1 < first.length; lane++) {
			for (let i = this.search(lane, from), end = this.search(lane, to); i < end; i++) {
				values[node[i]] += this.valueOf(i);
				if (span && span[i])
					begun[node[i]]++;
			}
			this.eachSpan(lane, from, to, (i, inside) => { lasted[node[i]] += inside; });
		}
		return { values, begun, lasted };
	}

	/* Columns by node, empty. */
	roomOf(place) {
		const column = () => new Float64Array(this.all.length);
		const room = this.rooms[place] ||= this.span ? [column(), column(), column()] : [column()];

		return room.map((old) => old.fill(0));
	}

	/* The heat map: what each 20 ms have. */
	countCells() {
		const seconds = Math.min(SECONDS_MOST, Math.ceil(this.end / (this.cell * CELLS)));
		const cells = new Float64Array(seconds * CELLS);

		for (let i = 0; i < this.n; i++)
			cells[Math.floor(this.at[i] / this.cell)] += this.valueOf(i);
		return cells;
	}

	/* "3s-5.02s", "500ms-2s", "3-5" of seconds -> { from, to } in units; NULL: no range. */
	parse(text) {
		const match = /^\s*([\d.]+)\s*(s|ms|)\s*[-–]\s*([\d.]+)\s*(s|ms|)\s*$/u.exec(text || "");
		const units = (number, word) => Math.round(Number(number) * (word === "ms" ? 1e6 : 1e9) / this.unit);

		if (!match)
			return null;
		const from = units(match[1], match[2] || match[4]), to = Math.min(this.end, units(match[3], match[4]));

		return from < to ? { from, to } : null;
	}

	textOf(units) {
		return `${Number((units * this.unit / 1e9).toFixed(4))}s`;
	}

	/* What parse() reads, one text for a range however it was typed; "": none. */
	format(range) {
		return range ? `${this.textOf(range.from)}-${this.textOf(range.to)}` : "";
	}
}

/* The columns, out of what ebprof wrote: @described is the member of the JSON, @packed { time, node, value, span }. */
function unpackTicks(described, nfunctions, shape, packed) {
	const { unit, spanUnit, each, label, pid, tid, count } = described, top = new Map();
	const ticks = emptyTicks(unit, each, label.map((l, i) => ({ label: l, pid: pid[i], tid: tid[i] })),
				 count.reduce((a, b) => a + b, 0));
	const { first, at, node } = ticks, n = at.length, base = new Uint32Array(n);
	let lane = 0, before = 0;

	for (let i = 1; i < shape.n; i++)
		if (shape.depth[i] === 1)
			top.set(shape.frame[i] - nfunctions, i);
	count.forEach((c, i) => {
		first[i + 1] = first[i] + c;
		base.fill(top.get(label[i]) || 0, first[i], first[i + 1]);
	});
	eachVarint(packed.time, n, (i, units) => {
		for (; i >= first[lane + 1]; before = 0)
			lane++;
		before = at[i] = before + units;
	});
	eachVarint(packed.node, n, (i, place) => { node[i] = base[i] + place; });
	for (const [name, scale] of [["value", 1], ["span", spanUnit / unit]])
		if (packed[name]) {
			const column = ticks[name] = new Float64Array(n);

			eachVarint(packed[name], n, (i, v) => { column[i] = v * scale; });
		}
	return ticks;
}

/* @textOf gives the text of a column by its name, or nothing. NULL: the profile has no times. */
async function readTicks(json, shape, textOf) {
	const packed = {};

	if (!json.times)
		return null;
	await Promise.all(["time", "node", "value", "span"].map(async (name) => {
		const text = textOf(`tick-${name}`);

		if (text)
			packed[name] = await unpack(text);
	}));
	return unpackTicks(json.times, json.functions.name.length, shape, packed);
}

async function readTimes(json, shape) {
	const ticks = await readTicks(json, shape, (id) => $(id) && takeElement(id));

	return ticks && new Times(ticks, json.meta.duration, shape);
}
