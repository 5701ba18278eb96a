/* SPDX-License-Identifier: MIT */
/* What a range of time has of the profile: its sums by node, and the tree of these. */

/*
 * Of each value that is shown what ranges have of it, by node of all stacks: { sums, totals }. The first type is exact, and
 * the others are in proportion to it; but of spans, as waits are, an amount of time is that within the range, and a number
 * counts where each begins (as profile/worth.h has it).
 */
function rangeSums(all, { times, ranges, wholeColumns, types }) {
	const isNumber = (column) => types[column].unit === "count";
	const part = (self, column, { values, begun, lasted }) => values.map((value, node) => {
		if (lasted && times.lasting[node] && !(isNumber(column) && !column))
			return self[node] * (isNumber(column) ? begun[node] / times.begun[node] :
				lasted[node] / times.lasting[node]);
		return column ? self[node] * Math.min(1, value / times.all[node]) || 0 : value;
	});
	const sums = ranges.map((range, place) => times.sums(range, place)).flatMap((found) => wholeColumns.map((column, k) => (
		column || found.lasted ? part(all.self[k], column, found) : found.values)));

	return { sums, totals: sums.map(total) };
}

function total(values) {
	let all = 0;

	for (let i = 0; i < values.length; i++)
		all += values[i];
	return all;
}

/* A tree with the sums, which are by node of all stacks; @place: where in the tree these are. */
function rangeTree(whole, place, sums) {
	const room = whole.movedRoom ||= [];

	return whole.withSelf(!place ? sums : sums.map((sum, k) => {
		const self = (room[k] ||= new Float64Array(whole.n)).fill(0);

		for (let i = 0; i < sum.length; i++)
			if (place[i] !== NONE)
				self[place[i]] += sum[i];
		return self;
	}));
}
