/* SPDX-License-Identifier: MIT */
/*
 * Two ranges of time compared: how likely chance alone makes such a difference. Samples are counts, so given how many
 * both ranges have, those of the first are binomial, by the lengths of the ranges: the test that `ebprof diff
 * --normalize seconds` takes (profile/stats.c), with Lancaster's mid-p. Of the many that are tested only those count
 * among which a share of FALSE is by chance (Benjamini and Hochberg, 1995).
 */

const FALSE = 0.05;
const LEAST = 5;			/* samples; fewer could not tell */
const EXACT_VARIANCE = 400;		/* above it the normal distribution is as good */

/* P(Z > z), z >= 0, to 1.2e-7 of it: Numerical Recipes, erfcc(). */
function normalTail(z) {
	const x = z / Math.SQRT2, t = 1 / (1 + x / 2);
	const terms = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196,
		       1.00002368, -1.26551223];

	return t * Math.exp(terms.reduce((sum, term) => sum * t + term, 0) - x * x) / 2;
}

/* That of @a + @b events, each in the first with a chance of @share, as few or many as @a are there. */
function splitP(a, b, share) {
	const n = a + b, mean = n * share, variance = mean * (1 - share);
	let weight = 1, all = 1, beyond = 0;

	if (variance <= 0)
		return 1;
	if (variance > EXACT_VARIANCE)
		return 2 * normalTail(Math.abs(a - mean) / Math.sqrt(variance));
	/* Weights from the mode on, to both ends; those at @a count half. */
	const mode = Math.min(n, Math.floor((n + 1) * share)), odds = share / (1 - share), high = a > mode;
	const count = (x, w) => {
		beyond += x === a ? w / 2 : (high ? x > a : x < a) ? w : 0;
	};

	count(mode, 1);
	for (let x = mode; x < n && weight > 1e-300; x++) {
		weight *= (n - x) / (x + 1) * odds;
		all += weight;
		count(x + 1, weight);
	}
	weight = 1;
	for (let x = mode; x > 0 && weight > 1e-300; x--) {
		weight *= x / (n - x + 1) / odds;
		all += weight;
		count(x - 1, weight);
	}
	return Math.min(1, 2 * Math.min(beyond, all - beyond) / all);
}

/* What p may be at most to be significant; below 0: none is. */
function significant(list) {
	const sorted = Float64Array.from(list).sort();

	for (let i = sorted.length; i-- > 0;)
		if (sorted[i] <= FALSE * (i + 1) / sorted.length)
			return sorted[i];
	return -1;
}

/* Of the ranges of a profile; NULL where its values are no counts of samples: nothing is known of these. */
class Confidence {
	static of({ times, ranges, wholeColumns, types }) {
		return wholeColumns[0] === 0 && types[0].unit === "count" && !times.value ? new Confidence(times, ranges) : null;
	}

	constructor(times, [one, two]) {
		const lengths = [one, two].map(({ from, to }) => to - from);

		this.each = times.each;
		this.share = lengths[0] / (lengths[0] + lengths[1]);
		this.most = {};			/* what p may be, by kind of value: "node", "self", "total" */
	}

	/* That chance alone makes such a difference, or a larger one. */
	p([a, b]) {
		const [x, y] = [a, b].map((value) => Math.round(value / this.each));

		return x + y < LEAST ? 1 : splitP(x, y, this.share);
	}

	/* What p may be at most for values to differ, all of which are in two columns. */
	limit([a, b]) {
		const list = [];

		for (let i = 0; i < a.length; i++)
			if (a[i] + b[i] >= LEAST * this.each)
				list.push(this.p([a[i], b[i]]));
		return significant(list);
	}

	differs(kind, values) {
		return this.p(values) <= this.most[kind];
	}
}

/* "99.9 %": that it is no chance. */
function sureness(p) {
	const sure = 100 * (1 - p);

	return sure > 99.99 ? "over 99.99 %" : `${sure.toFixed(sure > 99 ? 2 : 0)} %`;
}
