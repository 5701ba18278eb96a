/* SPDX-License-Identifier: MIT */
/*
 * A panel with the lines and instructions of a function, where ebprof wrote them into the page (html_source.h):
 * what was hot, and what is near it.
 */

/* The kinds of rows, by their numbers. */
const [ROW_SOURCE, ROW_CODE, ROW_NOTE, ROW_GAP, ROW_LINE, ROW_CHAIN, ROW_ORIGIN, ROW_INSTRUCTION] = Array(8).keys();
const ROW_CLASSES = ["head", "head", "note", "gap", "line", "chain", "origin", "instruction"];
const ROW_HOT = 0.1;		/* of the function: what stands out */

/* {all, functions}, or NULL. */
const sources = $("source-data") && JSON.parse(takeElement("source-data"));

/* What is known of the function of a frame, or undefined. */
function sourceOf(frames, frame) {
	return frame < frames.nfunctions ? sources?.functions.find(
		({ name, module }) => name === frames.name[frame] && module === frames.module[frame]) : undefined;
}

function sourceShare(value) {
	return element("span", "share", value ? percent(value, sources.all) : "");
}

/* A row; @go shows the row that a jump leads to. */
function sourceRow([kind, number, self, total, target, text, arrows = ""], of, go) {
	const row = element("div", ROW_CLASSES[kind]), weight = kind === ROW_LINE ? total : self;
	const place = kind === ROW_LINE || kind === ROW_INSTRUCTION ? String(number) : "";

	if (kind === ROW_SOURCE || kind === ROW_CODE || kind === ROW_NOTE || kind === ROW_GAP) {
		row.append(text);
		return row;
	}
	row.classList.toggle("hot", weight > 0 && weight >= of.total * ROW_HOT && kind !== ROW_CHAIN);
	row.append(sourceShare(self), sourceShare(kind === ROW_INSTRUCTION || kind === ROW_ORIGIN ? 0 : total),
		   element("span", "place", place), element("span", "arrows", arrows), element("span", "text", text));
	if (target) {
		row.classList.add("jump");
		row.title = "Click: to where it jumps";
		row.onclick = () => go(target);
	}
	return row;
}

function showSource(frames, frame) {
	const of = sourceOf(frames, frame), rows = [];

	if (!of)
		return;
	const go = (target) => {
		$("source-rows").querySelector(".to")?.classList.remove("to");
		rows[target].classList.add("to");
		rows[target].scrollIntoView({ block: "center" });
	};

	rows.push(...of.rows.map((row) => sourceRow(row, of, go)));
	const shares = `self ${percent(of.self, sources.all)}, total ${percent(of.total, sources.all)}`;

	$("source-title").replaceChildren(element("b", "mono", of.name), element("span", "dim", of.module),
					  element("span", "dim", shares));
	$("source-rows").replaceChildren(...rows);
	openDialog("source");
	(rows.find((row) => row.classList.contains("hot")) || rows[0])?.scrollIntoView({ block: "center" });
}

/* What a box's menu offers. */
function sourceItems(frames, frame) {
	return sourceOf(frames, frame) ? [["Source and instructions", () => showSource(frames, frame)]] : [];
}

/* The same beside the name of a function that is shown by itself. */
function sourceChip(frames, fn) {
	return sourceItems(frames, frames.functionOf.indexOf(fn)).map(([text, run]) => {
		const chip = element("button", "chip edit", text);

		chip.type = "button";
		chip.onclick = run;
		return chip;
	});
}
