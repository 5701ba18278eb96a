/* SPDX-License-Identifier: MIT */
/*
 * The panel of time, of a recording with a timeline: heat map (heat.js) or lanes (lanes.js), the range that all views
 * are of, and a second one to compare it with. A drag chooses a range, as do two clicks or Enter twice: where it
 * begins, and where it ends.
 */

const TIME_VIEWS = ["heat", "lanes", "none"];
const TIME_TITLES = { heat: "Heat map", lanes: "Threads", none: "Hide" };

/* From the beginning of the one to the end of the other. */
function joinSpans(a, b) {
	return { from: Math.min(a.from, b.from), to: Math.max(a.to, b.to) };
}

class TimePanel {
	constructor(page) {
		this.page = page;
		this.anchor = this.down = this.preview = null;
		this.marking = false;		/* the second range is next */
		this.marks = [];
		this.views = null;
		this.follow();
	}

	/* The page's profile, which may be another one that has grown, and may be the first with times. */
	follow() {
		if (!this.times)
			return;
		if (this.views) {
			Object.values(this.views).forEach((view) => view.follow());
			this.sized = "";
			return;
		}
		this.build();
		this.listen();
	}

	get times() {
		return this.page.profile.times;
	}

	get view() {
		return this.views?.[this.page.now.time];
	}

	build() {
		const button = (id, text, title, run) => {
			const b = element("button", "", text);

			Object.assign(b, { type: "button", id, title, onclick: run });
			return b;
		};
		const field = (id, text, title) => {
			const input = element("input", "mono");

			Object.assign(input, { id, title, placeholder: "3s-5s", spellcheck: false, autocomplete: "off" });
			input.onchange = () => this.typed(id, input.value);
			return element("label", "", text, input);
		};
		const tab = (name) => button(`time-${name}`, TIME_TITLES[name], "When samples were taken (h)",
					     () => this.page.set({ time: name }));
		const tabs = element("div", "tabs", ...TIME_VIEWS.map(tab));
		const area = (id, text) => {
			const e = element("div", "time-view");

			Object.assign(e, { id, tabIndex: 0, role: "application", ariaLabel: text });
			e.setAttribute("aria-describedby", "status");
			return e;
		};

		tabs.role = "group";
		tabs.ariaLabel = "Time";
		$("time").append(
			element("div", "time-head", tabs,
				field("range", "Range", "All views are of this time; a drag chooses it, too"),
				field("against", "with", "A second range, to compare with; a drag with Shift chooses it, too"),
				button("mark", "Compare with…", "The next range is the second one (Shift)", () => this.mark()),
				button("range-zoom", "Zoom", "The range as wide as the window; again: all", () => this.zoom()),
				button("range-clear", "Whole recording", "No range (Esc)", () => this.clear()),
				element("span", "dim"), element("div", "reasons")),
			area("heat", "Heat map: a column is a second, a cell 20 ms; the arrow keys move, Enter begins a range"),
			area("lanes", "Threads by time; the arrow keys move, Enter begins a range"));
		this.views = { heat: new Heat(this, $("heat")), lanes: new Lanes(this, $("lanes")) };
	}

	listen() {
		for (const view of Object.values(this.views)) {
			const { area } = view;

			area.addEventListener("pointerdown", (e) => this.press(view, e));
			area.addEventListener("pointermove", (e) => this.drag(view, e));
			area.addEventListener("pointerup", (e) => this.release(view, e));
			area.addEventListener("pointercancel", () => this.cancel());
			area.addEventListener("pointerleave", () => this.page.tooltip.hide());
			area.addEventListener("keydown", (e) => this.key(view, e));
			for (const name of ["focus", "blur"])
				area.addEventListener(name, () => this.draw());
		}
		new ResizeObserver(() => { this.sized = ""; this.show(); }).observe($("time"));
	}

	/* --- From the state to the screen. --- */

