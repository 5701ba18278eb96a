/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "annotate/internal.h"
#include "base/text.h"
#include "base/text_vec.h"

/* What was inlined into many functions is shown in those that have most of it. */
#define FUNCTIONS_MAX 50
#define ROWS_MAX 200000

/* The code of one function, whose samples are places @first to @end - 1. */
struct code {
	struct disassembly d;
	const struct image *image;	/* NULL: the kernel */
	size_t first, end;
};

static int frames_at(const struct annotating *a, const struct code *c, uint64_t offset,
		     struct symbol_frame frames[SOURCE_FRAMES_MAX])
{
	const char *module;

	return c->image ? symbolizer_user(a->by->symbolizer, c->image, offset, frames)
			: symbolizer_kernel(a->by->symbolizer, offset, frames, &module);
}

/* Where an instruction comes from, where that is not @last, the place of the one before. */
static void add_origin(const struct annotating *a, const struct code *c, uint64_t offset,
		       struct text_vec *last)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	int n = frames_at(a, c, offset, frames);
	struct text_vec text = { 0 };

	text_vec_add(&text, "");
	for (int i = 0; i < n && frames[i].line && text.n < ANNOTATE_PLACES; i++)
		annotate_place(&text, frames[i].file, frames[i].line,
			       i + 1 < n ? frames[i].name : NULL);
	if (strcmp(text.v, last->n ? last->v : ""))
		annotation_add(a->out, ANNOTATION_ORIGIN, text.v);
	vec_free(last);
	*last = text;
}

/* The instruction at @address; SIZE_MAX: none begins there. */
static size_t find(const struct disassembly *d, uint64_t address)
{
	size_t low = 0, high = d->n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->v[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->n && d->v[low].address == address ? low : SIZE_MAX;
}

/* What is called, or jumped to, elsewhere: behind the instruction's text. */
static void name_target(const struct annotating *a, const struct code *c,
			const struct instruction *i, struct text_vec *text)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	int n;

	if (!i->target || find(&c->d, i->target) != SIZE_MAX)
		return;
	n = frames_at(a, c, i->target - i->address + i->offset, frames);
	if (n <= 0)
		return;
	text_vec_add(text, " <");
	text_vec_add(text, frames[n - 1].name);
	text_vec_add(text, ">");
}

static void add_instruction(const struct annotating *a, const struct code *c,
			    const struct instruction *i, uint64_t self)
{
	struct text_vec text = { 0 };
	struct annotation_row *r;

	text_vec_add(&text, i->text);
	name_target(a, c, i, &text);
	r = annotation_add(a->out, ANNOTATION_INSTRUCTION, text.v);
	r->number = i->address;
	r->self = self;
	vec_free(&text);
}

/* @rows: of the instructions. */
static void link_jumps(const struct annotating *a, const struct code *c, const uint32_t *rows)
{
	for (size_t i = 0; i < c->d.n; i++) {
		const struct instruction *jump = &c->d.v[i];
		size_t to = jump->kind == INSTRUCTION_JUMP && jump->target
				    ? find(&c->d, jump->target)
				    : SIZE_MAX;

		if (to != SIZE_MAX)
			a->out->rows.v[rows[i]].target = rows[to];
	}
}

/* The function that it is part of, and its file. */
static void add_heading(const struct annotating *a, const struct code *c)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	int n = frames_at(a, c, c->d.v[0].offset, frames);
	struct text_vec text = { 0 };

	if (n > 0)
		text_vec_add(&text, frames[n - 1].name);
	text_vec_add(&text, n > 0 ? " in " : "");
	text_vec_add(&text, c->image ? c->image->path : "the running kernel (/proc/kcore)");
	annotation_add(a->out, ANNOTATION_CODE, text.v);
	vec_free(&text);
}

static void add_code(const struct annotating *a, const struct code *c)
{
	const struct annotated_code *code = a->f->code;
	uint32_t *rows = xcalloc(c->d.n, sizeof(*rows));
	size_t at = c->first, heading = a->out->rows.n;
	struct text_vec last = { 0 };

	add_heading(a, c);
	for (size_t i = 0; i < c->d.n; i++) {
		uint64_t self = 0, next = i + 1 < c->d.n ? c->d.v[i + 1].offset : UINT64_MAX;

		/* Both are in the order of addresses. */
		for (; at < c->end && code[at].address < next; at++)
			self += code[at].self;
		add_origin(a, c, c->d.v[i].offset, &last);
		rows[i] = (uint32_t)a->out->rows.n;
		add_instruction(a, c, &c->d.v[i], self);
	}
	link_jumps(a, c, rows);
	annotate_arrows(a->out, heading);
	vec_free(&last);
	free(rows);
}

