/* SPDX-License-Identifier: MIT */
#include "stat/show.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "stat/show_parts.h"

#define CELL 48		/* bytes of a value */

/* --- Numbers. ------------------------------------------------------------------------ */

struct scale {
	double from, per;	/* values of at least @from are shown as so many of @unit */
	const char *unit;
};

static const char *scaled(const struct scale *s, double value, char *buf, size_t size)
{
	while (fabs(value) < s->from)
		s++;
	snprintf(buf, size, "%.*f %s", fabs(value) / s->per < 100 ? 2 : 1, value / s->per, s->unit);
	return buf;
}

/* Whole, with commas between thousands. */
static const char *grouped(double value, char *buf, size_t size)
{
	char digits[CELL];
	int n = snprintf(digits, sizeof(digits), "%.0f", fabs(value));
	size_t at = 0;

	if (value <= -0.5 && size > 1)
		buf[at++] = '-';
	for (int i = 0; i < n && at + 2 < size; i++) {
		if (i && !((n - i) % 3))
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = '\0';
	return buf;
}

const char *stat_value(const struct measure *m, double value, char *buf, size_t size)
{
	static const struct scale times[] = {
		{ 1e9, 1e9, "s" }, { 1e6, 1e6, "ms" }, { 1e3, 1e3, "us" }, { 0, 1, "ns" }
	};
	static const struct scale sizes[] = {
		{ 1 << 30, 1 << 30, "GiB" }, { 1 << 20, 1 << 20, "MiB" }, { 0, 1 << 10, "KiB" }
	};

	if (m->unit == SERIES_SCALED) {
		snprintf(buf, size, "%.2f%s%s", value, *m->unit_name ? " " : "", m->unit_name);
		return buf;
	}
	if (m->unit == SERIES_PERCENT) {
		snprintf(buf, size, "%.1f %%", value);
		return buf;
	}
	if (m->unit == SERIES_COUNT)
		return grouped(value, buf, size);
	return scaled(m->unit == SERIES_NS ? times : sizes, value, buf, size);
}

/* --- What a value means beside another. ---------------------------------------------- */

static const struct measure *find(const struct stat_result *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->measures[i].name, name) && r->measures[i].sides[0].v.n)
			return &r->measures[i];
	return NULL;
}

static const struct {
	const char *name, *of, *format;
	double times;
} notes[] = {
	{ "task-clock", "elapsed", "%.2f CPUs used", 1 },
	{ "cpu-clock", "elapsed", "%.2f CPUs used", 1 },
	{ "cycles", "task-clock", "%.2f GHz", 1 },
	{ "instructions", "cycles", "%.2f per cycle", 1 },
	{ "branch-misses", "branch-instructions", "%.2f %% of all branches", 100 },
	{ "cache-misses", "cache-references", "%.2f %% of all references", 100 },
	{ "stalled-cycles-frontend", "cycles", "%.2f %% of cycles", 100 },
	{ "stalled-cycles-backend", "cycles", "%.2f %% of cycles", 100 },
	{ "context-switches", "task-clock", "%.1f a second of CPU time", 1e9 },
	{ "cpu-migrations", "task-clock", "%.1f a second of CPU time", 1e9 },
	{ "page-faults", "task-clock", "%.1f a second of CPU time", 1e9 },
};

/* What the mean of @m means; "": nothing is known. */
static const char *note(const struct stat_result *r, const struct measure *m, char *buf,
			size_t size)
{
	buf[0] = '\0';
	for (size_t i = 0; i < sizeof(notes) / sizeof(*notes); i++) {
		const struct measure *of;
		double base;

		if (strcmp(notes[i].name, m->name))
			continue;
		of = find(r, notes[i].of);
		base = of ? series_spread(&of->sides[0]).mean : 0;
		if (base > 0)
			snprintf(buf, size, notes[i].format,
				 series_spread(&m->sides[0]).mean / base * notes[i].times);
	}
	return buf;
}

/* That @s was counted for a part of the time alone. */
static void show_share(struct outfile *f, const struct series *s)
{
	if (s->v.n && s->share < 0.995)
		outfile_printf(f, "  (scaled: counted for %.0f %% of the time)", 100 * s->share);
}

/* --- The table. ---------------------------------------------------------------------- */

/* "not supported", "not counted"; NULL: there are values. */
static const char *missing(const struct series *s)
{
	return s->absent ? "not supported" : !s->v.n ? "not counted" : NULL;
}

static void show_row(struct outfile *f, const struct stat_result *r, const struct measure *m)
{
	const struct series *s = &m->sides[0];
	char mean[CELL], deviation[CELL], low[CELL], high[CELL], more[CELL];
	struct spread x;

	if (missing(s)) {
		outfile_printf(f, "%-24s  %14s\n", m->name, missing(s));
		return;
	}
	x = series_spread(s);
	stat_value(m, x.mean, mean, sizeof(mean));
	note(r, m, more, sizeof(more));
	outfile_printf(f, "%-24s  %14s", m->name, mean);
	if (r->runs > 1)
		outfile_printf(f, "  +- %12s  %12s to %-12s",
			       stat_value(m, x.deviation, deviation, sizeof(deviation)),
			       stat_value(m, x.low, low, sizeof(low)),
			       stat_value(m, x.high, high, sizeof(high)));
	outfile_printf(f, "%s%s", *more ? "  " : "", more);
	show_share(f, s);
	outfile_printf(f, "\n");
}

