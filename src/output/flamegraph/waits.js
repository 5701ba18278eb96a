/* SPDX-License-Identifier: MIT */
/*
 * What threads wait for, as lanes show it: the reason, which is a mark on the stack ("[blocked]"), the function below
 * it, and above it the stack of who ended the wait, where that is known.
 */

/* Hue and chroma of reasons, as output/palette.h has those of kinds; of others a hash decides. */
const REASONS = { "[blocked]": [255, 0.09], "[runnable]": [27, 0.15], "[disk wait]": [310, 0.13], "[uninterruptible]": [75, 0.11],
		  "[GIL]": [180, 0.09] };
const NO_REASON = "[waits]";

function reasonColor(name, dark) {
	const [hue, chroma] = REASONS[name] || [hashText(name) % 360, 0.08];

	return oklch(dark ? 0.62 : 0.58, chroma, hue);
}

class Waits {
	constructor(profile) {
		this.profile = profile;
		this.byNode = new Map();
		this.names = [];		/* of reasons, */
		this.sums = [];			/* and how long all waits for each were, in units */
		const { span, node, each } = profile.times;

		for (let i = 0; span && i < span.length; i++)
			if (span[i])
				this.sums[this.at(node[i]).reason] += span[i] * each;
	}

	reasonAt(name) {
		if (!this.names.includes(name))
			this.sums[this.names.push(name) - 1] = 0;
		return this.names.indexOf(name);
	}

	/* Of a node of all stacks: { reason, place, asker, waker }; frames, or NONE; the waker is its leaf. */
	at(node) {
		const old = this.byNode.get(node);

		if (old)
			return old;
		const { shape: { frame, parent, depth }, frames: { kind, name } } = this.profile;
		const found = { reason: 0, place: NONE, asker: NONE, waker: NONE, wakerMark: NONE };
		let above = 0, mark = 0;

		/* The outermost mark that has code below it: output/wait_place.h. */
		for (let i = node; depth[i] > 1; i = parent[i]) {
			if (kind[frame[i]] === MARK) {
				above = i;
			} else if (above) {
				mark = above;
				above = 0;
			}
		}
		mark ||= above;
		for (let i = mark && parent[mark]; depth[i] > 1; i = parent[i]) {
			if (found.place === NONE)
				found.place = frame[i];
			if (found.asker === NONE && kind[frame[i]] !== KERNEL && kind[frame[i]] !== MARK)
				found.asker = frame[i];
		}
		/* Its stack begins with the mark, and ends with who it is. */
		for (let i = mark ? node : 0; i > mark; i = parent[i]) {
			if (kind[frame[i]] === MARK)
				found.wakerMark = frame[i];
			else if (kind[frame[i]] !== KERNEL || found.waker === NONE)
				found.waker = frame[i];
		}
		found.reason = this.reasonAt(mark ? name[frame[mark]] : NO_REASON);
		this.byNode.set(node, found);
		return found;
	}

	color(reason, dark) {
		return reasonColor(this.names[reason], dark);
	}

	/* In lines. */
	describe(i, lane) {
		const { times, frames: { name } } = this.profile, { at, span, node } = times, wait = this.at(node[i]);
		const word = this.names[wait.reason].slice(1, -1), lines = [];
		const time = (units) => seconds(Math.round(units * times.unit));

		lines.push(wait.place === NONE ? word : `${word}: ${name[wait.place]}`,
			   `${lane}, ${time(span[i])}: ${times.textOf(at[i])} – ${times.textOf(at[i] + span[i])}`);
		if (wait.asker !== NONE && wait.asker !== wait.place)
			lines.push(`in ${name[wait.asker]}`);
		if (wait.wakerMark !== NONE)
			lines.push(name[wait.wakerMark].slice(1, -1) +
				   (wait.waker === NONE ? "" : `, in ${name[wait.waker]}`));
		return lines;
	}
}
