/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks of asyncio that await the one that runs: their frames, put between the last frame of
 * its coroutine and who called that, an event loop. As python_step.h, of which it is a part.
 *
 * Since 3.14 a task says who awaits it, also through gather() and TaskGroup. Where several do,
 * frames of one of them would tell but a part, so there it ends. A coroutine that waits has what it
 * waits for on top of its frame's stack, since 3.15 below a place that is empty; where that is
 * another coroutine or generator, its frame is the next one inward.
 */
#ifndef EBPROF_PYTHON_AWAIT_H
#define EBPROF_PYTHON_AWAIT_H

#include "bpf/python.h"

#define PYTHON_TASKS	16	/* that await one another, at most */
#define PYTHON_CHAIN	16	/* coroutines of one of them, the outermost ones; a power of two */
#define PYTHON_TAG	7ull	/* of references on a frame's stack; objects are aligned */

struct python_await {
	__u64 task;		/* whose awaiter comes next */
	__u64 type;		/* of the running task */
	__u64 frame;		/* of its coroutine; 0: no task runs, or all is done */
	__u64 resume;		/* who called that */
	__u32 on;		/* that frame was the last one, or a task's that awaits it */
	__u32 tasks;		/* of which there were so many */
	__u32 n;		/* frames of the last one that are still to come */
	__u32 reserved;
	__u64 chain[PYTHON_CHAIN];
};

static __always_inline __u64 python_await_word(struct python_env *env, __u64 address)
{
	__u64 word = 0;

	return python_read(env, &word, sizeof(word), address) ? 0 : word;
}

static __always_inline void python_await_begin(struct python_env *env, struct python_await *a,
					       const struct ebp_python *o, __u64 thread)
{
	__u64 coroutine;

	a->frame = 0;
	a->on = a->tasks = a->n = 0;
	if (!PYTHON_AWAIT(o))
		return;
	a->task = python_await_word(env, thread + o->running_task);
	if (!a->task)
		return;
	a->type = python_await_word(env, a->task + 8);
	coroutine = python_await_word(env, a->task + o->task_coroutine);
	a->frame = coroutine ? coroutine + o->coroutine_frame : 0;
}

/* The frame at @at was read, which @back called. */
static __always_inline void python_await_at(struct python_await *a, __u64 at, __u64 back)
{
	if (!a->frame || at != a->frame)
		return;
	a->on = 1;
	a->resume = back;
}

/* The one task that awaits the last one; 0: there is none, or there are several. */
static __always_inline __u64 python_awaiter(struct python_env *env, const struct python_await *a,
					    const struct ebp_python *o)
{
	__u64 awaiter;
	__u8 several = 1;

	if (a->tasks >= PYTHON_TASKS ||
	    python_read(env, &several, sizeof(several), a->task + o->task_awaiters) || several)
		return 0;
	awaiter = python_await_word(env, a->task + o->task_awaiter);
	return awaiter && python_await_word(env, awaiter + 8) == a->type ? awaiter : 0;
}

/* What the frame at @frame waits for. */
static __always_inline __u64 python_awaited(struct python_env *env, const struct ebp_python *o,
					    __u64 frame)
{
	__u64 top = python_await_word(env, frame + o->frame_stack);
	__u64 first = python_await_word(env, top - 8) & ~PYTHON_TAG;

	return first ? first : python_await_word(env, top - 16) & ~PYTHON_TAG;
}

/* Fills the chain with the frames of a task's coroutine, the outermost first. */
static __always_inline void python_await_chain(struct python_env *env, struct python_await *a,
					       const struct ebp_python *o, __u64 bias,
					       __u64 coroutine)
{
	a->n = 0;
	for (__u32 i = 0; i < PYTHON_CHAIN; i++) {
		__u64 type = python_await_word(env, coroutine + 8);
		__u8 state = 0;

		if (type != bias + o->coroutine_type && type != bias + o->generator_type)
			return;
		a->chain[i] = coroutine + o->coroutine_frame;
		a->n = i + 1;
		if (python_read(env, &state, sizeof(state), coroutine + o->coroutine_state) ||
		    state != o->awaits)
			return;
		coroutine = python_awaited(env, o, a->chain[i]);
	}
}

/* What comes behind the last frame, while @a->on; at the end who called the running task. */
static __always_inline __u64 python_await_next(struct python_env *env, struct python_await *a,
					       const struct ebp_python *o, __u64 bias)
{
	if (!a->n) {
		a->task = python_awaiter(env, a, o);
		a->tasks++;
		if (a->task)
			python_await_chain(env, a, o, bias,
					   python_await_word(env, a->task + o->task_coroutine));
	}
	if (a->n)
		return a->chain[--a->n & (PYTHON_CHAIN - 1)];
	a->on = 0;
	a->frame = 0;
	return a->resume;
}

#endif
