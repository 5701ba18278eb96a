/* SPDX-License-Identifier: MIT */
#include "session/rescue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/huge.h"
#include "base/vec.h"
#include "session/aboves.h"
#include "session/budget.h"
#include "session/patience.h"
#include "session/stash.h"

/* bytes of samples that wait; more are given out as they are */
#define WAITING_MAX	(64u << 20)
#define NO_TIME		1	/* its process has had its share, or is to be tried later */

#ifdef __aarch64__
#define REG_PC 32
#else
#define REG_PC 16
#endif

struct waiting {
	struct ebp_rescue *sample;
	struct unwind_above *above;
};

struct rescue {
	struct procs *procs;
	struct tracker *tracker;
	struct unwinder *unwinder;
	uint32_t max;
	rescue_done *done;
	void *ctx;
	VEC(struct waiting) waiting;
	struct stash stash;		/* for what of them is large */
	struct aboves *aboves;		/* what lies above their stacks */
	size_t bytes;			/* of all that wait */
	struct patience patience;	/* with processes whose stacks are not saved */
	/* ns; none of a process with many mappings is tried before */
	uint64_t next_many;
	/* of every process: its files decide how long a stack takes */
	struct budget budget;
	uint64_t saved;
};

struct rescue *rescue_new(struct procs *procs, struct tracker *tracker, struct unwinder *unwinder,
			  struct remote *remote, uint32_t max, rescue_done *done, void *ctx)
{
	struct rescue *r = xcalloc(1, sizeof(*r));

	r->procs = procs;
	r->tracker = tracker;
	r->unwinder = unwinder;
	r->max = max;
	r->done = done;
	r->ctx = ctx;
	stash_new(&r->stash, WAITING_MAX / HUGE_BYTES);
	r->aboves = aboves_new(remote, &r->stash);
	return r;
}

static size_t size_of(const struct ebp_rescue *s)
{
	return sizeof(*s) + s->head.n;
}

static int is_large(size_t size)
{
	return size >= EBP_STACK_SHORT;
}

/* Room for one that waits; NULL: so many do already. */
static struct ebp_rescue *room(struct rescue *r, size_t size)
{
	if (r->bytes + size > WAITING_MAX)
		return NULL;
	return is_large(size) ? stash_take(&r->stash, size) : xmalloc(size);
}

/* Waits no more. */
static void drop(struct rescue *r, struct waiting *w)
{
	size_t size = size_of(w->sample);

	r->bytes -= size;
	aboves_give(r->aboves, w->above);
	if (is_large(size))
		stash_give(&r->stash, w->sample);
	else
		free(w->sample);
}

void rescue_free(struct rescue *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->waiting.n; i++)
		drop(r, &r->waiting.v[i]);
	vec_free(&r->waiting);
	aboves_free(r->aboves);
	stash_free(&r->stash);
	patience_free(&r->patience);
	budget_free(&r->budget);
	free(r);
}

/* The kernel's own end, and of the frames that are here only that at which it begins. */
static void as_it_was(const struct ebp_rescue *s, struct unwind_result *out)
{
	out->result = s->key.result < EBP_RESULTS ? s->key.result : EBP_NO_PROCESS;
	out->frames[0] = EBP_FRAME_WILD(s->stop.n ? s->stop.pc - 1 : s->regs.r[REG_PC]);
	out->n = 1;
	out->fp_frames = out->by_fp = 0;
}

/* -EAGAIN: not yet; else @out is filled: 0, or NO_TIME, where it was not tried. */
static int try(struct rescue *r, const struct ebp_rescue *s, const struct unwind_above *above,
	       uint32_t incarnation, struct unwind_result *out)
{
	int many = procs_mappings(r->procs, incarnation) > MANY_MAPPINGS, err;
	pid_t pid = (pid_t)s->key.process.tgid;
	uint64_t now = clock_ns(), before, took;
	struct unwind_mapping *list;
	struct ebp_jump jump;
	size_t n;

	if ((many && now < r->next_many) || !budget_has(&r->budget, pid, now)) {
		as_it_was(s, out);
		return NO_TIME;
	}
	/* CPU time: what a busy machine does meanwhile is no process's doing. */
	before = clock_thread_ns();
	list = tracker_mappings(r->tracker, incarnation, s->time, &n);
	tracker_jump(r->tracker, list, n, &jump);
	err = unwinder_rescue(r->unwinder, s, above, list, n, &jump, r->max, out);
	free(list);
	took = clock_thread_ns() - before;
	if (many)
		r->next_many = now + (1 + MANY_SPARE) * took;
	budget_took(&r->budget, pid, now, now + took);
	return err;
}

/* As try(). */
static int unwind(struct rescue *r, const struct ebp_rescue *s, const struct unwind_above *above,
		  struct unwind_result *out)
{
	uint32_t incarnation = procs_at(r->procs, (pid_t)s->key.process.tgid, s->time);
	int err = try(r, s, above, incarnation, out);
	uint64_t last;

