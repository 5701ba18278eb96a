/* SPDX-License-Identifier: MIT */
#include "session/deadline.h"

#include <poll.h>

#include "base/clock.h"

#define EVERY 64	/* questions: a look costs as much as some records */
#define PATIENCE 4	/* times as long as it may work may it last, where others have the CPUs */

void deadline_set(struct deadline *d, int signals, uint64_t end)
{
	*d = (struct deadline){ .signals = signals, .end = end };
}

void deadline_end(struct deadline *d, uint64_t now)
{
	d->end = now < d->end ? now : d->end;
}

static void look(struct deadline *d)
{
	struct pollfd p = { .fd = d->signals, .events = POLLIN };
	uint64_t now = clock_ns();

	/* A signal that came while we worked: nobody has looked for it yet. */
	if (now < d->end && poll(&p, 1, 0) > 0)
		deadline_end(d, now);
	if (now < d->end)
		return;
	if (!d->seen) {
		d->seen = now;
		d->seen_cpu = clock_thread_ns();
	}
	d->late = clock_thread_ns() - d->seen_cpu;
	if (d->late < (now - d->seen) / PATIENCE)
		d->late = (now - d->seen) / PATIENCE;
}

int deadline_passed(struct deadline *d, uint64_t ns)
{
	if (d->asked++ % EVERY == 0)
		look(d);
	return d->late > ns;
}
