/* SPDX-License-Identifier: MIT */
/* What stands around the picture: header, tooltip, menu, captions, legend, overlays. */

const SAVED_MS = 60000;		/* after which a file has surely been written */
const CANVAS_MOST = 16384;	/* pixels */

const $ = (id) => document.getElementById(id);

/* --- Header. --- */

function rateText({ frequency, period }) {
	return frequency ? `${NUMBER.format(frequency)} Hz` : period ? `every ${NUMBER.format(period)} events` : "";
}

/* How many samples there are, and what became of the others. */
function accountChips(profile) {
	const { account, unit, ranges } = profile, truncated = sum(account.truncated), lost = sum(account.lost), chips = [];
	const chip = (className, number, word, list) => {
		const e = element("span", `chip ${className}`, element("b", "", NUMBER.format(number)), ` ${word}`);

		/* One line holds them all; the reasons are a click away, too. */
		e.title = number && list.length ? `${e.textContent} (${reasons(list)})` : e.textContent;
		chips.push(e);
	};

	if (profile.difference) {
		profile.totals.forEach((value, i) => chips.push(
			element("span", "chip", `${profile.sides[i]} `, element("b", "", amount(profile, value)))));
	} else if (ranges.length) {
		const all = quantity(profile, profile.types[profile.columns.at(-1)].total);

		chips.push(element("span", "chip", element("b", "", amount(profile, profile.totals.at(-1))), ` of ${all}`));
	} else if (unit !== "count" || account.kept !== profile.totals.at(-1)) {
		chips.push(element("span", "chip", element("b", "", quantity(profile, profile.totals.at(-1)))));
	}
	if (account.taken || !profile.totals.at(-1)) {
		/* Which of them were in a range is not known. */
		const inAll = ranges.length ? " in all" : "";

		/* Of several ways of measuring each has some. */
		const all = profile.type === "samples" && account.kept !== profile.totals.at(-1) ? "of all types"
			: account.kept === 1 ? "sample" : "samples";

		if (!inAll)
			chip("", account.kept, all, []);
		chip(truncated ? "warn" : "quiet", truncated, `truncated${inAll}`, account.truncated);
		chip(lost ? "bad" : "quiet", lost, `lost${inAll}`, account.lost);
	}
	return chips;
}

/* [name, text] of all that is known. */
function facts(profile) {
	const { meta, account } = profile, count = NUMBER.format;
	const start = meta.start ? new Date(meta.start).toISOString().replace("T", " ").replace(/\..*/, " UTC") : "";
	const truncated = sum(account.truncated), lost = sum(account.lost), weight = Number(profile.weight.toPrecision(6));

	return [
		["Command", meta.command], ["Host", meta.host], ["Begun", start],
		["Event", [meta.event, rateText(meta)].filter(Boolean).join(", ")],
		["Duration", meta.duration ? seconds(meta.duration * 1e6) : ""], ["CPUs", meta.cpus ? count(meta.cpus) : ""],
		...profile.difference ? [
			[capital(profile.sides[0]), `${quantity(profile, profile.totals[0])}, compared as ${weight} times that`],
			[capital(profile.sides[1]), quantity(profile, profile.totals[1])],
		] : [["Shown", `${profile.type} (${profile.unit}), ${amount(profile, profile.totals.at(-1))} in all`]],
		["Taken", account.taken ? count(account.taken) : ""], ["Kept", account.taken ? count(account.kept) : ""],
		["Truncated", account.taken ? truncated ? `${count(truncated)}: ${reasons(account.truncated)}` : "none" : ""],
		["Lost", account.taken ? lost ? `${count(lost)}: ${reasons(account.lost)}` : "none" : ""],
		...meta.comments.map((text) => ["Remark", text]),
		["Written by", `ebprof ${meta.version}`],
	].filter(([, text]) => text);
}

function showHeader(profile) {
	const { meta } = profile;
	const title = meta.title || (profile.difference ? "Difference of two profiles" : meta.target || "Flame graph");
	const small = [meta.event, rateText(meta), meta.duration ? seconds(meta.duration * 1e6) : "",
		       meta.cpus ? `${meta.cpus} CPU${meta.cpus > 1 ? "s" : ""}` : "", meta.host].filter(Boolean);

	document.title = `${title} - ebprof`;
	$("title").textContent = title;
	$("title").title = title;
	/* Last, for it may be long. */
	if (meta.command)
		small.push(meta.command);
	$("facts").replaceChildren(...small.map((text) => element("span", "fact", text)));
}

