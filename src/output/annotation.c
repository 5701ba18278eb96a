/* SPDX-License-Identifier: MIT */
#include "output/annotation.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

struct annotation_row *annotation_add(struct annotation *a, enum annotation_kind kind,
				      const char *text)
{
	vec_push(&a->rows, (struct annotation_row){ .kind = kind, .text = xstrdup(text) });
	return &a->rows.v[a->rows.n - 1];
}

static void free_row(struct annotation_row *r)
{
	free(r->text);
	free(r->arrows);
}

void annotation_free(struct annotation *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->rows.n; i++)
		free_row(&a->rows.v[i]);
	vec_free(&a->rows);
	free(a->name);
	free(a->module);
	free(a);
}

/* --- Less of it. ------------------------------------------------------------------ */

/* Rows are thinned out apart: those of source, and those of code; what heads them stays. */
enum part { PART_NONE, PART_SOURCE, PART_CODE, PARTS };

static enum part part_of(const struct annotation_row *r)
{
	static const enum part parts[] = {
		[ANNOTATION_LINE] = PART_SOURCE,  [ANNOTATION_CHAIN] = PART_SOURCE,
		[ANNOTATION_GAP] = PART_SOURCE,	  [ANNOTATION_ORIGIN] = PART_CODE,
		[ANNOTATION_INSTRUCTION] = PART_CODE,
	};

	return parts[r->kind];
}

static uint64_t weight(const struct annotation_row *r)
{
	return r->kind == ANNOTATION_LINE	   ? r->total
	       : r->kind == ANNOTATION_INSTRUCTION ? r->self
						   : 0;
}

/* The most first. */
static int by_weight(const void *x, const void *y, void *ctx)
{
	const struct annotation *a = ctx;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;
	uint64_t m = weight(&a->rows.v[i]), n = weight(&a->rows.v[k]);

	return m != n ? (m < n) - (m > n) : (i > k) - (i < k);
}

/* Sets @keep for the rows of @part that are near sampled ones: at most @most of them. */
static void keep_part(const struct annotation *a, enum part part, size_t around, size_t most,
		      unsigned char *keep)
{
	VEC(uint32_t) hot = { 0 };

	for (uint32_t i = 0; i < a->rows.n; i++)
		if (part_of(&a->rows.v[i]) == part && weight(&a->rows.v[i]))
			vec_push(&hot, i);
	if (hot.n)
		qsort_r(hot.v, hot.n, sizeof(*hot.v), by_weight, (void *)a);
	for (size_t i = 0; i < hot.n && most; i++) {
		size_t from = hot.v[i] > around ? hot.v[i] - around : 0;

		for (size_t k = from; k <= hot.v[i] + around && k < a->rows.n && most; k++) {
			most -= part_of(&a->rows.v[k]) == part && !keep[k];
			keep[k] |= part_of(&a->rows.v[k]) == part;
		}
	}
	vec_free(&hot);
}

/* 1 for each row that stays. */
static unsigned char *choose(const struct annotation *a, size_t around, size_t most)
{
	unsigned char *keep = xcalloc(a->rows.n + 1, 1);

	for (size_t i = 0; i < a->rows.n; i++)
		keep[i] = part_of(&a->rows.v[i]) == PART_NONE;
	for (enum part part = PART_SOURCE; part < PARTS; part++)
		keep_part(a, part, around, most, keep);
	return keep;
}

void annotation_thin(struct annotation *a, size_t around, size_t most)
{
	unsigned char *keep = choose(a, around, most);
	uint32_t *now = xcalloc(a->rows.n + 1, sizeof(*now));	/* where each row is by then */
	size_t n = 0;

	for (size_t i = 0; i < a->rows.n; i++) {
		struct annotation_row r = a->rows.v[i];

		if (!keep[i] && (!i || keep[i - 1])) {
			free_row(&r);
			a->rows.v[n++] = (struct annotation_row){ .kind = ANNOTATION_GAP,
								  .text = xstrdup("...") };
		} else if (!keep[i]) {
			free_row(&r);
		} else {
			now[i] = (uint32_t)n;
			a->rows.v[n++] = r;
		}
	}
	a->rows.n = n;
	for (size_t i = 0; i < n; i++)
		a->rows.v[i].target = now[a->rows.v[i].target];
	free(keep);
	free(now);
}

