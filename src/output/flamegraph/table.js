/* SPDX-License-Identifier: MIT */
/* The table of functions. Only the rows in the window are elements: there may be a hundred thousand. */

const TABLE_ROW = 26;	/* CSS pixels; page.css says the same */

/* What a table can be ordered by; each gives what is greater first. */
const SORTS = {
	/* What has none comes last. */
	ratio: (a, b) => (ratioRank(b) - ratioRank(a)) || 0,
	self: (a, b, k) => b.self[k] - a.self[k] || b.total[k] - a.total[k],
	total: (a, b, k) => b.total[k] - a.total[k] || b.self[k] - a.self[k],
	before: (a, b) => b.self[0] - a.self[0],
	change: (a, b, k, weight) => Math.abs(b.self[1] - b.self[0] * weight) - Math.abs(a.self[1] - a.self[0] * weight),
	totalChange: (a, b, k, weight) => Math.abs(b.total[1] - b.total[0] * weight) - Math.abs(a.total[1] - a.total[0] * weight),
	name: (a, b) => byText(a.name, b.name),
	module: (a, b) => byText(a.module, b.module),
};

function ratioRank({ self: [of, per] }) {
	return per ? of / per : -1;
}

function byText(a, b) {
	return a < b ? -1 : a > b ? 1 : 0;
}

/* title, order, class, text of a cell */
const COLUMNS = [
	["Self %", "self", "number bar", (f, p) => percent(f.self.at(-1), p.totals.at(-1)).replace(" %", "")],
	["Self", "self", "number", (f, p) => amount(p, f.self.at(-1))],
	["Total %", "total", "number bar", (f, p) => percent(f.total.at(-1), p.totals.at(-1)).replace(" %", "")],
	["Total", "total", "number", (f, p) => amount(p, f.total.at(-1))],
	["Ratio", "ratio", "number ratio", (f, p) => p.ratio ? p.ratioText(f.self) : ""],
	["Function", "name", "text mono", (f) => f.name],
	["Module", "module", "text dim", (f) => f.module],
];
const DIFFERENCE_COLUMNS = [
	["Before %", "before", "number", (f, p) => percent(f.self[0], p.totals[0]).replace(" %", "")],
	["After %", "self", "number bar", (f, p) => percent(f.self[1], p.totals[1]).replace(" %", "")],
	["Change", "change", "number", (f, p) => points(p, f.self)],
	["", "change", "number dim", (f, p) => changeText(p, f.self[0], f.self[1])],
	["Total", "totalChange", "number", (f, p) => points(p, f.total)],
	["Function", "name", "text mono", (f) => f.name],
	["Module", "module", "text dim", (f) => f.module],
];

/* The same of two ranges of time. */
const RANGE_COLUMNS = [
	["1st %", ...DIFFERENCE_COLUMNS[0].slice(1)],
	["2nd %", ...DIFFERENCE_COLUMNS[1].slice(1)],
	["Change", "change", "number", (f, p) => differs(p, "self", f) ? points(p, f.self) : "="],
	["", "change", "number dim", (f, p) => differs(p, "self", f) ? changeText(p, f.self[0], f.self[1]) : "in noise"],
	["Total", "totalChange", "number", (f, p) => differs(p, "total", f) ? points(p, f.total) : "="],
	...DIFFERENCE_COLUMNS.slice(5),
];

/* Where nothing is known of the noise, all do. */
function differs({ confidence }, kind, f) {
	return !confidence || confidence.differs(kind, f[kind]);
}

function columnsOf({ difference, merged }) {
	return !difference ? COLUMNS : merged ? DIFFERENCE_COLUMNS : RANGE_COLUMNS;
}

/* How many percentage points more of the whole it is than before. */
function points(profile, [before, after]) {
	const p = 100 * (after - before * profile.weight) / (profile.totals[1] || profile.totals[0] * profile.weight);

	return signed(p.toFixed(2), Math.abs(p) < 0.005 ? 0 : p);
}

class Table {
	/* @open: called with a function that was chosen; @order: with a column's order; @menu: with whose menu is wanted. */
	constructor(profile, colors, open, order, menu) {
		this.profile = profile;
		this.colors = colors;
		this.open = open;
		this.order = order;
		this.area = $("top-rows");
		this.space = this.area.querySelector(".space");
		this.list = this.area.querySelector(".rows");
		this.rows = [];
		this.at = 0;
		this.area.addEventListener("scroll", () => this.draw(), { passive: true });
		this.list.addEventListener("click", (e) => {
			const row = e.target.closest(".row");

			if (row)
				open(this.rows[Number(row.dataset.index)]);
		});
		this.list.addEventListener("contextmenu", (e) => {
			const row = e.target.closest(".row");

			if (row && !e.shiftKey)
				menu(this.rows[Number(row.dataset.index)], e);
		});
	}

