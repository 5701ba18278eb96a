/* SPDX-License-Identifier: MIT */
/*
 * When samples were taken, of a recording with a timeline (output/html_times.h), and what a stretch of time has of
 * the profile. Times are whole numbers of units since the recording began.
 */

const CELL_NS = 20e6;			/* of the heat map */
const CELLS = 50;			/* a second */
const MANY = 32;			/* nodes of all for one of a range: fewer of all are walked through in order */
const SECONDS_MOST = 100000;		/* of the heat map; what comes later is in no cell */

class Times {
	/* @packed: { time, node, value } of each sample, packed; no value: 1 each. */
	constructor({ unit, each, threads }, duration, nfunctions, shape, packed) {
		const n = threads.reduce((a, b) => a + b, 0), top = new Map();

		this.unit = unit;
		this.each = each;		/* samples that one stands for */
		this.cell = CELL_NS / unit;
		this.n = n;
		this.at = new Uint32Array(n);
		this.node = new Uint32Array(n);
		this.first = Uint32Array.from([0, ...threads]);	/* by thread; its end is the next one's */
		for (let t = 1; t < this.first.length; t++)
			this.first[t] += this.first[t - 1];
		for (let i = 1; i < shape.n; i++)
			if (shape.depth[i] === 1)
				top.set(shape.frame[i] - nfunctions, i);
		this.read(top, threads, packed);
		this.end = Math.max(Math.ceil(duration * 1e6 / unit), this.at.reduce((a, b) => Math.max(a, b), 0) + 1);
		this.room = new Float64Array(shape.n);
		/* By node: what all its samples have. */
		this.all = new Float64Array(shape.n);
		for (let i = 0; i < n; i++)
			this.all[this.node[i]] += this.valueOf(i);
		this.cells = this.countCells();
		this.most = this.cells.reduce((a, b) => Math.max(a, b), 1);
	}

	read(top, threads, { time, node, value }) {
		const { n, at, first } = this, base = new Uint32Array(n);
		let thread = 0, before = 0;

		threads.forEach((_, t) => base.fill(top.get(t) || 0, first[t], first[t + 1]));
		eachVarint(time, n, (i, units) => {
			for (; i >= first[thread + 1]; before = 0)
				thread++;
			before = at[i] = before + units;
		});
		eachVarint(node, n, (i, place) => { this.node[i] = base[i] + place; });
		this.value = value ? new Float64Array(n) : null;
		if (value)
			eachVarint(value, n, (i, v) => { this.value[i] = v; });
	}

	valueOf(i) {
		return (this.value ? this.value[i] : 1) * this.each;
	}

	/* The first sample of a thread that is not before @time. */
	search(thread, time) {
		let low = this.first[thread], high = this.first[thread + 1];

		while (low < high) {
			const middle = (low + high) >>> 1;

			if (this.at[middle] < time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}

	/* The nodes of all stacks that have samples in a range, in order, with the sums of their values: { nodes, values }. */
	sums({ from, to }) {
		const { node, value, each, room, first } = this, most = this.countIn(from, to);
		const nodes = new Uint32Array(Math.min(most, room.length)), values = new Float64Array(nodes.length);
		const few = most * MANY < room.length;
		let n = 0;

		for (let t = 0; t + 1 < first.length; t++)
			for (let i = this.search(t, from), end = this.search(t, to); i < end; i++) {
				const at = node[i];

				if (few && !room[at])
					nodes[n++] = at;
				room[at] += value ? value[i] * each : each;
			}
		for (let i = 0; !few && i < room.length; i++)
			if (room[i])
				nodes[n++] = i;
		const found = nodes.subarray(0, n);

		if (few)
			found.sort();
		for (let j = 0; j < n; j++) {
			values[j] = room[found[j]];
			room[found[j]] = 0;
		}
		return { nodes: found, values: values.subarray(0, n) };
	}

	countIn(from, to) {
		let n = 0;

		for (let t = 0; t + 1 < this.first.length; t++)
			n += this.search(t, to) - this.search(t, from);
		return n;
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

async function readTimes(json, shape) {
	if (!json.times)
		return null;
	const columns = ["time", "node", "value"].filter((name) => $(`tick-${name}`));
	const packed = await Promise.all(columns.map((name) => unpack(takeElement(`tick-${name}`))));

	return new Times(json.times, json.meta.duration, json.functions.name.length, shape,
			 Object.fromEntries(columns.map((name, i) => [name, packed[i]])));
}

/*
 * Of each value that is shown what ranges have of it: { sums, totals }. Of several types of values the first is
 * exact, and the others are in proportion to it.
 */
function rangeSums(all, { times, ranges, wholeColumns }) {
	const part = (self, nodes, values) => values.map((value, i) => self[nodes[i]] * Math.min(1, value / times.all[nodes[i]]));
	const sums = ranges.map((range) => times.sums(range)).flatMap(({ nodes, values }) => wholeColumns.map((column, k) => (
		{ nodes, values: column ? part(all.self[k], nodes, values) : values })));

	return { sums, totals: sums.map(({ values }) => total(values)) };
}

function total(values) {
	let all = 0;

	for (let i = 0; i < values.length; i++)
		all += values[i];
	return all;
}

/*
 * The part of a tree that has any of the sums, which are by node of all stacks; @place: where in the tree these are.
 * What it costs grows with that part: of the rest only one byte a node is looked at.
 */
function rangeTree(whole, place, sums) {
	const { n, frame, parent, depth } = whole;
	const { live, at, selfs } = whole.room ||= { live: new Uint8Array(n), at: new Uint32Array(n), selfs: [] };
	let count = 1;

	live[0] = 1;
	sums.forEach(({ nodes, values }, k) => {
		const self = selfs[k] ||= new Float64Array(n);

		for (let j = 0; j < nodes.length; j++) {
			let i = place ? place[nodes[j]] : nodes[j];

			if (i === NONE || !values[j])
				continue;
			self[i] += values[j];
			for (; !live[i]; i = parent[i]) {
				live[i] = 1;
				count++;
			}
		}
	});
	const tree = new Tree(count, sums.length, frame[0]), { frame: frames, parent: parents, depth: depths } = tree;
	const nodes = new Uint32Array(count);

	/* What was used is left as it was. */
	for (let i = 0, next = 0; next < count; i++) {
		if (!live[i])
			continue;
		live[i] = 0;
		at[i] = next;
		nodes[next++] = i;
	}
	for (let j = 0; j < count; j++) {
		const i = nodes[j];

		frames[j] = frame[i];
		parents[j] = at[parent[i]];
		depths[j] = depth[i];
	}
	tree.self.forEach((self, k) => {
		const old = selfs[k];

		for (let j = 0; j < count; j++) {
			self[j] = old[nodes[j]];
			old[nodes[j]] = 0;
		}
	});
	return tree.finish();
}
