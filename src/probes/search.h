/* SPDX-License-Identifier: MIT */
/* What find.h does, in the process that has no rights. */
#ifndef EBPROF_PROBES_SEARCH_H
#define EBPROF_PROBES_SEARCH_H

#include "base/near.h"
#include "probes/spec.h"

struct search_place {
	uint64_t offset, semaphore;
	const char *name, *arguments;	/* for as long as it is given */
};

struct search_result {
	int ifunc, go, throws;		/* as in struct probe_found */
	char near[NEAR_MAX];
};

typedef void search_take(void *ctx, const struct search_place *place);
/* Gives each place once. 0 or a negative errno; fills @r. */
int search_file(int fd, const struct probe_spec *spec, search_take *take, void *ctx,
		struct search_result *r);

#endif
