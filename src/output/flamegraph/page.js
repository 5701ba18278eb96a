/* SPDX-License-Identifier: MIT */
/*
 * The page: brings state, view, picture and table together, and answers the user.
 */

/* Where the arrow keys lead, in a tree that grows down, and up. */
const WAYS_DOWN = { ArrowLeft: "before", ArrowRight: "after", ArrowUp: "caller", ArrowDown: "callee" };
const WAYS_UP = { ...WAYS_DOWN, ArrowUp: "callee", ArrowDown: "caller" };

const WHEEL_STEP = 240;		/* of a wheel's way, to twice the width */
const DRAG_LEAST = 4;		/* CSS pixels; less is a click */

class Page {
	/* @live: what brings it up to date, or NULL. */
	constructor(profile, live) {
		this.profile = profile;
		this.live = live;
		this.view = new View(profile);
		this.state = new State(profile, (before) => this.update(before), () => this.zoomedPath());
		this.colors = new Colors(profile);
		this.graph = new Graph($("graph"), this.colors);
		this.table = new Table(profile, this.colors, (f) => this.sandwichOf(f && f.fn), (by) => this.sortBy(by),
				   (f, e) => { e.preventDefault(); openRowMenu(this, f, e.clientX, e.clientY); });
		this.tooltip = new Tooltip(profile);
		this.dark = matchMedia("(prefers-color-scheme: dark)");
		this.still = matchMedia("(prefers-reduced-motion: reduce)");
		this.wide = matchMedia("(min-width: 1100px)");
		this.match = -1;
		showHeader(profile);
		makeTypes(profile);
		makeHelp();
		makeSwitches(profile, (name) => this.toggle(name));
		this.time = new TimePanel(this);
		this.listen();
		this.update({});
	}

	get now() {
		return this.state.now;
	}

	set(changes, push = false) {
		this.state.set(changes, push);
	}

	/* Whether the table stands beside a sandwich. */
	get beside() {
		return this.now.view === "sandwich" && this.wide.matches;
	}

	/* Whether keys are the table's. */
	get inTable() {
		return this.now.view === "top" || this.beside && document.activeElement === this.table.area;
	}

	/* --- From the state to the screen. --- */

	/* @grown: the profile has, and all else is as it was. */
	update(before, grown = false) {
		const { now, view, profile, beside } = this, isTable = now.view === "top";
		const treeOf = (s) => [s.view, s.fn, s.type, s.range, s.against, ...[...s.hide || []].sort(), ...s.edits || []]
			.join("\n");
		const treeChanged = treeOf(before) !== treeOf(now);

		view.use(now);
		if (now.view === "sandwich" && now.fn < 0)
			now.fn = this.hottest();
		this.findZoom();
		this.colors.use(now.color, now.palette, this.dark.matches);
		this.showControls();
		const isEmpty = !profile.shown(profile.totals).some(Boolean);

		$("graph").hidden = isTable || isEmpty;
		$("top").hidden = !isTable && !beside || isEmpty;
		$("main").classList.toggle("beside", beside);
		$("message").hidden = !isEmpty;
		if (["type", "range", "against"].some((name) => before[name] !== now[name]))
			showTotals(profile);
		this.time.show();
		if (before.search !== now.search || treeChanged)
			this.match = -1;
		this.showCaption();
		if (isTable || beside)
			this.table.show(view, grown || beside);
		if (beside)
			this.table.mark((f) => f.fn === now.fn, !grown && (before.fn !== now.fn || before.view !== now.view));
		if (!isTable)
			this.showGraph(before, treeChanged, grown);
		this.showStatus();
		showLegend(view, this.colors, this);
	}

	zoomedPath() {
		const tree = this.now.view === "top" ? null : this.view.trees[this.now.pane];

		return tree && this.now.zoom < tree.n ? tree.pathOf(this.now.zoom) : [];
	}

	/* The place that a URL has by names: as far as it is there. */
	findZoom() {
		const { now, view, profile: { frames } } = this, path = now.zoomPath;
		const tree = view.trees[now.pane] || view.trees.main;

		if (!path)
			return;
		delete now.zoomPath;
		now.zoom = now.view === "top" ? 0 : tree.find(path, (frame, hash) => nameHash(frames, frame) === hash);
	}

