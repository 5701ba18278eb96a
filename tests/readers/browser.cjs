// SPDX-License-Identifier: MIT
// Drives Chromium for the tests: reads commands, a JSON object a line, and answers each with one line. The first
// argument is Chromium's path, the second the folder with puppeteer-core.
"use strict";
const readline = require("node:readline");
const puppeteer = require(`${process.argv[3]}/puppeteer-core`);

let page, problems = [], origin = "";

const commands = {
	// A file, or what a server of this machine has.
	async open({ file, url = `file://${file}`, hash = "", width = 1280, height = 800, scale = 1, touch = false, dark = false,
		     wait = "true" }) {
		await page.setViewport({ width, height, deviceScaleFactor: scale, hasTouch: touch });
		await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" },
						 { name: "prefers-reduced-motion", value: "reduce" }]);
		problems = [];
		await page.goto("about:blank");
		origin = url.startsWith("http:") ? new URL(url).origin + "/" : "file:";
		await page.goto(`${url}${hash}`);
		return page.evaluate(wait);
	},
	resize: ({ width, height, scale = 1 }) => page.setViewport({ width, height, deviceScaleFactor: scale }),
	run: ({ text }) => page.evaluate(text),
	click: ({ x, y, button = "left" }) => page.mouse.click(x, y, { button }),
	move: ({ x, y }) => page.mouse.move(x, y),
	async press({ key, hold = [] }) {
		for (const k of hold)
			await page.keyboard.down(k);
		await page.keyboard.press(key);
		for (const k of hold)
			await page.keyboard.up(k);
	},
	async wheel({ x, y, by, hold = [] }) {
		await page.mouse.move(x, y);
		for (const k of hold)
			await page.keyboard.down(k);
		await page.mouse.wheel({ deltaY: by });
		for (const k of hold)
			await page.keyboard.up(k);
	},
	async drag({ x, y, dx, dy, hold = [] }) {
		await page.mouse.move(x, y);
		for (const k of hold)
			await page.keyboard.down(k);
		await page.mouse.down();
		await page.mouse.move(x + dx / 2, y + dy / 2);
		await page.mouse.move(x + dx, y + dy);
		await page.mouse.up();
		for (const k of hold)
			await page.keyboard.up(k);
	},
	tap: ({ x, y }) => page.touchscreen.tap(x, y),
	type: ({ text }) => page.keyboard.type(text),
	media: ({ type }) => page.emulateMediaType(type),
	// Of a page that was opened without.
	motion: () => page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "no-preference" }]),
	// What it is on paper, in base64.
	pdf: async () => Buffer.from(await page.pdf({ printBackground: true })).toString("base64"),
	back: () => page.evaluate("history.back()"),
	// What stands on a part of the screen, as PNG in base64.
	shot: ({ x, y, width, height }) => page.screenshot({ encoding: "base64", clip: { x, y, width, height } }),
	// Errors, dialogs and requests to anywhere since the page was opened.
	problems: () => problems,
};

(async () => {
	const browser = await puppeteer.launch({ executablePath: process.argv[2], args: ["--no-sandbox", "--disable-gpu"] });

	page = await browser.newPage();
	page.on("console", (m) => ["error", "warn"].includes(m.type()) && problems.push(`console: ${m.text()}`));
	page.on("pageerror", (e) => problems.push(`error: ${e.message}`));
	page.on("dialog", (d) => { problems.push(`dialog: ${d.message()}`); d.dismiss(); });
	page.on("request", (r) => /^(data|about|blob):/.test(r.url()) || r.url().startsWith(origin) ||
		problems.push(`request: ${r.url()}`));
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const { command, ...rest } = JSON.parse(line);
		let answer;

		try {
			answer = { value: await commands[command](rest) ?? null };
		} catch (e) {
			answer = { error: String(e) };
		}
		process.stdout.write(`${JSON.stringify(answer)}\n`);
	}
	await browser.close();
})();
