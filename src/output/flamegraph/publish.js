/* SPDX-License-Identifier: MIT */
/* window.ebprof, for scripts and the tests: see docs/results.md. */

function publish(page, loadTime) {
	const { view } = page, one = (values) => page.profile.difference ? values : values.at(-1);

	Object.defineProperties(window.ebprof, Object.getOwnPropertyDescriptors({
		live: page.live,
		get meta() { return page.profile.meta; },
		get account() { return page.profile.account; },
		get types() { return page.profile.types; },
		get type() { return page.profile.type; },
		get unit() { return page.profile.unit; },
		get total() { return one(page.profile.totals); },
		get each() { return page.profile.each; },
		/* By type's name, what colours and the table show. */
		get ratio() { return page.profile.ratio && page.profile.ratio.name; },
		get colors() { return page.colors; },
		shorterNames: (name) => [...shorterNames(name)],
		get state() { return { ...page.now, hide: [...page.now.hide] }; },
		set(changes, push = false) {
			page.set("hide" in changes ? { ...changes, hide: new Set(changes.hide) } : changes, push);
		},
		get functions() {
			return view.functions.map(({ fn, name, module, kind, self, total }) => (
				{ fn, name, module, kind, self: one(self), total: one(total),
				  ...page.profile.ratio && { ratio: page.profile.ratioOf(self) } }));
		},
		get link() { return `#${page.state.text()}`; },
		get matched() { return view.matched && one(view.matched.sums); },
		/* Every node of what is drawn, with its path from the root on, "\n" between names; of a sandwich the callees. */
		nodes(tree = "main") {
			const t = view.trees[tree], path = [];

			return Array.from({ length: t.n }, (_, i) => {
				path.length = t.depth[i];
				path.push(view.nameOf(t.frame[i]));
				const kind = t.frame[i] === NONE ? "root" : KINDS[page.profile.frames.kind[t.frame[i]]];

				return { path: path.join("\n"), kind, self: one(t.self.map((c) => c[i])),
					 total: one(t.total.map((c) => c[i])) };
			}).filter((node, i) => !i || [node.total].flat().some(Boolean));
		},
		/*
		 * Of a recording with a timeline: samples by cell of the heat map, threads with the times of their samples,
		 * and how long each lasted, in ms, rows of the lanes and the seconds that they show, what is told of each
		 * wait, and of two ranges what chance there is that it makes such a difference.
		 */
		get timeline() {
			const { times, frames, confidence } = page.profile, ms = (at) => at * times.unit / 1e6;

			const thread = ({ label, pid, tid }, t) => {
				const [from, to] = times.first.subarray(t, t + 2);

				return {
					name: frames.name[frames.nfunctions + label], pid, tid,
					process: frames.name[frames.processOf(frames.nfunctions + label)],
					times: Array.from(times.at.subarray(from, to), ms),
					...times.span && { lasted: Array.from(times.span.subarray(from, to), ms) },
				};
			};

			return times && {
				seconds: times.end * times.unit / 1e9, cells: [...times.cells], cellMs: CELL_NS / 1e6,
				threads: times.lanes.map(thread),
				window: ["from", "to"].map((end) => page.time.views.lanes.seen[end] * times.unit / 1e9),
				rows: page.time.views.lanes.rows.map(({ name }) => name),
				reasons: Object.fromEntries(Object.keys(REASONS).map((name) => (
					[name, reasonColor(name, page.colors.dark)]))),
				waits: () => page.time.views.lanes.told(),
				chance: (a, b) => confidence && confidence.p([a, b]),
			};
		},
		/* The boxes in the window, in CSS pixels of the page. */
		get boxes() {
			const area = page.graph.canvas.getBoundingClientRect();

			return Array.from(page.graph.boxes(), (b) => ({
				node: b.node, tree: b.pane.name, name: view.nameOf(b.pane.tree.frame[b.node]),
				x: b.x + area.left, y: b.y + area.top, width: b.width, height: b.height }));
		},
		/* Milliseconds. */
		get times() { return { load: loadTime, draw: page.graph.drawTime }; },
	}));
}
