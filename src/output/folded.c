/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: `comm;root;...;leaf COUNT`, one line a stack, as flamegraph.pl
 * and its many relatives read them. Lines are those of a walk over the tree of
 * names, siblings by name, so that equal profiles give equal files.
 *
 * Readers match /^(.*)\s+(\d+(\.\d*)?)$/, and a second number before the last
 * one makes the line a differential. So a frame must not end in a blank and a
 * number, and no frame may look empty.
 *
 * A difference has two counts a line, as difffolded.pl -n writes them: before, scaled
 * so that it compares with after, and after.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strtab.h"
#include "base/text_vec.h"
#include "base/vec.h"
#include "output/calltree.h"
#include "output/formats.h"
#include "output/rollup.h"
#include "profile/diff.h"

/* what does not fit is left out of a line, and counts for what called it */
#define LINE_BYTES_MAX (1u << 26)

/* Where a blank and a number end @s, that blank; else NULL. */
static char *before_number(char *s, size_t n)
{
	char *end = s + n;
	const char *digits = end;

	while (end > s && (end[-1] == '.' || (end[-1] >= '0' && end[-1] <= '9')))
		end--;
	return end > s && end[-1] == ' ' && end != digits ? end - 1 : NULL;
}

/*
 * A function's name as a frame, in @t. Rewritten is the same in every place,
 * not only as a leaf: else one function would be two boxes in a flame graph.
 */
static const char *frame(struct text_vec *t, const char *name)
{
	char *blank;

	t->n = 0;
	text_vec_add(t, name);
	for (char *c = t->v; *c; c++)
		if (*c == ';')
			*c = ':';
	for (char *c = t->v; *c == ' '; c++)
		*c = '_';
	for (size_t i = t->n; i > 0 && t->v[i - 1] == ' '; i--)
		t->v[i - 1] = '_';
	blank = before_number(t->v, t->n);
	if (blank)
		*blank = '_';
	return t->v;
}

/* Whether a line that begins so, with a ';' or a blank behind it, may be taken for a remark. */
static int begins_remark(const char *s)
{
	return *s == '#' && (!s[1] || strchr("\t#!", s[1]));
}

/* A thread's first frame. */
static const char *comm_frame(struct text_vec *t, const struct profile *p,
			      const struct thread *thread)
{
	const char *comm = rollup_comm(p, thread->comm);
	char ids[ROLLUP_IDS_MAX];

	t->n = 0;
	text_vec_add(t, comm);
	for (char *c = t->v; *c; c++)
		*c = *c == ' ' ? '_' : *c == ';' ? ':' : *c;
	rollup_thread_ids(p, thread, ids);
	text_vec_add(t, ids);
	if (begins_remark(t->v))
		*t->v = '_';
	return t->v;
}

/* What --annotate puts behind a frame, as stackcollapse-perf.pl --all does. */
static const char *annotation(const struct profile *p, size_t function, int inlined)
{
	struct profile_view v = profile_view(p);
	enum frame_kind kind;

	if (function >= v.nfunctions)
		return "";
	kind = v.functions[function].kind;
	return frame_kinds[inlined ? frame_kinds[kind].inlined : kind].mark;
}

