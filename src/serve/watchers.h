/* SPDX-License-Identifier: MIT */
/*
 * Who asks for updates: each page has drawn a number for itself. At the end those who still ask are
 * to hear of it, and nobody is to be waited for who has gone.
 */
#ifndef EBPROF_WATCHERS_H
#define EBPROF_WATCHERS_H

#include <stdint.h>

#define WATCHERS_MOST 512		/* of more the last that asked count */
#define WATCHERS_TIME 5000000000ull	/* ns after which one who has not asked has gone */

struct watcher {
	uint64_t number, asked;		/* clock_ns(); 0: none */
	int told;			/* of the end */
};

/* All zeros: none. */
struct watchers { struct watcher v[WATCHERS_MOST]; };

/* The one of that number, who asks @now. */
struct watcher *watchers_ask(struct watchers *w, uint64_t number, uint64_t now);
/* 1 where one is there who has not been told. */
int watchers_wait(const struct watchers *w, uint64_t now);

#endif
