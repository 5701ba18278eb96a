/* SPDX-License-Identifier: MIT */
#include "profile/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/merge.h"
#include "profile/stats.h"

struct run {
	enum diff_side side;
	uint32_t type;		/* of the merged profile */
	double exposure;
};

struct diff {
	enum diff_normalize normalize;
	struct profile *profile;
	size_t wanted[2], added[2];	/* runs, by side */
	VEC(struct run) runs;
	uint32_t unit;			/* string of the profile */
	int counted;
	struct diff_list self, total;
};

struct diff *diff_new(enum diff_normalize normalize, const size_t runs[2])
{
	struct diff *d = xcalloc(1, sizeof(*d));

	*d = (struct diff){
		.normalize = normalize,
		.profile = profile_new(),
		.wanted = { runs[0], runs[1] },
	};
	profile_set_type(d->profile, DIFF_BEFORE, "before", "count");
	profile_add_type(d->profile, "after", "count");
	profile_show(d->profile, DIFF_AFTER);
	/* A run of several has a type of its own, until diff_compare() adds it to its side's. */
	for (int side = 0; side < 2; side++)
		for (size_t i = 0; runs[side] > 1 && i < runs[side]; i++)
			profile_add_type(d->profile, side ? "a run after" : "a run before",
					 "count");
	return d;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	profile_free(d->profile);
	vec_free(&d->runs);
	free(d->self.rows);
	free(d->total.rows);
	free(d);
}

/* --- What of a run is compared. -------------------------------------------- */

/*
 * Whether @shown is @counts times a constant, but for rounding: CPU time that was made of samples.
 */
static int in_proportion(const struct profile *p, uint32_t shown, uint32_t counts)
{
	struct profile_view v = profile_view(p);
	const uint64_t *a = profile_values(p, shown), *b = profile_values(p, counts);
	double factor = (double)v.types[shown].total / (double)v.types[counts].total;

	for (size_t i = 0; i < v.nsamples; i++)
		if (fabs((double)a[i] - factor * (double)b[i]) > 1e-3 * factor * (double)b[i])
			return 0;
	return 1;
}

/*
 * The type that is shown, or the count of samples that it was made of: of a count the noise is
 * known.
 */
static uint32_t choose_type(const struct profile *p, int *counted)
{
	struct profile_view v = profile_view(p);

	for (uint32_t t = 0; t < v.ntypes; t++) {
		if (v.types[t].measured_in != PROFILE_COUNT || !v.types[t].total)
			continue;
		if (t == v.shown || in_proportion(p, v.shown, t)) {
			*counted = 1;
			return t;
		}
	}
	*counted = 0;
	return v.shown;
}

/*
 * How many of @type's values are a second of CPU time: by a type that tells it, or by the
 * frequency; 0: not known.
 */
static double values_a_second(const struct profile *run, uint32_t type)
{
	struct profile_view v = profile_view(run);

	for (uint32_t t = 0; t < v.ntypes; t++)
		if (v.types[t].measured_in == PROFILE_NANOSECONDS && v.types[t].total &&
		    in_proportion(run, t, type))
			return 1e9 * (double)v.types[type].total / (double)v.types[t].total;
	return (double)v.meta->frequency;
}

static int find_exposure(const struct diff *d, const struct profile *run, uint32_t type,
			 double *exposure, struct error *e)
{
	struct profile_view v = profile_view(run);
	double a_second = values_a_second(run, type);

	*exposure = (double)v.types[type].total;
	if (d->normalize != DIFF_SECONDS)
		return 0;
	if (!v.meta->duration || a_second <= 0)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "does not say how %s it was sampled; "
				 "compare shares: --normalize samples",
				 v.meta->duration ? "often" : "long");
	*exposure = (double)v.meta->duration / 1e9 * a_second;
	return 0;
}

