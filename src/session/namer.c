/* SPDX-License-Identifier: MIT */
#include "session/namer.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "proc/idle_cpu.h"
#include "session/naming.h"
#include "session/priority.h"

#define PAUSE		8	/* times the CPU time that a batch took */
#define SLICE		512	/* places that are answered at once */
#define RUNTIMES_AGAIN	500000000ull	/* ns until code without a name is asked for again */
/*
 * ns that places wait for a CPU that has nothing else to do. Where nobody looks it is so much of a
 * recording whose names may all be left for its end.
 */
#define PATIENCE_LIVE	200000000ull
#define PATIENCE	5000000000ull
#define BUSY		25000000ull	/* ns until an idle CPU is looked for again */

/*
 * Neither thread allocates or frees what the other one does: the heap of one of low priority must
 * not stop the owner.
 */
struct namer {
	struct naming *naming;		/* the thread's while it is busy */
	pthread_t thread;
	int started, live;
	struct idle_cpu cpu;
	uint64_t pause;			/* ns, at least */
	/* The owner's. */
	naming_places asked;		/* not handed over yet, and */
	naming_places later;		/* not before something else has come */
	VEC(struct namer_runtime *) runtimes, ending;
	uint64_t runtimes_again;	/* when these are asked again, ns */
	pthread_mutex_t lock;		/* of all below, and of what runtimes hold */
	pthread_cond_t work, progress;
	naming_places batch;		/* the owner's memory */
	naming_places todo;		/* the thread's: what it works on */
	struct naming_answers answers;	/* the thread's: not taken yet */
	/* with the batch, which asks the last of them */
	VEC(struct namer_runtime *) ended;
	pid_t tid;			/* of the thread; 0: it has not come so far */
	enum priority priority;		/* of the thread */
	uint64_t handed_over;		/* when the batch was, ns */
	uint64_t pause_ends;		/* ns */
	enum naming_phase phase;
	size_t memory;			/* bytes of symbols; 0: as the options say */
	int busy, stop;
};

struct namer *namer_new(const struct namer_options *o)
{
	struct namer *n = xcalloc(1, sizeof(*n));
	pthread_condattr_t attr;

	n->naming = naming_new(o);
	n->live = o->live;
	n->pause = o->pause;
	idle_cpu_open(&n->cpu, o->proc ? o->proc : "/proc");
	/* The owner may run at a real-time priority. */
	thread_lock_init(&n->lock);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&n->work, &attr);
	pthread_condattr_destroy(&attr);
	pthread_cond_init(&n->progress, NULL);
	return n;
}

/* With the lock. */
static void set_priority(struct namer *n, enum priority priority)
{
	if (n->tid && n->priority != priority)
		priority_set(n->tid, priority);
	n->priority = priority;
	pthread_cond_signal(&n->work);
}

