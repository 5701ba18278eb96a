/* SPDX-License-Identifier: MIT */
#include "output/threads.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hashmap.h"
#include "base/xalloc.h"
#include "output/order.h"

/* A row while it is being put into its place. */
struct place {
	struct thread_row row;
	uint32_t process;
	uint64_t process_total;
	int main;		/* it is called and numbered like its process */
};

static int more(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_rank(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	int c = more(x->process_total, y->process_total);

	if (!c)
		c = more(y->process, x->process);
	if (!c)
		c = y->main - x->main;
	if (!c)
		c = more(x->row.total, y->row.total);
	return c ? c : more(y->row.thread, x->row.thread);
}

/* All threads with their totals, those of the shown values. */
static struct place *places_new(const struct profile_view *v)
{
	struct place *places = xcalloc(v->nthreads, sizeof(*places));
	uint64_t *totals = xcalloc(v->nprocesses, sizeof(*totals));

	for (size_t i = 0; i < v->nsamples; i++) {
		uint32_t thread = v->samples[i].thread;

		places[thread].row.total += v->values[i];
		places[thread].row.nsamples += v->values[i] != 0;
		totals[v->threads[thread].process] += v->values[i];
	}
	for (size_t i = 0; i < v->nthreads; i++) {
		const struct thread *t = &v->threads[i];
		const struct process *process = &v->processes[t->process];
		struct place *p = &places[i];

		p->row.thread = (uint32_t)i;
		p->row.pid = process->pid;
		p->row.tid = t->tid ? t->tid : process->pid;
		p->process = t->process;
		p->process_total = totals[t->process];
		p->main = p->row.tid == p->row.pid && t->comm == process->comm;
	}
	free(totals);
	return places;
}

/*
 * Where each thread's samples begin, all of one thread in a row; those without a value come last.
 */
static void give_samples(struct threads *t, struct place *places, const struct profile_view *v)
{
	uint32_t *keys = xcalloc(v->nsamples, sizeof(*keys));
	const uint32_t *next;

	for (size_t i = 0; i < v->nsamples; i++)
		keys[i] = v->values[i] ? v->samples[i].thread : (uint32_t)v->nthreads;
	t->order = order_by(keys, v->nsamples, v->nthreads + 1);
	next = t->order;
	for (size_t i = 0; i < v->nthreads; i++) {
		places[i].row.samples = next;
		next += places[i].row.nsamples;
	}
	free(keys);
}

/* How often @id was met before, in @seen. */
static uint32_t again(struct hashmap *seen, pid_t id)
{
	uint32_t n = hashmap_get(seen, (uint32_t)id);

	n = n == HASHMAP_NONE ? 0 : n + 1;
	hashmap_set(seen, (uint32_t)id, n);
	return n;
}

/* @also: by thread, 1 where it is listed without samples; or NULL. */
static struct threads *list_threads(const struct profile *p, const unsigned char *also)
{
	struct profile_view v = profile_view(p);
	struct threads *t = xcalloc(1, sizeof(*t));
	struct place *places = places_new(&v);
	struct hashmap pids = { 0 }, tids = { 0 };

	give_samples(t, places, &v);
	if (v.nthreads)
		qsort(places, v.nthreads, sizeof(*places), by_rank);
	t->v = xcalloc(v.nthreads, sizeof(*t->v));
	for (size_t i = 0; i < v.nthreads; i++) {
		struct thread_row *row = &t->v[t->n];

		if (!places[i].row.nsamples && !(also && also[places[i].row.thread]))
			continue;
		*row = places[i].row;
		row->leads = !t->n || v.threads[row[-1].thread].process != places[i].process;
		row->pid_again = row->leads ? again(&pids, row->pid) : row[-1].pid_again;
		row->tid_again = again(&tids, row->tid);
		t->n++;
	}
	hashmap_free(&pids);
	hashmap_free(&tids);
	free(places);
	return t;
}

struct threads *threads_new(const struct profile *p)
{
	return list_threads(p, NULL);
}

struct threads *threads_with_spans(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	unsigned char *also = xcalloc(v.nthreads + 1, sizeof(*also));
	struct threads *t;

	for (size_t i = 0; i < v.nticks; i++)
		if (v.ticks[i].span)
			also[v.samples[v.ticks[i].sample].thread] = 1;
	t = list_threads(p, also);
	free(also);
	return t;
}

void threads_free(struct threads *t)
{
	if (!t)
		return;
	free(t->order);
	free(t->v);
	free(t);
}

const char *threads_id(char *buf, size_t size, pid_t id, uint32_t again)
{
	if (again)
		snprintf(buf, size, "%d.%u", id, again);
	else
		snprintf(buf, size, "%d", id);
	return buf;
}