	showGraph(before, treeChanged, grown) {
		const { now, view, graph } = this, trees = view.trees, tree = trees[now.pane] || trees.main;

		/* A URL may ask for what is not there. */
		if (now.zoom >= tree.n || !trees[now.pane]) {
			now.zoom = 0;
			now.pane = "main";
		}
		/* What has no width in this half of a difference. */
		while (now.zoom && !trees[now.pane].total[view.value][now.zoom])
			now.zoom = trees[now.pane].parent[now.zoom];
		graph.show(view, trees, { tree: now.pane, node: now.zoom }, now.layout === "flame",
			   !treeChanged && !this.still.matches);
		if (grown)
			return;
		if (treeChanged || before.layout !== now.layout)
			graph.scrollToRoot();
		else if (before.zoom !== now.zoom)
			graph.scrollTo(graph.panes.find((p) => p.name === now.pane), now.zoom);
		this.tooltip.hide();
	}

	showControls() {
		const { now, profile } = this;

		for (const tab of $("views").children)
			tab.ariaSelected = String(tab.dataset.view === now.view);
		if ($("search").value !== now.search)
			$("search").value = now.search;
		$("color").value = now.color;
		$("palette").value = now.palette;
		$("widths").value = now.widths;
		for (const id of ["type", "of", "per"])
			$(id).value = String(now[id]);
		document.body.classList.toggle("difference", profile.difference);
		$("of").hidden = $("per").hidden = !profile.ratio;
		$("palette").hidden = now.color !== "change" && !profile.ratio;
		$("layout").ariaPressed = String(now.layout === "flame");
		$("layout").hidden = $("reset").hidden = now.view === "top";
		$("reset").disabled = !now.zoom && !now.edits.length;
		showSwitches(now, this.colors);
	}

	showCaption() {
		const { now, view, profile } = this, caption = $("caption"), k = view.value, all = profile.totals[k];
		const f = now.view === "sandwich" ? view.functionOf(now.fn) : null, down = now.layout === "icicle";
		const parts = [];

		if (f)
			parts.push(element("span", "arrow", down ? "↑ callers" : "↑ callees"), element("b", "mono", f.name),
				   element("span", "dim", f.module),
				   element("span", "", `self ${percent(f.self[k], all)}, total ${percent(f.total[k], all)}`),
				   element("span", "arrow", down ? "↓ callees" : "↓ callers"),
				   ...sourceChip(profile.frames, now.fn));
		else if (now.view === "bottom-up")
			parts.push(element("span", "dim",
					   `Each function where stacks end, with its callers ${down ? "below" : "above"}`));
		const cut = now.view === "top" ? 0 : Object.values(view.trees).reduce((n, t) => n + (t.cut || 0), 0);

		if (cut)
			parts.push(element("span", "warn", `${NUMBER.format(cut)} rare groups of callers are not drawn`));
		parts.push(...now.edits.map((text) => this.editChip(text)));
		caption.replaceChildren(...parts);
		caption.hidden = !parts.length;
	}

	/* What was left out; a click takes it back. */
	editChip(text) {
		const { op, key } = parseEdit(text), name = op === "module" ? key : key.replace(/^[^!]*!/, "");
		const chip = element("button", "chip edit", `${EDITS[op]} `, element("b", "mono", name), " ×");

		chip.type = "button";
		chip.title = `${EDITS[op]} ${name}: click to take this back`;
		chip.onclick = () => this.setEdits(this.now.edits.filter((e) => e !== text));
		return chip;
	}

	showStatus() {
		const { now, view, profile } = this, { matched } = view, k = view.value, status = $("matches"), bad = $("search");
		const pattern = now.search ? searchPattern(now.search) : null;

		bad.classList.toggle("literal", Boolean(pattern && pattern.literal));
		bad.title = pattern && pattern.literal ? "Not a regular expression: found as it stands" : "";
		$("next").disabled = $("previous").disabled = !matched || !matched.nodes.length;
		status.hidden = !matched;
		if (!matched)
			return;
		/* Of a difference both shares, as a search is of functions that changed. */
		const shares = matched.sums.map((s, i) => percent(s, profile.totals[i]));

		status.replaceChildren(element("b", "", profile.difference ? `${shares[0]} → ${shares[1]}` : shares[k]));
		if (this.match >= 0)
			status.append(` ${this.match + 1}/${NUMBER.format(view.matches.length)}`);
		const found = profile.shown(matched.sums).map((s) => quantity(profile, s)).join(" → ");

		status.title = `${found} with a match on the stack`;
	}

	/* What is below the pointer or marked, for those who do not see the tooltip. */
	describe(at) {
		if (!at)
			return "";
		const { profile } = this, { frames } = profile, { tree, k } = at.pane;
		const frame = tree.frame[at.node], total = tree.total[k][at.node];

		return [this.view.nameOf(frame), frame < frames.nfunctions ? frames.module[frame] : "", placeOf(frames, frame),
			`${quantity(profile, total)}, ${percent(total, profile.totals[k])}`].filter(Boolean).join(" · ");
	}