/* All frames' texts in order; a text's index there is its label. */
struct labels {
	struct strtab *texts;
	const char **sorted;
	uint32_t *functions, *inlined, *threads;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void labels_sort(struct labels *l, size_t nfunctions, size_t nthreads)
{
	size_t n = strtab_count(l->texts);
	uint32_t *rank = xcalloc(n, sizeof(*rank));

	l->sorted = xcalloc(n, sizeof(*l->sorted));
	for (size_t i = 0; i < n; i++)
		l->sorted[i] = strtab_get(l->texts, (uint32_t)i);
	qsort(l->sorted, n, sizeof(*l->sorted), by_text);
	for (size_t i = 0; i < n; i++)
		rank[strtab_add(l->texts, l->sorted[i])] = (uint32_t)i;
	for (size_t i = 0; i < nfunctions; i++) {
		l->functions[i] = rank[l->functions[i]];
		l->inlined[i] = rank[l->inlined[i]];
	}
	for (size_t i = 0; i < nthreads; i++)
		l->threads[i] = rank[l->threads[i]];
	free(rank);
}

/* @function's frame in @texts. */
static uint32_t add_frame(struct strtab *texts, struct text_vec *t, const struct profile *p,
			  size_t function, int annotate, int inlined)
{
	frame(t, rollup_name(p, function));
	if (annotate)
		text_vec_add(t, annotation(p, function, inlined));
	return strtab_add(texts, t->v);
}

static struct labels labels_new(const struct profile *p, int annotate)
{
	struct profile_view v = profile_view(p);
	size_t nfunctions = v.nfunctions + 1;	/* and one for frames without a function */
	struct labels l = {
		.texts = strtab_new(),
		.functions = xcalloc(nfunctions, sizeof(*l.functions)),
		.inlined = xcalloc(nfunctions, sizeof(*l.inlined)),
		.threads = xcalloc(v.nthreads, sizeof(*l.threads)),
	};
	struct text_vec t = { 0 };

	for (size_t i = 0; i < nfunctions; i++) {
		l.functions[i] = add_frame(l.texts, &t, p, i, annotate, 0);
		l.inlined[i] = add_frame(l.texts, &t, p, i, annotate, 1);
	}
	for (size_t i = 0; i < v.nthreads; i++)
		l.threads[i] = strtab_add(l.texts, comm_frame(&t, p, &v.threads[i]));
	vec_free(&t);
	labels_sort(&l, nfunctions, v.nthreads);
	return l;
}

static void labels_free(struct labels *l)
{
	strtab_free(l->texts);
	free(l->sorted);
	free(l->functions);
	free(l->inlined);
	free(l->threads);
}

struct writer {
	struct outfile *f;
	const struct calltree *tree;
	uint64_t *before;	/* by node, of a difference; else NULL */
	double weight;		/* of what was before */
	const char **texts;
	struct text_vec line;	/* the frames from the root to here, each with a ';' after it */
	size_t left_out;	/* frames at its end that did not fit */
};

static void enter(void *ctx, const struct calltree_node *n)
{
	struct writer *w = ctx;
	double before = w->before ? round((double)w->before[n - w->tree->nodes] * w->weight) : 0;
	char count[512] = "";	/* a double may have 309 digits */
	size_t size = strlen(w->texts[n->label]), end;
	int len = 0;

	w->left_out += w->left_out || w->line.n + size > LINE_BYTES_MAX;
	if (w->left_out)
		w->line.n--;	/* the last ';' */
	else
		text_vec_add_bytes(&w->line, w->texts[n->label], size);
	end = w->line.n;
	if (n->self || before > 0) {
		if (w->before)
			len = snprintf(count, sizeof(count), " %.0f", before);
		len += snprintf(count + len, sizeof(count) - (size_t)len, " %" PRIu64 "\n",
				n->self);
		text_vec_add_bytes(&w->line, count, (size_t)len);
		outfile_write(w->f, w->line.v, w->line.n);
		w->line.n = end;
	}
	text_vec_add_bytes(&w->line, ";", 1);
}

static void leave(void *ctx, const struct calltree_node *n)
{
	struct writer *w = ctx;

	if (w->left_out)
		w->left_out--;
	else
		w->line.n -= strlen(w->texts[n->label]) + 1;
}

void folded_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct labels labels = labels_new(p, o->annotate);
	struct calltree *tree = (o->difference ? calltree_of_all : calltree_new)(
		p, &(struct calltree_labels){ .functions = labels.functions,
					      .inlined = labels.inlined,
					      .threads = labels.threads,
					      .values = o->difference
								? profile_values(p, DIFF_AFTER)
								: NULL });
	struct writer w = { .f = f, .tree = tree, .weight = o->weight, .texts = labels.sorted };

	if (o->difference)
		w.before = calltree_self(tree, p, DIFF_BEFORE);
	calltree_walk(tree, &(struct calltree_walker){ .enter = enter, .leave = leave, .ctx = &w });
	vec_free(&w.line);
	free(w.before);
	calltree_free(tree);
	labels_free(&labels);
}
