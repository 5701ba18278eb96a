/* SPDX-License-Identifier: MIT */
/*
 * The profile, out of the elements that ebprof wrote into the page (see html.c): what was
 * measured, the frames that stacks are made of, and the tree of all stacks. Values are
 * Float64: whole numbers are exact up to 2^53.
 */

const NONE = 0xffffffff;

/*
 * What a frame looks like: levels of the page, and the families of frames (profile/frame_kind.h). Each has
 * a colour of its own.
 */
const KINDS = ["process", "thread", "user", "inlined", "jit", "kernel", "mark", "script"];
const [PROCESS, THREAD, USER, INLINED, JIT, KERNEL, MARK, SCRIPT] = KINDS.keys();

/* The text of an element, which is not needed any more. */
function takeElement(id) {
	const element = document.getElementById(id);

	element.remove();
	return element.textContent;
}

/* The numbers of one column: base64 of raw deflate of varints. */
async function unpack(base64) {
	const text = atob(base64);
	const packed = new Uint8Array(text.length);

	for (let i = 0; i < text.length; i++)
		packed[i] = text.charCodeAt(i);
	const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
	return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* Calls set(i, number) for each of the @n first numbers. */
function eachVarint(bytes, n, set) {
	for (let i = 0, at = 0; i < n; i++) {
		let byte = bytes[at++], value = byte & 127;

		/* Not by shifts: they end at 32 bits. */
		for (let scale = 128; byte & 128; scale *= 128) {
			byte = bytes[at++];
			value += (byte & 127) * scale;
		}
		set(i, value);
	}
}

/* What a function of @kind, a row of @kinds, looks like. */
function frameKind(kinds, kind, inlined) {
	return KINDS.indexOf(kinds[inlined ? kinds[kind].inlined : kind].family);
}

/* The kind in words, where it is worth a word. */
function kindText(kinds, kind, inlined) {
	const { text } = kinds[kind];

	if (!inlined)
		return text;
	return kinds[kind].inlined === kind ? `${text}, inlined` : "inlined";
}

/*
 * Frames as columns: functions in the order of their names, then threads, then processes.
 * functionOf: equal for a function and for itself where it was inlined; -1: no function.
 */
function readFrames(json) {
	const f = json.functions, nfunctions = f.name.length, groups = new Map();

	json.threads.forEach((t) => {
		const group = groups.get(t.group);

		if (!group)
			groups.set(t.group, { name: t.process, pid: t.pid });
		else if (group.pid !== t.pid)
			group.pid = 0;
	});
	const processes = [...groups.values()], n = nfunctions + json.threads.length + processes.length;
	const module = f.module.map((i) => json.texts[i]), kind = new Uint8Array(n), functionOf = new Int32Array(n).fill(-1);
	const withId = (name, id) => json.meta.perThread && id ? `${name} ${id}` : name;

	for (let i = 0, next = 0; i < nfunctions; i++) {
		const again = i > 0 && f.inlined[i] && !f.inlined[i - 1] && f.name[i] === f.name[i - 1] &&
			      module[i] === module[i - 1] && f.kind[i] === f.kind[i - 1];

		kind[i] = frameKind(json.kinds, f.kind[i], f.inlined[i]);
		functionOf[i] = again ? functionOf[i - 1] : next++;
	}
	kind.fill(THREAD, nfunctions, n - processes.length);
	kind.fill(PROCESS, n - processes.length);
	const name = [...f.name, ...json.threads.map((t) => withId(t.name, t.tid)),
		      ...processes.map((p) => withId(p.name, p.pid))];

	return {
		palette: json.palette,
		n, nfunctions, kind, functionOf, module, name, inlined: f.inlined, line: f.line,
		kindText: (i) => kindText(json.kinds, f.kind[i], f.inlined[i]),
		file: f.file.map((i) => json.texts[i]),
		id: [...new Array(nfunctions).fill(0), ...json.threads.map((t) => t.tid), ...processes.map((p) => p.pid)],
		/* The process of a thread, both as frames. */
		processOf: (frame) => n - processes.length + json.threads[frame - nfunctions].group,
		processes: processes.length,
		/* What a frame is in any file of the same program, where its number is another. */
		keyOf: (i) => i < nfunctions ? `${module[i]}!${name[i]}` :
			i < n - processes.length ? `${json.threads[i - nfunctions].process}/${name[i]}` : `${name[i]}/`,
		/* Whether a thread has another name than its process. */
		threadsDiffer: json.threads.some((t) => t.name !== t.process),
	};
}

/* The tree without its values; @textOf gives the text of a column by its name. */
async function readShape(n, textOf) {
	const [up, label] = await Promise.all(["up", "label"].map(textOf).map(unpack));
	const column = () => new Uint32Array(n), [frame, parent, depth] = [column(), column(), column()];
	const path = [0];	/* the last node of each depth */

	frame[0] = NONE;
	eachVarint(up, n - 1, (i, levels) => {
		const d = depth[i] + 1 - levels;

		depth[i + 1] = d;
		parent[i + 1] = path[d - 1];
		path[d] = i + 1;
	});
	eachVarint(label, n - 1, (i, value) => { frame[i + 1] = value; });
	return { n, frame, parent, depth };
}

async function readProfile() {
	const json = JSON.parse(takeElement("profile")), shape = await readShape(json.nodes, takeElement);
	const packed = await Promise.all(json.types.map((_, i) => unpack(takeElement(`self${i}`))));

	return new Profile(json, readFrames(json), shape, packed, await readTimes(json, shape));
}
