/* SPDX-License-Identifier: MIT */
/* What the colours mean: in the footer, below the map of times, and below a picture that is saved. */

const LEGEND_MODULES = 5;
const LEGEND_ROW = 22;			/* CSS pixels, of a saved picture */
const LEGEND_DOT = 10;

/* An entry of a legend that shows a kind, and hides it. */
function legendButton(color, text, on, run, title = "") {
	const dot = element("i", "dot"), button = element("button", "switch", dot, text);

	button.type = "button";
	button.ariaPressed = String(on);
	button.title = `${on ? "Hide" : "Show"} ${text}${title && `: ${title}`}`;
	button.onclick = run;
	dot.style.backgroundColor = on ? color : "";
	return button;
}

/* A scale from what @least says to what @most says. */
function legendScale(colors, least, most) {
	const bar = element("i", "scale");

	bar.style.backgroundImage = `linear-gradient(to right, ${colors.join(", ")})`;
	return element("span", "item", least, bar, most);
}

/* The modules with the most samples of their own: a frame of each. */
function largestModules(view) {
	const modules = new Map();

	for (const f of view.functions) {
		const old = modules.get(f.module) || { text: f.module, frame: f.frame, self: 0 };

		if (f.module)
			modules.set(f.module, { ...old, self: old.self + f.self[view.value] });
	}
	return [...modules.values()].sort((a, b) => b.self - a.self).slice(0, LEGEND_MODULES);
}

function meaningOfChanges(colors, confident) {
	const { scale } = colors, items = [
		{ color: scale[0], text: "gone" }, { color: scale[STEPS / 2], text: "half" },
		{ color: scale[STEPS], text: "same share" },
		{ color: scale[STEPS * 1.5], text: "twice" }, { color: scale[2 * STEPS], text: "new" },
	];

	return confident ? [...items, { color: colors.onScale(NaN), text: "no difference seen" }] : items;
}

function meaningOfRatios(colors, profile) {
	const [of, per] = profile.totals;

	return [1 / 4, 1 / 2, 1, 2, 4].map((factor) => {
		const values = [of * factor, per], text = profile.ratioText(values);

		return { color: colors.onScale(profile.colorOf(values)), text: factor === 1 ? `${text} of all` : text };
	});
}

/* By mode: { color, text } of each. */
function meaningOf(view, colors) {
	const { state, profile } = view;

	if (state.color === "module")
		return largestModules(view).map((m) => ({ ...m, color: colors.ofModule(m.frame) }));
	if (state.color === "change" && profile.difference)
		return meaningOfChanges(colors, Boolean(profile.confidence));
	if (state.color === "ratio" && profile.ratio && profile.totals[1])
		return [{ text: profile.ratio.name }, ...meaningOfRatios(colors, profile)];
	return [];
}

/* The same with kinds, which have switches on the screen. */
function wholeMeaning(view, colors) {
	if (view.state.color !== "kind")
		return meaningOf(view, colors);
	return usefulSwitches(view.profile).filter((name) => !view.state.hide.has(name))
		.map((name) => ({ color: colors.ofKind(SWITCH_TEXTS[name][1]), text: SWITCH_TEXTS[name][0] }));
}

/* What the colours mean, where the switches do not tell. */
function showLegend(view, colors, page) {
	const { edits, color: mode } = view.state, items = meaningOf(view, colors).map(({ color, text }) => {
		const dot = element("i", "dot");

		if (mode === "module")
			return legendButton(color, text, true, () => page.edit("module", text));
		dot.style.backgroundColor = color;
		return element("span", "item", ...color ? [dot] : [], text);
	});

	if (mode === "module")
		for (const text of edits.filter((e) => parseEdit(e).op === "module"))
			items.push(legendButton("", parseEdit(text).key, false,
						() => page.setEdits(edits.filter((e) => e !== text))));
	$("legend").replaceChildren(...items);
}

/* --- Below a picture. --- */

/* Where entries are within @width, in as many rows as they take; @context measures texts. */
function placeLegend(items, width, context) {
	const end = LEGEND_DOT + 6;
	let x = MARGIN, row = 0;

	context.font = FONT;
	return items.map((item) => {
		const own = (item.color ? end : 0) + context.measureText(item.text).width + 16;

		if (x > MARGIN && x + own > width) {
			x = MARGIN;
			row++;
		}
		x += own;
		return { ...item, row, x: x - own };
	});
}

function legendHeight(places) {
	return places.length ? (places.at(-1).row + 1) * LEGEND_ROW + MARGIN : 0;
}

/* On a context of draw.js, from @top on. */
function drawLegend(context, places, top, color) {
	for (const place of places) {
		const y = top + place.row * LEGEND_ROW + LEGEND_ROW / 2;

		if (place.color) {
			context.fillStyle = place.color;
			context.fillRect(place.x, y - LEGEND_DOT / 2, LEGEND_DOT, LEGEND_DOT);
		}
		context.fillStyle = color;
		context.fillText(place.text, place.x + (place.color ? LEGEND_DOT + 6 : 0), y);
	}
}