int diff_add(struct diff *d, enum diff_side side, const struct profile *run, struct error *e)
{
	struct profile_view v = profile_view(run);
	struct run r = { .side = side };
	uint32_t *types, type, unit;
	int counted, err;

	type = choose_type(run, &counted);
	if (!v.types[type].total)
		return error_set(e, STATUS_NO_SAMPLES, -ENODATA, "has no samples to compare");
	err = find_exposure(d, run, type, &r.exposure, e);
	if (err)
		return err;
	unit = profile_string(d->profile, profile_text(run, v.types[type].unit));
	if (d->runs.n && (unit != d->unit || counted != d->counted))
		return error_set(e, STATUS_USAGE, -EINVAL, "measures %s in %s, the others %s",
				 profile_text(run, v.types[type].name),
				 profile_text(run, v.types[type].unit), diff_unit(d));
	if (!d->runs.n) {
		memcpy(profile_meta(d->profile)->event, v.meta->event, sizeof(v.meta->event));
		profile_set_type(d->profile, DIFF_BEFORE, "before", profile_text(d->profile, unit));
		profile_set_type(d->profile, DIFF_AFTER, "after", profile_text(d->profile, unit));
	}
	d->unit = unit;
	d->counted = counted;
	r.type = side;
	if (d->wanted[side] > 1)
		r.type = 2 + (uint32_t)d->added[side] +
			 (side && d->wanted[0] > 1 ? (uint32_t)d->wanted[0] : 0);
	d->added[side]++;
	vec_push(&d->runs, r);
	types = xcalloc(v.ntypes, sizeof(*types));
	for (size_t i = 0; i < v.ntypes; i++)
		types[i] = i == type ? r.type : PROFILE_NONE;
	profile_merge(d->profile, run, types, COPY_NAMES);
	free(types);
	return 0;
}

/* --- How often each function was met in each run. -------------------------- */

struct tally {
	/* rows: those of the profile, frames without one, samples without a stack */
	size_t functions;
	uint64_t *self, *total;		/* by function, and by run */
	uint32_t *met;			/* by function: the number of the sample that had it last */
	const uint64_t **values;	/* by run */
};

static void add_frame(const struct diff *d, struct tally *t, size_t function, uint32_t sample,
		      int leaf)
{
	int again = t->met[function] == sample + 1;

	t->met[function] = sample + 1;
	for (size_t r = 0; r < d->runs.n; r++) {
		uint64_t value = t->values[r][sample];

		if (leaf)
			t->self[function * d->runs.n + r] += value;
		if (!again)
			t->total[function * d->runs.n + r] += value;
	}
}

static void add_stack(const struct diff *d, const struct profile_view *v, struct tally *t,
		      uint32_t sample)
{
	uint32_t node = v->samples[sample].node;
	int leaf = 1;

	if (!node)
		add_frame(d, t, v->nfunctions + 1, sample, 1);
	for (; node; node = v->nodes[node].parent) {
		const struct location *l = &v->locations[v->nodes[node].location];

		if (!l->nlines)
			add_frame(d, t, v->nfunctions, sample, leaf);
		for (size_t i = 0; i < l->nlines; i++)
			add_frame(d, t, v->lines[l->first_line + i].function, sample, leaf && !i);
		leaf = 0;
	}
}

static struct tally tally_new(const struct diff *d)
{
	struct profile_view v = profile_view(d->profile);
	size_t n = v.nfunctions + 2;
	struct tally t = {
		.functions = n,
		.self = xcalloc(n * d->runs.n, sizeof(*t.self)),
		.total = xcalloc(n * d->runs.n, sizeof(*t.total)),
		.met = xcalloc(n, sizeof(*t.met)),
		.values = xcalloc(d->runs.n, sizeof(*t.values)),
	};

	for (size_t r = 0; r < d->runs.n; r++)
		t.values[r] = profile_values(d->profile, d->runs.v[r].type);
	for (size_t i = 0; i < v.nsamples; i++)
		add_stack(d, &v, &t, (uint32_t)i);
	return t;
}