/* What of it depends on the type that is shown. */
function showTotals(profile) {
	$("account").replaceChildren(...accountChips(profile));
	$("about-list").replaceChildren(...facts(profile).flatMap(
		([name, text]) => [element("dt", "", name), element("dd", "", text)]));
	$("latencies").replaceChildren(...profile.latencies.map((text) => element("pre", "", text)));
}

/* The menus of types, where there is a choice. */
function makeTypes({ types, difference }) {
	const menu = (id, before) => $(id).append(...types.map(({ name, unit }, i) => {
		const option = element("option", "", `${before}: ${name}${unit === "count" ? "" : ` (${unit})`}`);

		option.value = String(i);
		return option;
	}));

	document.body.classList.toggle("types", types.length > 1 && !difference);
	menu("type", "Widths");
	menu("of", "Of");
	menu("per", "Per");
}

/* --- Tooltip. --- */

class Tooltip {
	constructor(profile) {
		this.profile = profile;
		this.box = $("tooltip");
	}

	hide() {
		this.box.hidden = true;
	}

	/* What a box is: name, where from, numbers. */
	show({ pane: { tree, node: zoomed }, node }, name, x, y) {
		const { frames } = this.profile, frame = tree.frame[node], known = frame < frames.n;
		const where = known ? [describeKind(frames, frame), frame < frames.nfunctions ? frames.module[frame] : "",
				       placeOf(frames, frame)].filter(Boolean) : [];

		this.box.replaceChildren(element("div", "name", name), ...where.map((text) => element("div", "where", text)),
					 this.numbers(tree, node, zoomed));
		this.place(x, y);
	}

	/* Lines of text. */
	say(lines, x, y) {
		this.box.replaceChildren(...lines.map((text, i) => element("div", i ? "where" : "name", text)));
		this.place(x, y);
	}

	place(x, y) {
		this.box.hidden = false;
		const { offsetWidth: w, offsetHeight: h } = this.box;
		const beside = x + 16 + w > innerWidth ? Math.max(4, x - w - 12) : x + 16;

		this.box.style.left = `${Math.min(beside, Math.max(4, innerWidth - w - 4))}px`;
		this.box.style.top = `${y + 18 + h > innerHeight ? Math.max(4, y - h - 10) : y + 18}px`;
	}

	numbers(tree, node, zoomed) {
		const { profile } = this, table = element("table", ""), row = (...cells) => {
			table.append(element("tr", "", ...cells.map((text, i) => element(i ? "td" : "th", "", text))));
		};

		if (!profile.difference) {
			const totals = tree.total.at(-1), total = totals[node], all = profile.totals.at(-1);
			const cells = (value) => [amount(profile, value), ...profile.each ? [timeOf(profile, value)] : [],
						  percent(value, all)];
			const part = (text, of) => row(text, ...profile.each ? [""] : [], "", percent(total, totals[of]));

			/* Turned round, a box has no self: it is what its stacks begin with. */
			if (!tree.reversed)
				row("Self", ...cells(tree.self.at(-1)[node]));
			row(tree.reversed ? "Stacks" : "Total", ...cells(total));
			if (node && tree.parent[node])
				part("Of its parent", tree.parent[node]);
			if (zoomed && zoomed !== tree.parent[node])
				part("Of the zoomed box", zoomed);
			if (profile.ratio)
				this.ratios(tree, node, row);
			return table;
		}
		row("", ...profile.sides, "change");
		const rows = tree.reversed ? [["Stacks", tree.total]] : [["Self", tree.self], ["Total", tree.total]];

		for (const [title, column] of rows) {
			const values = column.map((c) => c[node]);

			row(title, ...values.map((v) => amount(profile, v)), changeText(profile, ...values));
		}
		row("Share", ...tree.total.map((c, k) => percent(c[node], profile.totals[k])), "");
		if (profile.confidence) {
			const values = tree.total.map((c) => c[node]), is = profile.confidence.differs("node", values);

			row("Confidence", "", sureness(profile.confidence.p(values)), is ? "" : "no difference seen");
		}
		return table;
	}

	ratios(tree, node, row) {
		const { profile } = this, values = (columns) => columns.map((column) => column[node]);

		if (!tree.reversed)
			row(`Self ${profile.ratio.name}`, profile.ratioText(values(tree.self)));
		row(profile.ratio.name, profile.ratioText(values(tree.total)));
	}
}

function describeKind(frames, frame) {
	const kind = frames.kind[frame], id = frames.id[frame];

	if (kind === PROCESS)
		return id ? `process ${id}` : "process";
	if (kind === THREAD)
		return id ? `thread ${id}` : "thread";
	return frame < frames.nfunctions ? frames.kindText(frame) : "";
}

