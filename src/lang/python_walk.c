/* SPDX-License-Identifier: MIT */
#include "lang/python_walk.h"

#include <string.h>

#include "base/xalloc.h"

struct python_env {
	const struct lang_walk *walk;
};

static int python_read(struct python_env *env, void *dst, uint32_t size, uint64_t address)
{
	const struct lang_walk *w = env->walk;

	return w->reader->read(w->reader->ctx, w->pid, address, dst, size);
}

#define PYTHON_AWAIT(o) ((o)->running_task)
#define PYTHON_KNOWN(env, s, o) 0

#include "bpf/python_describe.h"

#define WORD_OF_NONE EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, EBP_CODE_NONE, EBP_PLACE_NONE)

/* The words so far; the last one may still become the outermost of its run (lang.bpf.h). */
struct walking {
	uint64_t *words;
	size_t n;
	uint64_t pending;
};

static void flush(struct walking *g)
{
	if (g->pending)
		g->words[g->n++] = g->pending;
	g->pending = 0;
}

/* A call of the interpreter began what was last. */
static void put_entry(struct walking *g)
{
	if (!g->pending || g->pending & EBP_FRAME_ENTRY) {
		flush(g);
		g->pending = WORD_OF_NONE;
	}
	g->pending |= EBP_FRAME_ENTRY;
}

static uint64_t code_id(struct python_env *env, struct python_state *s, const struct ebp_python *o)
{
	const struct lang_walk *w = env->walk;
	uint64_t id = w->find(w->ctx, s->identity);
	struct ebp_code *record;

	if (id)
		return id;
	record = xcalloc(1, sizeof(*record) + EBP_CODE_TABLE);
	record->language = EBP_LANGUAGE_PYTHON;
	python_describe(env, s, o, record);
	id = w->take(w->ctx, s->identity, record);
	free(record);
	return id;
}

static void put_frame(struct walking *g, struct python_env *env, struct python_state *s,
		      const struct ebp_python *o)
{
	if (s->code) {
		flush(g);
		g->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, code_id(env, s, o), s->place);
		g->pending |= s->entry ? EBP_FRAME_ENTRY : 0;
	} else if (s->entry) {
		put_entry(g);
	}
}

size_t python_walk(const struct lang_walk *w, uint64_t *words)
{
	struct python_env env = { w };
	struct python_state s = { 0 };
	struct walking g = { .words = words };
	struct ebp_python o;
	int step = 0, done = 0;

	memcpy(&o, w->layout->words, sizeof(o));
	if (!w->await)
		o.running_task = 0;
	if (python_begin(&env, &s, &o, w->bias, w->thread_pointer))
		return 0;
	/* Each frame makes one word at most, and there is one more for the end. */
	for (size_t i = 0; i < EBP_WORDS_MAX - 2 && step >= 0; i++) {
		done = !s.frame && !s.unchecked && !s.partial;
		if (done)
			break;
		step = python_step(&env, &s, &o);
		if (step >= 0 && s.await.on)
			s.frame = python_await_next(&env, &s.await, &o, s.bias);
		if (step == PYTHON_AGAIN)
			g.n = g.pending = 0;
		else if (step >= 0)
			put_frame(&g, &env, &s, &o);
	}
	flush(&g);
	if (!done)
		words[g.n++] = WORD_OF_NONE;
	return g.n;
}