	/* In no mapping that we know: to ask for the place makes procs look again. */
	if (err || out->result != EBP_NO_MAPPING || !out->n)
		return err;
	last = out->frames[out->n - 1];
	if (!EBP_FRAME_IS_OF_PROCESS(last) ||
	    procs_locate(r->procs, incarnation, last, s->time).image == IMAGE_NONE) {
		if (out->by_fp)
			out->result = EBP_NO_CFI;
		return 0;
	}
	tracker_publish(r->tracker);
	return try(r, s, above, incarnation, out);
}

/* Whether its process has begun another program since. */
static int is_of_the_past(const struct rescue *r, const struct ebp_rescue *s)
{
	pid_t pid = (pid_t)s->key.process.tgid;

	return procs_at(r->procs, pid, s->time) != procs_at(r->procs, pid, UINT64_MAX);
}

/* How it ended counts where it was tried, @err as of unwind(), of a program that still runs. */
static void give_out(struct rescue *r, const struct ebp_rescue *s, int err,
		     const struct unwind_result *result)
{
	pid_t pid = (pid_t)s->key.process.tgid;

	if (result->result == EBP_COMPLETE && err != NO_TIME)
		r->saved++;
	if (err == NO_TIME || is_of_the_past(r, s)) {
		r->done(r->ctx, s, result);
		return;
	}
	if (result->result == EBP_COMPLETE)
		patience_succeeded(&r->patience, pid);
	else if (patience_failed(&r->patience, pid, clock_ns()))
		unwinder_set_rescue(r->unwinder, pid, 0);
	r->done(r->ctx, s, result);
}

/* 0 where there is no room for one more that waits. */
static int keep(struct rescue *r, const struct ebp_rescue *sample)
{
	size_t size = size_of(sample);
	struct waiting w = { .sample = room(r, size) };
	uint64_t now = clock_ns(), before = clock_thread_ns();

	if (!w.sample)
		return 0;
	memcpy(w.sample, sample, size);
	w.above = aboves_take(r->aboves, sample);
	budget_took(&r->budget, (pid_t)sample->key.process.tgid, now,
		    now + (clock_thread_ns() - before));
	vec_push(&r->waiting, w);
	r->bytes += size;
	return 1;
}

/* As its last one does, for a table that is still to come: all are tried again with each one. */
static int would_wait(const struct rescue *r, const struct ebp_rescue *sample)
{
	return r->waiting.n && r->waiting.v[r->waiting.n - 1].sample->key.process.tgid ==
				       sample->key.process.tgid;
}

void rescue_take(struct rescue *r, const struct ebp_rescue *sample)
{
	struct unwind_result result;
	int err;

	/* Without tables of it, or with those of the program that it was. */
	if (sample->key.result == EBP_NO_PROCESS)
		tracker_add(r->tracker, (pid_t)sample->key.process.tgid, sample->key.process.start);
	if (would_wait(r, sample) && keep(r, sample))
		return;
	err = unwind(r, sample, NULL, &result);
	if (err != -EAGAIN) {
		give_out(r, sample, err, &result);
		return;
	}
	if (keep(r, sample))
		return;
	as_it_was(sample, &result);
	give_out(r, sample, err, &result);
}

/* Those that may not @wait come out whatever their end. */
static void retry(struct rescue *r, int wait)
{
	struct unwind_result result;
	uint32_t pending = 0;	/* a process whose tables are not all there */
	size_t kept = 0;

	for (size_t i = 0; i < r->waiting.n; i++) {
		struct waiting *w = &r->waiting.v[i];
		uint32_t pid = w->sample->key.process.tgid;
		int err = -EAGAIN;

		if (!wait || pid != pending)
			err = unwind(r, w->sample, w->above, &result);
		if (err == -EAGAIN && wait) {
			pending = pid;
			r->waiting.v[kept++] = *w;
			continue;
		}
		if (err == -EAGAIN)
			as_it_was(w->sample, &result);
		give_out(r, w->sample, err, &result);
		drop(r, w);
	}
	r->waiting.n = kept;
	if (kept)
		return;
	aboves_forget(r->aboves);
	stash_shrink(&r->stash);
}

void rescue_retry(struct rescue *r)
{
	retry(r, 1);
}

void rescue_tick(struct rescue *r, uint64_t now)
{
	pid_t pid;

	while ((pid = patience_rested(&r->patience, now)))
		unwinder_set_rescue(r->unwinder, pid, 1);
}

int rescue_waits(const struct rescue *r)
{
	return r->waiting.n > 0;
}

uint64_t rescue_oldest(const struct rescue *r)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < r->waiting.n; i++)
		if (r->waiting.v[i].sample->time < oldest)
			oldest = r->waiting.v[i].sample->time;
	return oldest;
}

void rescue_forget(struct rescue *r, pid_t pid)
{
	patience_forget(&r->patience, pid);
	budget_forget(&r->budget, pid);
}

void rescue_finish(struct rescue *r, uint64_t ns)
{
	if (r->waiting.n)
		unwinder_wait(r->unwinder, ns);
	retry(r, 0);
}

uint64_t rescue_saved(const struct rescue *r)
{
	return r->saved;
}
