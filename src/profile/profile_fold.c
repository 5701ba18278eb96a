/* SPDX-License-Identifier: MIT */
#include "profile/profile_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/profile_state.h"

/* an incarnation from here on is that of processes that ended: plus their name; fits an int */
#define ENDED 0x40000000u

/* The name of those that were @comm. */
static uint32_t ended_name(struct profile *p, uint32_t comm, const char *mark)
{
	const char *name = comm ? profile_text(p, comm) : "?";
	size_t size = strlen(name) + strlen(mark) + 1;
	char *text = xmalloc(size);
	uint32_t id;

	snprintf(text, size, "%s%s", name, mark);
	id = profile_string(p, text);
	free(text);
	return id;
}

uint32_t profile_ended_process(struct profile *p, uint32_t comm, const char *mark)
{
	uint32_t name = ended_name(p, comm, mark);

	return profile_process(p, 0, ENDED | name, name);
}

/*
 * In those below each thing is added anew to the array that it is read from: as no more come out
 * than went in, what is written lies never behind what is read.
 */
static void fold_processes(struct profile *p, const unsigned char *ended, const char *mark)
{
	size_t n = p->processes.n;

	p->processes.n = 0;
	hashmap_free(&p->process_ids);
	for (size_t i = 0; i < n; i++) {
		const struct process old = p->processes.v[i];
		uint32_t process = ended[i] ? profile_ended_process(p, old.comm, mark) :
				   profile_process(p, old.pid, old.incarnation, old.comm);

		profile_set_parent(p, process, ended[i] ? 0 : old.parent);
		vec_push(&p->folded.processes, process);
	}
}

/* Index before -> index now; the caller frees it. */
static uint32_t *fold_threads(struct profile *p, const unsigned char *ended, const uint32_t *same)
{
	size_t n = p->threads.n;
	uint32_t *now = xcalloc(n + 1, sizeof(*now));

	p->threads.n = 0;
	interned_free(&p->thread_ids);
	for (size_t i = 0; i < n; i++) {
		const struct thread old = p->threads.v[i];

		now[i] = same && same[i] != i ?
			 now[same[i]] :
			 profile_thread(p, p->folded.processes.v[old.process],
					ended[old.process] ? 0 : old.tid, old.comm);
	}
	return now;
}

static void fold_samples(struct profile *p, const uint32_t *threads)
{
	size_t n = p->samples.n, ncolumns = p->columns.n;
	struct profile_folded f;

	/* Values are summed up below, so they are not begun here. */
	p->columns.n = 0;
	p->samples.n = 0;
	interned_free(&p->sample_ids);
	for (size_t i = 0; i < n; i++) {
		const struct sample old = p->samples.v[i];

		vec_push(&p->folded.samples,
			 profile_sample(p, threads[old.thread], old.node, old.labels));
	}
	p->columns.n = ncolumns;
	f = profile_folded(p);
	for (size_t i = 0; i < ncolumns; i++)
		p->columns.v[i].n = profile_fold_sums(&f, p->columns.v[i].v, n);
	for (size_t i = 0; i < p->ticks.n; i++)
		p->ticks.v[i].sample = f.samples[p->ticks.v[i].sample];
}

/* Gives back what a burst of processes made an array have. */
#define SHRINK(vec) do { \
	if ((vec)->cap / 4 > (vec)->n) { \
		(vec)->cap = 2 * (vec)->n + 8; \
		(vec)->v = xreallocarray((vec)->v, (vec)->cap, sizeof(*(vec)->v)); \
	} \
} while (0)

void profile_fold(struct profile *p, const unsigned char *ended, const uint32_t *same,
		  const char *mark)
{
	uint32_t *threads;

	vec_free(&p->folded.processes);
	vec_free(&p->folded.samples);
	p->folded.times++;
	fold_processes(p, ended, mark);
	threads = fold_threads(p, ended, same);
	fold_samples(p, threads);
	free(threads);
	SHRINK(&p->processes);
	SHRINK(&p->threads);
	SHRINK(&p->samples);
	for (size_t i = 0; i < p->columns.n; i++)
		SHRINK(&p->columns.v[i]);
}

struct profile_folded profile_folded(const struct profile *p)
{
	return (struct profile_folded){
		.times = p->folded.times,
		.processes = p->folded.processes.v, .nprocesses = p->folded.processes.n,
		.samples = p->folded.samples.v, .nsamples = p->folded.samples.n,
	};
}

int process_is_ended(const struct process *process)
{
	return process->incarnation >= ENDED;
}

int profile_sample_ended(const struct profile *p, uint32_t sample)
{
	return process_is_ended(
		&p->processes.v[p->threads.v[p->samples.v[sample].thread].process]);
}

size_t profile_fold_sums(const struct profile_folded *f, uint64_t *sums, size_t n)
{
	size_t now = 0;

	/*
	 * An index never becomes higher, so all that a place was to give has been read when it
	 * takes.
	 */
	for (size_t i = 0; i < n; i++) {
		uint64_t value = sums[i];

		sums[i] = 0;
		sums[f->samples[i]] += value;
		if (f->samples[i] >= now)
			now = f->samples[i] + 1;
	}
	return now;
}
