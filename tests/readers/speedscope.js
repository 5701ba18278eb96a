// SPDX-License-Identifier: MIT
// speedscope.js PAGE FILE...: opens each file in speedscope's own page, in Chromium, and prints what the page then
// exports: a line of JSON for each, null where it refused the file.
'use strict';
const puppeteer = require('puppeteer-core');

// What the page offers for download is kept in place of it.
function keepExport() {
	URL.createObjectURL = blob => { blob.text().then(text => { window.exported = text; }); return ''; };
	HTMLAnchorElement.prototype.click = () => {};
	window.alert = text => { window.refused = text; };
}

// Waits, without sleeping blindly, until there is what to go on with.
function findExport() {
	if (window.refused)
		return 'refused';
	const button = [...document.querySelectorAll('div')]
		.filter(d => /Export$/.test(d.textContent) && !d.querySelector('div'))[0];
	if (button && !window.clicked) {
		window.clicked = true;
		button.click();
	}
	return window.exported && 'exported';
}

async function read(browser, page, file) {
	const tab = await browser.newPage();
	await tab.evaluateOnNewDocument(keepExport);
	await tab.goto('file://' + page);
	const input = await tab.waitForSelector('input[type=file]');
	await input.uploadFile(file);
	const outcome = await (await tab.waitForFunction(findExport, { timeout: 60000, polling: 20 })).jsonValue();
	const text = outcome === 'exported' ? await tab.evaluate(() => window.exported) : 'null';
	await tab.close();
	return JSON.stringify(JSON.parse(text));
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
