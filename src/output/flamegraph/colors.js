/* SPDX-License-Identifier: MIT */
/*
 * Colours, the same for the same name in every profile. Those of kinds are in a table that comes with the
 * profile (output/palette.h), in OKLCH; a hash of the name moves each a little, so that neighbours can be told apart.
 */

const STEPS = 24;	/* of the scale of differences and ratios, on either side */
/* Of these: hues of less and of more. The second pair differs for eyes that do not tell red from green. */
const PALETTES = { "red-green": [150, 27], "orange-blue": [250, 60] };

function hashText(text) {
	let h = 0x811c9dc5;

	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
	h = Math.imul(h ^ h >>> 15, 0x2c1b3c6d);
	return (h ^ h >>> 12) >>> 0;
}

/* OKLCH to "rgb(...)", out-of-gamut channels clipped. */
function oklch(l, c, h) {
	const a = c * Math.cos(h * Math.PI / 180), b = c * Math.sin(h * Math.PI / 180);
	const x = (l + 0.3963377774 * a + 0.2158037573 * b) ** 3, y = (l - 0.1055613458 * a - 0.0638541728 * b) ** 3;
	const z = (l - 0.0894841775 * a - 1.2914855480 * b) ** 3;
	const gamma = (v) => v <= 0.0031308 ? 12.92 * v : 1.055 * v ** (1 / 2.4) - 0.055;
	const channel = (v) => Math.round(255 * Math.min(1, Math.max(0, gamma(v))));

	return `rgb(${channel(4.0767416621 * x - 3.3077115913 * y + 0.2309699292 * z)},` +
	       `${channel(-1.2684380046 * x + 2.6097574011 * y - 0.3413193965 * z)},` +
	       `${channel(-0.0041960863 * x - 0.7034186147 * y + 1.7076147010 * z)})`;
}

class Colors {
	constructor(profile) {
		this.profile = profile;
		this.palette = profile.frames.palette;
		this.key = "";
	}

	use(mode, palette, dark) {
		const key = `${mode} ${palette} ${dark}`;

		if (key === this.key)
			return;
		this.key = key;
		this.mode = mode;
		this.dark = dark;
		this.lightness = this.palette.lightness[Number(dark)] / 1000;
		this.byFrame = new Array(this.profile.frames.n);
		this.scale = Array.from({ length: 2 * STEPS + 1 }, (_, i) => this.ofChange(i / STEPS - 1, PALETTES[palette]));
	}

	ofKind(kind, name = "") {
		const [hue, chroma, spread, apart] = this.palette[KINDS[kind]], h = hashText(name);
		const moved = name ? (h % 1000 / 999 - 0.5) * 2 * spread : 0;
		const lighter = name ? ((h >>> 12) % 1000 / 999 - 0.5) * 2 * this.palette.lighter : 0;

		return oklch(this.lightness + ((this.dark ? -apart : apart) + lighter) / 1000, chroma / 1000, hue + moved);
	}

	/* Threads and the like keep the colour of their kind. */
	ofModule(frame) {
		const { module, kind } = this.profile.frames, name = module[frame];

		if (!name || kind[frame] === MARK)
			return this.ofKind(kind[frame]);
		const h = hashText(name), hue = kind[frame] === KERNEL ? this.palette[KINDS[KERNEL]][0] : h % 360;

		return oklch(this.lightness + ((h >>> 10) % 3 - 1) * 0.03, 0.06 + (h >>> 14) % 3 * 0.025, hue);
	}

	ofChange(change, [less, more]) {
		const strength = Math.abs(change) ** 0.7, plain = this.dark ? 0.36 : 0.93, full = this.dark ? 0.5 : 0.7;

		return oklch(plain + (full - plain) * strength, 0.012 + (this.dark ? 0.12 : 0.15) * strength,
			     strength < 0.02 ? 80 : change < 0 ? less : more);
	}

	/* @place: -1 ... 1; NaN: nowhere. */
	onScale(place) {
		return this.scale[Math.round((place + 1) * STEPS)] || this.ofKind(MARK);
	}

	root() {
		return this.ofKind(PROCESS);
	}

	/* Of the box of a frame, whose values are those of the columns at @at. */
	of(frame, columns, at) {
		if (this.mode === "change" || this.mode === "ratio")
			return this.onScale(this.profile.colorOf(columns.map((column) => column[at])));
		return frame === NONE ? this.root() : this.plain(frame);
	}

	/* Of a frame whatever its values are. */
	plain(frame) {
		const { kind, name } = this.profile.frames;

		if (!this.byFrame[frame])
			this.byFrame[frame] = this.mode === "module" ? this.ofModule(frame) :
				this.ofKind(kind[frame], name[frame]);
		return this.byFrame[frame];
	}
}
