/* SPDX-License-Identifier: MIT */
#include "output/caption.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/xalloc.h"
#include "output/rollup.h"
#include "profile/profile.h"

/* The processes of one name. */
struct program {
	uint32_t comm;
	uint64_t value;
	pid_t pid;		/* 0: several, or not known */
};

static int by_comm(const void *a, const void *b)
{
	const struct program *x = a, *y = b;

	return x->comm < y->comm ? -1 : x->comm > y->comm;
}

/* Those that have a value, one for each name; the idle task is nobody's program. */
static size_t read_programs(const struct profile *p, struct program *programs)
{
	struct profile_view v = profile_view(p);
	size_t n = 0, kept = 0;

	for (size_t i = 0; i < v.nprocesses; i++)
		programs[i] = (struct program){ .comm = v.processes[i].comm,
						.pid = v.processes[i].pid };
	for (size_t i = 0; i < v.nsamples; i++)
		programs[v.threads[v.samples[i].thread].process].value += v.values[i];
	for (size_t i = 0; i < v.nprocesses; i++)
		if (programs[i].value)
			programs[n++] = programs[i];
	qsort(programs, n, sizeof(*programs), by_comm);
	for (size_t i = 0; i < n; i++) {
		if (!kept || programs[kept - 1].comm != programs[i].comm) {
			programs[kept++] = programs[i];
			continue;
		}
		programs[kept - 1].value += programs[i].value;
		programs[kept - 1].pid = 0;
	}
	return kept;
}

void caption_target(const struct profile *p, char *dst, size_t size)
{
	struct profile_view v = profile_view(p);
	struct program *programs = xcalloc(v.nprocesses + 1, sizeof(*programs));
	size_t n = read_programs(p, programs), most = 0, used = 0;

	*dst = '\0';
	for (size_t i = 1; i < n; i++)
		if (programs[i].value > programs[most].value)
			most = i;
	if (n) {
		used = (size_t)snprintf(dst, size, "%s", rollup_comm(p, programs[most].comm));
		used = used < size ? used : size - 1;
	}
	if (n == 1 && programs[0].pid > 0)
		snprintf(dst + used, size - used, " (%d)", (int)programs[0].pid);
	else if (n > 1)
		snprintf(dst + used, size - used, " and %zu other program%s", n - 1,
			 n == 2 ? "" : "s");
	free(programs);
}
