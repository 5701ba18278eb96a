/* SPDX-License-Identifier: MIT */
#include "session/naming.h"

#include <errno.h>
#include <string.h>

#include "profile/frame_kind.h"

struct naming {
	struct symbolizer *symbolizer;
	int live;
	enum naming_phase phase;
	int kernel_read;		/* what is loaded into the kernel was read, */
	int kernel_last;		/* and that after sampling */
	struct symbol_source *source;	/* that was refreshed last */
};

struct naming *naming_new(const struct namer_options *o)
{
	struct naming *n = xcalloc(1, sizeof(*n));

	n->symbolizer = symbolizer_new(o->symbols);
	n->live = o->live;
	return n;
}

void naming_free(struct naming *n)
{
	symbolizer_free(n->symbolizer);
	free(n);
}

struct symbolizer *naming_symbolizer(struct naming *n)
{
	return n->symbolizer;
}

/* By file, then by process; the kernel last. */
static uint64_t order(const struct namer_place *p)
{
	if (p->image)
		return p->image->id;
	return p->runtime ? 1ull << 32 | p->runtime->number : UINT64_MAX;
}

static int by_place(const void *a, const void *b)
{
	const struct naming_place *x = a, *y = b;
	uint64_t i = order(&x->where), k = order(&y->where);

	if (i != k)
		return i < k ? -1 : 1;
	return x->where.address < y->where.address ? -1 : x->where.address > y->where.address;
}

void naming_begin(struct naming *n, naming_places *places, enum naming_phase phase)
{
	int again = 0;

	n->phase = phase;
	n->source = NULL;
	for (size_t i = 0; i < places->n; i++) {
		const struct naming_place *p = &places->v[i];

		again |= p->again && !p->where.image && !p->where.runtime;
	}
	if (again && !n->kernel_last) {
		symbolizer_reread_kernel(n->symbolizer);
		n->kernel_read = 0;
	}
	if (places->n)
		qsort(places->v, places->n, sizeof(*places->v), by_place);
}

/* What is loaded there may be something else by the end. */
static int name_kernel(struct naming *n, uint64_t address, struct namer_answer *answer,
		       struct symbol_frame *frames)
{
	if (!n->kernel_read)
		n->kernel_last = n->phase != NAMING_SAMPLES;
	n->kernel_read = 1;
	answer->n = symbolizer_kernel(n->symbolizer, address, frames, &answer->module);
	return n->live || n->kernel_last || answer->n == -EPERM ||
	       !strcmp(answer->module, frame_kinds[FRAME_KERNEL].module);
}

/* As long as its process is there, it may tell of more. */
static int name_runtime(struct naming *n, const struct namer_runtime *runtime, uint64_t address,
			struct namer_answer *answer, struct symbol_frame *frames)
{
	if (runtime->source && runtime->source != n->source)
		symbol_source_refresh(runtime->source);
	n->source = runtime->source;
	answer->n = runtime->source ? symbolizer_jit(n->symbolizer, runtime->number,
						     runtime->source, address, frames)
				    : -ENODATA;
	return answer->n > 0 || n->phase == NAMING_FINISHES || runtime->ended;
}

static int name_file(struct naming *n, const struct namer_place *p, struct namer_answer *answer,
		     struct symbol_frame *frames)
{
	answer->n = symbolizer_user(n->symbolizer, p->image, p->address, frames);
	if (answer->n < 0)
		answer->start = symbolizer_start(n->symbolizer, p->image, p->address);
	return 1;
}

void naming_name(struct naming *n, const struct naming_place *p,
		 const struct namer_runtime *runtime, struct naming_answers *to)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	struct naming_given given = { { .id = p->id, .module = "" }, to->frames.n };
	struct namer_answer *answer = &given.answer;
	uint64_t address = p->where.address;
	int settled = p->where.image ? name_file(n, &p->where, answer, frames)
		      : runtime	     ? name_runtime(n, runtime, address, answer, frames)
				     : name_kernel(n, address, answer, frames);

	if (!settled) {
		vec_push(&to->later, (struct naming_place){ p->where, p->id, 1 });
		return;
	}
	for (int i = 0; i < given.answer.n; i++)
		vec_push(&to->frames, frames[i]);
	vec_push(&to->all, given);
}

void naming_end(struct naming *n)
{
	symbolizer_rest(n->symbolizer);
}

void naming_answers_free(struct naming_answers *a)
{
	vec_free(&a->all);
	vec_free(&a->frames);
	vec_free(&a->later);
}

void naming_answers_move(struct naming_answers *to, struct naming_answers *from)
{
	for (size_t i = 0; i < from->all.n; i++) {
		struct naming_given given = from->all.v[i];

		given.first += to->frames.n;
		vec_push(&to->all, given);
	}
	for (size_t i = 0; i < from->frames.n; i++)
		vec_push(&to->frames, from->frames.v[i]);
	for (size_t i = 0; i < from->later.n; i++)
		vec_push(&to->later, from->later.v[i]);
	from->all.n = from->frames.n = from->later.n = 0;
}
