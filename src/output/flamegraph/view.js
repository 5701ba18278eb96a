/* SPDX-License-Identifier: MIT */
/*
 * What is to be seen, made of the profile and the state (state.js): trees, sums, what a search
 * found. Each is made when it is first asked for, and kept until what it depends on changes.
 */
class View {
	constructor(profile) {
		this.profile = profile;
		this.kept = new Map();
		this.state = null;
	}

	/* One result a name; made anew where @key is another. */
	keep(name, key, make) {
		const old = this.kept.get(name);

		if (old && old.key === key)
			return old.value;
		const value = make();

		this.kept.set(name, { key, value });
		return value;
	}

	use(state) {
		this.state = state;
		this.profile.choose(state);
		if (this.profile.ranges.length)
			this.profile.totals = this.ranges.totals;
		if (this.profile.confidence)
			this.learn();
	}

	/* Which of a node's values gives the widths. */
	get value() {
		return this.profile.difference && this.state.widths === "before" ? 0 : this.profile.columns.length - 1;
	}

	get shownKey() {
		return `${this.rangeKey}\n${this.wholeKey}`;
	}

	get wholeKey() {
		return `${[...this.state.hide].sort().join()}\n${this.baseKey}`;
	}

	get baseKey() {
		return `${this.profile.wholeColumns}\n${this.state.edits.join("\n")}`;
	}

	get rangeKey() {
		const { times, ranges, wholeColumns } = this.profile;

		return `${ranges.map((range) => times.format(range))}\n${wholeColumns}`;
	}

	/* What ranges of time have. */
	get ranges() {
		return this.keep("ranges", this.rangeKey, () => rangeSums(this.all, this.profile));
	}

	/*
	 * A range's tree, for nobody: the first one would have to wait for its room, which is as large as the tree, and for
	 * code that the browser has not compiled yet.
	 */
	rehearse() {
		const { times, ranges } = this.profile;

		if (!times || ranges.length)
			return;
		const range = { from: 0, to: Math.min(times.end, times.cell * CELLS) };
		const { sums } = rangeSums(this.all, Object.create(this.profile, { ranges: { value: [range] } }));

		rangeTree(this.whole, this.place, sums);
	}

	get all() {
		return this.keep("all", String(this.profile.wholeColumns), () => this.profile.tree());
	}

	/* All stacks, as the edits leave them. */
	get base() {
		const { edits } = this.state, { profile, all } = this;

		return this.keep("base", this.baseKey, () => edits.length ? edited(all, edits, profile.frames) : all);
	}

	/* All stacks, without the frames that are switched off, of the ranges that were chosen. */
	get forward() {
		const { whole, profile: { ranges } } = this;

		return ranges.length ? this.keep("forward", this.shownKey, () => rangeTree(whole, this.place, this.ranges.sums)) :
			whole;
	}

	/* Where in the whole each node of all stacks is; NULL: where it was. */
	get place() {
		const { base, whole } = this;

		return this.keep("place", this.wholeKey, () => {
			if (!base.place || !whole.place || base === whole)
				return base.place || whole.place || null;
			return base.place.map((node) => node === NONE ? NONE : whole.place[node]);
		});
	}

	/* How much two ranges must differ, by what is counted. */
	learn() {
		const { confidence } = this.profile;

		confidence.most.node = this.keep("node", this.shownKey, () => confidence.limit(this.forward.total));
		for (const kind of ["top", "sandwich"].includes(this.state.view) ? ["self", "total"] : [])
			confidence.most[kind] = this.keep(kind, this.shownKey, () => confidence.limit(
				[0, 1].map((k) => this.functions.map((f) => f[kind][k]))));
	}

	/* Of the whole recording. */
	get whole() {
		const { base } = this, { frames } = this.profile, { hide } = this.state;

		return this.keep("whole", this.wholeKey, () => {
			const shown = new Uint8Array(frames.n);
			const processOf = hide.has("process") || frames.processes < 2 ? null : frames.processOf;

			for (let i = 0; i < frames.n; i++)
				shown[i] = !hide.has(SWITCH_OF[frames.kind[i]]) && !(frames.inlined[i] && hide.has("inlined"));
			/* Processes are frames of no stack. */
			const hidden = shown.subarray(0, frames.n - frames.processes).includes(0);

			return processOf || hidden ? fold(base, [0], NONE, frames, shown, processOf) : base;
		});
	}

	get reversed() {
		return this.keep("reversed", this.shownKey, () => bottomUp(this.forward, this.profile.frames));
	}

	get sandwich() {
		return this.keep("sandwich", `${this.state.fn} ${this.shownKey}`,
				 () => sandwich(this.forward, this.profile.frames, this.state.fn));
	}

	/* The functions of what is shown, in no order. */
	get functions() {
		const { profile } = this, counts = (values) => profile.shown(values).some((value) => value > 0);

		return this.keep("functions", this.shownKey, () => countFunctions(this.forward, profile.frames, counts));
	}

	functionOf(fn) {
		return this.functions.find((f) => f.fn === fn);
	}

	/* The trees that are drawn; the one that grows upwards first. */
	get trees() {
		switch (this.state.view) {
		case "bottom-up":
			return { main: this.reversed };
		case "sandwich":
			return { callers: this.sandwich.callers, main: this.sandwich.callees };
		default:
			return { main: this.forward };
		}
	}

	/* Frames that the search finds, or NULL. */
	get found() {
		return this.keep("found", this.state.search, () => searchFrames(this.profile.frames, this.state.search));
	}

	/* { nodes, sums } in all stacks that are shown, whatever the view. */
	get matched() {
		return this.keep("matched", `${this.state.search}\n${this.shownKey}`,
				 () => this.found && searchTree(this.forward, this.found));
	}

	/* The boxes that a search finds in the drawn tree, the widest first. */
	get matches() {
		const tree = this.trees.main, k = this.value, { search, view, fn } = this.state;

		return this.keep("matches", `${search}\n${view} ${fn} ${k} ${this.shownKey}`, () => {
			if (!this.found)
				return [];
			const nodes = searchTree(tree, this.found).nodes.filter((i) => tree.total[k][i] > 0);

			return nodes.sort((a, b) => tree.total[k][b] - tree.total[k][a] || a - b);
		});
	}

	nameOf(frame) {
		return frame === NONE ? "all" : this.profile.frames.name[frame];
	}
}

/* By kind, the switch that hides it. */
const SWITCH_OF = { [PROCESS]: "process", [THREAD]: "thread", [USER]: "user", [JIT]: "user", [SCRIPT]: "user",
		    [INLINED]: "inlined", [KERNEL]: "kernel", [MARK]: "mark" };
