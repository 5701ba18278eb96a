/* SPDX-License-Identifier: MIT */
/* What a process of ours took so far. */
#ifndef EBPROF_USAGE_H
#define EBPROF_USAGE_H

#include <stdint.h>
#include <sys/types.h>

struct usage {
	double cpu;		/* seconds */
	uint64_t resident;	/* bytes */
};

/* 0, or -1 where there is no such process. */
int usage_of(pid_t pid, struct usage *out);

#endif