static void tally_free(struct tally *t)
{
	free(t->self);
	free(t->total);
	free(t->met);
	free(t->values);
}

/* --- What the counts of one function say. ---------------------------------- */

/*
 * Of the runs of one side: their mean rate, its variance by their spread, and by counting at rate
 * @expected.
 */
struct spread {
	struct stats_mean mean;
	double counting;
};

static struct spread measure(const struct diff *d, const uint64_t *counts, enum diff_side side,
			     double expected)
{
	double k = (double)d->added[side], sum = 0, squares = 0, inverse = 0;
	struct spread s = { 0 };

	for (size_t r = 0; r < d->runs.n; r++)
		if (d->runs.v[r].side == side) {
			sum += (double)counts[r] / d->runs.v[r].exposure;
			inverse += 1 / d->runs.v[r].exposure;
		}
	s.mean = (struct stats_mean){ .mean = sum / k, .df = k - 1 };
	for (size_t r = 0; r < d->runs.n; r++)
		if (d->runs.v[r].side == side) {
			double off = (double)counts[r] / d->runs.v[r].exposure - s.mean.mean;

			squares += off * off;
		}
	s.mean.variance = k > 1 ? squares / (k - 1) / k : 0;
	s.counting = expected * (d->normalize == DIFF_SAMPLES ? 1 - expected : 1) * inverse /
		     (k * k);
	return s;
}

/* A side of one run has the other's spread in proportion to counting's. */
static void borrow(struct spread *s, const struct spread *other)
{
	s->mean.variance = other->counting > 0
				   ? s->counting * other->mean.variance / other->counting
				   : 0;
	s->mean.df = other->mean.df;
}

static struct stats_difference compare_runs(const struct diff *d, const uint64_t *counts,
					    const double rate[2])
{
	double expected = fmin((rate[0] + rate[1]) / 2,
			       d->normalize == DIFF_SAMPLES ? 1 : INFINITY);
	struct spread s[2] = { measure(d, counts, DIFF_BEFORE, expected),
			       measure(d, counts, DIFF_AFTER, expected) };

	for (int side = 0; side < 2; side++)
		if (d->added[side] == 1)
			borrow(&s[side], &s[!side]);
	for (int side = 0; d->counted && side < 2; side++)
		s[side].mean.variance = fmax(s[side].mean.variance, s[side].counting);
	return stats_welch(s[0].mean, s[1].mean);
}

/* One run on each side. */
static struct stats_difference compare_counts(const struct diff *d, const double count[2])
{
	const struct run *r = d->runs.v;
	double n[2] = { r[r[0].side != DIFF_BEFORE].exposure,
			r[r[0].side == DIFF_BEFORE].exposure };

	return stats_counts((struct stats_count){ count[0], n[0] },
			    (struct stats_count){ count[1], n[1] }, d->normalize == DIFF_SAMPLES);
}

static struct diff_row compare_function(const struct diff *d, const uint64_t *counts,
					uint32_t function)
{
	const struct stats_difference unknown = { NAN, NAN, 1 };
	struct diff_row row = { .function = function };
	struct stats_difference s = unknown;

	for (size_t r = 0; r < d->runs.n; r++) {
		const struct run *run = &d->runs.v[r];

		row.count[run->side] += (double)counts[r];
		row.rate[run->side] += (double)counts[r] / run->exposure /
				       (double)d->added[run->side];
	}
	if (d->added[0] == 1 && d->added[1] == 1)
		s = d->counted ? compare_counts(d, row.count) : unknown;
	else if (d->counted || (d->added[0] > 1 && d->added[1] > 1))
		s = compare_runs(d, counts, row.rate);
	row.low = s.low;
	row.high = s.high;
	row.p = s.p;
	return row;
}

/* --- All of them. ---------------------------------------------------------- */

double diff_change(const struct diff_row *r)
{
	return r->rate[DIFF_AFTER] - r->rate[DIFF_BEFORE];
}