	/* --- What the user does. --- */

	listen() {
		const canvas = this.graph.canvas, at = (e) => this.graph.at(e.clientX, e.clientY);

		canvas.addEventListener("pointermove", (e) => this.drag(e) || this.point(at(e), e));
		canvas.addEventListener("pointerleave", (e) => e.pointerType === "touch" || this.point(null));
		canvas.addEventListener("pointerdown", (e) => this.grab(e));
		canvas.addEventListener("click", (e) => this.click(at(e), e));
		canvas.addEventListener("wheel", (e) => {
			if (!e.ctrlKey)
				return;
			e.preventDefault();
			this.tooltip.hide();
			this.graph.zoomAround(e.clientX, e.clientY, 2 ** (-e.deltaY / WHEEL_STEP));
			$("reset").disabled = false;
		}, { passive: false });
		canvas.addEventListener("contextmenu", (e) => this.openMenu(e, at(e)));
		$("views").addEventListener("click", (e) => e.target.dataset.view && this.go(e.target.dataset.view));
		$("search").addEventListener("input", (e) => this.set({ search: e.target.value }));
		$("search").addEventListener("keydown", (e) => {
			if (e.key === "Enter")
				this.nextMatch(e.shiftKey ? -1 : 1);
		});
		$("next").onclick = () => this.nextMatch(1);
		$("previous").onclick = () => this.nextMatch(-1);
		for (const id of ["palette", "widths"])
			$(id).addEventListener("change", (e) => { this.set({ [id]: e.target.value }); e.target.blur(); });
		for (const [id, valueOf] of Object.entries({ color: String, type: Number, of: Number, per: Number }))
			$(id).addEventListener("change", (e) => {
				this.measure({ [id]: valueOf(e.target.value) });
				e.target.blur();
			});
		$("layout").onclick = () => this.turn();
		$("reset").onclick = () => this.reset();
		$("about-open").onclick = $("account").onclick = () => openDialog("about");
		$("help-open").onclick = () => openDialog("help");
		$("save-open").onclick = (e) => openSaveMenu(this, e);
		for (const dialog of document.querySelectorAll("dialog")) {
			dialog.addEventListener("click", (e) => {
				if (e.target === dialog || e.target.matches(".close"))
					dialog.close();
			});
		}
		addEventListener("pointerdown", (e) => e.target.closest("#menu") || hideMenu());
		for (const query of [this.dark, this.wide])
			query.addEventListener("change", () => this.update(this.now));
		new ResizeObserver(() => this.resize()).observe($("main"));
		addEventListener("resize", () => this.resize());
		printWhole(this.graph);
		listenToKeys(this);
	}

	resize() {
		if (this.now.view === "top" || this.beside)
			this.table.draw();
		if (this.now.view !== "top" && this.graph.panes.length) {
			for (const pane of this.graph.panes)
				pane.rows = this.graph.rowsOf(pane);
			this.graph.layout();
		}
	}

	/* The beginning of what may become a drag. */
	grab(e) {
		this.dragged = e.pointerType === "mouse" && e.button === 0 ?
			{ x: e.clientX, y: e.clientY, pane: this.graph.paneAt(e.clientY), far: false } : null;
	}

	/* Whether the pointer drags the picture. */
	drag(e) {
		const from = this.dragged, dx = from ? e.clientX - from.x : 0, dy = from ? e.clientY - from.y : 0;

		if (!from || !(e.buttons & 1) || !from.pane || !from.far && Math.hypot(dx, dy) < DRAG_LEAST)
			return false;
		this.point(null);
		this.graph.canvas.style.cursor = "grabbing";
		/* Without its pointer, an end of the drag outside would never be heard of. */
		this.graph.canvas.setPointerCapture(e.pointerId);
		this.graph.pan(from.pane, dx, dy);
		this.dragged = { ...from, x: e.clientX, y: e.clientY, far: true };
		$("reset").disabled = false;
		return true;
	}

	/* A finger has no place to hover: its first tap shows the numbers, the second one zooms. */
	click(at, e) {
		const { selected } = this.graph, again = selected && at && selected.pane === at.pane && selected.node === at.node;

		if (this.dragged?.far) {
			this.dragged = null;
			return;
		}
		if (e.pointerType === "touch" && at && !again) {
			this.select(at);
			this.tooltip.show(at, this.view.nameOf(at.pane.tree.frame[at.node]), e.clientX, e.clientY);
			return;
		}
		this.zoomTo(at);
	}

