/* SPDX-License-Identifier: MIT */
/* Of which tasks stacks are taken, as the user named them; the same for all ways of measuring. */
#ifndef EBPROF_TARGET_OPTIONS_H
#define EBPROF_TARGET_OPTIONS_H

#include "base/vec.h"

struct target_options {
	int_vec pids, tids, cpus;
	int all;
	const char *cgroup, *comm;
	char **command;			/* argv of the command that is the target; NULL: none */
	/* argv of a command beside another target, which lasts as long; NULL: none */
	char **until;
	int no_inherit, include_self, include_idle;
};

#endif
