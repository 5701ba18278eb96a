/* SPDX-License-Identifier: MIT */
/* A namer, and what it answered last. */
#ifndef EBPROF_TEST_NAMER_ASKED_H
#define EBPROF_TEST_NAMER_ASKED_H

#include <time.h>

#include "session/namer.h"

/* A folder that does not tell of a busy machine. */
#define QUIET	"/dev"

static inline struct namer *namer_of(const struct symbolizer_options *symbols, const char *proc,
				     int live)
{
	return namer_new(&(struct namer_options){ symbols, .live = live, .proc = proc });
}

/* The last answer, and how many there were. */
struct last {
	struct namer_answer answer;
	struct symbol_frame frame;
	int all;
};

static inline void take_one(void *ctx, const struct namer_answer *a)
{
	struct last *out = ctx;

	out->answer = *a;
	out->frame = a->n > 0 ? a->frames[0] : (struct symbol_frame){ "", "", 0 };
	out->all++;
}

/* Hands over and takes until there are @all answers in @last; 0: they did not come. */
static inline int wait_for(struct namer *n, struct last *last, int all)
{
	const struct timespec moment = { .tv_nsec = 1000000 };

	for (int i = 0; i < 20000 && last->all < all; i++) {
		namer_go(n);
		nanosleep(&moment, NULL);
		namer_take(n, take_one, last);
	}
	return last->all == all;
}

#endif
