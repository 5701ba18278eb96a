/* SPDX-License-Identifier: MIT */
/*
 * The loop of a command: it sleeps until a descriptor is readable or somebody's time has come, and
 * gives each consumer its turn. It ends with a signal, with the command that was started, when a
 * consumer is done, or when time is up. One thread.
 */
#ifndef EBPROF_LOOP_H
#define EBPROF_LOOP_H

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Begins as LOOP_NEW. */
struct loop {
	int signals;		/* readable once one asks for the end; -1: none is watched */
	pid_t child;		/* gets the signals that were sent to us alone; 0: nobody */
	int child_ended;	/* as far as loop_read_signals() has seen */
	int asked;		/* signals that asked for the end, as far as it has seen */
	int last_signal;
};

#define LOOP_NEW { .signals = -1 }

#define LOOP_FDS 8		/* of one consumer, at most */
#define LOOP_CONSUMERS 4	/* of one loop, at most */
#define LOOP_DONE 0		/* instead of a time: the loop ends */
#define LOOP_LATER UINT64_MAX	/* no time of its own: it waits for its descriptors */

struct loop_consumer {
	/* Fills in the descriptors that it waits for, and returns how many. NULL: none. */
	size_t (*fds)(void *ctx, struct pollfd fds[LOOP_FDS]);
	/*
	 * Whatever woke the loop. Returns when it wants its next turn, at the latest
	 * (CLOCK_MONOTONIC ns, as @now), or LOOP_DONE.
	 */
	uint64_t (*turn)(void *ctx, uint64_t now);
	void *ctx;
};

enum loop_end { LOOP_TIME_UP, LOOP_ASKED, LOOP_CONSUMER_DONE };

/*
 * Blocks SIGINT, SIGTERM and SIGHUP, and SIGCHLD where @child: there will be a child whose end is
 * an end. Call it once. 0 or a negative errno.
 */
int loop_watch_signals(struct loop *l, int child);
/*
 * Turns until an end comes, @until (CLOCK_MONOTONIC ns) at the latest. All consumers have a turn
 * first, and a last one after the end. Signals stay where they are: read them afterwards.
 */
enum loop_end loop_run(const struct loop *l, const struct loop_consumer *consumers, size_t n,
		       uint64_t until);
/* Reads the signals that have come: counts them, and passes on to the child what is for it. */
void loop_read_signals(struct loop *l);
/*
 * From now on a signal ends us at once. Where two have been read it does so now, because the user
 * asked twice.
 */
void loop_unblock_signals(const struct loop *l);
void loop_close(struct loop *l);

#endif
