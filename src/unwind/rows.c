/* SPDX-License-Identifier: MIT */
#include "unwind/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

/* The search for a row takes EBP_ROWS_SHIFT steps, which is one row less. */
#define ROWS_LIMIT	(EBP_ROWS_MAX - 1)

/* What of @m is at @start and above. */
static void cut_below(struct unwind_mapping *m, uint64_t start)
{
	m->offset += start - m->start;
	m->start = start;
}

/* @b over @a, each sorted and without overlaps, to @out: at most @na + 2 * @nb of them. */
static size_t overlay(const struct unwind_mapping *a, size_t na, const struct unwind_mapping *b,
		      size_t nb, struct unwind_mapping *out)
{
	struct unwind_mapping rest = na ? a[0] : (struct unwind_mapping){ 0 };
	size_t n = 0, i = 0, j = 0;

	while (i < na || j < nb) {
		uint64_t done;

		if (i == na || (j < nb && rest.start >= b[j].end)) {
			out[n++] = b[j++];
			continue;
		}
		if (j == nb || rest.start < b[j].start) {
			out[n] = rest;
			if (j < nb && b[j].start < rest.end)
				out[n].end = b[j].start;
			done = out[n++].end;
		} else {
			done = b[j].end;
		}
		if (done < rest.end)
			cut_below(&rest, done);
		else if (++i < na)
			rest = a[i];
	}
	return n;
}

/* As a merge sort; @out and @scratch have room for twice @n. */
static size_t sort(const struct unwind_mapping *list, size_t n, struct unwind_mapping *out,
		   struct unwind_mapping *scratch)
{
	size_t half = n / 2, na, nb;

	if (n == 1) {
		out[0] = list[0];
		return list[0].start < list[0].end;
	}
	na = sort(list, half, scratch, out);
	nb = sort(list + half, n - half, scratch + 2 * half, out + 2 * half);
	return overlay(scratch, na, scratch + 2 * half, nb, out);
}

static int is_sorted(const struct unwind_mapping *list, size_t n)
{
	uint64_t end = 0;

	for (size_t i = 0; i < n; i++) {
		if (list[i].start < end || list[i].start >= list[i].end)
			return 0;
		end = list[i].end;
	}
	return 1;
}

size_t unwind_rows_sort(const struct unwind_mapping *list, size_t n, struct unwind_mapping **out)
{
	struct unwind_mapping *scratch;

	*out = NULL;
	if (!n)
		return 0;
	if (is_sorted(list, n)) {
		*out = xcalloc(n, sizeof(**out));
		memcpy(*out, list, n * sizeof(**out));
		return n;
	}
	*out = xcalloc(2 * n, sizeof(**out));
	scratch = xcalloc(2 * n, sizeof(*scratch));
	n = sort(list, n, *out, scratch);
	free(scratch);
	if (!n) {
		free(*out);
		*out = NULL;
	}
	return n;
}

static int is_anonymous(const struct ebp_mapping *r)
{
	return r->object == EBP_OBJECT_NONE && r->image == EBP_IMAGE_NONE;
}

/* Whether @b continues @a; @gaps: so does one apart, where neither has a file. */
static int continues(const struct ebp_mapping *a, const struct ebp_mapping *b, int gaps)
{
	if (gaps && is_anonymous(a) && is_anonymous(b) && a->bias == b->bias)
		return 1;
	return a->end == b->start && a->bias == b->bias && a->object == b->object &&
	       a->image == b->image;
}

/* The rows that were joined to others go behind, so that nothing that they name is forgotten. */
static size_t join(struct ebp_mapping *rows, size_t n, int gaps)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		struct ebp_mapping row = rows[i];

		if (kept && continues(&rows[kept - 1], &row, gaps)) {
			rows[kept - 1].end = row.end;
			continue;
		}
		rows[i] = rows[kept];
		rows[kept++] = row;
	}
	return kept;
}

static int by_size(const void *a, const void *b)
{
	const struct ebp_mapping *x = a, *y = b;
	uint64_t sx = x->end - x->start, sy = y->end - y->start;

	return sx > sy ? -1 : sx < sy;
}

static int by_start(const void *a, const void *b)
{
	const struct ebp_mapping *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

size_t unwind_rows_join(struct ebp_mapping *rows, size_t n)
{
	n = join(rows, n, 0);
	if (n > ROWS_LIMIT)
		n = join(rows, n, 1);
	if (n <= ROWS_LIMIT)
		return n;
	qsort(rows, n, sizeof(*rows), by_size);
	qsort(rows, ROWS_LIMIT, sizeof(*rows), by_start);
	return ROWS_LIMIT;
}
