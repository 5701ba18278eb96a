/* SPDX-License-Identifier: MIT */
/* What a profile shows of a program of ours (programs.h). */
#ifndef EBPROF_MEASURE_H
#define EBPROF_MEASURE_H

#include <stdint.h>

#include "profile/profile.h"
#include "selftest/programs.h"

struct measured {
	/* of the stacks that have each function: ns that it ran or waited, or bytes */
	uint64_t of[SELFTEST_FUNCTIONS];
	uint64_t known, whole;	/* of those with any function but main; with main, too, and uncut */
	uint64_t blocks;	/* of memory, where the values are bytes */
	double rate;		/* samples a second; 0: not known */
};

void measure(const struct profile *p, const struct selftest_program *program, struct measured *m);

#endif
