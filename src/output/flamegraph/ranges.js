/* SPDX-License-Identifier: MIT */
/* What a range of time has of the profile: its sums by node, and the tree of these. */

/*
 * Of each value that is shown what ranges have of it: { sums, totals }. The first type is exact, and the others are in
 * proportion to it; but of spans, as waits are, an amount of time is that within the range, and a number counts where
 * each begins (as profile/worth.h has it).
 */
function rangeSums(all, { times, ranges, wholeColumns, types }) {
	const isNumber = (column) => types[column].unit === "count";
	const part = (self, column, { nodes, values, begun, lasted }) => values.map((value, i) => {
		const node = nodes[i];

		if (lasted && times.lasting[node] && !(isNumber(column) && !column))
			return self[node] * (isNumber(column) ? begun[i] / times.begun[node] : lasted[i] / times.lasting[node]);
		return column ? self[node] * Math.min(1, value / times.all[node]) || 0 : value;
	});
	const sums = ranges.map((range) => times.sums(range)).flatMap((found) => wholeColumns.map((column, k) => (
		{ nodes: found.nodes, values: column || found.lasted ? part(all.self[k], column, found) : found.values })));

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
