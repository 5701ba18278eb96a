/* SPDX-License-Identifier: MIT */
/* Numbers and names as people read them. */

const NUMBER = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

function percent(part, all) {
	return `${(all ? 100 * part / all : 0).toFixed(2)} %`;
}

/* 1234567 ns -> "1.23 ms" */
function scaled(value, units, base) {
	let i = 0;

	for (; i < units.length - 1 && Math.abs(value) >= base; i++)
		value /= base;
	return `${i || !Number.isInteger(value) ? Number(value.toPrecision(3)) : NUMBER.format(value)} ${units[i]}`;
}

function seconds(ns) {
	if (ns >= 60e9)
		return `${NUMBER.format(Math.floor(ns / 60e9))} min ${Math.floor(ns % 60e9 / 1e9)} s`;
	return scaled(ns, ["ns", "µs", "ms", "s"], 1000);
}

/* How much CPU time that many samples stand for, behind a separator; "" where they stand for none. */
function timeOf(profile, value, separator = "") {
	return profile.each ? separator + seconds(value * profile.each) : "";
}

/* "misses" -> "miss" */
function singular(name) {
	return name.replace(/(?<=ss)es$|s$/u, "");
}

/* A value with its unit. */
function quantityOf(unit, value) {
	switch (unit) {
	case "nanoseconds":
		return seconds(value);
	case "bytes":
		return scaled(value, ["B", "KiB", "MiB", "GiB", "TiB", "PiB"], 1024);
	default:
		return `${NUMBER.format(value)} ${unit}`;
	}
}

/* A value of the type that is shown. */
function quantity(profile, value) {
	if (profile.unit !== "count")
		return quantityOf(profile.unit, value);
	if (profile.difference)
		return NUMBER.format(value);
	return `${NUMBER.format(value)} ${value === 1 ? singular(profile.type) : profile.type}` + timeOf(profile, value, ", ");
}

/* Without its unit where that is a count. */
function amount(profile, value) {
	return profile.unit === "count" ? NUMBER.format(value) : quantity(profile, value);
}

function capital(text) {
	return text[0].toUpperCase() + text.slice(1);
}

function signed(text, value) {
	return value > 0 ? `+${text}` : value < 0 ? text.replace("-", "\u2212") : text;
}

/* How much more than before: "+12.3 %", "new", "gone". */
function changeText(profile, before, after) {
	const scaledBefore = before * profile.weight;

	if (!before && !after)
		return "";
	if (!before)
		return "new";
	if (!after)
		return "gone";
	const p = 100 * (after - scaledBefore) / scaledBefore;

	return signed(`${p.toFixed(Math.abs(p) < 100 ? 1 : 0)} %`, p);
}

/* "5 depth, 2 no CFI" */
function reasons(list) {
	return [...list].sort((a, b) => b.count - a.count).map((r) => `${NUMBER.format(r.count)} ${r.reason}`).join(", ");
}

function sum(list) {
	return list.reduce((all, r) => all + r.count, 0);
}

function placeOf(frames, frame) {
	const file = frame < frames.nfunctions ? frames.file[frame] : "";

	return file ? file + (frames.line[frame] ? `:${frames.line[frame]}` : "") : "";
}

/* An element with a class and texts or elements in it; names are only ever text. */
function element(tag, className, ...inside) {
	const e = document.createElement(tag);

	if (className)
		e.className = className;
	e.append(...inside);
	return e;
}

async function copyText(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch {
		const area = element("textarea", "outside", text);

		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
}
