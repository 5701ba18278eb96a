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

static int is_code(const struct annotation_row *r)
{
	return r->kind == ANNOTATION_INSTRUCTION || r->kind == ANNOTATION_ORIGIN;
}

/* 1 for each row that stays. */
static unsigned char *choose(const struct annotation *a, size_t around, size_t most)
{
	unsigned char *keep = xcalloc(a->rows.n + 1, 1);
	size_t left = most;

	for (size_t i = 0; i < a->rows.n; i++) {
		const struct annotation_row *r = &a->rows.v[i];
		size_t from = i > around ? i - around : 0, to = i + around;

		if (!is_code(r))
			from = to = i;
		else if (!r->self)
			continue;
		for (size_t k = from; k <= to && k < a->rows.n && left; k++) {
			if (k != i && !is_code(&a->rows.v[k]))
				continue;
			left -= !keep[k];
			keep[k] = 1;
		}
	}
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
	static char *(*const texts[])(const struct annotation *a, const struct annotation_row *r) = {
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
