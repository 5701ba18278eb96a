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
