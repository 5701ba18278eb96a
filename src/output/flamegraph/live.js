/* SPDX-License-Identifier: MIT */
/*
 * A page that its server (src/serve/) brings up to date. Each second it asks for the updates that it lacks
 * (output/html_live.h), and adds them up; all that is chosen in the page stays as it is. Nothing that is
 * done here is known to the server: each watcher pauses, and begins anew, for himself.
 */

const REFRESH_MS = 1000;
const TRIES = 3;		/* without an answer; then it is over */
const SHARE = 0.2;		/* of the time that drawing may take, at most */

class Live {
	constructor() {
		this.all = this.since = null;	/* raw: since the beginning, since "From now" */
		this.sequence = 0;
		/* By which the server knows at its end whom to wait for. */
		this.watcher = Math.floor(Math.random() * 2 ** 52);
		this.failed = 0;
		this.paused = this.ended = this.held = this.stale = false;
		this.shownAt = 0;
		this.shell = fetch(location.pathname).then((r) => r.text());
		this.shell.catch(() => {});
	}

	/* The raw profile that is to be seen. */
	get raw() {
		return this.since || this.all;
	}

	/* Whether there is anything new. */
	async ask() {
		let text;

		try {
			const answer = await fetch(`data?since=${this.sequence}&watcher=${this.watcher}`);

			if (!answer.ok)
				throw new Error(`the server says ${answer.status}`);
			text = await answer.text();
			this.failed = 0;
		} catch {
			this.ended = ++this.failed >= TRIES;
			return false;
		}
		for (const line of text.split("\n").filter(Boolean))
			await this.take(JSON.parse(line));
		return text.length > 0;
	}

	async take(update) {
		if (update.end) {
			this.ended = true;
			return;
		}
		const raw = await readRaw(update), late = update.whole && this.sequence;

		this.all = !this.all || update.whole ? raw : addRaw(this.all, raw);
		/* What came before now is in the whole, and cannot be told apart any more. */
		this.since = this.since && !late ? addRaw(this.since, raw) : null;
		this.sequence = update.sequence;
	}

	/* Until there is a profile: the first one. */
	async first() {
		const message = $("message");

		message.textContent = "No samples yet.";
		for (message.hidden = false; !await this.ask() || !this.all; await pause(REFRESH_MS))
			if (this.ended)
				throw new Error("the recording has ended without a sample");
		message.textContent = "No samples.";
		return profileOf(this.all);
	}

	/* From then on. */
	async run(page) {
		this.page = page;
		this.listen();
		this.showState();
		while (!this.ended) {
			await pause(REFRESH_MS);
			this.stale = await this.ask() || this.stale;
			this.show();
			this.showState();
		}
	}

	listen() {
		const held = (is) => () => { this.held = is; if (!is) this.show(); };

		$("live-controls").hidden = false;
		$("live-pause").onclick = () => this.pause();
		$("live-from").onclick = () => this.fromNow();
		/* What is pressed must still be there when it is let go. */
		addEventListener("pointerdown", held(true), true);
		for (const end of ["click", "pointercancel", "contextmenu", "dragend"])
			addEventListener(end, held(false));
		document.addEventListener("visibilitychange", () => this.show());
	}

	/* Not more often than drawing leaves time for all else. */
	show(force = false) {
		const now = performance.now(), wait = (this.took || 0) / SHARE;

		if (!force && (!this.stale || this.paused || this.held || document.hidden || now < this.shownAt + wait))
			return;
		this.stale = false;
		replaceProfile(this.page, profileOf(this.raw));
		this.shownAt = performance.now();
		this.took = this.shownAt - now;
	}

	pause() {
		this.paused = !this.paused;
		this.show();
		this.showState();
	}

	fromNow() {
		this.since = this.since ? null : emptyRaw(this.all.json);
		this.show(true);
		this.showState();
	}

	showState() {
		const { paused, ended, since } = this, state = ended ? "ended" : paused ? "paused" : "live";

		$("live-state").textContent = state;
		$("live-state").className = state;
		$("live-pause").textContent = paused ? "Go on" : "Pause";
		$("live-pause").ariaPressed = String(paused);
		$("live-from").textContent = since ? "Since start" : "From now";
		$("live-from").ariaPressed = String(Boolean(since));
	}

	/* For the menu of what can be saved. */
	saveItems(name) {
		const as = (text, type, ending) => save(new Blob([text], { type }), `${name}.${ending}`);

		return [["Save as a page (HTML)", async () => as(await this.html(), "text/html", "html")],
			["Save stacks (folded)", () => as(this.folded(), "text/plain", "folded")]];
	}

	/* For tests: what is kept of times is bounded. */
	addTicks(sets) {
		return addTicks(sets);
	}

	folded() {
		return foldedText(this.page.profile);
	}

	/* A page that needs no server, of what is to be seen. */
	async html() {
		const shell = await this.shell, elements = await rawElements(this.page.profile.raw);

		return shell.replace("connect-src 'self'", "connect-src 'none'")
			.replace(/<script type="application\/json" id="live">.*<\/script>\n/, () => elements);
	}
}

function pause(ms) {
	return new Promise((done) => { setTimeout(done, ms); });
}

/* Where a box is, by names, in any tree that has it. */
function placeOfBox(at, frames) {
	return at && { pane: at.pane.name, path: at.pane.tree.pathOf(at.node).map((f) => frames.keyOf(f)) };
}

function boxOfPlace(place, graph, frames) {
	const pane = place && graph.panes.find((p) => p.name === place.pane);
	const node = pane ? pane.tree.find(place.path, (frame, key) => frames.keyOf(frame) === key) : 0;

	return pane && pane.tree.depth[node] === place.path.length ? { pane, node } : null;
}

/* What the wheel or a drag has made of the widths, as shares of all. */
function stretches(graph) {
	return graph.moved ? graph.panes.map(({ name, tree, k, from, to }) => {
		const all = tree.total[k][0] || 1;

		return { name, from: from / all, to: to / all };
	}) : [];
}

function stretchAgain(graph, all) {
	for (const { name, from, to } of all) {
		const pane = graph.panes.find((p) => p.name === name), total = pane?.tree.total[pane.k][0];

		if (total)
			graph.see(pane, from * total, to * total);
	}
}

/* The same picture of a profile that has grown. */
function replaceProfile(page, profile) {
	const { graph, table, view, colors, state, tooltip, profile: { frames } } = page;
	const pointer = tooltip.box.hidden ? null : page.pointer;
	const selected = placeOfBox(graph.selected, frames), stretched = stretches(graph);
	const marked = table.marked?.frame ?? NONE, markedKey = marked < frames.n ? frames.keyOf(marked) : "";

	state.follow(profile);
	for (const part of [page, table, view, colors, tooltip])
		part.profile = profile;
	view.kept.clear();
	colors.key = "";
	graph.widths = new Float32Array(0);
	page.time.follow();
	showHeader(profile);
	makeSwitches(profile, (name) => page.toggle(name));
	page.update({}, true);
	if (page.now.view === "top") {
		table.mark((f) => f.frame !== NONE && profile.frames.keyOf(f.frame) === markedKey);
		return;
	}
	graph.selected = boxOfPlace(selected, graph, profile.frames);
	stretchAgain(graph, stretched);
	/* Below a pointer that stands still there is another box. */
	if (pointer)
		page.point(graph.at(pointer.clientX, pointer.clientY), pointer);
	graph.redraw();
}
