/* SPDX-License-Identifier: MIT */
/*
 * Names in boxes that are too narrow for them: what says least goes first, the return type, then the
 * arguments, then the template arguments, then what encloses. As base/label does it.
 */

/* Where the brackets of @name stand: [depth before each letter], and where arguments begin. */
function readBrackets(name) {
	const depth = new Uint16Array(name.length + 1), open = [];
	let args = -1, end = -1, sound = true;

	for (let i = 0; i < name.length; i++) {
		const c = name[i];

		depth[i] = open.length;
		if (/\boperator$/.test(name.slice(Math.max(0, i - 9), i)) && "<>-([".includes(c)) {
			/* An operator's name holds what looks like brackets. */
			const [token] = name.slice(i).match(/^(\(\)|\[\]|[<>=-]+)/) || [""];

			for (let k = 1; k < token.length; k++)
				depth[i + k] = open.length;
			i += Math.max(0, token.length - 1);
		} else if ("<([{".includes(c)) {
			if (c === "(" && !open.length)
				args = i;
			open.push(c);
		} else if (c === ">" && name[i - 1] === "-") {
			continue;
		} else if (">)]}".includes(c)) {
			sound = open.pop() === { ">": "<", ")": "(", "]": "[", "}": "{" }[c] && sound;
			if (c === ")" && !open.length)
				end = i + 1;
		}
	}
	depth[name.length] = open.length;
	/* Arguments are the last of a name; Go's and unnamed things have brackets within theirs. */
	const isArgs = args > 0 && end > args && /^( const| volatile|&| \[clone [^\]]*\]|\*)*$/.test(name.slice(end)) &&
		       !/^\((anonymous|\*)/.test(name.slice(args));

	return { depth, sound: sound && !open.length, args: isArgs ? args : -1, argsEnd: end };
}

/* Behind the last space that stands in no bracket. */
function returnTypeEnd(name, depth, to) {
	for (let i = to - 1; i > 0; i--)
		if (name[i] === " " && !depth[i])
			return /\boperator$/.test(name.slice(0, i)) ? returnTypeEnd(name, depth, i - 8) : i + 1;
	return 0;
}

/* @name with what stands in < > left out. */
function withoutTemplates(name) {
	const { depth } = readBrackets(name);
	let text = "";

	for (let i = 0; i < name.length; i++) {
		const opens = name[i] === "<" && !depth[i] && depth[i + 1] && i > 0 && /[\w\]}:)]/.test(name[i - 1]);

		text += name[i];
		if (!opens)
			continue;
		while (i + 1 < name.length && !(name[i + 1] === ">" && depth[i + 2] === 0))
			i++;
		text += "…";
	}
	return text;
}

/* The shorter and shorter forms of a name, after itself. */
function* shorterNames(name) {
	const { depth, sound, args, argsEnd } = readBrackets(name);

	if (!sound)
		return;
	let text = name;

	if (args > 0) {
		const begin = returnTypeEnd(name, depth, args);

		yield name.slice(begin);
		text = `${name.slice(begin, args)}${argsEnd - args > 2 ? "(…)" : "()"}`;
		yield text;
		text = name.slice(begin, args);
	}
	text = withoutTemplates(text);
	yield text;
	/* Names in their namespaces: from the outermost on. */
	const inner = readBrackets(text).depth;

	for (let i = 0; i + 2 < text.length; i++)
		if (text[i] === ":" && text[i + 1] === ":" && !inner[i])
			yield `…${text.slice(i)}`;
}
