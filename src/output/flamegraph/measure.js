/* SPDX-License-Identifier: MIT */
/*
 * What a profile measured: its types of values. One gives the widths of boxes, and another one per a third is a
 * ratio, which colours can show: instructions per cycle, misses per 1000 instructions, bytes per block.
 */

const PER_MANY = 1000;		/* instructions: what is counted is rare among them */
const DOUBLINGS = 2;		/* from a ratio of all to either end of the colours */

/* "cpu-cycles:u" -> "cycles" */
function plainEvent(name) {
	return name.replace(/:[^:]*$/, "").replace(/^cpu-cycles$/, "cycles");
}

/* Of two types: { name, factor, rising }; @rising: less of it is what costs. */
function ratioWords(of, per) {
	const [a, b] = [of, per].map((type) => plainEvent(type.name));

	if (a === "instructions" && b === "cycles")
		return { name: "IPC", factor: 1, rising: true };
	if (b === "instructions")
		return { name: `${of.name} per ${PER_MANY} instructions`, factor: PER_MANY, rising: false };
	return { name: `${of.name} per ${singular(per.name)}`, factor: 1, rising: false };
}

/* The ratio to begin with, as two indexes of types: what most would ask for. */
function firstRatio(types) {
	const find = (ok) => types.findIndex(({ name }) => ok(plainEvent(name)));
	const instructions = find((name) => name === "instructions"), cycles = find((name) => name === "cycles");
	const misses = find((name) => name.endsWith("-misses"));

	if (instructions >= 0 && (cycles >= 0 || misses >= 0))
		return cycles >= 0 ? [instructions, cycles] : [misses, instructions];
	return [Math.min(1, types.length - 1), 0];
}

class Profile {
	/* @shape: the tree without its values; @packed: these, by type. @times: of samples, or NULL. */
	constructor(json, frames, shape, packed, times = null) {
		Object.assign(this, { meta: json.meta, account: json.account, types: json.types, frames, shape, packed, times });
		this.latencies = json.latencies;
		this.merged = "weight" in json;
		this.mergedWeight = json.weight || 1;
		this.first = json.shown;
		this.firstRatio = firstRatio(json.types);
		this.columns = [];
		this.choose({ type: json.shown, color: "" });
	}

	/*
	 * Which types the nodes of trees have a value of, the last one for the widths: [shown], [of, per, shown] with a
	 * ratio, [before, after] of a difference. Of two ranges these are one type's, and all stacks have that one.
	 */
	choose({ type, color, of, per, range, against }) {
		this.ranges = this.times ? [range, range && against].map((text) => this.times.parse(text)).filter(Boolean) : [];
		const [one, two] = this.ranges;

		this.difference = this.merged || Boolean(two);
		this.weight = two ? (two.to - two.from) / (one.to - one.from) : this.mergedWeight;
		this.sides = two ? ["range 1", "range 2"] : ["before", "after"];
		this.ratio = color === "ratio" && !two ? ratioWords(this.types[of], this.types[per]) : null;
		this.wholeColumns = this.merged ? [0, 1] : this.ratio ? [of, per, type] : [type];
		this.columns = two ? [type, type] : this.wholeColumns;
		this.confidence = two ? Confidence.of(this) : null;
		({ name: this.type, unit: this.unit, each: this.each } = this.types[this.columns.at(-1)]);
		this.totals = this.columns.map((column) => this.types[column].total);
	}

	/* What the values of times are, for texts: the first type's. */
	get ofTimes() {
		const { name, unit } = this.types[0];

		return { type: name, unit };
	}

	/* All stacks, with the values that were chosen. */
	tree() {
		const { n, frame, parent, depth } = this.shape, tree = new Tree(n, this.wholeColumns.length, NONE);

		tree.frame.set(frame);
		tree.parent.set(parent);
		tree.depth.set(depth);
		this.wholeColumns.forEach((column, k) => {
			const self = tree.self[k];

			eachVarint(this.packed[column], n - 1, (i, value) => { self[i + 1] = value; });
		});
		return tree.finish();
	}

	/* Of the values of a node those that are shown as numbers. */
	shown(values) {
		return this.difference ? values : values.slice(-1);
	}

	/* The ratio of a node's values; NaN: none. */
	ratioOf([of, per]) {
		return per ? of / per * this.ratio.factor : NaN;
	}

	ratioText(values) {
		const ratio = this.ratioOf(values), [of, per] = this.columns.map((column) => this.types[column].unit);

		return Number.isNaN(ratio) ? "" : of !== "count" && per === "count" ? quantityOf(of, ratio) :
			String(Number(ratio.toPrecision(3)));
	}

	/* -1 ... 1: where its colour stands; NaN: nowhere. */
	colorOf(values) {
		if (this.ratio) {
			const place = Math.log2(this.ratioOf(values) / this.ratioOf(this.totals)) / DOUBLINGS;

			return Math.max(-1, Math.min(1, this.ratio.rising ? -place : place));
		}
		if (this.confidence && !this.confidence.differs("node", values))
			return NaN;
		/* Of a difference: how much less or more of all it is than before. */
		const scaled = values[0] * this.weight, after = values.at(-1), most = Math.max(scaled, after);

		return most > 0 ? (after - scaled) / most : 0;
	}
}