	point(at, e) {
		const { graph } = this, old = graph.hover;

		this.pointer = at && e;
		if (at && e)
			this.tooltip.show(at, this.view.nameOf(at.pane.tree.frame[at.node]), e.clientX, e.clientY);
		else
			this.tooltip.hide();
		graph.canvas.style.cursor = at ? "pointer" : "";
		if (old?.node === at?.node && old?.pane === at?.pane)
			return;
		graph.hover = at;
		$("status").textContent = this.describe(at || graph.selected);
		graph.redraw();
	}

	select(at) {
		if (!at)
			return;
		this.graph.selected = at;
		this.graph.scrollTo(at.pane, at.node);
		$("status").textContent = this.describe(at);
		this.graph.redraw();
	}

	go(view) {
		this.set({ view, zoom: 0, pane: "main" }, true);
	}

	zoomTo(at) {
		if (at && this.graph.moved && at.node === this.now.zoom)
			this.update(this.now);
		else if (at && (at.node !== this.now.zoom || at.pane.name !== this.now.pane))
			this.set({ zoom: at.node, pane: at.node ? at.pane.name : "main" }, true);
	}

	zoomOut() {
		const pane = this.graph.panes.find((p) => p.name === this.now.pane);

		if (this.now.zoom && pane)
			this.zoomTo({ pane, node: pane.tree.parent[this.now.zoom] });
	}

	reset() {
		if (this.now.zoom || this.now.edits.length)
			this.set({ zoom: 0, pane: "main", edits: [] }, true);
		else if (this.graph.moved)
			this.update(this.now);
	}

	escape() {
		if (hideMenu())
			return;
		$("search").blur();
		if (this.now.search)
			this.set({ search: "" });
		else if (!$("reset").disabled || !this.time.escape())
			this.reset();
	}

	/* The keys' arrows: from the marked box, at first the one that fills the width. */
	walk(key) {
		const { graph, now } = this, pane = graph.panes.find((p) => p.name === now.pane);

		if (this.inTable) {
			this.table.move({ ArrowUp: -1, ArrowDown: 1 }[key] || 0);
			return;
		}
		if (!pane)
			return;
		if (!graph.selected) {
			this.select({ pane, node: now.zoom });
			return;
		}
		const ways = graph.selected.pane.up ? WAYS_UP : WAYS_DOWN;

		this.select(graph.neighbour(graph.selected, ways[key]));
	}

	enter() {
		if (this.inTable)
			this.sandwichOf(this.table.marked?.fn);
		else
			this.zoomTo(this.graph.selected);
	}

	nextMatch(by) {
		const { view, graph } = this, { matches } = view, pane = graph.panes.find((p) => p.name === "main");

		if (this.now.view === "top" || !matches.length || !pane)
			return;
		/* From none, forward to the first, back to the last. */
		const at = this.match < 0 && by < 0 ? 0 : this.match, match = (at + by + matches.length) % matches.length;
		const node = matches[match], { tree, k } = pane, x = tree.x[k][node];

		/* One that the zoom hides, or that is too small to be seen, needs another zoom. */
		if (x < pane.from || x >= pane.to || tree.depth[node] < tree.depth[pane.node] ||
		    tree.total[k][node] * graph.width < NAME_LEAST * (pane.to - pane.from))
			this.set({ zoom: this.ancestorFor(pane, node), pane: "main" }, true);
		this.match = match;
		this.select({ pane: graph.panes.find((p) => p.name === "main"), node });
		this.showStatus();
	}

	/* The widest caller below which a node has a readable width. */
	ancestorFor({ tree, k }, node) {
		let best = 0;

		for (let i = node; i > 0; i = tree.parent[i])
			if (tree.total[k][node] * this.graph.width >= tree.total[k][i] * NAME_LEAST * 2)
				best = i;
		return tree.total[k][node] * this.graph.width >= tree.total[k][0] * NAME_LEAST * 2 ? 0 : best;
	}

	/* The frame below the pointer, or marked. */
	get currentFrame() {
		const at = this.graph.hover || this.graph.selected;

		if (this.inTable)
			return this.table.marked?.frame ?? NONE;
		return at ? at.pane.tree.frame[at.node] : NONE;
	}

	get current() {
		return this.currentFrame === NONE ? -1 : this.profile.frames.functionOf[this.currentFrame];
	}

	hottest() {
		this.view.use(this.now);
		const best = this.view.functions.filter((f) => f.fn >= 0).sort((a, b) => SORTS.self(a, b, this.view.value))[0];

		return best ? best.fn : -1;
	}

