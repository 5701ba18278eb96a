/* SPDX-License-Identifier: MIT */
/*
 * The part of the assembler that forgets what ended, so that its tables do not grow with each
 * process that there ever was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "profile/profile_fold.h"
#include "session/assembler.h"
#include "session/assembler_state.h"
#include "session/ended_threads.h"

#define LEAST 2048	/* rows of ended processes that are worth it; some 100 bytes each */
/* and they are one of so many: so what is written anew is paid for by what goes */
#define PART 8
#define APART 32768	/* processes, and threads, that are kept apart, though they ended */
#define TICKS 8		/* give as much work as a row */
#define AGAIN 3000000000u	/* ns until it is worth it to look for some that ended */

static int is_over(const struct known_process *p, uint64_t before)
{
	return p->gone && p->gone < before;
}

/* Its row in the profile is its own. */
static int has_row(const struct known_process *p)
{
	return p->process != PROFILE_NONE && !p->shared;
}

/* @over: rows of threads that ended in processes that go on. */
static int is_worth_it(const struct assembler *a, uint64_t before, size_t ticks, size_t over)
{
	struct profile_view v = profile_view(a->profile);
	size_t all = v.nprocesses + v.nthreads + v.nsamples + ticks / TICKS;

	/* Itself, a thread at least, and its samples. */
	for (size_t i = 0; i < a->processes.n; i++) {
		const struct known_process *p = &a->processes.v[i];

		over += has_row(p) && is_over(p, before) ? 2 + (size_t)p->samples : 0;
	}
	return over >= LEAST && over >= all / PART;
}

/* Returns how many processes there are that end as one. @same: of threads (profile_fold()). */
static size_t fold_profile(struct assembler *a, uint64_t before, const uint32_t *same,
			   const char *mark)
{
	size_t n = 0;
	unsigned char *ended = xcalloc(profile_view(a->profile).nprocesses, 1);

	for (size_t i = 0; i < a->processes.n; i++)
		if (has_row(&a->processes.v[i]))
			ended[a->processes.v[i].process] = 1;
	/*
	 * Two keys may be one incarnation; those that were made of processes before are nobody's,
	 * and stay.
	 */
	for (size_t i = 0; i < a->processes.n; i++)
		if (has_row(&a->processes.v[i]) && !is_over(&a->processes.v[i], before))
			ended[a->processes.v[i].process] = 0;
	for (size_t i = 0; i < profile_view(a->profile).nprocesses; i++)
		n += ended[i];
	profile_fold(a->profile, ended, same, mark);
	free(ended);
	return n;
}

/*
 * Processes that are over are not known any more; the others' indexes are those of now. @f: NULL
 * where the profile was not folded, then those stay which have rows in it.
 */
static void forget_processes(struct assembler *a, const struct profile_folded *f, uint64_t before)
{
	size_t n = a->processes.n;

	a->processes.n = 0;
	interned_free(&a->processes.ids);
	for (size_t i = 0; i < n; i++) {
		struct known_process p = a->processes.v[i];

		if (is_over(&p, before) && (f || !has_row(&p)))
			continue;
		if (f && p.process != PROFILE_NONE)
			p.process = f->processes[p.process];
		known_processes_add(&a->processes, &p);
	}
}

/* Before the processes are forgotten. */
static void fold_samples(struct assembler *a, const struct profile_folded *f, uint64_t before)
{
	size_t n = a->sample_results.n;
	uint32_t *now = xcalloc(n + 1, sizeof(*now));

	/* Samples that become one have one stack, and so one result. */
	a->sample_results.n = profile_view(a->profile).nsamples;
	for (size_t i = 0; i < n; i++) {
		uint32_t sample = f->samples[i];

		a->sample_results.v[sample] = a->sample_results.v[i];
		now[i] = profile_sample_ended(a->profile, sample) ? PROFILE_NONE : sample;
	}
	a->folding = before;
	sources_fold(a->sources, now);
	free(now);
}

int assembler_is_over(void *ctx, const struct ebp_process *process)
{
	struct assembler *a = ctx;
	const struct known_process *p = known_processes_find(&a->processes, process);

	return p && is_over(p, a->folding);
}