	show() {
		const { now, profile } = this.page;

		$("time").hidden = !this.times;
		if (!this.times)
			return;
		for (const name of TIME_VIEWS)
			$(`time-${name}`).ariaPressed = String(name === now.time);
		for (const id of ["range", "against"])
			if (document.activeElement !== $(id) || !$(id).value)
				$(id).value = now[id];
		$("against").parentNode.hidden = !now.range;
		$("mark").hidden = !now.range || now.time === "none";
		$("mark").ariaPressed = String(this.marking);
		$("range-clear").hidden = !now.range;
		$("range-zoom").hidden = !now.range || now.time !== "lanes";
		for (const name of Object.keys(this.views))
			$(name).hidden = name !== now.time;
		$("time").querySelector(".time-head > .dim").replaceChildren(...this.legend(now.time));
		this.showReasons(now);
		[...$("widths").options].forEach((option, i) => { option.text = `Widths: ${profile.sides[1 - i]}`; });
		this.ranges = profile.ranges;
		this.layout();
		this.draw();
	}

	/* What the eyes do not see. */
	legend(time) {
		const { most, each } = this.times, { ofTimes } = this.page.profile, items = [];

		if (time === "heat")
			items.push(legendScale(this.views.heat.scale, "0",
					       `${quantity(ofTimes, most)} in ${CELL_NS / 1e6} ms`));
		if (each > 1)
			items.push(`${items.length ? "; " : ""}1 sample in ${NUMBER.format(each)} has its time here`);
		return items;
	}

	/* What bars of waits mean; a click leaves them out. */
	showReasons({ time, quiet }) {
		const { waits } = this.views.lanes, { dark } = this.page.colors, box = $("time").querySelector(".reasons");

		box.hidden = time !== "lanes" || !waits.names.length;
		if (box.hidden)
			return;
		box.replaceChildren(...[...waits.names.keys()].sort((a, b) => waits.sums[b] - waits.sums[a]).map((reason) => {
			const name = waits.names[reason], on = !quiet.includes(name);
			const lasted = waits.sums[reason] * this.times.unit;

			return legendButton(waits.color(reason, dark), name.slice(1, -1), on, () => this.page.set(
				{ quiet: on ? [...quiet, name] : quiet.filter((q) => q !== name) }), `${seconds(lasted)} in all`);
		}));
	}

	layout() {
		const { view } = this;
		const sized = `${this.page.now.time} ${view?.area.clientWidth} ${innerHeight} ${devicePixelRatio}`;

		if (view && sized !== this.sized)
			view.layout();
		this.sized = sized;
	}

	draw() {
		const style = getComputedStyle($("time")), get = (name) => style.getPropertyValue(name).trim();
		const colors = [get("--accent"), get("--found")], ranges = [...this.page.profile.ranges];

		this.theme = { back: get("--back"), text: get("--text"), dim: get("--dim"), tiny: get("--tiny") };
		if (this.preview)
			ranges[this.preview.second ? 1 : 0] = this.preview.range;
		this.marks = ranges.map((range, i) => ({ range, color: colors[i] }));
		this.view?.draw();
	}

	/* --- What the user does. --- */

	/* Heat map, lanes, neither. */
	next() {
		const { time } = this.page.now;

		if (this.times)
			this.page.set({ time: TIME_VIEWS[(TIME_VIEWS.indexOf(time) + 1) % TIME_VIEWS.length] });
	}

	mark() {
		this.marking = !this.marking;
		this.show();
	}

	isSecond(e) {
		return Boolean(this.page.now.range) && (e.shiftKey || this.marking);
	}

	press(view, e) {
		if (e.button !== 0)
			return;
		this.down = { span: view.spanAt(e.clientX, e.clientY), x: e.clientX, y: e.clientY, far: false };
		view.area.setPointerCapture(e.pointerId);
	}

	drag(view, e) {
		const { down } = this, span = view.spanAt(e.clientX, e.clientY), from = down?.far ? down.span : this.anchor;

		if (down && Math.hypot(e.clientX - down.x, e.clientY - down.y) >= DRAG_LEAST)
			down.far = true;
		if (down?.far || from)
			this.preview = { range: joinSpans(down?.far ? down.span : from, span), second: this.isSecond(e) };
		this.draw();
		this.tell(view, this.preview?.range || span, span, e);
	}