/* --- Menu. --- */

/* @items: [text, run]. */
function showMenu(items, x, y) {
	const menu = $("menu");

	menu.replaceChildren(...items.map(([text, run]) => {
		const button = element("button", "", text);

		button.type = "button";
		button.role = "menuitem";
		button.onclick = () => { hideMenu(); run(); };
		return button;
	}));
	menu.opener = document.activeElement;
	menu.hidden = false;
	menu.style.left = `${Math.min(x, innerWidth - menu.offsetWidth - 4)}px`;
	menu.style.top = `${Math.min(y, innerHeight - menu.offsetHeight - 4)}px`;
	menu.firstChild.focus();
}

function hideMenu() {
	const was = !$("menu").hidden;

	$("menu").hidden = true;
	if (was)
		$("menu").opener.focus();
	return was;
}

/* The arrow keys lead through it in a ring. Whether @key is one of them. */
function moveInMenu(key) {
	const items = [...$("menu").children], at = items.indexOf(document.activeElement);
	const to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: -1 }[key];

	if (to === undefined)
		return false;
	items.at(to % items.length).focus();
	return true;
}

/* --- Saving. --- */

function save(blob, name) {
	const link = element("a"), url = URL.createObjectURL(blob);

	link.href = url;
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(url), SAVED_MS);
}

function saveSvg(graph, name, title) {
	const context = new SvgContext(graph.context);
	const height = graph.paintOn(context, 1), text = context.text(title, graph.width, height, graph.theme.back);

	save(new Blob([text], { type: "image/svg+xml" }), name);
}

/* The picture as a whole. Sharp where that is possible: browsers bound how large a canvas may be. */
function wholeCanvas(graph) {
	const canvas = element("canvas"), context = canvas.getContext("2d");
	const ratio = Math.min(2, CANVAS_MOST / graph.wholeHeight);

	canvas.width = Math.round(graph.width * ratio);
	canvas.height = Math.round(graph.wholeHeight * ratio);
	graph.paintOn(context, ratio);
	/* Behind what is drawn. */
	context.globalCompositeOperation = "destination-over";
	context.fillStyle = graph.theme.back;
	context.setTransform(1, 0, 0, 1, 0, 0);
	context.fillRect(0, 0, canvas.width, canvas.height);
	return canvas;
}

function savePng(graph, name) {
	wholeCanvas(graph).toBlob((blob) => save(blob, name));
}

/* On paper nothing can be scrolled. */
function printWhole(graph) {
	addEventListener("beforeprint", () => {
		if ($("graph").hidden)
			return;
		const canvas = wholeCanvas(graph);

		canvas.id = "printed";
		$("main").append(canvas);
	});
	addEventListener("afterprint", () => $("printed")?.remove());
}

/* --- Switches. --- */

const SWITCH_TEXTS = {
	process: ["Processes", PROCESS, "a level for each process"],
	thread: ["Threads", THREAD, "a level for each thread's name"],
	user: ["User", USER, "functions of programs and libraries"],
	inlined: ["Inlined", INLINED, "functions that were inlined; off: their time is their caller's"],
	kernel: ["Kernel", KERNEL, "functions of the kernel; off: their time is their caller's"],
	mark: ["Marks", MARK, "where a stack was cut, and the like"],
};

/* The switches that this profile has use for. */
function usefulSwitches(profile) {
	const { frames } = profile, has = new Set([...frames.kind].map((k) => SWITCH_OF[k]));

	if (frames.processes < 2)
		has.delete("process");
	if (frames.inlined.some(Boolean))
		has.add("inlined");
	return SWITCHES.filter((s) => has.has(s));
}

function makeSwitches(profile, toggle) {
	$("switches").replaceChildren(...usefulSwitches(profile).map((name) => {
		const [text, , title] = SWITCH_TEXTS[name];
		const button = element("button", "switch", element("i", "dot"), text);

		button.type = "button";
		button.dataset.name = name;
		button.title = `Show ${title}`;
		button.onclick = () => toggle(name);
		return button;
	}));
}

function showSwitches(state, colors) {
	for (const button of $("switches").children) {
		const { name } = button.dataset, on = !state.hide.has(name), colored = on && state.color === "kind";

		button.ariaPressed = String(on);
		button.firstChild.style.backgroundColor = colored ? colors.ofKind(SWITCH_TEXTS[name][1]) : "";
	}
}
