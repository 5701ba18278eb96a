/* SPDX-License-Identifier: MIT */
/* What menus of boxes and rows offer, and keys for what a mouse does with its wheel and by a drag. */

/* Of a row of the table. */
function openRowMenu(page, f, x, y) {
	if (f && f.frame !== NONE)
		showMenu(itemsOf(page, f.frame, null), x, y);
}

/* @at: the box of the frame, or NULL. */
function itemsOf(page, frame, at) {
	const fn = frame === NONE ? -1 : page.profile.frames.functionOf[frame], name = page.view.nameOf(frame), items = [];

	if (fn >= 0)
		items.push(["Callers and callees (merge all of it)", () => page.sandwichOf(fn)]);
	if (frame !== NONE)
		items.push(["Find all of this name", () => page.set({ search: `^${literal(name)}$` })],
			   ...sourceItems(page.profile.frames, frame), ...editItems(page, at, frame),
			   ["Copy the name", () => page.copyName(frame)]);
	if (frame !== NONE && at)
		items.push(["Copy the stack", () => page.copyStack(at)]);
	return items;
}

function openSaveMenu(page, e) {
	const { graph } = page, name = document.title.replace(/[^\w.-]+/g, "-").replace(/^-+|-+$/g, "") || "flamegraph";
	const items = [["Copy a link to this view", () => {
		page.state.write(false);
		copyText(location.href);
		$("status").textContent = "Copied: a link to this view";
	}]];

	items.unshift(...page.live ? page.live.saveItems(name) : []);
	if (page.now.view !== "top")
		items.unshift(["Save as SVG", () => saveSvg(graph, `${name}.svg`, document.title)],
			      ["Save as PNG", () => savePng(graph, `${name}.png`)]);
	const { left, bottom } = e.currentTarget.getBoundingClientRect();

	showMenu(items, left, bottom + 4);
}

/* By a key: wider or narrower, around the middle of what is seen. */
function stretch(page, by) {
	const { left, top, width } = page.graph.canvas.getBoundingClientRect();

	if (page.now.view === "top")
		return;
	page.graph.zoomAround(left + width / 2, top + page.graph.rootY - page.graph.scroller.scrollTop, by);
	$("reset").disabled = false;
}

/* By a key: a tenth of the window. */
function slide(page, by) {
	const pane = page.graph.panes.find((p) => p.name === "main");

	if (page.now.view === "top" || !pane)
		return;
	page.graph.pan(pane, by * page.graph.width / 10, 0);
	$("reset").disabled = false;
}
