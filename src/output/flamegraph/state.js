/* SPDX-License-Identifier: MIT */
/*
 * What the user chose, as plain values, and as the part of the URL behind "#": a link shows the same
 * picture, and the back button goes to the one before. Only what is not as at the beginning is
 * written, and functions and places by their names, so that a link to one recording shows the same
 * in another of the same program.
 */

const VIEWS = ["graph", "bottom-up", "sandwich", "top"];
const SWITCHES = ["process", "thread", "user", "inlined", "kernel", "mark"];

/* Those that this profile has use for, as it is shown. */
function colorModes({ difference, types }) {
	return ["kind", "module", ...difference ? ["change"] : types.length > 1 ? ["ratio"] : []];
}

const URL_DELAY_MS = 250;
const QUIET_MOST = 30;

/* Short, as a path has many. */
function nameHash(frames, frame) {
	return hashText(frames.keyOf(frame)).toString(36);
}

class State {
	/* @pathOf: the frames from the root's callee to the node that is zoomed into. */
	constructor(profile, changed, pathOf) {
		this.profile = profile;
		this.changed = changed;
		this.pathOf = pathOf;
		const [of, per] = profile.firstRatio;

		this.first = {
			type: profile.first, of, per,
			view: "graph", fn: -1, zoom: 0, pane: "main", search: "", layout: "icicle", widths: "after",
			color: profile.difference ? "change" : "kind", palette: Object.keys(PALETTES)[0],
			sort: profile.difference ? "change" : "self", reverse: false, hide: new Set(this.needless()), edits: [],
			/* Of time: times.js. */
			range: "", against: "", time: "heat",
			/* Reasons of waits that lanes leave out. */
			quiet: [],
		};
		this.now = { ...this.first, ...this.parse(location.hash) };
		this.written = location.hash;
		addEventListener("hashchange", () => {
			const before = this.now;

			/* It comes late, also for what we wrote ourselves: by now there may be something newer. */
			if (location.hash === this.written)
				return;
			this.written = location.hash;
			this.now = { ...this.first, ...this.parse(location.hash) };
			this.changed(before);
		});
	}

	/* What is chosen stays chosen, by its name, in a profile that has grown. */
	follow(profile) {
		const text = this.text();

		this.profile = profile;
		this.first.hide = new Set(this.needless());
		this.now = { ...this.first, ...this.parse(`#${text}`) };
	}

	/* Levels that would tell nothing at first. */
	needless() {
		const { processes, threadsDiffer } = this.profile.frames;

		return processes < 2 ? ["process"] : threadsDiffer ? [] : ["process"];
	}

	/* Out of a URL, which anybody may have written: only what makes sense. */
	parse(hash) {
		const query = new URLSearchParams(hash.slice(1)), state = {};
		const word = (name, words) => { if (words.includes(query.get(name))) state[name] = query.get(name); };
		const { frames, types, merged, times } = this.profile;

		for (const name of merged ? [] : ["type", "of", "per"])
			if (types.some((t) => t.name === query.get(name)))
				state[name] = types.findIndex((t) => t.name === query.get(name));
		word("view", VIEWS);
		word("layout", ["icicle", "flame"]);
		word("widths", ["after", "before"]);
		for (const name of times ? ["range", "against"] : [])
			state[name] = times.format(times.parse(query.get(name)));
		if (!state.range)
			state.against = "";
		word("time", TIME_VIEWS);
		word("color", colorModes({ difference: merged || Boolean(state.against), types }));
		word("palette", Object.keys(PALETTES));
		word("pane", ["main", "callers"]);
		word("sort", Object.keys(SORTS));
		for (let i = 0; query.has("fn") && i < frames.nfunctions; i++)
			if (frames.keyOf(i) === query.get("fn"))
				state.fn = frames.functionOf[i];
		/* The node is known once there is a tree: page.js. */
		if (query.has("zoom"))
			state.zoomPath = query.get("zoom").split(".");
		if (query.has("edits"))
			state.edits = usefulEdits(query.get("edits").split("\n"), frames);
		if (times && query.has("quiet"))
			state.quiet = query.get("quiet").split("\n").filter((name) => /^\[.*\]$/su.test(name))
				.slice(0, QUIET_MOST);
		if (query.has("search"))
			state.search = query.get("search");
		if (query.has("reverse"))
			state.reverse = true;
		if (query.has("hide"))
			state.hide = new Set(query.get("hide").split(".").filter((s) => SWITCHES.includes(s)));
		return state;
	}

	text() {
		const query = new URLSearchParams(), { frames } = this.profile;
		const plain = (v) => v instanceof Set ? [...v].sort().join(".") : Array.isArray(v) ? v.join("\n") : String(v);
		const typeName = (type) => this.profile.types[type].name;
		const byName = {
			type: typeName, of: typeName, per: typeName,
			fn: (fn) => frames.keyOf(frames.functionOf.indexOf(fn)),
			zoom: () => this.pathOf().map((f) => nameHash(frames, f)).join("."),
		};

		for (const [name, value] of Object.entries(this.now))
			if (name in this.first && plain(value) !== plain(this.first[name]))
				query.set(name, byName[name] ? byName[name](value) : plain(value));
		return query.toString();
	}

	/* @push: a place that the back button returns to. */
	set(changes, push) {
		const before = { ...this.now };

		if (push)
			this.write(false);
		Object.assign(this.now, changes);
		if (push)
			this.write(true);
		/* Not at every letter that is typed: browsers bound how often a page may do this. */
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.write(false), URL_DELAY_MS);
		this.changed(before);
	}

	write(push) {
		const url = `#${this.text()}`;

		if (url === (location.hash || "#"))
			return;
		if (push)
			location.hash = url;
		else
			location.replace(url);
		this.written = location.hash;
	}
}