/*
 * Significant first, then the largest change, then what became slower; without regard to how a rate
 * was rounded.
 */
static int by_change(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	double one = rint(1e9 * diff_change(x)), other = rint(1e9 * diff_change(y));

	if (x->significant != y->significant)
		return y->significant - x->significant;
	if (fabs(one) < fabs(other) || fabs(one) > fabs(other))
		return fabs(one) < fabs(other) ? 1 : -1;
	if (one < other || one > other)
		return one < other ? 1 : -1;
	return (x->function > y->function) - (x->function < y->function);
}

static int is_tested(const struct diff *d, const struct diff_row *r)
{
	return isfinite(r->low) && (!d->counted || r->count[0] + r->count[1] >= DIFF_LEAST);
}

/* Rows for what was met at all; @counts by function and run. */
static struct diff_list list_new(const struct diff *d, const struct tally *t,
				 const uint64_t *counts)
{
	struct diff_list l = { .rows = xcalloc(t->functions, sizeof(*l.rows)) };
	double *p = xcalloc(t->functions, sizeof(*p)), most;
	size_t tested = 0;

	for (size_t i = 0; i < t->functions; i++) {
		uint32_t function = i + 1 < t->functions ? (uint32_t)i : PROFILE_NONE;
		struct diff_row row = compare_function(d, counts + i * d->runs.n, function);

		if (row.count[0] + row.count[1] <= 0)
			continue;
		if (is_tested(d, &row))
			p[tested++] = row.p;
		else
			row.p = 1;
		l.rows[l.n++] = row;
	}
	most = stats_significant(p, tested, DIFF_FALSE);
	for (size_t i = 0; i < l.n; i++) {
		l.rows[i].significant = l.rows[i].p <= most && is_tested(d, &l.rows[i]);
		l.significant += (size_t)l.rows[i].significant;
	}
	qsort(l.rows, l.n, sizeof(*l.rows), by_change);
	free(p);
	return l;
}

/* With several runs the first two types are sums. */
static void add_up_sides(struct diff *d)
{
	for (size_t r = 0; r < d->runs.n; r++) {
		const struct run *run = &d->runs.v[r];

		for (size_t i = 0; run->type >= 2 && i < profile_view(d->profile).nsamples; i++)
			profile_count(d->profile, (uint32_t)i, run->side,
				      profile_values(d->profile, run->type)[i]);
	}
}

static void share_exposure(struct diff *d)
{
	double before = 0;

	for (size_t r = 0; r < d->runs.n; r++)
		if (d->runs.v[r].side == DIFF_BEFORE)
			before += d->runs.v[r].exposure / (double)d->added[DIFF_BEFORE];
	for (size_t r = 0; r < d->runs.n; r++)
		d->runs.v[r].exposure = before;
}

void diff_compare(struct diff *d)
{
	struct tally t;

	if (d->normalize == DIFF_NONE)
		share_exposure(d);
	add_up_sides(d);
	t = tally_new(d);
	d->self = list_new(d, &t, t.self);
	d->total = list_new(d, &t, t.total);
	tally_free(&t);
}

const struct diff_list *diff_self(const struct diff *d)
{
	return &d->self;
}

const struct diff_list *diff_total(const struct diff *d)
{
	return &d->total;
}

struct profile *diff_profile(const struct diff *d)
{
	return d->profile;
}

double diff_weight(const struct diff *d)
{
	double exposure[2] = { 0 };

	for (size_t r = 0; r < d->runs.n; r++)
		exposure[d->runs.v[r].side] += d->runs.v[r].exposure;
	return exposure[DIFF_AFTER] / exposure[DIFF_BEFORE];
}

enum diff_normalize diff_normalized(const struct diff *d)
{
	return d->normalize;
}

int diff_counted(const struct diff *d)
{
	return d->counted;
}

const char *diff_unit(const struct diff *d)
{
	return profile_text(d->profile, d->unit);
}