static const char *why_no_code(const struct annotating *a, const struct annotated_code *c,
			       const struct image *image, int err)
{
	if (!*profile_text(a->p, a->v.modules[c->module].build_id))
		return "instructions are not shown: the profile has no build id of the file";
	if (!image)
		return "instructions are not shown: the file that was sampled is not here";
	return err == -ENOTSUP ? "instructions of this machine are not known"
			       : "instructions are not shown: nothing tells where the function "
				 "begins";
}

/* The function that has place @c->first. NULL, or why it cannot be shown. */
static const char *disassemble(struct annotating *a, struct code *c)
{
	const struct annotated_code *at = &a->f->code[c->first];
	const struct location *l = &a->v.locations[at->location];
	const char *why = NULL;
	int err = -ENOENT;

	if (!a->by->disassembler)
		return "instructions are not shown: libcapstone is not installed (on Debian: apt "
		       "install libcapstone4), or this is the static ebprof";
	if (frame_is_kernel(at->kind)) {
		uint32_t outermost = a->v.lines[l->first_line + l->nlines - 1].function;

		return annotate_kernel(a, &c->d, at->address, rollup_name(a->p, outermost), &why)
			       ? why
			       : NULL;
	}
	c->image = annotate_image(a, at->module);
	if (c->image)
		err = disassembly_of(&c->d, a->by->disassembler, c->image, at->address);
	return err || !c->d.n ? why_no_code(a, at, c->image, err) : NULL;
}

/* --- All of it. --------------------------------------------------------------------- */

static int by_self(const void *x, const void *y, void *ctx)
{
	const struct annotated_code *code = ctx;
	uint32_t i = *(const uint32_t *)x, k = *(const uint32_t *)y;

	return code[i].self != code[k].self ? (code[i].self < code[k].self ? 1 : -1)
					    : (i > k) - (i < k);
}

/* The places that @c->d has, around @at: they stand one behind the other. */
static void find_places(const struct annotating *a, struct code *c, size_t at)
{
	const struct annotated_code *code = a->f->code;
	uint64_t from = c->d.n ? c->d.v[0].offset : code[at].address,
		 to = c->d.n ? c->d.v[c->d.n - 1].offset : code[at].address;

	for (c->first = at; c->first && code[c->first - 1].module == code[at].module &&
			    code[c->first - 1].address >= from;)
		c->first--;
	for (c->end = at + 1; c->end < a->f->ncode && code[c->end].module == code[at].module &&
			      code[c->end].address <= to;)
		c->end++;
}

static void say_once(struct annotation *out, const char *text)
{
	const struct annotation_row *last = out->rows.n ? &out->rows.v[out->rows.n - 1] : NULL;

	if (!last || last->kind != ANNOTATION_NOTE || strcmp(last->text, text) != 0)
		annotation_add(out, ANNOTATION_NOTE, text);
}

/* Adds the function that has place @at, or why it is not there, and sets @done for what it has. */
static void add_function(struct annotating *a, size_t at, unsigned char *done,
			 const char *const **skid)
{
	const struct annotated_code *code = a->f->code;
	struct code c = { .first = at };
	const char *why;

	if (location_is_placeless(code[at].address)) {
		say_once(a->out, "of older samples only functions are kept");
		done[at] = 1;
		return;
	}
	why = disassemble(a, &c);
	find_places(a, &c, at);
	if (!why) {
		for (; **skid; (*skid)++)
			annotation_add(a->out, ANNOTATION_NOTE, **skid);
		add_code(a, &c);
	} else {
		say_once(a->out, why);
		/* Without the file it is the same for all others in it. */
		while (!c.image && c.first && code[c.first - 1].module == code[at].module)
			c.first--;
		while (!c.image && c.end < a->f->ncode && code[c.end].module == code[at].module)
			c.end++;
	}
	memset(done + c.first, 1, c.end - c.first);
	disassembly_free(&c.d);
}

void annotate_code(struct annotating *a)
{
	const char *const *skid = annotate_skid(a->p);
	size_t n = a->f->ncode, functions = 0, left = 0;
	unsigned char *done = xcalloc(n + 1, 1);
	uint32_t *order = xcalloc(n + 1, sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof(*order), by_self, a->f->code);
	for (size_t i = 0; i < n; i++) {
		if (done[order[i]])
			continue;
		if (functions >= FUNCTIONS_MAX || a->out->rows.n >= ROWS_MAX) {
			left++;
			continue;
		}
		functions++;
		add_function(a, order[i], done, &skid);
	}
	if (left) {
		char text[80];

		snprintf(text, sizeof(text), "%zu more place%s in other functions are left out",
			 left, text_s(left));
		annotation_add(a->out, ANNOTATION_NOTE, text);
	}
	free(done);
	free(order);
}
