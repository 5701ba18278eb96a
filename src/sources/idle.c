/* SPDX-License-Identifier: MIT */
#include "sources/idle.h"

#include <stdlib.h>

#include "base/xalloc.h"

#define IDLE 1000	/* a thread that waits so many times as long as it runs does nothing */

uint64_t idle_hide(struct profile *p, uint32_t type, uint64_t *ns)
{
	struct profile_view v = profile_view(p);
	const uint64_t *times = profile_values(p, type);
	struct { uint64_t ran, waited; } *threads = xcalloc(v.nthreads + 1, sizeof(*threads));
	uint64_t hidden = 0;

	*ns = 0;
	for (size_t i = 0; i < v.nsamples; i++) {
		if (v.samples[i].labels)
			threads[v.samples[i].thread].waited += times[i];
		else
			threads[v.samples[i].thread].ran += times[i];
	}
	for (size_t i = 0; i < v.nthreads; i++)
		hidden += threads[i].waited && threads[i].ran < threads[i].waited / IDLE;
	for (size_t i = 0; i < v.nsamples; i++) {
		uint32_t t = v.samples[i].thread;

		if (!v.samples[i].labels || threads[t].ran >= threads[t].waited / IDLE)
			continue;
		*ns += times[i];
		profile_drop(p, (uint32_t)i);
	}
	free(threads);
	return hidden;
}