	useColumns(columns) {
		if (columns === this.columns)
			return;
		this.columns = columns;
		$("top").classList.toggle("difference", columns !== COLUMNS);
		$("top-head").replaceChildren(...columns.map(([title, by, className]) => {
			const button = element("button", className.replace(/ ?mono| ?dim| ?bar/g, ""), title);

			button.type = "button";
			button.dataset.by = by;
			button.onclick = () => this.order(by);
			return button;
		}));
	}

	/* The functions of a view that its search finds, in its order. */
	show(view, stay = false) {
		const { state, found } = view, k = view.value, { weight } = this.profile;

		this.view = view;
		this.useColumns(columnsOf(this.profile));
		this.sort(view, [view.functions, found, k, weight, state.sort, state.reverse]);
		this.at = Math.min(this.at, Math.max(0, this.rows.length - 1));
		$("top").classList.toggle("with-ratio", Boolean(this.profile.ratio));
		for (const button of $("top-head").children) {
			const sorted = button.dataset.by === state.sort;
			const rising = state.reverse !== ["name", "module"].includes(state.sort);

			button.ariaSort = !sorted ? "none" : rising ? "ascending" : "descending";
			button.classList.toggle("sorted", sorted);
			button.classList.toggle("reverse", sorted && state.reverse);
		}
		this.space.style.height = `${this.rows.length * TABLE_ROW}px`;
		if (!stay)
			this.area.scrollTop = 0;
		this.draw();
	}

	/* Where something it depends on, @by, is another one. */
	sort(view, by) {
		const { state, found } = view, k = view.value, { weight } = this.profile, compare = SORTS[state.sort];

		if (this.by && by.every((x, i) => x === this.by[i]))
			return;
		this.by = by;
		/* By column, what has the widest bar. */
		this.most = Object.fromEntries(["self", "total"].map((by) => (
			[by, view.functions.reduce((most, f) => Math.max(most, f[by][k]), 1e-9)])));
		this.rows = view.functions.filter((f) => !found || (f.frame !== NONE && found[f.frame]))
			.sort((a, b) => compare(a, b, k, weight) || byText(a.name, b.name) || byText(a.module, b.module));
		if (state.reverse)
			this.rows.reverse();
	}

	draw() {
		const { scrollTop, clientHeight } = this.area, first = Math.max(0, Math.floor(scrollTop / TABLE_ROW) - 5);
		const last = Math.min(this.rows.length, Math.ceil((scrollTop + clientHeight) / TABLE_ROW) + 5);
		const rows = [];

		for (let i = first; i < last; i++)
			rows.push(this.row(this.rows[i], i));
		this.list.style.transform = `translateY(${first * TABLE_ROW}px)`;
		this.list.replaceChildren(...rows);
	}

	row(f, index) {
		const { value } = this.view;
		const cells = this.columns.map(([, by, className, text]) => {
			const cell = element("span", className, text(f, this.profile));

			if (className.includes("bar"))
				cell.style.setProperty("--share", `${100 * f[by][value] / this.most[by]}%`);
			if (className.includes("text"))
				cell.title = cell.textContent;
			return cell;
		});
		const row = element("div", index === this.at ? "row at" : "row", ...cells);
		const dot = element("i", "dot");

		dot.style.backgroundColor = f.frame === NONE ? "" : this.colors.of(f.frame, f.self.map((value) => [value]), 0);
		row.querySelector(".mono").prepend(dot);
		row.dataset.index = index;
		row.role = "row";
		return row;
	}

	/* The row of a function, if it is there; into the window, where that is wanted. */
	mark(isIt, wanted = false) {
		const at = this.rows.findIndex(isIt);

		if (at < 0 || at === this.at && !wanted)
			return;
		this.at = at;
		this.move(0, wanted);
	}

	/* Moves the marked row, and into the window. */
	move(by, wanted = true) {
		this.at = Math.min(this.rows.length - 1, Math.max(0, this.at + by));
		const y = this.at * TABLE_ROW, { scrollTop, clientHeight } = this.area;

		if (wanted && y < scrollTop)
			this.area.scrollTop = y;
		else if (wanted && y + TABLE_ROW > scrollTop + clientHeight)
			this.area.scrollTop = y + TABLE_ROW - clientHeight;
		this.draw();
	}

	/* Below the marked row, in the window. */
	placeOfMarked() {
		const { left, top } = this.area.getBoundingClientRect();

		return [left + TABLE_ROW, top + (this.at + 1) * TABLE_ROW - this.area.scrollTop];
	}

	get marked() {
		return this.rows[this.at];
	}
}
