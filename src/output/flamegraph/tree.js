/* SPDX-License-Identifier: MIT */
/*
 * A tree of frames in pre-order, as columns of typed arrays: a million nodes are 50 MB, and a walk over
 * them takes milliseconds. Node 0 is the root; i's subtree is i ... end[i] - 1, so what is
 * not wanted is skipped in one step. Each node has one value, or two (before and after): self,
 * total, and x, where its box begins on a line that is as long as the root's total.
 */
class Tree {
	constructor(n, values, rootFrame) {
		const column = () => new Uint32Array(n);
		const columns = () => Array.from({ length: values }, () => new Float64Array(n));

		this.n = n;
		this.values = values;
		this.frame = column();
		this.parent = column();
		this.depth = column();
		this.end = column();
		this.self = columns();
		this.total = columns();
		this.x = columns();
		this.room = null;	/* of withSelf() */
		this.frame[0] = rootFrame;
	}

	/* Fills what follows from frame, parent, depth and self. */
	finish() {
		const { n, parent, end } = this;

		end.fill(1);
		for (let i = n - 1; i > 0; i--)
			end[parent[i]] += end[i];
		for (let i = 0; i < n; i++)
			end[i] += i;
		return this.sum();
	}

	/* Totals and places. No branches: where half of the nodes have nothing, none would be foreseen. */
	sum() {
		const { n, parent, depth } = this;

		for (let k = 0; k < this.values; k++) {
			const total = this.total[k], x = this.x[k], next = [0];

			total.set(this.self[k]);
			for (let i = n - 1; i > 0; i--)
				total[parent[i]] += total[i];
			for (let i = 0; i < n; i++) {
				const d = depth[i];

				x[i] = next[d];
				next[d] += total[i];
				next[d + 1] = x[i];
			}
		}
		return this;
	}

	/*
	 * The same nodes with other values, columns of which are given. Its room is this tree's, so the one that was made
	 * so before is gone.
	 */
	withSelf(self) {
		const other = new Tree(0, 0, NONE), { n, frame, parent, depth, end } = this;
		const room = this.room ||= [[], []];
		const [total, x] = room.map((columns) => self.map((_, k) => columns[k] ||= new Float64Array(n)));

		return Object.assign(other, { n, frame, parent, depth, end, values: self.length, self, total, x }).sum();
	}

	/* Whether a node has any value, or one below it. */
	hasAny(node) {
		for (let k = 0; k < this.values; k++)
			if (this.total[k][node])
				return true;
		return false;
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

	/* As far as the path is there. @same: whether a frame is the path's one. */
	find(path, same = (a, b) => a === b) {
		let node = 0;

		for (const frame of path) {
			const next = this.child(node, (c) => same(this.frame[c], frame));

			if (next < 0)
				break;
			node = next;
		}
		return node;
	}
}

const SHARED = NONE;

/*
 * A tree that grows in any order, and becomes a Tree. What grows out of one node of another tree is known
 * to differ, and goes in as it comes; only a node that grows out of several, its owners, needs to be
 * asked whether it has such a child, by a hash table. So a million nodes cost little where little is merged.
 */
class Trie {
	constructor(values, rootFrame, room) {
		const column = () => new Uint32Array(room);

		this.n = 1;
		this.room = room;
		this.columns = { frame: column(), parent: column(), first: column(), next: column(), owner: column() };
		this.self = Array.from({ length: values }, () => new Float64Array(room));
		this.slots = new Uint32Array(1024);
		this.used = 0;
		this.columns.frame[0] = rootFrame;
	}

	grow() {
		const grown = (old) => {
			const column = new old.constructor(this.room);

			column.set(old);
			return column;
		};

		this.room *= 2;
		for (const name of Object.keys(this.columns))
			this.columns[name] = grown(this.columns[name]);
		this.self = this.self.map(grown);
	}

	/* A new child, whether there is an equal one or not. */
	append(parent, frame) {
		if (this.n === this.room)
			this.grow();
		const c = this.columns;

		c.frame[this.n] = frame;
		c.parent[this.n] = parent;
		c.next[this.n] = c.first[parent];
		c.first[parent] = this.n;
		return this.n++;
	}

