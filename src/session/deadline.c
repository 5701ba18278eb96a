/* SPDX-License-Identifier: MIT */
#include "session/deadline.h"

#include <poll.h>

#include "base/clock.h"

#define EVERY 64	/* questions: a look costs as much as some records */

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
	d->seen = d->seen ? d->seen : now;
	d->late = now - d->seen;
}

int deadline_passed(struct deadline *d, uint64_t ns)
{
	if (d->asked++ % EVERY == 0)
		look(d);
	return d->late > ns;
}