	/* What is at the pointer, or chosen so far. */
	tell(view, range, span, e) {
		const lines = this.preview ? [this.times.format(range).replace("-", " – ")] : view.describe(span);

		if (lines && e.pointerType !== "touch")
			this.page.tooltip.say(lines, e.clientX, e.clientY);
		else
			this.page.tooltip.hide();
	}

	release(view, e) {
		const { down } = this, span = view.spanAt(e.clientX, e.clientY);

		this.down = null;
		if (!down)
			return;
		view.point(span);
		if (down.far)
			this.choose(joinSpans(down.span, span), this.isSecond(e));
		else
			this.enter(view, span, this.isSecond(e));
	}

	/* The first time a range begins, the second time it ends. */
	enter(view, span, second) {
		const { anchor } = this;

		if (anchor) {
			this.choose(joinSpans(anchor, span), second);
			return;
		}
		this.anchor = span;
		$("status").textContent = `${(view.describe(span) || []).join(", ")}: a range begins; choose its end, or Esc`;
		this.draw();
	}

	key(view, e) {
		if (e.ctrlKey || e.metaKey || e.altKey)
			return;
		if (e.key.startsWith("Arrow")) {
			const span = view.move(e.key);

			if (this.anchor)
				this.preview = { range: joinSpans(this.anchor, span), second: this.isSecond(e) };
			$("status").textContent = (view.describe(span) || []).join(", ");
			this.draw();
		} else if (e.key === "Enter") {
			this.enter(view, view.marked, this.isSecond(e));
		} else if (e.key !== "Escape" || !this.escape()) {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}

	cancel() {
		const had = Boolean(this.anchor || this.down?.far || this.preview);

		this.anchor = this.down = this.preview = null;
		if (had)
			this.draw();
		return had;
	}

	/* Whether there was anything to end: what is being chosen, then the second range, then the first. */
	escape() {
		if (!this.times)
			return false;
		if (this.cancel())
			return true;
		if (!this.page.now.range)
			return false;
		if (this.page.now.against)
			this.set({ against: "" });
		else
			this.clear();
		return true;
	}

	choose(range, second) {
		this.cancel();
		this.marking = false;
		this.set({ [second ? "against" : "range"]: this.times.format(range) });
		this.report();
	}

	/* A text that is no range is told by its field. */
	typed(id, text) {
		const range = this.times.parse(text);

		$(id).ariaInvalid = String(Boolean(text.trim()) && !range);
		if (range)
			this.choose(range, id === "against");
		else if (!text.trim())
			this.set(id === "range" ? { range: "", against: "" } : { against: "" });
	}

	clear() {
		this.cancel();
		this.set({ range: "", against: "" });
	}

	/* At the same place of the picture. With a second range all is as in a difference. */
	set(changes) {
		const { page } = this, { now } = page, { first } = page.state, next = { ...now, ...changes };
		const compared = Boolean(next.range && next.against), was = Boolean(now.range && now.against);

		if (compared && !was)
			Object.assign(changes, { color: "change", sort: "change", widths: "after", reverse: false });
		else if (was && !compared)
			Object.assign(changes, { color: now.color === "change" ? first.color : now.color, sort: first.sort });
		page.setKeepingZoom(changes, () => true, true);
	}

	report() {
		const { profile } = this.page, texts = profile.ranges.map((range, i) =>
			`${this.times.format(range)}: ${quantity(profile, profile.totals[i])}`);

		$("status").textContent = texts.join("; ");
	}

	zoom() {
		const { lanes } = this.views, [range] = this.page.profile.ranges, { from, to } = lanes.seen;

		if (from === range.from && to === range.to)
			lanes.see(0, this.times.end);
		else
			lanes.see(range.from, range.to);
	}
}
