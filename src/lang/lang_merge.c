/* SPDX-License-Identifier: MIT */
#include "lang/lang_merge.h"

#include <string.h>

#include "bpf/frame.h"

struct merging {
	const struct lang_merge *m;
	const uint64_t *words;
	size_t n, natives;
	size_t next;		/* the language's frame that comes next */
	uint64_t *out;
	size_t made;
};

static size_t count_natives(const uint64_t *words, size_t n)
{
	size_t i = 0;

	while (i < n && !EBP_FRAME_IS_LISTED(words[i]))
		i++;
	return i;
}

/* Runs that have an end. */
static size_t count_runs(const uint64_t *words, size_t n)
{
	size_t runs = 0;

	for (size_t i = 0; i < n; i++)
		runs += EBP_FRAME_IS_LISTED(words[i]) && words[i] & EBP_FRAME_ENTRY;
	return runs;
}

/* Whether a frame goes on with the run of what called it (LANG_RUNS_AGAIN). */
static int goes_on(const struct lang_merge *m, const uint64_t *words, size_t n, size_t i)
{
	return i + 1 < n && m->runs(m->ctx, words[i + 1]) == LANG_RUNS_AGAIN;
}

static size_t count_calls(const struct lang_merge *m, const uint64_t *words, size_t n)
{
	size_t calls = 0;

	for (size_t i = 0; i < n; i++)
		calls += m->runs(m->ctx, words[i]) == LANG_RUNS_CALL && !goes_on(m, words, n, i);
	return calls;
}

int lang_is_cut(const uint64_t *words, size_t n)
{
	return n && EBP_FRAME_IS_LISTED(words[n - 1]) &&
	       EBP_FRAME_CODE_OF(words[n - 1]) == EBP_CODE_NONE &&
	       !(words[n - 1] & EBP_FRAME_ENTRY);
}

static void put_run(struct merging *g, int is_shown)
{
	while (g->next < g->n) {
		uint64_t word = g->words[g->next++];

		/* A call of the interpreter that runs nothing has no frame of the language. */
		if (EBP_FRAME_CODE_OF(word) != EBP_CODE_NONE && is_shown)
			g->out[g->made++] = word;
		if (word & EBP_FRAME_ENTRY)
			return;
	}
}

/* CPython's perf trampoline: code of no file that called the interpreter. */
static int is_trampoline(const struct merging *g, size_t i)
{
	return i < g->natives && EBP_FRAME_IS_OF_PROCESS(g->words[i]) &&
	       !EBP_FRAME_IS_OF_CODE(g->words[i]) && i + 1 < g->natives;
}

/* Code of no file that the interpreter called: its language compiled it. */
static int is_compiled(const struct merging *g, size_t i)
{
	const struct lang_ops *ops = lang_rows[EBP_FRAME_LANGUAGE_OF(g->words[g->n - 1])];
	uint64_t word = g->words[i];

	return ops && ops->compiles && EBP_FRAME_IS_OF_PROCESS(word) &&
	       !EBP_FRAME_IS_OF_CODE(word) && i + 1 < g->natives &&
	       g->m->runs(g->m->ctx, g->words[i + 1]) < LANG_RUNS_COLLECTS;
}

/* The frame of a call that the frame at @i is, or is a part of; @natives where it is neither. */
static size_t call_of(const struct merging *g, size_t from)
{
	for (size_t i = from; i < g->natives; i++) {
		enum lang_runs runs = g->m->runs(g->m->ctx, g->words[i]);

		if (i == from && is_compiled(g, i))
			continue;
		if (runs >= LANG_RUNS_COLLECTS || (runs == LANG_RUNS_AGAIN && i == from))
			break;
		if (runs == LANG_RUNS_CALL && !goes_on(g->m, g->words, g->natives, i))
			return i;
	}
	return g->natives;
}

/*
 * The interpreter's frames from @i to that of its call @to, and what it runs in their place.
 * Returns how many frames that was.
 */
static size_t put_call(struct merging *g, size_t i, size_t to, int has_run)
{
	if (has_run)
		put_run(g, 1);
	if (!g->m->keep_native && has_run)
		return to + 1 - i + is_trampoline(g, to + 1);
	for (size_t k = i; k <= to; k++)
		g->out[g->made++] = g->words[k];
	return to + 1 - i;
}

/* Whether runs whose calls are not there do not run (lang_ops.prepares). */
static int prepares(uint64_t word)
{
	const struct lang_ops *ops = lang_rows[EBP_FRAME_LANGUAGE_OF(word)];

	return ops && ops->prepares;
}

/* Whether what a list has is not known to be of the thread that has it (lang_ops.of_process). */
static int is_of_process(uint64_t word)
{
	const struct lang_ops *ops = lang_rows[EBP_FRAME_LANGUAGE_OF(word)];

	return ops && ops->of_process;
}

/* Whether no frame is in the interpreter's file: a stripped one hides a part of its loop. */
static int is_elsewhere(const struct lang_merge *m, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (m->runs(m->ctx, words[i]) != LANG_RUNS_NOT)
			return 0;
	return 1;
}

static int is_collector(uint64_t word)
{
	return EBP_FRAME_LANGUAGE_OF(word) == EBP_LANGUAGE_RUBY &&
	       (word & EBP_PLACE_NONE) == EBP_PLACE_COLLECTS;
}

/* Whether the collector's own frames are nearer to the leaf than all of the interpreter's. */
static int collects(const struct lang_merge *m, const uint64_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		enum lang_runs runs = m->runs(m->ctx, words[i]);

		if (runs < LANG_RUNS_BESIDE)
			return runs == LANG_RUNS_COLLECTS;
	}
	return 0;
}

size_t lang_merge(const struct lang_merge *m, const uint64_t *words, size_t n, uint64_t *out)
{
	struct merging g = {
		.m = m, .words = words, .n = n, .natives = count_natives(words, n), .out = out
	};
	size_t calls, runs, early = 0, more = 0;

	if (g.natives == n) {
		memcpy(out, words, n * sizeof(*out));
		return n;
	}
	g.next = g.natives + (is_collector(words[g.natives]) && !collects(m, words, g.natives));
	calls = count_calls(m, words, g.natives);
	if (m->complete && is_of_process(words[n - 1]) && is_elsewhere(m, words, g.natives)) {
		memcpy(out, words, g.natives * sizeof(*out));
		return g.natives;
	}
	runs = count_runs(words + g.natives, n - g.natives);
	/* Calls at the leaf that run nothing, or runs there whose calls were not seen. */
	if (m->complete && !lang_is_cut(words, n)) {
		early = calls > runs ? calls - runs : 0;
		more = calls && runs > calls ? runs - calls : 0;
	}
	for (size_t i = 0; i < g.natives;) {
		size_t call = call_of(&g, i);

		if (call == g.natives) {
			out[g.made++] = words[i++];
			continue;
		}
		for (; more; more--)
			put_run(&g, !prepares(words[n - 1]));
		i += put_call(&g, i, call, !early && g.next < n);
		early -= early > 0;
	}
	while (g.next < n)
		put_run(&g, 1);
	return g.made;
}
