/* SPDX-License-Identifier: MIT */
#include "stat/show_parts.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

#define CELL 48		/* bytes of a value */
#define NAME 32		/* columns of a name, at least */
#define WIDTH 14	/* columns of a value, at least */

static const char *const what[] = {
	[TALLY_BY_THREAD] = "thread", [TALLY_BY_PROCESS] = "process", [TALLY_BY_CPU] = "cpu",
	[TALLY_BY_CGROUP] = "cgroup",
};

/* Columns of the values of @m: they have its name above them. */
static int width_of(const struct measure *m)
{
	size_t n = strlen(m->name);

	return n > WIDTH ? (int)n : WIDTH;
}

static int is_event(const struct measure *m)
{
	return m->event >= 0 && !m->sides[0].absent;
}

void stat_parts_table(struct outfile *f, const struct stat_result *r)
{
	outfile_printf(f, "\n%-*s", NAME, what[r->parts->by]);
	for (size_t i = 0; i < r->n; i++)
		if (is_event(&r->measures[i]))
			outfile_printf(f, "  %*s", width_of(&r->measures[i]), r->measures[i].name);
	outfile_printf(f, "\n");
	for (size_t k = 0; k < r->parts->n; k++) {
		const struct stat_part *p = &r->parts->v[k];
		size_t columns = text_width(p->name);

		outfile_printf(f, "%s%*s", p->name,
			       columns < NAME ? (int)(NAME - columns) : 0, "");
		for (size_t i = 0; i < r->n; i++) {
			const struct measure *m = &r->measures[i];
			char cell[CELL];

			if (is_event(m))
				outfile_printf(f, "  %*s", width_of(m),
					       stat_value(m, p->counts[m->event].value, cell,
							  sizeof(cell)));
		}
		outfile_printf(f, "\n");
	}
}

void stat_parts_json(struct json *j, const struct stat_result *r)
{
	json_string(j, "by", what[r->parts->by]);
	json_array(j, "parts");
	for (size_t k = 0; k < r->parts->n; k++) {
		const struct stat_part *p = &r->parts->v[k];

		json_object(j, NULL);
		json_string(j, "name", p->name);
		if (p->pid)
			json_int(j, "pid", p->pid);
		if (p->tid)
			json_int(j, "tid", p->tid);
		json_object(j, "values");
		for (size_t i = 0; i < r->n; i++)
			if (is_event(&r->measures[i]))
				json_double(j, r->measures[i].name,
					    p->counts[r->measures[i].event].value);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

void stat_parts_values(struct outfile *f, const struct stat_result *r, double elapsed,
		       const char *separator)
{
	const char *const x = separator;

	for (size_t k = 0; k < r->parts->n; k++)
		for (size_t i = 0; i < r->n; i++) {
			const struct stat_part *p = &r->parts->v[k];
			const struct measure *m = &r->measures[i];
			struct counted got;

			if (!is_event(m))
				continue;
			got = p->counts[m->event];
			outfile_printf(f, "%s%s%.*f%s%s%s%s%s0.00%%%s%.0f%s%.2f%s%s\n", p->name, x,
				       stat_decimals(m), got.value, x, stat_unit(m), x, m->name, x,
				       x, elapsed * got.share, x, 100 * got.share, x, x);
		}
}

void stat_parts_interval(const struct stat_parts *now, const struct stat_parts *before,
			 const struct measure *measures, size_t n, double seconds)
{
	for (size_t k = 0; k < now->n; k++) {
		const struct stat_part *p = &now->v[k], *then = stat_parts_find(before, p);

		for (size_t i = 0; i < n; i++) {
			double value;
			char cell[CELL];

			if (!is_event(&measures[i]))
				continue;
			value = p->counts[measures[i].event].value -
				(then ? then->counts[measures[i].event].value : 0);
			if (value > 0)
				printf("%12.3f s  %-*s  %-24s  %14s\n", seconds, NAME, p->name,
				       measures[i].name,
				       stat_value(&measures[i], value, cell, sizeof(cell)));
		}
	}
}