static void release(struct assembler *a)
{
	unsigned char *kept = xcalloc(procs_count(a->procs) + 1, 1);

	for (size_t i = 0; i < a->processes.n; i++)
		kept[a->processes.v[i].incarnation] = 1;
	/* Its module is called after it. */
	for (size_t i = 0; i < a->made.n; i++) {
		struct made *m = &a->made.v[i];

		if (!kept[m->incarnation] && !m->over) {
			namer_runtime_end(a->namer, m->runtime);
			m->names = NULL;
			m->over = 1;
		}
		kept[m->incarnation] = 1;
	}
	procs_release(a->procs, kept);
	free(kept);
}

/* How many samples each process has now. */
static void count_samples(struct assembler *a)
{
	struct profile_view v = profile_view(a->profile);
	uint32_t *n = xcalloc(v.nprocesses + 1, sizeof(*n));

	for (size_t i = 0; i < v.nsamples; i++)
		n[v.threads[v.samples[i].thread].process]++;
	for (size_t i = 0; i < a->processes.n; i++) {
		struct known_process *p = &a->processes.v[i];

		if (!has_row(p))
			continue;
		p->samples = n[p->process];
		/* Two keys may be one incarnation. */
		n[p->process] = 0;
	}
	free(n);
}

static void fold(struct assembler *a, uint64_t before, const uint32_t *same, const char *mark)
{
	struct profile_folded f;

	a->folded += fold_profile(a, before, same, mark);
	f = profile_folded(a->profile);
	fold_samples(a, &f, before);
	forget_processes(a, &f, before);
	release(a);
	if (same)
		count_samples(a);
}

void assembler_fold(struct assembler *a, uint64_t age, const char *mark)
{
	uint64_t now = clock_ns(), before = now > age ? now - age : 0;

	if (is_worth_it(a, before, 0, 0))
		fold(a, before, NULL, mark);
}

/* So many more than when it was last looked who lives that it may be worth it. */
static int has_many_threads(const struct assembler *a, size_t most)
{
	size_t n = profile_view(a->profile).nthreads;

	return !a->sources->host.per_thread && n >= most &&
	       n - a->threads_left >= a->threads_left / PART;
}

static int make_room(struct assembler *a, size_t ticks, int threads)
{
	size_t nthreads = 0, nrows = 0;
	uint32_t *same = threads ? ended_threads(a->profile, &nthreads, &nrows) : NULL;
	uint64_t now = clock_ns();
	int worth = is_worth_it(a, now, ticks, nrows);

	if (worth) {
		fold(a, now, same, "");
		a->folded_threads += nthreads;
	} else if (a->folds_brief) {
		forget_processes(a, NULL, now);
		release(a);
	}
	if (threads || worth)
		a->threads_left = profile_view(a->profile).nthreads;
	free(same);
	return worth;
}

int assembler_make_room(struct assembler *a, size_t ticks)
{
	size_t most = a->folds_brief ? APART_BRIEF : APART;
	uint64_t now = clock_ns();
	int threads;

	if (now < a->looked + AGAIN)
		return 0;
	threads = has_many_threads(a, most);
	if (!threads && a->processes.n < most)
		return 0;
	a->looked = now;
	assembler_update(a);
	return make_room(a, ticks, threads);
}

void assembler_inherit(struct assembler *a, const struct assembler *old, uint64_t age)
{
	const struct process *processes = profile_view(old->profile).processes;
	uint64_t now = clock_ns(), before = now > age ? now - age : 0;

	memcpy(a->results, old->results, sizeof(a->results));
	a->folded = old->folded;
	a->folded_threads = old->folded_threads;
	assembler_inherit_names(a, old);
	for (size_t i = 0; i < old->processes.n; i++) {
		struct known_process p = old->processes.v[i];

		if (is_over(&p, before) || known_processes_find(&a->processes, &p.key))
			continue;
		p.samples = 0;
		if (has_row(&p)) {
			const struct process *was = &processes[p.process];

			p.process = profile_process(a->profile, was->pid, p.incarnation, 0);
			profile_set_parent(a->profile, p.process, was->parent);
		}
		known_processes_add(&a->processes, &p);
	}
}
