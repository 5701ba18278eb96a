/* SPDX-License-Identifier: MIT */
/* When the loop of a command gives turns, and what ends it. */
#include "loop/loop.h"

#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "test.h"

#define MS 1000000ull

/* Wants a turn when its descriptor is readable, and at its times. */
struct consumer {
	int fd;
	uint64_t step;		/* ns from one turn to the next; 0: none is wanted */
	int turns, last;	/* it is done at the turn of this number; 0: never */
};

static size_t fds(void *ctx, struct pollfd p[LOOP_FDS])
{
	p[0] = (struct pollfd){ .fd = ((struct consumer *)ctx)->fd, .events = POLLIN };
	return 1;
}

static uint64_t turn(void *ctx, uint64_t now)
{
	struct consumer *c = ctx;
	char byte;

	if (c->turns++ && c->fd >= 0)
		CHECK_EQ(read(c->fd, &byte, 1), 1);
	if (c->turns == c->last)
		return LOOP_DONE;
	return c->step ? now + c->step : LOOP_LATER;
}

static void time_is_up(void)
{
	const struct loop loop = LOOP_NEW;
	struct consumer often = { .fd = -1, .step = MS }, never = { .fd = -1 };
	const struct loop_consumer both[] = { { NULL, turn, &often }, { fds, turn, &never } };
	uint64_t until = clock_ns() + 20 * MS;

	CHECK_EQ(loop_run(&loop, both, 2, until), LOOP_TIME_UP);
	CHECK(clock_ns() >= until);
	/* A first turn, one at the end at least, and all have the same. */
	CHECK(often.turns >= 2);
	CHECK_EQ(often.turns, never.turns);
}

static void consumer_is_done(void)
{
	const struct loop loop = LOOP_NEW;
	int ends[2];
	struct consumer reads = { .last = 3 };
	const struct loop_consumer one = { fds, turn, &reads };

	CHECK_EQ(pipe(ends), 0);
	reads.fd = ends[0];
	CHECK_EQ(write(ends[1], "ab", 2), 2);
	CHECK_EQ(loop_run(&loop, &one, 1, LOOP_LATER), LOOP_CONSUMER_DONE);
	CHECK_EQ(reads.turns, 3);
	close(ends[0]);
	close(ends[1]);
}

/* The last turn comes after the signal, and the signal is still there to be read. */
static void signal_asks(void)
{
	struct loop loop = LOOP_NEW;
	struct consumer waits = { .fd = -1 };
	const struct loop_consumer one = { fds, turn, &waits };

	CHECK_EQ(loop_watch_signals(&loop, 1), 0);
	CHECK_EQ(kill(getpid(), SIGTERM), 0);
	CHECK_EQ(loop_run(&loop, &one, 1, LOOP_LATER), LOOP_ASKED);
	CHECK_EQ(waits.turns, 2);
	CHECK_EQ(loop.asked, 0);
	loop_read_signals(&loop);
	CHECK_EQ(loop.asked, 1);
	CHECK_EQ(loop.last_signal, SIGTERM);
	CHECK_EQ(loop.child_ended, 0);
	loop_close(&loop);
}

int main(void)
{
	RUN(time_is_up);
	RUN(consumer_is_done);
	RUN(signal_asks);
	return TEST_END();
}