/* Waits for the look-up that is under way. From here on the symbolizer is the owner's. */
static void end_thread(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	n->stop = 1;
	set_priority(n, PRIORITY_OURS);
	pthread_mutex_unlock(&n->lock);
	if (n->started)
		pthread_join(n->thread, NULL);
	n->started = n->stop = 0;
	n->tid = 0;
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	end_thread(n);
	idle_cpu_close(&n->cpu);
	naming_free(n->naming);
	for (size_t i = 0; i < n->runtimes.n; i++) {
		symbol_source_free(n->runtimes.v[i]->source);
		free(n->runtimes.v[i]);
	}
	vec_free(&n->runtimes);
	vec_free(&n->ending);
	vec_free(&n->ended);
	vec_free(&n->asked);
	vec_free(&n->later);
	vec_free(&n->batch);
	vec_free(&n->todo);
	naming_answers_free(&n->answers);
	pthread_cond_destroy(&n->work);
	pthread_cond_destroy(&n->progress);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* --- The thread. ---------------------------------------------------------------- */

/* Takes the batch over. */
static void take_batch(struct namer *n)
{
	vec_reserve(&n->todo, n->batch.n);
	if (n->batch.n)
		memcpy(n->todo.v, n->batch.v, n->batch.n * sizeof(*n->batch.v));
	n->todo.n = n->batch.n;
	n->batch.n = 0;
}

/* Of what may be left for later nothing is done while all CPUs have something to do. */
static void await_cpu(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	while (n->priority == PRIORITY_IDLE && !n->stop && !idle_cpu_left(&n->cpu)) {
		const struct timespec until = clock_timespec(clock_ns() + BUSY);

		pthread_cond_timedwait(&n->work, &n->lock, &until);
	}
	pthread_mutex_unlock(&n->lock);
}

static struct namer_runtime runtime_of(struct namer *n, const struct naming_place *p)
{
	struct namer_runtime runtime = { 0 };

	if (p->where.runtime) {
		pthread_mutex_lock(&n->lock);
		runtime = *p->where.runtime;
		pthread_mutex_unlock(&n->lock);
	}
	return runtime;
}

/* Some of what is to do. 0: nothing is left, or nobody wants it any more. */
static int name_slice(struct namer *n, size_t from, struct naming_answers *made)
{
	int more;

	for (size_t i = from; i < n->todo.n && i - from < SLICE; i++) {
		const struct naming_place *p = &n->todo.v[i];
		const struct namer_runtime runtime = runtime_of(n, p);

		/* What takes long is done with the first place of a file. */
		if (i == from || p->where.image != p[-1].where.image)
			await_cpu(n);
		naming_name(n->naming, p, p->where.runtime ? &runtime : NULL, made);
	}
	pthread_mutex_lock(&n->lock);
	naming_answers_move(&n->answers, made);
	more = !n->stop && n->todo.n > from + SLICE;
	pthread_cond_signal(&n->progress);
	pthread_mutex_unlock(&n->lock);
	return more;
}

/* With the lock. The first @all of those that ended are not asked any more. */
static void free_ended(struct namer *n, size_t all)
{
	for (size_t i = 0; i < all; i++) {
		symbol_source_free(n->ended.v[i]->source);
		n->ended.v[i]->source = NULL;
	}
	n->ended.n -= all;
	if (n->ended.n)
		memmove(n->ended.v, n->ended.v + all, n->ended.n * sizeof(*n->ended.v));
}

/* With the lock, which it gives up while it names. */
static void name_batch(struct namer *n)
{
	struct naming_answers made = { 0 };
	uint64_t begin = clock_thread_ns(), spent;
	enum naming_phase phase = n->phase;
	size_t ended = n->ended.n;

	take_batch(n);
	if (n->memory)
		symbolizer_limit(naming_symbolizer(n->naming), n->memory);
	n->busy = 1;
	pthread_mutex_unlock(&n->lock);
	naming_begin(n->naming, &n->todo, phase);
	for (size_t i = 0; name_slice(n, i, &made); i += SLICE)
		continue;
	naming_end(n->naming);
	pthread_mutex_lock(&n->lock);
	free_ended(n, ended);
	naming_answers_free(&made);
	vec_free(&n->todo);
	n->busy = 0;
	if (n->phase == NAMING_SAMPLES && !n->stop)
		set_priority(n, PRIORITY_IDLE);
	spent = clock_thread_ns() - begin;
	n->pause_ends = clock_ns() + (PAUSE * spent > n->pause ? PAUSE * spent : n->pause);
	pthread_cond_signal(&n->progress);
}

static int is_urgent(const struct namer *n)
{
	return n->phase != NAMING_SAMPLES;
}

static int has_work(const struct namer *n)
{
	return n->batch.n || n->ended.n;
}

static void *work(void *arg)
{
	struct namer *n = arg;

	pthread_mutex_lock(&n->lock);
	n->tid = gettid();
	priority_set(n->tid, n->priority);
	while (!n->stop) {
		if (has_work(n))
			name_batch(n);
		else
			pthread_cond_wait(&n->work, &n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* --- The owner. ------------------------------------------------------------------- */

void namer_ask(struct namer *n, uint32_t id, const struct namer_place *place)
{
	vec_push(&n->asked, (struct naming_place){ *place, id, 0 });
}

int namer_forget(struct namer *n, const unsigned char *which, uint32_t images)
{
	int idle;

	pthread_mutex_lock(&n->lock);
	idle = !n->busy && !has_work(n);
	for (uint32_t i = 0; idle && i < images; i++)
		if (which[i])
			symbolizer_forget(naming_symbolizer(n->naming), i);
	pthread_mutex_unlock(&n->lock);
	return idle;
}

void namer_limit(struct namer *n, size_t memory)
{
	pthread_mutex_lock(&n->lock);
	n->memory = memory;
	pthread_mutex_unlock(&n->lock);
}

struct namer_runtime *namer_runtime(struct namer *n)
{
	struct namer_runtime *r = xcalloc(1, sizeof(*r));

	r->number = (uint32_t)n->runtimes.n;
	vec_push(&n->runtimes, r);
	return r;
}

void namer_runtime_source(struct namer *n, struct namer_runtime *r, struct symbol_source *source)
{
	pthread_mutex_lock(&n->lock);
	r->source = source;
	pthread_mutex_unlock(&n->lock);
}

void namer_runtime_end(struct namer *n, struct namer_runtime *r)
{
	pthread_mutex_lock(&n->lock);
	r->ended = 1;
	pthread_mutex_unlock(&n->lock);
	vec_push(&n->ending, r);
}

/* Whether the name that @p has by now is one to keep. */
static int is_due(const struct namer *n, const struct naming_place *p, int runtimes)
{
	const struct image *image = p->where.image;

	if (n->phase == NAMING_FINISHES)
		return 1;
	/* Another mapping of a file that could not be opened may open it. */
	if (image)
		return image->fd >= 0 || image->kind != IMAGE_FILE;
	if (p->where.runtime)
		return runtimes || p->where.runtime->ended;
	return !p->again || n->phase == NAMING_STOPPED;
}

/* Moves what is due from @from to the batch, and the rest behind what is to be asked later. */
static void sort_out(struct namer *n, naming_places *from, int runtimes)
{
	size_t all = from->n;

	from->n = 0;
	for (size_t i = 0; i < all; i++) {
		struct naming_place p = from->v[i];

		if (is_due(n, &p, runtimes))
			vec_push(&n->batch, p);
		else
			vec_push(&n->later, p);
	}
}

/* With the lock. */
static void take_later(struct namer *n)
{
	for (size_t i = 0; i < n->answers.later.n; i++)
		vec_push(&n->later, n->answers.later.v[i]);
	n->answers.later.n = 0;
}

/* With the lock. */
static void hand_over(struct namer *n)
{
	uint64_t now = clock_ns();
	int runtimes = n->live && now >= n->runtimes_again;

	if (runtimes)
		n->runtimes_again = now + RUNTIMES_AGAIN;
	take_later(n);
	n->handed_over = now;
	sort_out(n, &n->later, runtimes);
	sort_out(n, &n->asked, runtimes);
	for (size_t i = 0; i < n->ending.n; i++)
		vec_push(&n->ended, n->ending.v[i]);
	n->ending.n = 0;
	if (has_work(n) && !n->started)
		n->started = !thread_start(&n->thread, work, n);
	pthread_cond_signal(&n->work);
}

int namer_go(struct namer *n)
{
	uint64_t now = clock_ns();
	int goes;

	pthread_mutex_lock(&n->lock);
	goes = is_urgent(n) || (!n->busy && !has_work(n) && now >= n->pause_ends);
	if (goes)
		hand_over(n);
	else if ((n->busy || has_work(n)) &&
		 now - n->handed_over > (n->live ? PATIENCE_LIVE : PATIENCE))
		set_priority(n, PRIORITY_USUAL);
	pthread_mutex_unlock(&n->lock);
	return goes;
}

void namer_take(struct namer *n, namer_take_answer *take, void *ctx)
{
	struct naming_answers *a = &n->answers;

	pthread_mutex_lock(&n->lock);
	for (size_t i = 0; i < a->all.n; i++) {
		a->all.v[i].answer.frames = a->frames.v ? a->frames.v + a->all.v[i].first : NULL;
		take(ctx, &a->all.v[i].answer);
	}
	a->all.n = a->frames.n = 0;
	take_later(n);
	pthread_mutex_unlock(&n->lock);
}

/* 1 when there is something to take, 0 when nothing will come any more. */
static int wait_for_answers(struct namer *n)
{
	int some;

	pthread_mutex_lock(&n->lock);
	/* No thread could be had: then we do it ourselves. */
	if (!n->started && has_work(n))
		name_batch(n);
	while (!n->answers.all.n && (n->busy || has_work(n)))
		pthread_cond_wait(&n->progress, &n->lock);
	some = n->answers.all.n > 0;
	pthread_mutex_unlock(&n->lock);
	return some;
}

static void set_phase(struct namer *n, enum naming_phase phase)
{
	pthread_mutex_lock(&n->lock);
	set_priority(n, PRIORITY_OURS);
	n->phase = phase;
	pthread_mutex_unlock(&n->lock);
}

void namer_stopped(struct namer *n)
{
	set_phase(n, NAMING_STOPPED);
}

void namer_finish(struct namer *n, namer_take_answer *take, void *ctx)
{
	set_phase(n, NAMING_FINISHES);
	do {
		pthread_mutex_lock(&n->lock);
		hand_over(n);
		pthread_mutex_unlock(&n->lock);
		while (wait_for_answers(n))
			namer_take(n, take, ctx);
		namer_take(n, take, ctx);
	} while (n->later.n);
}

int namer_kernel_hidden(struct namer *n)
{
	end_thread(n);
	return symbolizer_kernel_hidden(naming_symbolizer(n->naming));
}

void namer_save(struct namer *n)
{
	end_thread(n);
	symbolizer_save(naming_symbolizer(n->naming));
}
