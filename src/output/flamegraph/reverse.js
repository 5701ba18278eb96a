/* SPDX-License-Identifier: MIT */
/*
 * A tree turned round: from functions to their callers. All stacks begin in one group; a group
 * is split by the next caller, level by level. Where that makes more than NODES_MAX nodes, small groups
 * are left whole and counted.
 */

const NODES_MAX = 500000;
const SMALL = 1 / 5000;		/* of all, what is left whole then */

class Reversal {
	constructor(tree, starts, values, rootFrame) {
		this.tree = tree;
		this.trie = new Trie(tree.values, rootFrame, 1024 + starts.length);
		this.items = Uint32Array.from(starts.keys());	/* groups are stretches of it */
		this.spare = new Uint32Array(starts.length);
		this.cursor = Uint32Array.from(starts);		/* by item: how far it has come */
		this.values = values;				/* by item */
		this.count = new Uint32Array(0);
		this.place = new Uint32Array(0);		/* by frame: where its group grows */
		this.cut = 0;
		this.least = SMALL * values[values.length - 1].reduce((a, b) => a + b, 0);
	}

	/* The items of a group step on to their callers; those at the root are done. Returns the frames met. */
	step(node, from, to, move) {
		const { tree, cursor, items, count } = this, frames = [];
		let kept = from;

		for (let k = from; k < to; k++) {
			const item = items[k], c = move ? tree.parent[cursor[item]] : cursor[item];

			if (c === 0) {
				this.end(node, item);
			} else {
				cursor[item] = c;
				items[kept++] = item;
				if (count[tree.frame[c]]++ === 0)
					frames.push(tree.frame[c]);
			}
		}
		return { frames, to: kept };
	}

	end(node, item) {
		for (let k = 0; k < this.values.length; k++)
			this.trie.self[k][node] += this.values[k][item];
	}

	/* Splits a group by caller; the new ones are put to @queue. */
	split(group, move, queue) {
		const { node, from } = group, { frames, to } = this.step(node, from, group.to, move);
		const { tree, cursor, items, spare, count, place } = this;
		let at = from;

		for (const frame of frames) {
			queue.push({ node: this.trie.append(node, frame), from: at, to: at + count[frame] });
			place[frame] = at;
			at += count[frame];
			count[frame] = 0;
		}
		for (let k = from; k < to; k++)
			spare[place[tree.frame[cursor[items[k]]]]++] = items[k];
		items.set(spare.subarray(from, to), from);
	}

	isSmall({ from, to }) {
		const column = this.values[this.values.length - 1];
		let sum = 0;

		for (let k = from; k < to && sum < this.least; k++)
			sum += column[this.items[k]];
		return sum < this.least;
	}

	run(frames, withSelf) {
		let queue = [];

		this.count = new Uint32Array(frames);
		this.place = new Uint32Array(frames);
		/* Either the first level is where the stacks begin, or their callers. */
		this.split({ node: 0, from: 0, to: this.items.length }, !withSelf, queue);
		while (queue.length) {
			const next = [];

			for (const group of queue) {
				if (this.trie.n > NODES_MAX && this.isSmall(group)) {
					for (let k = group.from; k < group.to; k++)
						this.end(group.node, this.items[k]);
					this.cut++;
				} else {
					this.split(group, true, next);
				}
			}
			queue = next;
		}
		const tree = this.trie.tree(true);

		tree.cut = this.cut;
		tree.reversed = true;
		return tree;
	}
}

/* Every stack from its innermost frame on. */
function bottomUp(tree, frames) {
	const starts = [], values = tree.self.map(() => []);

	for (let i = 1; i < tree.n;) {
		if (!tree.hasAny(i)) {
			i = tree.end[i];
			continue;
		}
		if (tree.self.some((column) => column[i])) {
			starts.push(i);
			tree.self.forEach((column, k) => values[k].push(column[i]));
		}
		i++;
	}
	const turned = new Reversal(tree, starts, values.map((v) => Float64Array.from(v)), NONE).run(frames.n, true);

	/* What has no frame at all stays at the root. */
	tree.self.forEach((column, k) => {
		turned.self[k][0] += column[0];
		turned.total[k][0] += column[0];
	});
	return turned;
}

/* Where a function is not below itself. */
function outermost(tree, frames, fn) {
	const nodes = [];

	for (let i = 1; fn >= 0 && i < tree.n;) {
		const found = frames.functionOf[tree.frame[i]] === fn, any = tree.hasAny(i);

		if (found && any)
			nodes.push(i);
		i = found || !any ? tree.end[i] : i + 1;
	}
	return nodes;
}

/* Who calls a function, and what it calls: two trees with it as their root. */
function sandwich(tree, frames, fn) {
	const nodes = outermost(tree, frames, fn), root = nodes.length ? tree.frame[nodes[0]] : NONE;
	const totals = tree.total.map((column) => Float64Array.from(nodes, (i) => column[i]));
	const all = new Uint8Array(frames.n).fill(1);

	return {
		callers: new Reversal(tree, nodes, totals, root).run(frames.n, false),
		callees: fold(tree, nodes, root, frames, all, null),
	};
}
