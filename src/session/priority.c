/* SPDX-License-Identifier: MIT */
#include "session/priority.h"

#include <sched.h>

/*
 * A program that starts runs without tables until we have read of it, and its
 * stacks pile up while we wait for our turn: so, where we may, we go first. It is
 * little that is done meanwhile; tables are built by threads of usual priority.
 */
void priority_first(int first)
{
	struct sched_param p = { .sched_priority = first ? 1 : 0 };

	sched_setscheduler(0, first ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}
