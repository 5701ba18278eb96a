// SPDX-License-Identifier: MIT
// screenshots.cjs CHROMIUM MODULES PAGE FOLDER: pictures of a page for the documentation, FOLDER/page-*.png. MODULES has
// puppeteer-core; the page is of a recording with samples, waits and source. See tests/demo/pictures.
"use strict";
const path = require("node:path");
const [chromium, modules, file, folder] = process.argv.slice(2).map((name) => path.resolve(name));
const puppeteer = require(`${modules}/puppeteer-core`);

const MOST = 120 * 1024;	// bytes of one
const HOTTEST = "ebprof.functions.filter(({ fn }) => fn >= 0).reduce((a, b) => b.self > a.self ? b : a)";

// name: what the address says, the theme, and what is done before.
const PICTURES = [
	["flame", "#time=none"],
	["flame-dark", "#time=none", { dark: true }],
	["heat", "#time=heat"],
	["lanes", "#time=lanes"],
	["sandwich", "#time=none", { run: `ebprof.set({ view: "sandwich", fn: (${HOTTEST}).fn })` }],
	["source", "#time=none", { run: `ebprof.set({ view: "sandwich", fn: (${HOTTEST}).fn });
		document.querySelector("#caption button").click()` }],
];

// What is of the machine that they are made on.
const LOCAL = `{
	for (const fact of [...document.querySelector("#facts").children].slice(4))
		fact.remove();
	for (const head of document.querySelectorAll("#source-rows .head"))
		head.textContent = head.textContent.replaceAll("${process.cwd()}/", "");
}`;

async function take(page, [name, hash, { dark = false, run = "" } = {}]) {
	await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
					 { name: "prefers-reduced-motion", value: "reduce" }]);
	await page.goto("about:blank");
	await page.goto(`file://${file}${hash}`);
	await page.evaluate("ebprof.ready.then(() => true)");
	await page.evaluate(`{ ${run} } ${LOCAL}`);
	await page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))");
	const { length } = await page.screenshot({ path: `${folder}/page-${name}.png` });

	if (length > MOST)
		throw new Error(`page-${name}.png has ${length} bytes, ${MOST} at most`);
}

(async () => {
	const browser = await puppeteer.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-gpu"] });

	try {
		const page = await browser.newPage();

		await page.setViewport({ width: 1000, height: 600 });
		for (const picture of PICTURES)
			await take(page, picture);
	} finally {
		await browser.close();
	}
})();
