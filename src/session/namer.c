/* SPDX-License-Identifier: MIT */
#include "session/namer.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "base/vec.h"

#define NICENESS	0	/* while nobody waits for the names; ours may be less */
#define PAUSE		8	/* times the CPU time that a batch took */
#define SLICE		512	/* places that are answered at once */

struct place {
	const struct image *image;	/* NULL: the kernel */
	uint64_t address;
	uint32_t id;
};

/* Answers, with indexes in place of pointers into what grows. */
struct answers {
	VEC(struct given { struct namer_answer answer; size_t first; }) all;
	VEC(struct symbol_frame) frames;
};

typedef VEC(struct place) place_vec;

struct namer {
	struct symbolizer *symbolizer;	/* the thread's while it is busy */
	int reread_done;		/* the same */
	pthread_t thread;
	int started;
	place_vec asked;		/* not handed over yet */
	pthread_mutex_t lock;		/* of all below */
	pthread_cond_t work, progress;
	place_vec batch;
	struct answers answers;		/* not taken yet */
	pid_t tid;			/* of the thread; 0: it has not come so far */
	uint64_t pause_ends;		/* ns */
	int busy, reread, urgent, stop;
};

struct namer *namer_new(const struct symbolizer_options *o)
{
	struct namer *n = xcalloc(1, sizeof(*n));

	n->symbolizer = symbolizer_new(o);
	/* The owner may run at a real-time priority. */
	thread_lock_init(&n->lock);
	pthread_cond_init(&n->work, NULL);
	pthread_cond_init(&n->progress, NULL);
	return n;
}

static void free_answers(struct answers *a)
{
	vec_free(&a->all);
	vec_free(&a->frames);
}

/* Waits for the look-up that is under way. From here on the symbolizer is the owner's. */
static void end_thread(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	n->stop = 1;
	pthread_cond_signal(&n->work);
	pthread_mutex_unlock(&n->lock);
	if (n->started)
		pthread_join(n->thread, NULL);
	n->started = n->stop = 0;
}

void namer_free(struct namer *n)
{
	if (!n)
		return;
	end_thread(n);
	symbolizer_free(n->symbolizer);
	vec_free(&n->asked);
	vec_free(&n->batch);
	free_answers(&n->answers);
	pthread_cond_destroy(&n->work);
	pthread_cond_destroy(&n->progress);
	pthread_mutex_destroy(&n->lock);
	free(n);
}

/* --- The thread. ---------------------------------------------------------------- */

/* By file, the kernel last, and by address in it. */
static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;
	uint64_t i = x->image ? x->image->id : UINT64_MAX, k = y->image ? y->image->id : UINT64_MAX;

	if (i != k)
		return i < k ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static void name_place(struct namer *n, const struct place *p, struct answers *to)
{
	struct symbol_frame frames[SOURCE_FRAMES_MAX];
	struct given given = { { .id = p->id, .module = "", .reread = n->reread_done },
			       to->frames.n };

	given.answer.n = p->image ? symbolizer_user(n->symbolizer, p->image, p->address, frames)
				  : symbolizer_kernel(n->symbolizer, p->address, frames,
						      &given.answer.module);
	if (p->image && given.answer.n < 0)
		given.answer.start = symbolizer_start(n->symbolizer, p->image, p->address);
	for (int i = 0; i < given.answer.n; i++)
		vec_push(&to->frames, frames[i]);
	vec_push(&to->all, given);
}

/* With the lock. */
static void hand_back(struct namer *n, struct answers *made)
{
	for (size_t i = 0; i < made->all.n; i++) {
		struct given given = made->all.v[i];

		given.first += n->answers.frames.n;
		vec_push(&n->answers.all, given);
	}
	for (size_t i = 0; i < made->frames.n; i++)
		vec_push(&n->answers.frames, made->frames.v[i]);
	made->all.n = made->frames.n = 0;
	pthread_cond_signal(&n->progress);
}

