/* SPDX-License-Identifier: MIT */
/*
 * The files that a probe's FILE stands for: a path, as the processes that are looked at see it, or
 * the name of a library or program: what these have mapped, else what the loader and $PATH find.
 */
#ifndef EBPROF_PROBES_FILES_H
#define EBPROF_PROBES_FILES_H

#include <limits.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

#define PROBE_FILES_MAX 64	/* that one name may stand for, as in containers */

struct probe_file {
	int fd;			/* read only, a regular file */
	dev_t device;
	ino_t inode;
};

typedef VEC(struct probe_file) probe_file_vec;

/*
 * Adds each such file once. @ids: the processes that are looked at; none: whatever is here. 0, or a
 * negative errno with @e filled, where there is none.
 */
int probe_files_open(probe_file_vec *files, const char *name, const pid_t *ids, size_t n,
		     struct error *e);
void probe_files_close(probe_file_vec *files);
/* "libssl" for "/lib/libssl.so.3", which may be deleted; "ssl", too, and whole names. */
int probe_file_is(const char *path, const char *name);

#endif
