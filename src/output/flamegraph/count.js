/* SPDX-License-Identifier: MIT */
/* Sums over a tree: what each function has, and what a search finds. */

/*
 * Self and total of each function, as `ebprof -f table` counts them: recursion once a stack. Each has the values of a
 * node; @counts: whether such values are worth a row.
 */
function countFunctions(tree, frames, counts) {
	const rows = [], depth = new Uint32Array(frames.nfunctions), path = [];
	const row = (fn, frame) => rows[fn] || (rows[fn] = {
		fn, frame, name: frames.name[frame], module: frames.module[frame], kind: KINDS[frames.kind[frame]],
		self: tree.self.map(() => 0), total: tree.self.map(() => 0) });
	const bare = tree.self.map((column) => column[0]);

	for (let i = 1; i < tree.n; i++) {
		if (!tree.hasAny(i)) {
			i = tree.end[i] - 1;
			continue;
		}
		while (path.length && i >= tree.end[path[path.length - 1]])
			depth[frames.functionOf[tree.frame[path.pop()]]]--;
		const fn = frames.functionOf[tree.frame[i]];

		if (fn < 0) {
			tree.self.forEach((column, k) => { bare[k] += column[i]; });
			continue;
		}
		const r = row(fn, tree.frame[i]);
		const outer = !depth[fn];

		/* Not where it was inlined, if there is another. */
		if (frames.inlined[r.frame] && !frames.inlined[tree.frame[i]])
			r.frame = tree.frame[i];
		depth[fn]++;
		path.push(i);
		for (let k = 0; k < tree.values; k++) {
			r.self[k] += tree.self[k][i];
			if (outer)
				r.total[k] += tree.total[k][i];
		}
	}
	const list = rows.filter((r) => counts(r.total));

	list.forEach((r) => { r.kind = KINDS[frames.kind[r.frame]]; });
	if (counts(bare))
		list.push({ fn: -1, frame: NONE, name: "[no stack]", module: "", kind: "mark", self: bare, total: [...bare] });
	return list;
}

/* A pattern that finds @text as it stands. */
function literal(text) {
	return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/* A search as people type it: a regular expression, without regard to case unless it has capitals; else a text. */
function searchPattern(text) {
	const plain = text.replace(/\\./g, ""), flags = plain === plain.toLowerCase() ? "iu" : "u";

	try {
		return { regex: new RegExp(text, flags), literal: false };
	} catch {
		return { regex: new RegExp(literal(text), flags), literal: true };
	}
}

/* Which frames are found, by frame; NULL: no search. */
function searchFrames(frames, text) {
	if (!text)
		return null;
	const { regex } = searchPattern(text), found = new Uint8Array(frames.n);

	for (let i = 0; i < frames.n; i++)
		found[i] = regex.test(frames.name[i]) ? 1 : 0;
	return found;
}

/* The outermost nodes that are found, and the sums of what is below: no sample counts twice. */
function searchTree(tree, found) {
	const nodes = [], sums = tree.self.map(() => 0);

	for (let i = 1; i < tree.n;) {
		if (!found[tree.frame[i]] || !tree.hasAny(i)) {
			i = tree.hasAny(i) ? i + 1 : tree.end[i];
			continue;
		}
		nodes.push(i);
		for (let k = 0; k < tree.values; k++)
			sums[k] += tree.total[k][i];
		i = tree.end[i];
	}
	return { nodes, sums };
}
