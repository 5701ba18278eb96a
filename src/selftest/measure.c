/* SPDX-License-Identifier: MIT */
#include "selftest/measure.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define NAME_MAX_BYTES 64

/* Bits of what stands in a stack: 1 << its function, and these. */
#define RUNNABLE (1u << SELFTEST_FUNCTIONS)		/* it waited for a CPU */
#define CUT (2u << SELFTEST_FUNCTIONS)

/* What a function of the profile is to us. */
static unsigned int meaning(const struct profile *p, const struct function *f,
			    const struct selftest_program *program)
{
	const char *name = profile_text(p, f->name);
	char expected[NAME_MAX_BYTES];

	if (f->kind == FRAME_MARK)
		return !strcmp(name, "[runnable]")	    ? RUNNABLE
		       : !strncmp(name, "[truncated", 10) ? CUT
							  : 0;
	for (unsigned int i = 0; i < SELFTEST_FUNCTIONS; i++) {
		snprintf(expected, sizeof(expected), "%s%s", program->scope, known_functions[i]);
		if (!strcmp(name, expected))
			return 1u << i;
	}
	return 0;
}

/* By node, malloc'd: what is in its stack. A node comes after its parent. */
static unsigned int *contents(const struct profile *p, const struct selftest_program *program)
{
	const struct profile_view v = profile_view(p);
	unsigned int *of = xcalloc(v.nnodes, sizeof(*of));

	for (size_t i = 1; i < v.nnodes; i++) {
		const struct location *l = &v.locations[v.nodes[i].location];

		of[i] = of[v.nodes[i].parent];
		for (uint32_t k = 0; k < l->nlines; k++)
			of[i] |= meaning(p, &v.functions[v.lines[l->first_line + k].function],
					 program);
	}
	return of;
}

/* The first type in @unit; NULL where there is none. */
static const uint64_t *values(const struct profile *p, enum profile_unit unit)
{
	const struct profile_view v = profile_view(p);

	for (uint32_t i = 0; i < v.ntypes; i++)
		if (v.types[i].measured_in == unit)
			return profile_values(p, i);
	return NULL;
}

void measure(const struct profile *p, const struct selftest_program *program, struct measured *m)
{
	const struct profile_view v = profile_view(p);
	const int memory = program->judged & SELFTEST_BLOCKS;
	const uint64_t *value = values(p, memory ? PROFILE_BYTES : PROFILE_NANOSECONDS);
	const uint64_t *count = values(p, PROFILE_COUNT);
	unsigned int *has = contents(p, program);

	*m = (struct measured){ .rate = (double)v.meta->frequency };
	for (size_t i = 0; value && i < v.nsamples; i++) {
		const unsigned int bits = has[v.samples[i].node];

		/* How long a thread waits for a CPU is the machine's own affair. */
		if (bits & RUNNABLE)
			continue;
		for (unsigned int f = 0; f < SELFTEST_FUNCTIONS; f++)
			m->of[f] += bits & 1u << f ? value[i] : 0;
		if (!(bits & ((1u << SELFTEST_FUNCTIONS) - 1) & ~(1u << SELFTEST_MAIN)))
			continue;
		m->known += value[i];
		m->whole += bits & 1u << SELFTEST_MAIN && !(bits & CUT) ? value[i] : 0;
		m->blocks += memory && count ? count[i] : 0;
	}
	free(has);
}
