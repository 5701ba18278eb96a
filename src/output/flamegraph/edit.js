/* SPDX-License-Identifier: MIT */
/*
 * What the user did to the profile itself: only stacks with a function, without a function, ... An
 * edit is a text "OP:KEY", with the key of a frame, so that it means the same in another file of
 * the same program. Samples that are left out are gone; hidden frames give theirs to their callers.
 */

const EDITS = {
	focus: "only stacks with", drop: "without stacks with", hide: "without frames of",
	module: "without frames in", collapse: "recursion collapsed:", thread: "only",
};
const EDITS_MAX = 30;	/* bits of a number, but one */

/* What an edit is about; "" for text that is none. */
function parseEdit(text) {
	const [, op, key] = text.match(/^([a-z]+):(.+)$/su) || [];

	return Object.hasOwn(EDITS, op || "") ? { op, key } : null;
}

/* Which frames it is about, by frame. */
function framesOf({ op, key }, frames) {
	const found = new Uint8Array(frames.n);

	for (let i = 0; i < frames.n; i++)
		found[i] = (op === "module" ? i < frames.nfunctions && frames.module[i] : frames.keyOf(i)) === key ? 1 : 0;
	return found;
}

/* Edits that this profile has a frame for; a link may be of another one. */
function usefulEdits(texts, frames) {
	return texts.filter((t) => parseEdit(t) && framesOf(parseEdit(t), frames).includes(1)).slice(0, EDITS_MAX);
}

/* By node: what ends in it once stacks are left out. @columns: of each value. */
function keptSelf(tree, edits, frames) {
	const needed = edits.filter((e) => e.op === "focus" || e.op === "thread").map((e) => framesOf(e, frames));
	const dropped = edits.filter((e) => e.op === "drop").map((e) => framesOf(e, frames));
	const has = new Uint32Array(tree.n), all = 2 ** needed.length - 1;
	const kept = tree.self.map((column) => Float64Array.from(column));

	for (let i = 0; i < tree.n; i++) {
		const frame = tree.frame[i];
		let bits = i ? has[tree.parent[i]] : 0;

		needed.forEach((found, bit) => { bits |= frame !== NONE && found[frame] ? 1 << bit : 0; });
		if (frame !== NONE && dropped.some((found) => found[frame]))
			bits |= 1 << EDITS_MAX;
		has[i] = bits;
		if (bits !== all)
			for (const column of kept)
				column[i] = 0;
	}
	return kept;
}

/* Whether anything is left below a node, or in it. */
function liveNodes(tree, kept) {
	const live = new Uint8Array(tree.n);

	for (let i = tree.n - 1; i > 0; i--)
		if (live[i] || kept.some((column) => column[i] > 0))
			live[i] = live[tree.parent[i]] = 1;
	return live;
}

/* The tree that the edits leave, and its @place: where each node of @tree went; NONE: its samples are left out. */
function edited(tree, texts, frames) {
	const edits = texts.map(parseEdit), kept = keptSelf(tree, edits, frames), live = liveNodes(tree, kept);
	const of = (...ops) => edits.filter((e) => ops.includes(e.op)).map((e) => framesOf(e, frames));
	const hidden = of("hide", "module"), collapsed = of("collapse"), outermost = collapsed.map(() => []);
	const trie = new Trie(tree.values, NONE, tree.n + 1), at = [0], place = new Uint32Array(tree.n).fill(NONE);

	for (let i = 0; i < tree.n;) {
		const d = tree.depth[i], frame = tree.frame[i];

		if (i && !live[i]) {
			i = tree.end[i];
			continue;
		}
		if (i)
			at[d] = hidden.some((h) => h[frame]) ? at[d - 1] : placeOfFrame(i, d, frame);
		for (let k = 0; k < tree.values; k++)
			trie.self[k][at[d]] += kept[k][i];
		if (kept.every((column, k) => column[i] === tree.self[k][i]))
			place[i] = at[d];
		i++;
	}
	return Object.assign(trie.tree(false), { place: place.map((node) => node === NONE ? NONE : trie.place[node]) });

	/* Its node: a function that stands on the path already goes back to where it began. */
	function placeOfFrame(i, d, frame) {
		for (const [c, path] of outermost.entries()) {
			while (path.length && path[path.length - 1].depth >= d)
				path.pop();
			if (!collapsed[c][frame])
				continue;
			if (path.length)
				return path[0].node;
			path.push({ depth: d, node: trie.child(at[d - 1], frame, tree.parent[i] + 1) });
			return path[0].node;
		}
		return trie.child(at[d - 1], frame, tree.parent[i] + 1);
	}
}

/* What the menu of a box, or of a function in the table, offers to leave out. @at: the box, or NULL. */
function editItems(page, at, frame) {
	const { frames } = page.profile, key = frames.keyOf(frame), items = [], add = (text, op, of) => {
		items.push([text, () => page.edit(op, of)]);
	};
	const tree = at?.pane.tree;
	let thread = at ? at.node : 0;

	if (frame < frames.nfunctions) {
		add("Focus: only stacks with this function", "focus", key);
		add("Leave out stacks with this function", "drop", key);
		add("Hide this function: its callers get its time", "hide", key);
		if (frames.module[frame])
			add(`Hide all of ${frames.module[frame]}`, "module", frames.module[frame]);
		add("Collapse its recursion", "collapse", key);
	}
	while (thread > 0 && frames.kind[tree.frame[thread]] !== THREAD)
		thread = tree.parent[thread];
	if (thread > 0)
		add("Only this thread", "thread", frames.keyOf(tree.frame[thread]));
	return items;
}
