/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "annotate/internal.h"
#include "annotate/source_text.h"
#include "base/text.h"
#include "base/text_vec.h"

#define AROUND 2		/* lines of source before and after one that was sampled */
#define LINE_MAX_SHOWN 1024
#define CHAINS_MAX 8		/* of a line */

static void add_line(struct annotating *a, const struct source_text *s, uint32_t number,
		     uint64_t self, uint64_t total)
{
	char text[LINE_MAX_SHOWN];
	struct annotation_row *r = annotation_add(
		a->out, ANNOTATION_LINE, source_text_line(s, number, text, sizeof(text)));

	r->number = number;
	r->self = self;
	r->total = total;
}

void annotate_place(struct text_vec *out, const char *file, uint32_t line, const char *function)
{
	const char *slash = strrchr(file, '/');
	char number[16];

	snprintf(number, sizeof(number), ":%" PRIu32, line);
	text_vec_add(out, out->n ? " < " : "");
	text_vec_add(out, slash ? slash + 1 : *file ? file : "?");
	text_vec_add(out, number);
	if (!function)
		return;
	text_vec_add(out, " [");
	text_vec_add(out, function);
	text_vec_add(out, "]");
}

/* "inner.c:3 [inner] < outer.c:9 [outer]", innermost first. */
static void chain_text(const struct annotating *a, const struct location *l, struct text_vec *out)
{
	for (uint32_t i = 0; i < l->nlines && out->n < ANNOTATE_PLACES; i++) {
		const struct line *line = &a->v.lines[l->first_line + i];

		annotate_place(out, profile_text(a->p, line->file), line->line,
			       rollup_name(a->p, line->function));
	}
}

/* Those of line @at, from @chain on. Returns the first one that is of a later line. */
static size_t add_chains(struct annotating *a, size_t chain, const struct rollup_function *at)
{
	size_t n = 0, left = 0;

	for (; chain < a->f->nchains; chain++) {
		const struct annotated_chain *c = &a->f->chains[chain];
		int order = strcmp(c->file, at->file);
		struct text_vec text = { 0 };
		struct annotation_row *r;

		if (order > 0 || (!order && c->line > at->line))
			break;
		if (order || c->line != at->line)
			continue;
		if (n++ >= CHAINS_MAX) {
			left++;
			continue;
		}
		chain_text(a, &a->v.locations[c->location], &text);
		r = annotation_add(a->out, ANNOTATION_CHAIN, text.v);
		r->self = c->self;
		r->total = c->total;
		vec_free(&text);
	}
	if (left) {
		char text[64];

		snprintf(text, sizeof(text), "and %zu other way%s", left, text_s(left));
		annotation_add(a->out, ANNOTATION_CHAIN, text);
	}
	return chain;
}

static const char *why_no_source(int err)
{
	return err == -EFBIG	? ": too large to be shown"
	       : err == -EACCES ? ": not everybody may read the source, so it is not in here"
				: ": the source is not here; see --source-dir";
}

static void add_heading(struct annotating *a, const char *file, const struct source_text *s,
			int err)
{
	uint64_t start = a->v.meta->start;
	struct text_vec text = { 0 };
	char from[sizeof(s->from)];

	text_clean(from, sizeof(from), s->from);
	text_vec_add(&text, *file ? file : "(unknown file)");
	if (err)
		text_vec_add(&text, why_no_source(err));
	else if (strcmp(from, file) != 0) {
		text_vec_add(&text, ", here ");
		text_vec_add(&text, from);
	}
	if (!err && start && s->changed > start)
		text_vec_add(&text, "; changed since the recording");
	annotation_add(a->out, ANNOTATION_SOURCE, text.v);
	vec_free(&text);
}

/* Lines @first to @end - 1 of the function's, all of one file, with those around them. */
static size_t add_file(struct annotating *a, const struct source_places *places, size_t first,
		       size_t end, size_t chain)
{
	const struct rollup_function *lines = a->f->lines;
	struct source_text s;
	uint32_t next = 1;		/* the line that would follow what was added */
	int err = source_text_read(&s, lines[first].file, places);

	add_heading(a, lines[first].file, &s, err);
	for (size_t i = first; i < end; i++) {
		uint32_t at = lines[i].line, from = at > AROUND ? at - AROUND : 1,
			 to = i + 1 < end && lines[i + 1].line <= at + AROUND
				      ? lines[i + 1].line - 1
				      : at + AROUND;

		if (from > next && i > first && !err)
			annotation_add(a->out, ANNOTATION_GAP, "...");
		for (uint32_t n = from > next ? from : next; n < at && !err; n++)
			add_line(a, &s, n, 0, 0);
		add_line(a, &s, at, lines[i].self, lines[i].total);
		chain = add_chains(a, chain, &lines[i]);
		for (uint32_t n = at + 1; n <= to && n <= s.lines.n && !err; n++)
			add_line(a, &s, n, 0, 0);
		next = to + 1;
	}
	source_text_free(&s);
	return chain;
}

/* The program whose sources they are, for a server. */
static void identify(struct annotating *a, struct source_places *places, uint8_t *id)
{
	const struct image *image;

	if (!places->debuginfod || !a->f->ncode || frame_is_kernel(a->f->code[0].kind))
		return;
	image = annotate_image(a, a->f->code[0].module);
	if (!image)
		return;
	memcpy(id, image->build_id, image->build_id_size);
	places->build_id = id;
	places->build_id_size = image->build_id_size;
}

void annotate_sources(struct annotating *a)
{
	const struct rollup_function *lines = a->f->lines;
	const struct annotator_options *o = &a->by->o;
	uint8_t id[ELF_BUILD_ID_MAX];
	struct source_places places = { .dirs = o->source_dirs,
					.n_dirs = o->n_source_dirs,
					.targets = &a->targets,
					.debuginfod = o->debuginfod,
					.everybodys = o->shared };
	size_t chain = 0;

	identify(a, &places, id);
	for (size_t i = 0, end; i < a->f->nlines; i = end) {
		for (end = i + 1;
		     end < a->f->nlines && !strcmp(lines[end].file, lines[i].file);)
			end++;
		chain = add_file(a, &places, i, end, chain);
	}
	if (!a->f->nlines)
		annotation_add(a->out, ANNOTATION_NOTE,
			       "no lines are known: there is no debug information");
}
