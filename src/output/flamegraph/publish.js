/* SPDX-License-Identifier: MIT */
/* window.ebprof, for scripts and the tests: see docs/results.md. */

function publish(page, loadTime) {
	const { profile, view } = page, one = (values) => profile.difference ? values : values.at(-1);

	Object.defineProperties(window.ebprof, Object.getOwnPropertyDescriptors({
		meta: profile.meta, account: profile.account, types: profile.types,
		get type() { return profile.type; },
		get unit() { return profile.unit; },
		get total() { return one(profile.totals); },
		get each() { return profile.each; },
		/* By type's name, what colours and the table show. */
		get ratio() { return profile.ratio && profile.ratio.name; },
		shorterNames: (name) => [...shorterNames(name)],
		get state() { return { ...page.now, hide: [...page.now.hide] }; },
		set(changes, push = false) {
			page.set("hide" in changes ? { ...changes, hide: new Set(changes.hide) } : changes, push);
		},
		get functions() {
			return view.functions.map(({ fn, name, module, kind, self, total }) => (
				{ fn, name, module, kind, self: one(self), total: one(total),
				  ...profile.ratio && { ratio: profile.ratioOf(self) } }));
		},
		get matched() { return view.matched && one(view.matched.sums); },
		/* Every node of what is drawn, with its path from the root on, "\n" between names; of a sandwich the callees. */
		nodes(tree = "main") {
			const t = view.trees[tree], path = [];

			return Array.from({ length: t.n }, (_, i) => {
				path.length = t.depth[i];
				path.push(view.nameOf(t.frame[i]));
				const kind = t.frame[i] === NONE ? "root" : KINDS[profile.frames.kind[t.frame[i]]];

				return { path: path.join("\n"), kind, self: one(t.self.map((c) => c[i])),
					 total: one(t.total.map((c) => c[i])) };
			}).filter((node, i) => !i || profile.difference || node.total);
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
