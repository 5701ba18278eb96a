/* SPDX-License-Identifier: MIT */
/*
 * A tree of frames in pre-order, as columns of typed arrays: a million nodes are 50 MB, and a walk over
 * them takes milliseconds. Node 0 is the root; i's subtree is i ... end[i] - 1, so what is
 * not wanted is skipped in one step. Each node has one value, or two (before and after): self,
 * total, and x, where its box begins on a line that is as long as the root's total.
 */
class Tree {
	constructor(n, values, rootFrame) {
		const columns = () => Array.from({ length: values }, () => new Float64Array(n));

		this.n = n;
		this.values = values;
		this.frame = new Uint32Array(n);
		this.parent = new Uint32Array(n);
		this.depth = new Uint32Array(n);
		this.end = new Uint32Array(n);
		this.self = columns();
		this.total = columns();
		this.x = columns();
		this.frame[0] = rootFrame;
	}

	/* Fills what follows from frame, parent, depth and self. */
	finish() {
		const { n, parent, depth, end } = this;

		end.fill(1);
		for (let i = n - 1; i > 0; i--)
			end[parent[i]] += end[i];
		for (let i = 0; i < n; i++)
			end[i] += i;
		for (let k = 0; k < this.values; k++) {
			const total = this.total[k], self = this.self[k], x = this.x[k], next = [0];

			for (let i = n - 1; i > 0; i--) {
				total[i] += self[i];
				total[parent[i]] += total[i];
			}
			total[0] += self[0];
			for (let i = 0; i < n; i++) {
				const d = depth[i];

				x[i] = next[d];
				next[d] += total[i];
				next[d + 1] = x[i];
			}
		}
		return this;
	}

	child(node, ok) {
		for (let c = node + 1; c < this.end[node]; c = this.end[c])
			if (ok(c))
				return c;
		return -1;
	}

	/* The frames from below the root to @node, and back. */
	pathOf(node) {
		const path = [];

		for (; node > 0; node = this.parent[node])
			path.push(this.frame[node]);
		return path.reverse();
	}

	/* As far as the path is there. */
	find(path) {
		let node = 0;

		for (const frame of path) {
			const next = this.child(node, (c) => this.frame[c] === frame);

			if (next < 0)
				break;
			node = next;
		}
		return node;
	}
}

/* A tree that grows in any order, and becomes a Tree. */
class Trie {
	constructor(values, rootFrame, room) {
		this.n = 1;
		this.frame = new Uint32Array(room);
		this.parent = new Uint32Array(room);
		this.self = Array.from({ length: values }, () => new Float64Array(room));
		this.slots = null;
		this.frame[0] = rootFrame;
	}

	/* A new child, whether there is an equal one or not. */
	append(parent, frame) {
		if (this.n === this.frame.length) {
			const grown = (old) => {
				const column = new old.constructor(old.length * 2);

				column.set(old);
				return column;
			};

			this.frame = grown(this.frame);
			this.parent = grown(this.parent);
			this.self = this.self.map(grown);
		}
		this.frame[this.n] = frame;
		this.parent[this.n] = parent;
		return this.n++;
	}

	/* The one child with that frame. */
	child(parent, frame) {
		if (!this.slots || this.n * 2 > this.slots.length)
			this.rehash();
		const at = this.slot(parent, frame);

		return this.slots[at] || (this.slots[at] = this.append(parent, frame));
	}

	/* Open addressing; a slot holds a node, and the root is nobody's child. */
	slot(parent, frame) {
		const mask = this.slots.length - 1;
		let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b);

		h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
		for (let at = (h ^ h >>> 13) & mask; ; at = at + 1 & mask) {
			const node = this.slots[at];

			if (!node || this.parent[node] === parent && this.frame[node] === frame)
				return at;
		}
	}

	rehash() {
		this.slots = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(this.frame.length, this.n) * 2)) * 2);
		for (let i = 1; i < this.n; i++)
			this.slots[this.slot(this.parent[i], this.frame[i])] = i;
	}

	/* First child and next sibling of each node, by frame: by a counting sort, for there may be millions. */
	link(frames) {
		const { n, frame, parent } = this, first = new Uint32Array(n), next = new Uint32Array(n);
		const start = new Uint32Array(frames + 1), order = new Uint32Array(n);

		for (let i = 1; i < n; i++)
			start[frame[i] + 1]++;
		for (let f = 0; f < frames; f++)
			start[f + 1] += start[f];
		for (let i = 1; i < n; i++)
			order[start[frame[i]]++] = i;
		for (let k = n - 1; k-- > 0;) {
			next[order[k]] = first[parent[order[k]]];
			first[parent[order[k]]] = order[k];
		}
		return { first, next };
	}

	/* The same by their totals, the greatest first. */
	linkBySize(frames) {
		const { n, parent } = this, { first, next } = this.link(frames);
		const size = Float64Array.from(this.self[this.self.length - 1].subarray(0, n));

		/* Parents come before their children. */
		for (let i = n - 1; i > 0; i--)
			size[parent[i]] += size[i];
		for (let node = 0; node < n; node++) {
			if (!first[node] || !next[first[node]])
				continue;
			const list = [];

			for (let c = first[node]; c; c = next[c])
				list.push(c);
			list.sort((a, b) => size[b] - size[a]);
			first[node] = list[0];
			list.forEach((c, i) => { next[c] = list[i + 1] || 0; });
		}
		return { first, next };
	}

	/* In pre-order, siblings by frame or by size. */
	tree(frames, bySize) {
		const { n, frame, parent } = this, out = new Tree(n, this.self.length, frame[0]);
		const { first, next } = bySize ? this.linkBySize(frames) : this.link(frames);
		const place = new Uint32Array(n);	/* of the trie's nodes in @out */

		for (let i = 0, node = 0; i < n; i++) {
			place[node] = i;
			if (i > 0) {
				out.frame[i] = frame[node];
				out.parent[i] = place[parent[node]];
				out.depth[i] = out.depth[out.parent[i]] + 1;
			}
			for (let k = 0; k < this.self.length; k++)
				out.self[k][i] = this.self[k][node];
			if (first[node]) {
				node = first[node];
				continue;
			}
			while (node && !next[node])
				node = parent[node];
			node = next[node];
		}
		return out.finish();
	}
}

/*
 * What lies below @roots, as one tree below @rootFrame. @shown: frames to keep, by frame; what ended in others ends
 * in their callers. @processOf: gives the process that a thread goes below, or NULL.
 */
function fold(tree, roots, rootFrame, frames, shown, processOf) {
	const trie = new Trie(tree.values, rootFrame, roots.length === 1 ? tree.end[roots[0]] - roots[0] + 1024 : 1024), at = [];

	for (const root of roots) {
		at[tree.depth[root]] = 0;
		for (let i = root; i < tree.end[root]; i++) {
			const d = tree.depth[i], frame = tree.frame[i];

			if (i > root) {
				let node = at[d - 1];

				if (processOf && frames.kind[frame] === THREAD)
					node = trie.child(node, processOf(frame));
				at[d] = shown[frame] ? trie.child(node, frame) : node;
			}
			for (let k = 0; k < tree.values; k++)
				trie.self[k][at[d]] += tree.self[k][i];
		}
	}
	return trie.tree(frames.n);
}
