/* SPDX-License-Identifier: MIT */
/* The keyboard: one table, which is what the "?" overlay shows. */

const KEYS = [
	["Look around", [
		[["ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight"], "↑ ↓ ← →",
		 "to the caller, the callee, the neighbours", (page, key) => page.walk(key)],
		[["Enter"], "Enter", "zoom to the marked box; in the table, open it", (page) => page.enter()],
		[["Backspace", "u"], "u", "zoom out by one caller", (page) => page.zoomOut()],
		[["+", "="], "+", "wider, as Ctrl and the wheel", (page) => stretch(page, 1.5)],
		[["-"], "-", "narrower", (page) => stretch(page, 1 / 1.5)],
		[["<", ","], "<", "to the left, as a drag", (page) => slide(page, 1)],
		[[">", "."], ">", "to the right", (page) => slide(page, -1)],
		[["0", "Home"], "0", "reset the zoom", (page) => page.reset()],
		[["x", "ContextMenu"], "x, Menu", "the menu of the marked box or row, for which a right click is quicker",
		 (page) => page.openMarkedMenu()],
		[["Escape"], "Esc", "close what is open; then end the search, then the zoom", (page) => page.escape()],
	]],
	["Find", [
		[["/"], "/, Ctrl F", "search: a regular expression; with capitals they count", () => $("search").select()],
		[["n"], "n", "next match, the widest first", (page) => page.nextMatch(1)],
		[["N", "p"], "N", "previous match", (page) => page.nextMatch(-1)],
	]],
	["Views", [
		[["1"], "1", "flame graph", (page) => page.go("graph")],
		[["2"], "2", "bottom-up: functions with their callers below", (page) => page.go("bottom-up")],
		[["3", "s"], "3, s", "sandwich: callers and callees of the marked function",
		 (page) => page.sandwichOf(page.current)],
		[["4"], "4", "table of functions", (page) => page.go("top")],
		[["i"], "i", "roots at the top, or at the bottom", (page) => page.turn()],
		[["m"], "m", "colours by kind, by module, by change or a ratio", (page) => page.nextColor()],
		[["v"], "v", "the next type of values, where there are several", (page) => page.nextType()],
		[["b"], "b", "widths before or after, of a difference", (page) => page.otherWidths()],
	]],
	["Time, of a recording with a timeline", [
		[["h"], "h", "heat map, threads, or neither", (page) => page.time.next()],
		[[], "Enter", "in these: begin a range, and end it; with Shift a second one, to compare with"],
		[[], "Esc", "the whole recording again"],
	]],
	["Levels", [
		[["t"], "t", "threads", (page) => page.toggle("thread")],
		[["o"], "o", "processes", (page) => page.toggle("process")],
		[["l"], "l", "inlined functions", (page) => page.toggle("inlined")],
		[["k"], "k", "kernel functions", (page) => page.toggle("kernel")],
	]],
	["A live page", [
		[[" "], "Space", "let the picture stand still, and go on", (page) => page.live?.pause()],
		[["r"], "r", "only what comes from now on, or all since the start", (page) => page.live?.fromNow()],
	]],
	["Other", [
		[["e"], "e", "source and instructions of the marked function, where the page has them (--source)",
		 (page) => showSource(page.profile.frames, page.currentFrame)],
		[["c"], "c", "copy the name of the marked function", (page) => page.copyName()],
		[["?"], "?", "this help", () => openDialog("help")],
	]],
];

function openDialog(id) {
	if (!$(id).open)
		$(id).showModal();
}

function makeHelp() {
	const rows = ([, shown, text]) => [element("dt", "", ...shown.split(", ").map((k) => element("kbd", "", k))),
					   element("dd", "", text)];

	for (const [title, keys] of KEYS)
		$("help-list").append(element("section", "", element("h3", "", title), element("dl", "", ...keys.flatMap(rows))));
}

/* Keys that a field or a dialog wants are theirs. */
function listenToKeys(page) {
	const runs = new Map(KEYS.flatMap(([, keys]) => keys.flatMap(([names, , , run]) => names.map((name) => [name, run]))));

	addEventListener("keydown", (e) => {
		const field = e.target.closest?.("input, select, textarea"), inButton = e.target.closest?.("button, #menu");
		const run = runs.get(e.key);

		if ((e.ctrlKey || e.metaKey) && e.key === "f" && e.target !== $("search")) {
			/* A second time it is the browser's own. */
			e.preventDefault();
			$("search").select();
			return;
		}
		if (e.target.closest?.("#menu") && moveInMenu(e.key)) {
			e.preventDefault();
			return;
		}
		if (!run || e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]"))
			return;
		if (field && e.key !== "Escape")
			return;
		if (inButton && (e.key === "Enter" || e.key === "Escape" && hideMenu()))
			return;
		/* It is a button's own, and scrolls. */
		if (e.key === " " && (inButton || !page.live))
			return;
		e.preventDefault();
		run(page, e.key);
	});
}