/* With the lock, which it gives up while it names. */
static void name_batch(struct namer *n)
{
	place_vec batch = n->batch;
	struct answers made = { 0 };
	uint64_t begin = clock_thread_ns();
	int reread = n->reread;

	n->batch = (place_vec){ 0 };
	n->reread = 0;
	n->busy = 1;
	pthread_mutex_unlock(&n->lock);
	if (reread)
		symbolizer_reread_kernel(n->symbolizer);
	n->reread_done |= reread;
	if (batch.n)
		qsort(batch.v, batch.n, sizeof(*batch.v), by_place);
	for (size_t i = 0, stop = 0; i < batch.n && !stop; i++) {
		name_place(n, &batch.v[i], &made);
		if (i % SLICE && i + 1 < batch.n)
			continue;
		pthread_mutex_lock(&n->lock);
		hand_back(n, &made);
		stop = n->stop;
		pthread_mutex_unlock(&n->lock);
	}
	vec_free(&batch);
	free_answers(&made);
	pthread_mutex_lock(&n->lock);
	n->busy = 0;
	n->pause_ends = clock_ns() + PAUSE * (clock_thread_ns() - begin);
	pthread_cond_signal(&n->progress);
}

/* For this thread alone, as Linux has it. */
static void set_niceness(pid_t tid, int niceness)
{
	setpriority(PRIO_PROCESS, (id_t)tid, niceness);
}

static void *work(void *arg)
{
	struct namer *n = arg;

	pthread_mutex_lock(&n->lock);
	n->tid = gettid();
	if (!n->urgent)
		set_niceness(n->tid, NICENESS);
	while (!n->stop) {
		if (n->batch.n)
			name_batch(n);
		else
			pthread_cond_wait(&n->work, &n->lock);
	}
	pthread_mutex_unlock(&n->lock);
	return NULL;
}

/* --- The owner. ------------------------------------------------------------------- */

void namer_ask(struct namer *n, uint32_t id, const struct image *image, uint64_t address)
{
	vec_push(&n->asked, (struct place){ image, address, id });
}

void namer_reread_kernel(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	n->reread = 1;
	pthread_mutex_unlock(&n->lock);
}

/* With the lock. */
static void hand_over(struct namer *n)
{
	for (size_t i = 0; i < n->asked.n; i++)
		vec_push(&n->batch, n->asked.v[i]);
	n->asked.n = 0;
	if (n->batch.n && !n->started)
		n->started = !thread_start(&n->thread, work, n);
	pthread_cond_signal(&n->work);
}

void namer_go(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	if (n->asked.n && (n->urgent || (!n->busy && !n->batch.n && clock_ns() >= n->pause_ends)))
		hand_over(n);
	pthread_mutex_unlock(&n->lock);
}

void namer_take(struct namer *n, namer_take_answer *take, void *ctx)
{
	struct answers answers;

	pthread_mutex_lock(&n->lock);
	answers = n->answers;
	n->answers = (struct answers){ 0 };
	pthread_mutex_unlock(&n->lock);
	for (size_t i = 0; i < answers.all.n; i++) {
		struct given *g = &answers.all.v[i];

		g->answer.frames = answers.frames.v ? answers.frames.v + g->first : NULL;
		take(ctx, &g->answer);
	}
	free_answers(&answers);
}

/* 1 when there is something to take, 0 when nothing will come any more. */
static int wait_for_answers(struct namer *n)
{
	int some;

	pthread_mutex_lock(&n->lock);
	/* No thread could be had: then we do it ourselves. */
	if (!n->started && n->batch.n)
		name_batch(n);
	while (!n->answers.all.n && (n->busy || n->batch.n))
		pthread_cond_wait(&n->progress, &n->lock);
	some = n->answers.all.n > 0;
	pthread_mutex_unlock(&n->lock);
	return some;
}

void namer_urge(struct namer *n)
{
	pthread_mutex_lock(&n->lock);
	if (n->tid && !n->urgent)
		set_niceness(n->tid, getpriority(PRIO_PROCESS, 0));
	n->urgent = 1;
	pthread_mutex_unlock(&n->lock);
}

void namer_finish(struct namer *n, namer_take_answer *take, void *ctx)
{
	namer_urge(n);
	pthread_mutex_lock(&n->lock);
	hand_over(n);
	pthread_mutex_unlock(&n->lock);
	while (wait_for_answers(n))
		namer_take(n, take, ctx);
}

int namer_kernel_hidden(struct namer *n)
{
	end_thread(n);
	return symbolizer_kernel_hidden(n->symbolizer);
}

void namer_save(struct namer *n)
{
	end_thread(n);
	symbolizer_save(n->symbolizer);
}
