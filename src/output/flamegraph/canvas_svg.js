/* SPDX-License-Identifier: MIT */
/* What draw.js asks of a canvas, written down as SVG, so that one painter makes the screen, PNG and SVG. */

function xmlText(text) {
	return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", "\"": "&quot;" })[c])
		// eslint-disable-next-line no-control-regex -- XML has no way to write these
		.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/g, "\ufffd");
}

class SvgContext {
	/* @measure: a canvas's context, for the widths of texts. */
	constructor(measure) {
		this.measure = measure;
		this.parts = [];
		this.globalAlpha = 1;
		this.fillStyle = this.strokeStyle = "#000";
		this.lineWidth = 1;
		this.path = null;
	}

	setTransform() {}
	clearRect() {}

	beginPath() {
		this.path = null;
	}

	roundRect(x, y, width, height, radius) {
		this.path = [x, y, width, height, radius];
	}

	rect([x, y, width, height, radius], style) {
		const n = (v) => Number(v.toFixed(2)), alpha = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";

		this.parts.push(`<rect x="${n(x)}" y="${n(y)}" width="${n(width)}" height="${n(height)}"` +
				`${radius ? ` rx="${radius}"` : ""}${alpha} ${style}/>`);
	}

	fill() {
		this.rect(this.path, `fill="${this.fillStyle}"`);
	}

	stroke() {
		this.rect(this.path, `fill="none" stroke="${this.strokeStyle}" stroke-width="${this.lineWidth}"`);
	}

	fillRect(x, y, width, height) {
		this.rect([x, y, width, height, 0], `fill="${this.fillStyle}"`);
	}

	fillText(text, x, y) {
		const alpha = this.globalAlpha < 1 ? ` opacity="${this.globalAlpha}"` : "";

		this.parts.push(`<text x="${x.toFixed(2)}" y="${y.toFixed(2)}" fill="${this.fillStyle}"${alpha}>` +
				`${xmlText(text)}</text>`);
	}

	measureText(text) {
		this.measure.font = this.font;
		return this.measure.measureText(text);
	}

	text(title, width, height, background) {
		return [
			`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
			`viewBox="0 0 ${width} ${height}">`,
			`<title>${xmlText(title)}</title>`,
			`<rect width="100%" height="100%" fill="${background}"/>`,
			`<g style="font:${xmlText(this.font)}" dominant-baseline="central">`,
			...this.parts, "</g>", "</svg>", "",
		].join("\n");
	}
}
