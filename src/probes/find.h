/* SPDX-License-Identifier: MIT */
/*
 * Where probes go in a file: functions of its symbol tables, of those of its debug file or of
 * .gnu_debugdata, and static probes.
 *
 * The file may be hostile, and who sets probes has many rights: so a child looks that has none, and
 * may do nothing but read (base/sandbox.h).
 */
#ifndef EBPROF_PROBES_FIND_H
#define EBPROF_PROBES_FIND_H

#include <stddef.h>

#include "base/vec.h"
#include "probes/spec.h"

#define PROBE_PLACES_MAX 1024	/* that one pattern may stand for */

struct probe_place {
	uint64_t offset;	/* of the instruction in the file */
	uint64_t semaphore;	/* of a static probe, in the file; 0: none */
	char *name;		/* of the function, or PROVIDER:NAME; as the file has it */
	char *arguments;	/* of a static probe (usdt.h), or a function (signatures.h) */
};

struct probe_found {
	VEC(struct probe_place) places;
	size_t matches;		/* all, also those that exceed the bound */
	int ifunc;		/* some matches only choose a function when a program starts */
	int go;			/* a program of Go, whose stacks move */
	int throws;		/* code that C++'s exceptions may pass through */
	char near[128];		/* a name like the one that was not there; "": none */
};

/*
 * Fills @out, which begins as zeros, with at most @most places in the open file @fd; the kernel's
 * probes are not meant. 0, -ENOEXEC and the like: it is no file that can be read; -ETIMEDOUT,
 * -EBADMSG: it took more than ten seconds, or the child died of it.
 */
int probes_find(int fd, const struct probe_spec *spec, size_t most, struct probe_found *out);
void probe_found_free(struct probe_found *f);

#endif