/* --- As text. ---------------------------------------------------------------------- */

double annotation_percent(const struct annotation *a, uint64_t part)
{
	return a->all ? 100.0 * (double)part / (double)a->all : 0;
}

#define SHARE_MAX 16

/* "" for what was not sampled. */
static const char *share(const struct annotation *a, uint64_t part, char text[SHARE_MAX])
{
	text[0] = '\0';
	if (part)
		snprintf(text, SHARE_MAX, "%.2f", annotation_percent(a, part));
	return text;
}

static char *line_text(const struct annotation *a, const struct annotation_row *r)
{
	char self[SHARE_MAX], total[SHARE_MAX];

	return xasprintf("%7s %7s %6" PRIu64 "  %s", share(a, r->self, self),
			 share(a, r->total, total), r->number, r->text);
}

static char *chain_text(const struct annotation *a, const struct annotation_row *r)
{
	char self[SHARE_MAX], total[SHARE_MAX];

	return xasprintf("%7s %7s %6s  | %s", share(a, r->self, self), share(a, r->total, total),
			 "", r->text);
}

static char *instruction_text(const struct annotation *a, const struct annotation_row *r)
{
	char self[SHARE_MAX];

	return xasprintf("%7s %16" PRIx64 "  %s%s", share(a, r->self, self), r->number,
			 r->arrows ? r->arrows : "", r->text);
}

static char *origin_text(const struct annotation *a, const struct annotation_row *r)
{
	(void)a;
	return xasprintf("%24s  %s%s", "", r->arrows ? r->arrows : "", r->text);
}

static char *gap_text(const struct annotation *a, const struct annotation_row *r)
{
	(void)a;
	return xasprintf("%22s", r->text);
}

static char *plain_text(const struct annotation *a, const struct annotation_row *r)
{
	(void)a;
	return xstrdup(r->text);
}

char *annotation_text(const struct annotation *a, const struct annotation_row *r)
{
	static char *(*const texts[])(const struct annotation *a,
				      const struct annotation_row *r) = {
		[ANNOTATION_SOURCE] = plain_text,	[ANNOTATION_CODE] = plain_text,
		[ANNOTATION_NOTE] = plain_text,		[ANNOTATION_GAP] = gap_text,
		[ANNOTATION_LINE] = line_text,		[ANNOTATION_CHAIN] = chain_text,
		[ANNOTATION_ORIGIN] = origin_text,
		[ANNOTATION_INSTRUCTION] = instruction_text,
	};

	return texts[r->kind](a, r);
}

void annotation_write(const struct annotation *a, struct outfile *f)
{
	static const char *const headings[] = {
		[ANNOTATION_SOURCE] = "  SELF%  TOTAL%   LINE",
		[ANNOTATION_CODE] = "  SELF%          ADDRESS",
		[ANNOTATION_INSTRUCTION] = NULL,
	};

	outfile_printf(f, "%s%s%s: self %.2f%%, total %.2f%%\n", a->name,
		       *a->module ? " of " : "", a->module, annotation_percent(a, a->self),
		       annotation_percent(a, a->total));
	for (size_t i = 0; i < a->rows.n; i++) {
		const struct annotation_row *r = &a->rows.v[i];
		char *text = annotation_text(a, r);
		int apart = headings[r->kind] ||
			    (r->kind == ANNOTATION_NOTE &&
			     (!i || a->rows.v[i - 1].kind != ANNOTATION_NOTE));

		outfile_printf(f, "%s%s\n", apart ? "\n" : "", text);
		if (headings[r->kind])
			outfile_printf(f, "%s\n", headings[r->kind]);
		free(text);
	}
}
