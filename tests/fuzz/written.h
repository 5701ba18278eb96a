/* SPDX-License-Identifier: MIT */
/* What an output writes, in memory: a fuzzer makes no files. */
#ifndef EBPROF_FUZZ_WRITTEN_H
#define EBPROF_FUZZ_WRITTEN_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/output.h"

/* Terminated; the caller frees it. */
static inline char *written(const struct profile *p, const char *format,
			    const struct output_options *o)
{
	int fd = memfd_create("written", MFD_CLOEXEC);
	const struct user user = { 0 };
	struct outfile *f;
	struct error e;
	struct stat st;
	char path[32], *text;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	f = outfile_open(path, &user, &e);
	if (!f)
		abort();
	output_by_name(format)->write(p, o, f);
	if (outfile_commit(f, &e) || fstat(fd, &st))
		abort();
	text = calloc(1, (size_t)st.st_size + 1);
	if (pread(fd, text, (size_t)st.st_size, 0) != st.st_size)
		abort();
	close(fd);
	return text;
}

#endif
