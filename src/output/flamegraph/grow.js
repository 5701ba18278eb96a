/* SPDX-License-Identifier: MIT */
/*
 * Profiles that grow. A *raw* one is what ebprof writes (html.c): { json, tree, ticks } with what was
 * measured, the tables of frames, the tree, whose frames are numbers of these, and times (times.js),
 * if any. Two of them become one: so updates become a profile (live.js), and a profile a page that can
 * be saved.
 */

/* What a raw profile without samples has. */
function emptyRaw({ meta, types, kinds }) {
	const columns = Object.fromEntries(["name", "module", "kind", "inlined", "file", "line"].map((c) => [c, []]));

	return {
		json: {
			meta: { ...meta, duration: 0 }, account: { taken: 0, kept: 0, truncated: [], lost: [] },
			types: types.map((type) => ({ ...type, total: 0 })), shown: 0, nodes: 1, kinds, functions: columns,
			threads: [], texts: [""], latencies: [],
		},
		tree: new Tree(1, 1, NONE).finish(), ticks: null,
	};
}

/* Sums by reason. */
function addReasons(...lists) {
	const counts = new Map();

	for (const { reason, count } of lists.flat())
		counts.set(reason, (counts.get(reason) || 0) + count);
	return [...counts].map(([reason, count]) => ({ reason, count }));
}

function addAccounts(a, b) {
	return {
		taken: a.taken + b.taken, kept: a.kept + b.kept,
		truncated: addReasons(a.truncated, b.truncated), lost: addReasons(a.lost, b.lost),
	};
}

/* The rows of a table of functions, each with its key: one function is one row in any table. */
function functionRows({ functions: f, texts }) {
	return f.name.map((name, i) => {
		const row = { name, module: texts[f.module[i]], kind: f.kind[i], inlined: f.inlined[i],
			      file: texts[f.file[i]], line: f.line[i] };

		return { ...row, key: [row.name, row.module, row.kind, row.inlined].join("\n") };
	});
}

/* The same of threads; where they are not kept apart, those of one name in processes of one name are one. */
function threadRows({ threads, meta: { perThread } }) {
	return threads.map((t) => {
		const processKey = perThread ? `${t.process}\n${t.pid}` : t.process, key = `${processKey}\n${t.name}`;

		return { ...t, processKey, key: perThread ? `${key}\n${t.tid}` : key };
	});
}

/*
 * Two tables as one, in order: { rows, maps }, of which maps[k] has for each row of tables[k] its number in
 * rows. @join: one row of two that have the same key.
 */
function joinRows(tables, compare, join) {
	const byKey = new Map();

	for (const row of tables.flat()) {
		const old = byKey.get(row.key);

		byKey.set(row.key, old ? join(old, row) : row);
	}
	const rows = [...byKey.values()].sort(compare), at = new Map(rows.map((r, i) => [r.key, i]));

	return { rows, maps: tables.map((table) => table.map((r) => at.get(r.key))) };
}

function byFunction(a, b) {
	return byText(a.name, b.name) || byText(a.module, b.module) || a.kind - b.kind || a.inlined - b.inlined;
}

function byThread(a, b) {
	return byText(a.process, b.process) || a.pid - b.pid || byText(a.name, b.name) || a.tid - b.tid;
}

/* Columns, and texts as numbers of a list. */
function functionTable(rows) {
	const texts = [""], ids = new Map([["", 0]]);
	const id = (text) => {
		if (!ids.has(text))
			ids.set(text, texts.push(text) - 1);
		return ids.get(text);
	};
	const column = (get) => rows.map(get);

	return {
		functions: {
			name: column((r) => r.name), module: column((r) => id(r.module)), kind: column((r) => r.kind),
			inlined: column((r) => r.inlined), file: column((r) => id(r.file)), line: column((r) => r.line),
		},
		texts,
	};
}

function threadTable(rows) {
	const groups = new Map();

	return rows.map(({ name, process, processKey, pid, tid }) => {
		if (!groups.has(processKey))
			groups.set(processKey, groups.size);
		return { name, process, group: groups.get(processKey), pid, tid };
	});
}

/* @maps: of each tree, from its frames to those of the sum. Gives this, and where the nodes of each went. */
function addTrees(trees, maps) {
	const trie = new Trie(1, NONE, trees[0].n + 1024);
	let owners = 0;

	const places = trees.map((tree, k) => {
		const place = new Uint32Array(tree.n);

		trie.self[0][0] += tree.self[0][0];
		for (let i = 1; i < tree.n; i++) {
			const parent = tree.parent[i];

			place[i] = trie.child(place[parent], maps[k](tree.frame[i]), owners + parent + 1);
			trie.self[0][place[i]] += tree.self[0][i];
		}
		owners += tree.n;
		return place;
	});
	const tree = trie.tree(false);

	return { tree, places: places.map((place) => place.map((node) => trie.place[node])) };
}