	/* The one child with that frame. @owner: the node, plus 1, of which all children differ; or SHARED. */
	child(parent, frame, owner) {
		const c = this.columns;

		if (!c.owner[parent])
			c.owner[parent] = owner;
		if (c.owner[parent] === owner && owner !== SHARED)
			return this.append(parent, frame);
		if (c.owner[parent] !== SHARED) {
			c.owner[parent] = SHARED;
			for (let node = c.first[parent]; node; node = c.next[node])
				this.insert(node);
		}
		const at = this.slot(parent, frame);

		return this.slots[at] || this.insert(this.append(parent, frame));
	}

	/* Open addressing; a slot holds a node, and the root is nobody's child. */
	slot(parent, frame) {
		const mask = this.slots.length - 1, c = this.columns;
		let h = Math.imul(parent, 0x9e3779b1) ^ Math.imul(frame, 0x85ebca6b);

		h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
		for (let at = (h ^ h >>> 13) & mask; ; at = at + 1 & mask) {
			const node = this.slots[at];

			if (!node || c.parent[node] === parent && c.frame[node] === frame)
				return at;
		}
	}

	insert(node) {
		const { columns: c } = this;

		if (++this.used * 2 > this.slots.length) {
			const old = this.slots;

			this.slots = new Uint32Array(old.length * 4);
			for (const other of old)
				if (other)
					this.slots[this.slot(c.parent[other], c.frame[other])] = other;
		}
		this.slots[this.slot(c.parent[node], c.frame[node])] = node;
		return node;
	}

	/* Puts siblings in order: by frame, which is by name, or by total, the greatest first. */
	sort(bySize) {
		const { n, columns: { frame, parent, first, next, owner } } = this, list = [];
		const size = Float64Array.from(this.self[this.self.length - 1].subarray(0, n));

		/* Parents come before their children. */
		for (let i = n - 1; bySize && i > 0; i--)
			size[parent[i]] += size[i];
		for (let node = 0; node < n; node++) {
			if (!first[node] || !next[first[node]])
				continue;
			list.length = 0;
			for (let c = first[node]; c; c = next[c])
				list.push(c);
			if (bySize)
				list.sort((a, b) => size[b] - size[a] || frame[a] - frame[b]);
			else if (owner[node] === SHARED)
				list.sort((a, b) => frame[a] - frame[b]);
			else
				list.reverse();	/* as they came */
			first[node] = list[0];
			for (let i = 0; i < list.length; i++)
				next[list[i]] = i + 1 < list.length ? list[i + 1] : 0;
		}
	}

	/* In pre-order. */
	tree(bySize) {
		const { n, columns: { frame, parent, first, next } } = this, out = new Tree(n, this.self.length, frame[0]);

		this.sort(bySize);
		const place = this.place = new Uint32Array(n);	/* of the trie's nodes in @out */

		for (let i = 0, node = 0; i < n; i++) {
			place[node] = i;
			if (i > 0) {
				out.frame[i] = frame[node];
				out.parent[i] = place[parent[node]];
				out.depth[i] = out.depth[out.parent[i]] + 1;
			}
			for (let k = 0; k < out.values; k++)
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
 * in their callers. @processOf: gives the process that a thread goes below, or NULL. Its @place: where each node
 * of @tree went.
 */
function fold(tree, roots, rootFrame, frames, shown, processOf) {
	const trie = new Trie(tree.values, rootFrame, roots.length === 1 ? tree.end[roots[0]] - roots[0] + 1024 : 1024), at = [];
	const place = new Uint32Array(tree.n);

	for (const root of roots) {
		at[tree.depth[root]] = 0;
		for (let i = root; i < tree.end[root];) {
			const d = tree.depth[i], frame = tree.frame[i];

			if (!tree.hasAny(i)) {
				i = tree.end[i];
				continue;
			}
			if (i > root) {
				let node = at[d - 1];

				if (processOf && frames.kind[frame] === THREAD)
					node = trie.child(node, processOf(frame), SHARED);
				at[d] = shown[frame] ? trie.child(node, frame, tree.parent[i] + 1) : node;
			}
			for (let k = 0; k < tree.values; k++)
				trie.self[k][at[d]] += tree.self[k][i];
			place[i++] = at[d];
		}
	}
	return Object.assign(trie.tree(false), { place: place.map((node) => trie.place[node]) });
}
