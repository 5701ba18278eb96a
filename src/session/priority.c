/* SPDX-License-Identifier: MIT */
#include "session/priority.h"

#include <linux/capability.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/caps.h"

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

/* Out of SCHED_IDLE: as for a niceness of 0 (sched(7), getrlimit(2)). */
static int may_return(void)
{
	struct rlimit limit;

	return caps_has(CAP_SYS_NICE) || (!getrlimit(RLIMIT_NICE, &limit) && limit.rlim_cur >= 20);
}

void priority_set(pid_t tid, enum priority priority)
{
	const struct sched_param none = { 0 };

	if (priority == PRIORITY_IDLE && may_return()) {
		sched_setscheduler(tid, SCHED_IDLE, &none);
		return;
	}
	sched_setscheduler(tid, SCHED_OTHER, &none);
	/* Of a thread alone, as Linux has it. */
	setpriority(PRIO_PROCESS, (id_t)tid,
		    priority == PRIORITY_OURS ? getpriority(PRIO_PROCESS, 0) : 0);
}