function addRaw(a, b) {
	const both = [a, b], [x, y] = [a.json, b.json], other = (one, two) => one === two ? one : 0;
	const functions = joinRows(both.map((r) => functionRows(r.json)), byFunction,
				   (one, two) => one.file || !two.file ? one : { ...one, file: two.file, line: two.line });
	const threads = joinRows(both.map((r) => threadRows(r.json)), byThread,
				 (one, two) => ({ ...one, pid: other(one.pid, two.pid), tid: other(one.tid, two.tid) }));
	const maps = both.map(({ json }, k) => {
		const n = json.functions.name.length;

		return (frame) => frame < n ? functions.maps[k][frame] : functions.rows.length + threads.maps[k][frame - n];
	});
	const { tree, places } = addTrees(both.map((r) => r.tree), maps);
	const ticks = addTicks(both.map((r, k) => r.ticks && moveTicks(r.ticks, threads.maps[k], places[k])).filter(Boolean));

	return {
		json: {
			...y, ...functionTable(functions.rows), threads: threadTable(threads.rows),
			meta: { ...y.meta, start: x.types[0].total ? x.meta.start : y.meta.start,
				duration: x.meta.duration + y.meta.duration },
			account: addAccounts(x.account, y.account), nodes: tree.n,
			types: y.types.map((type, i) => ({ ...type, total: x.types[i].total + type.total })),
		},
		tree, ticks,
	};
}

/* Out of an update. */
async function readRaw(update) {
	const json = update.profile, { n, frame, parent, depth } = await readShape(json.nodes, (id) => update[id]);
	const tree = new Tree(n, 1, NONE);

	tree.frame.set(frame);
	tree.parent.set(parent);
	tree.depth.set(depth);
	eachVarint(await unpack(update.self0), n - 1, (i, value) => { tree.self[0][i + 1] = value; });
	return { json, tree: tree.finish(), ticks: await readTicks(json, tree, (id) => update[id]) };
}

/* What the page works with. */
function profileOf(raw) {
	const { json, tree, ticks } = raw, times = ticks && new Times(ticks, json.meta.duration, tree);
	const profile = new Profile(json, readFrames(json), tree, [varintBytes(tree.self[0].subarray(1))], times);

	return Object.assign(profile, { raw });
}

/* --- Saving. --- */

function varintBytes(numbers) {
	const bytes = [];

	for (let n of numbers) {
		/* Not by shifts: they end at 32 bits. */
		for (; n >= 128; n = Math.floor(n / 128))
			bytes.push(n % 128 + 128);
		bytes.push(n);
	}
	return new Uint8Array(bytes);
}

async function pack(numbers) {
	const stream = new Blob([varintBytes(numbers)]).stream().pipeThrough(new CompressionStream("deflate-raw"));
	const packed = new Uint8Array(await new Response(stream).arrayBuffer());
	let text = "";

	for (const byte of packed)
		text += String.fromCharCode(byte);
	return btoa(text);
}

/* The elements of a page (html.c) with this profile. */
async function rawElements({ json, tree, ticks }) {
	const { n, depth, frame, self } = tree, nodes = Array.from({ length: n - 1 }, (_, i) => i + 1);
	const columns = {
		up: nodes.map((i) => depth[i - 1] + 1 - depth[i]), label: nodes.map((i) => frame[i]),
		self0: nodes.map((i) => self[0][i]), ...ticks && tickColumns(ticks, tree, json.functions.name.length),
	};
	const described = { ...json, times: ticks ? describeTicks(ticks) : undefined };
	const element = (type, id, text) => `<script type="${type}" id="${id}">${text}<\/script>\n`;
	const packed = await Promise.all(Object.entries(columns).map(async ([id, numbers]) =>
		element("text/plain", id, await pack(numbers))));

	return element("application/json", "profile", JSON.stringify(described).replace(/</g, "\\u003c")) + packed.join("");
}

/* A line for each stack, as `-f folded` has them: what `ebprof report` reads. */
function foldedText({ frames, raw: { tree: { n, depth, frame, self } } }) {
	const path = [], lines = [];
	const nameOf = (f) => frames.name[f].replace(/;/g, ":").replace(/\s*\n\s*/g, " ");

	for (let i = 1; i < n; i++) {
		path.length = depth[i] - 1;
		path.push(nameOf(frame[i]));
		if (self[0][i])
			lines.push(`${path.join(";")} ${self[0][i]}\n`);
	}
	return lines.join("");
}