	sandwichOf(fn = -1) {
		const chosen = [fn, this.now.fn].find((f) => f >= 0) ?? this.hottest();

		if (fn >= 0 || this.now.view !== "sandwich")
			this.set({ view: "sandwich", fn: chosen, zoom: 0, pane: "main" }, true);
	}

	/* The same place is kept, if it is still there. */
	toggle(name) {
		const hide = new Set(this.now.hide);

		if (!usefulSwitches(this.profile).includes(name))
			return;
		if (!hide.delete(name))
			hide.add(name);
		this.setKeepingZoom({ hide }, (f) => !hide.has(SWITCH_OF[this.profile.frames.kind[f]]));
	}

	/* Changes what is shown, and stays where it is zoomed into; @left: whether a frame is there afterwards. */
	setKeepingZoom(changes, left, push = false) {
		const path = this.zoomedPath().filter(left);

		this.view.use({ ...this.now, ...changes });
		const tree = this.now.view === "top" ? null : this.view.trees[this.now.pane] || null;

		this.set({ ...changes, zoom: tree ? tree.find(path) : 0 }, push);
	}

	setEdits(edits) {
		const gone = edits.map(parseEdit).filter((e) => e.op === "hide" || e.op === "module")
			.map((e) => framesOf(e, this.profile.frames));

		this.setKeepingZoom({ edits: edits.slice(-EDITS_MAX) }, (f) => !gone.some((frames) => frames[f]), true);
	}

	edit(op, key) {
		const text = `${op}:${key}`;

		if (!this.now.edits.includes(text))
			this.setEdits([...this.now.edits, text]);
	}

	/* Roots at the top or at the bottom. */
	turn() {
		this.set({ layout: this.now.layout === "flame" ? "icicle" : "flame" });
	}

	sortBy(sort) {
		this.set({ sort, reverse: sort === this.now.sort ? !this.now.reverse : false });
	}

	/* Other values or colours, at the same place. */
	measure(changes) {
		this.setKeepingZoom(changes, () => true);
	}

	nextColor() {
		const modes = colorModes(this.profile);

		this.measure({ color: modes[(modes.indexOf(this.now.color) + 1) % modes.length] });
	}

	nextType() {
		this.measure({ type: (this.now.type + 1) % this.profile.types.length });
	}

	otherWidths() {
		if (this.profile.difference)
			this.set({ widths: this.now.widths === "after" ? "before" : "after" });
	}

	copyName(frame = this.currentFrame) {
		if (frame === NONE)
			return;
		copyText(this.view.nameOf(frame));
		$("status").textContent = `Copied: ${this.view.nameOf(frame)}`;
	}

	openMenu(e, at) {
		if (!at || e.shiftKey)
			return;
		e.preventDefault();
		this.showMenuOf(at, e.clientX, e.clientY);
	}

	/* By a key, below the marked box; where none is marked, the one that fills the width. */
	openMarkedMenu() {
		const { graph } = this, area = graph.canvas.getBoundingClientRect();

		if (this.inTable) {
			openRowMenu(this, this.table.marked, ...this.table.placeOfMarked());
			return;
		}
		if (!graph.selected)
			this.walk();
		const { selected } = graph;
		const box = [...graph.boxes()].find((b) => b.pane === selected?.pane && b.node === selected.node);

		if (box)
			this.showMenuOf(selected, area.left + Math.max(0, box.x), area.top + box.y + box.height);
	}

	showMenuOf(at, x, y) {
		this.tooltip.hide();
		showMenu([["Zoom to this box", () => this.zoomTo(at)], ...itemsOf(this, at.pane.tree.frame[at.node], at)], x, y);
	}

	/* From the root on, a line for each frame. */
	copyStack({ pane: { tree, up }, node }) {
		const path = tree.pathOf(node).map((f) => this.view.nameOf(f));

		copyText((tree.reversed || up ? path.reverse() : path).join("\n"));
		$("status").textContent = `Copied: a stack of ${path.length} frame${path.length === 1 ? "" : "s"}`;
	}
}

const live = $("live") && new Live();

/* The rest of it is there once its `ready` resolves: publish.js. */
window.ebprof = {
	ready: (live ? live.first() : readProfile()).then((profile) => {
		const page = new Page(profile, live);

		publish(page, performance.now());
		document.body.classList.add("ready");
		if (live)
			live.run(page);
		else
			(window.requestIdleCallback || setTimeout)(() => page.view.rehearse());
	}).catch((error) => {
		$("message").hidden = false;
		$("message").textContent = typeof DecompressionStream === "undefined" ?
			"This browser is too old for this page: it needs Chrome 103, Firefox 113 or Safari 16.4." :
			`This page cannot be shown: ${error.message}`;
		throw error;
	}),
};
