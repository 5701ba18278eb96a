/* SPDX-License-Identifier: MIT */
#include "output/html_labels.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "output/rollup.h"

#define UNUSED UINT32_MAX

/* --- Functions. -------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct html_function *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	if (!c)
		c = strcmp(x->module, y->module);
	if (!c)
		c = (int)x->kind - (int)y->kind;
	return c ? c : x->inlined - y->inlined;
}

/*
 * Which functions are a frame of a location, as themselves and inlined: marked by 0 in the two
 * arrays of labels.
 */
static void mark_used(struct html_labels *l, const struct profile_view *v)
{
	for (size_t i = 0; i < v->nlocations; i++) {
		const struct location *where = &v->locations[i];
		const struct line *lines = &v->lines[where->first_line];

		if (!where->nlines)
			l->of_function[v->nfunctions] = 0;
		for (uint32_t k = 0; k < where->nlines; k++)
			(k + 1 < where->nlines ? l->of_inlined
					       : l->of_function)[lines[k].function] = 0;
	}
}

static void add_function(struct html_labels *l, const struct profile *p, size_t function,
			 int inlined)
{
	struct profile_view v = profile_view(p);
	const struct function *f = function < v.nfunctions ? &v.functions[function] : NULL;

	if ((inlined ? l->of_inlined : l->of_function)[function] == UNUSED)
		return;
	l->functions[l->nfunctions++] = (struct html_function){
		.function = (uint32_t)function,
		.inlined = inlined,
		.name = rollup_name(p, function),
		.module = f ? profile_text(p, f->module) : "",
		.kind = f ? f->kind : FRAME_USER,
	};
}

static void collect_functions(struct html_labels *l, const struct profile *p)
{
	struct profile_view v = profile_view(p);
	size_t n = v.nfunctions + 1;	/* and one for frames without a function */

	l->of_function = xcalloc(n, sizeof(*l->of_function));
	l->of_inlined = xcalloc(n, sizeof(*l->of_inlined));
	memset(l->of_function, 0xff, n * sizeof(*l->of_function));
	memset(l->of_inlined, 0xff, n * sizeof(*l->of_inlined));
	mark_used(l, &v);
	l->functions = xcalloc(2 * n, sizeof(*l->functions));
	for (size_t i = 0; i < 2 * n; i++)
		add_function(l, p, i / 2, i % 2);
	qsort(l->functions, l->nfunctions, sizeof(*l->functions), by_name);
	for (size_t i = 0; i < l->nfunctions; i++)
		(l->functions[i].inlined ? l->of_inlined
					 : l->of_function)[l->functions[i].function] = (uint32_t)i;
}

/* --- The line of a function that most of its samples passed. ------------------- */

struct place {
	uint32_t label, file, line;
	uint64_t value;
};

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->label != y->label)
		return x->label < y->label ? -1 : 1;
	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

/* For each location the value of the samples with it on their stacks, as often as it is there. */
static uint64_t *location_values(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	uint64_t *nodes = xcalloc(v.nnodes, sizeof(*nodes)),
		 *locations = xcalloc(v.nlocations, sizeof(*locations));

	for (size_t i = 0; i < v.nsamples; i++)
		nodes[v.samples[i].node] += v.values[i];
	/* Parents come before their children. */
	for (size_t i = v.nnodes; --i > 0;) {
		nodes[v.nodes[i].parent] += nodes[i];
		locations[v.nodes[i].location] += nodes[i];
	}
	free(nodes);
	return locations;
}

static size_t collect_places(const struct html_labels *l, const struct profile *p,
			     struct place *places)
{
	struct profile_view v = profile_view(p);
	uint64_t *values = location_values(p);
	size_t n = 0;

