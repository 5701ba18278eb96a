/* SPDX-License-Identifier: MIT */
/* Ticks (times.js) that grow with their profile: two sets as one, the oldest forgotten, and what a saved page has. */

const TICKS_MOST = 1000000;		/* that a live page keeps, the last ones */
const QUANTILE_STEP = 64;
const SPAN_NS = 1000;			/* unit of spans in a page */

/* The same in a sum of profiles: @labels by label of the ticks, @places by node. */
function moveTicks(ticks, labels, places) {
	return { ...ticks, lanes: ticks.lanes.map((lane) => ({ ...lane, label: labels[lane.label] })),
		 node: ticks.node.map((i) => places[i]) };
}

/* Before which time ticks are forgotten, so that at most three quarters of those that fit are left. */
function forgotten(sets) {
	const n = sets.reduce((all, { at }) => all + at.length, 0), some = [];

	if (n <= TICKS_MOST)
		return 0;
	for (const { at } of sets)
		for (let i = 0; i < at.length; i += QUANTILE_STEP)
			some.push(at[i]);
	return Uint32Array.from(some).sort()[Math.floor(some.length * (1 - 0.75 * TICKS_MOST / n))];
}

/* Where the ticks of each lane of all sets stand: [{ label, pid, tid, parts: [{ set, from, to }] }], by label. */
function joinLanes(sets, since) {
	const lanes = new Map();

	for (const set of sets)
		set.lanes.forEach(({ label, pid, tid }, i) => {
			const key = `${label} ${pid} ${tid}`, to = set.first[i + 1];
			let from = set.first[i];

			while (from < to && set.at[from] < since)
				from++;
			if (!lanes.has(key))
				lanes.set(key, { label, pid, tid, parts: [] });
			lanes.get(key).parts.push({ set, from, to });
		});
	return [...lanes.values()].filter(({ parts }) => parts.some(({ from, to }) => from < to))
		.sort((a, b) => a.label - b.label || a.pid - b.pid || a.tid - b.tid);
}

/* NULL where there are none. */
function addTicks(sets) {
	if (!sets.length)
		return null;
	const lanes = joinLanes(sets, forgotten(sets)), { unit, each } = sets[0];
	const n = lanes.reduce((all, { parts }) => all + parts.reduce((sum, { from, to }) => sum + to - from, 0), 0);
	const out = emptyTicks(unit, each, lanes.map(({ label, pid, tid }) => ({ label, pid, tid })), n);
	let next = 0;

	for (const [name, plain] of [["value", 1], ["span", 0]])
		if (sets.some((set) => set[name]))
			out[name] = new Float64Array(n).fill(plain);
	lanes.forEach(({ parts }, lane) => {
		/* Waits are told when they end, so they may have begun before what is known already. */
		for (;;) {
			const left = parts.filter(({ from, to }) => from < to);

			if (!left.length)
				break;
			const first = left.reduce((a, b) => b.set.at[b.from] < a.set.at[a.from] ? b : a);
			const { set, from } = first;

			out.at[next] = set.at[from];
			out.node[next] = set.node[from];
			for (const name of ["value", "span"])
				if (set[name])
					out[name][next] = set[name][from];
			first.from++;
			next++;
		}
		out.first[lane + 1] = next;
	});
	return out;
}

/* As output/html_times.h has it. */
function describeTicks({ unit, each, lanes, first }) {
	return { unit, spanUnit: SPAN_NS, each, label: lanes.map((l) => l.label), pid: lanes.map((l) => l.pid),
		 tid: lanes.map((l) => l.tid), count: lanes.map((_, i) => first[i + 1] - first[i]) };
}

function tickColumns({ unit, lanes, first, at, node, value, span }, tree, nfunctions) {
	const top = new Map(), times = new Array(at.length), nodes = new Array(at.length);

	for (let i = 1; i < tree.n; i++)
		if (tree.depth[i] === 1)
			top.set(tree.frame[i] - nfunctions, i);
	lanes.forEach(({ label }, lane) => {
		for (let i = first[lane]; i < first[lane + 1]; i++) {
			times[i] = i > first[lane] ? at[i] - at[i - 1] : at[i];
			nodes[i] = node[i] - top.get(label);
		}
	});
	return { "tick-time": times, "tick-node": nodes, ...value && { "tick-value": value },
		 ...span && { "tick-span": Array.from(span, (units) => Math.round(units * unit / SPAN_NS)) } };
}