static void show_change(struct outfile *f, const struct change *c)
{
	if (!c->known)
		outfile_printf(f, "not comparable");
	else if (c->low <= 0 && c->high >= 0)
		outfile_printf(f, "no difference seen (%+.2f to %+.2f %%)", 100 * c->low,
			       100 * c->high);
	else
		outfile_printf(f, "%+.2f %% (%+.2f to %+.2f %%)", 100 * c->share, 100 * c->low,
			       100 * c->high);
}

static void show_compared(struct outfile *f, const struct measure *m)
{
	char cell[CELL];
	struct change c;

	outfile_printf(f, "%-24s", m->name);
	for (int i = 0; i < 2; i++) {
		const char *why = missing(&m->sides[i]);

		outfile_printf(f, "  %14s",
			       why ? why
				   : stat_value(m, series_spread(&m->sides[i]).mean, cell,
						sizeof(cell)));
	}
	outfile_printf(f, "  ");
	if (!missing(&m->sides[0]) && !missing(&m->sides[1])) {
		c = series_change(m);
		show_change(f, &c);
		show_share(f, &m->sides[0]);
	}
	outfile_printf(f, "\n");
}

void stat_show_table(struct outfile *f, const struct stat_result *r)
{
	if (r->titles[1])
		outfile_printf(f, "A: %s\nB: %s\n\n%-24s  %14s  %14s  %s\n", r->titles[0],
			       r->titles[1], "", "A", "B", "B against A, 95 % sure");
	else if (r->runs > 1)
		outfile_printf(f, "%s, %zu runs\n\n%-24s  %14s     %12s  %12s    %-12s\n",
			       r->titles[0], r->runs, "", "mean", "deviation", "least", "most");
	else
		outfile_printf(f, "%s\n\n", r->titles[0]);
	for (size_t i = 0; i < r->n; i++) {
		if (r->titles[1])
			show_compared(f, &r->measures[i]);
		else
			show_row(f, r, &r->measures[i]);
	}
	if (r->parts)
		stat_parts_table(f, r);
}

/* --- For programs. ------------------------------------------------------------------- */

static const char *const unit_names[] = {
	[SERIES_NS] = "ns", [SERIES_BYTES] = "bytes", [SERIES_COUNT] = "",
	[SERIES_PERCENT] = "%",
};

const char *stat_unit(const struct measure *m)
{
	return m->unit == SERIES_SCALED ? m->unit_name : unit_names[m->unit];
}

int stat_decimals(const struct measure *m)
{
	return m->unit == SERIES_COUNT ? 0 : 2;
}

static void show_side(struct json *j, const char *key, const struct series *s)
{
	struct spread x;

	json_object(j, key);
	if (missing(s)) {
		json_string(j, "missing", missing(s));
	} else {
		x = series_spread(s);
		json_double(j, "mean", x.mean);
		json_double(j, "deviation", x.deviation);
		json_double(j, "low", x.low);
		json_double(j, "high", x.high);
		json_double(j, "counted", s->share);
		json_array(j, "values");
		for (size_t i = 0; i < s->v.n; i++)
			json_double(j, NULL, s->v.v[i]);
		json_end(j);
	}
	json_end(j);
}

static void show_measure(struct json *j, const struct measure *m, int compared)
{
	struct change c = compared ? series_change(m) : (struct change){ 0 };

	json_object(j, NULL);
	json_string(j, "name", m->name);
	json_string(j, "unit", stat_unit(m));
	show_side(j, "a", &m->sides[0]);
	if (compared)
		show_side(j, "b", &m->sides[1]);
	if (c.known) {
		json_object(j, "change");
		json_double(j, "share", c.share);
		json_double(j, "low", c.low);
		json_double(j, "high", c.high);
		json_end(j);
	}
	json_end(j);
}

void stat_show_json(struct outfile *f, const struct stat_result *r)
{
	struct json j = { .f = f };

	json_object(&j, NULL);
	json_uint(&j, "runs", r->runs);
	json_string(&j, "a", r->titles[0]);
	if (r->titles[1])
		json_string(&j, "b", r->titles[1]);
	json_array(&j, "measures");
	for (size_t i = 0; i < r->n; i++)
		show_measure(&j, &r->measures[i], r->titles[1] != NULL);
	json_end(&j);
	if (r->parts)
		stat_parts_json(&j, r);
	json_end(&j);
	json_newline(&j);
}

void stat_show_values(struct outfile *f, const struct stat_result *r, const char *separator)
{
	const char *const x = separator;
	double elapsed = r->n && r->measures[0].sides[0].v.n
				 ? series_spread(&r->measures[0].sides[0]).mean
				 : 0;

	for (size_t side = 0; side < (r->titles[1] ? 2u : 1u); side++)
		for (size_t i = 0; i < r->n; i++) {
			const struct measure *m = &r->measures[i];
			const struct series *s = &m->sides[side];
			struct spread v = { 0 };

			if (!missing(s))
				v = series_spread(s);
			if (missing(s))
				outfile_printf(f, "<%s>", missing(s));
			else
				outfile_printf(f, "%.*f", stat_decimals(m), v.mean);
			outfile_printf(f, "%s%s%s%s%s%.2f%%%s%.0f%s%.2f%s%s\n", x,
				       stat_unit(m), x, m->name, x,
				       v.mean > 0 ? 100 * v.deviation / v.mean : 0, x,
				       elapsed * s->share, x, 100 * s->share, x, x);
		}
	if (r->parts)
		stat_parts_values(f, r, elapsed, separator);
}