	for (size_t i = 0; i < v.nlocations; i++) {
		const struct line *lines = &v.lines[v.locations[i].first_line];
		uint32_t nlines = v.locations[i].nlines;

		for (uint32_t k = 0; k < nlines; k++)
			if (lines[k].file)
				places[n++] = (struct place){
					.label = (k + 1 < nlines
							  ? l->of_inlined
							  : l->of_function)[lines[k].function],
					.file = lines[k].file,
					.line = lines[k].line,
					.value = values[i]
				};
	}
	free(values);
	qsort(places, n, sizeof(*places), by_place);
	return n;
}

static void find_lines(struct html_labels *l, const struct profile *p)
{
	struct place *places = xcalloc(profile_view(p).nlines, sizeof(*places));
	size_t n = collect_places(l, p, places);
	uint64_t most = 0;

	for (size_t i = 0, first = 0; i < n; i++) {
		struct html_function *f = &l->functions[places[i].label];

		if (by_place(&places[first], &places[i]))
			first = i;
		else if (i != first)
			places[first].value += places[i].value;
		if (!f->file || places[first].value > most) {
			f->file = places[first].file;
			f->line = places[first].line;
			most = places[first].value;
		}
	}
	free(places);
}

/* --- Threads. -------------------------------------------------------------------- */

struct ordered {
	struct html_thread thread;
	uint32_t index;		/* in the profile */
	int per_thread;
};

static int by_process(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int c = strcmp(x->thread.process, y->thread.process);

	return c || !x->per_thread
		       ? c
		       : (x->thread.pid > y->thread.pid) - (x->thread.pid < y->thread.pid);
}

static int by_thread(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	int c = by_process(a, b);

	if (!c)
		c = strcmp(x->thread.comm, y->thread.comm);
	return c || !x->per_thread
		       ? c
		       : (x->thread.tid > y->thread.tid) - (x->thread.tid < y->thread.tid);
}

static void collect_threads(struct html_labels *l, const struct profile *p)
{
	struct profile_view v = profile_view(p);
	struct ordered *all = xcalloc(v.nthreads, sizeof(*all));

	for (size_t i = 0; i < v.nthreads; i++) {
		const struct process *process = &v.processes[v.threads[i].process];

		all[i] = (struct ordered){ .index = (uint32_t)i,
					   .per_thread = v.meta->per_thread,
					   .thread = { .process = rollup_comm(p, process->comm),
						       .pid = process->pid,
						       .comm = rollup_comm(p, v.threads[i].comm),
						       .tid = v.threads[i].tid } };
	}
	qsort(all, v.nthreads, sizeof(*all), by_thread);
	l->threads = xcalloc(v.nthreads, sizeof(*l->threads));
	l->of_thread = xcalloc(v.nthreads, sizeof(*l->of_thread));
	for (size_t i = 0; i < v.nthreads; i++) {
		struct html_thread *last = i ? &l->threads[l->nthreads - 1] : NULL;

		if (!i || by_thread(&all[i - 1], &all[i])) {
			all[i].thread.group = !i ? 0
						 : last->group + !!by_process(&all[i - 1], &all[i]);
			l->threads[l->nthreads++] = all[i].thread;
		} else {
			last->pid = last->pid == all[i].thread.pid ? last->pid : 0;
			last->tid = last->tid == all[i].thread.tid ? last->tid : 0;
		}
		l->of_thread[all[i].index] = (uint32_t)(l->nfunctions + l->nthreads - 1);
	}
	free(all);
}

struct html_labels *html_labels_new(const struct profile *p)
{
	struct html_labels *l = xcalloc(1, sizeof(*l));

	collect_functions(l, p);
	find_lines(l, p);
	collect_threads(l, p);
	l->tree = (struct calltree_labels){ .functions = l->of_function,
					    .inlined = l->of_inlined,
					    .threads = l->of_thread };
	return l;
}

void html_labels_free(struct html_labels *l)
{
	if (!l)
		return;
	free(l->functions);
	free(l->threads);
	free(l->of_function);
	free(l->of_inlined);
	free(l->of_thread);
	free(l);
}
