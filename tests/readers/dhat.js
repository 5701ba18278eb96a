// SPDX-License-Identifier: MIT
// dhat.js PAGE FILE...: opens each file in valgrind's dh_view.html, in Chromium, and prints what the page then shows: a
// line of JSON for each, [sort metric, text] for each metric that it offers, and the errors, thrown or shown.
'use strict';
const puppeteer = require('puppeteer-core');

async function read(browser, page, file) {
	const tab = await browser.newPage(), errors = [];
	tab.on('pageerror', e => errors.push(e.message));
	await tab.goto('file://' + page);
	await (await tab.$('input[type=file]')).uploadFile(file);
	await tab.waitForFunction(() => document.querySelector('pre, .error'), { timeout: 60000, polling: 20 });
	const texts = await tab.evaluate(() => {
		const select = document.querySelector('select'), shown = [];
		for (const option of select.options) {
			if (option.disabled)
				continue;
			select.value = option.value;
			select.onchange();
			shown.push([option.label, document.querySelector('pre').textContent]);
		}
		return shown;
	}).catch(e => { errors.push(e.message); });
	errors.push(...await tab.$$eval('.error', found => found.map(e => e.textContent)));
	await tab.close();
	return JSON.stringify({ texts, errors });
}

async function main(page, files) {
	const browser = await puppeteer.launch({
		executablePath: '/usr/bin/chromium', headless: true, args: ['--no-sandbox', '--disable-gpu-sandbox'] });
	try {
		for (const file of files)
			console.log(await read(browser, page, file));
	} finally {
		await browser.close();
	}
}

main(process.argv[2], process.argv.slice(3)).catch(e => { console.error(e); process.exitCode = 1; });
