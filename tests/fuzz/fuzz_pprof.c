/* SPDX-License-Identifier: MIT */
/* A pprof profile of any bytes; what can be read is written, and comes back as it was. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "input/readers.h"
#include "output/output.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the writer makes of @p, not compressed. */
static char *written(const struct profile *p, const char *format, size_t *n)
{
	int fd = memfd_create("profile", MFD_CLOEXEC);
	const struct user user = { 0 };
	const struct output_options none = { 0 };
	struct outfile *f;
	char path[32], *bytes;
	struct stat st;

	snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	f = outfile_open(path, &user, NULL);
	if (!f)
		abort();
	output_by_name(format)->write(p, &none, f);
	if (outfile_commit(f, NULL) || fstat(fd, &st))
		abort();
	*n = (size_t)st.st_size;
	bytes = xmalloc(*n + 1);
	if (pread(fd, bytes, *n, 0) != (ssize_t)*n)
		abort();
	close(fd);
	return bytes;
}

static void check_again(const struct profile *p)
{
	struct profile *again = profile_new();
	size_t n, m;
	char *first = written(p, "pprof", &n), *second;

	if (!pprof_looks(first, n) || pprof_read(again, first, n, &(struct input_notes){ 0 }, NULL))
		abort();
	second = written(again, "pprof", &m);
	if (n != m || memcmp(first, second, n))
		abort();
	free(first);
	free(second);
	first = written(p, "folded", &n);
	second = written(again, "folded", &m);
	if (n != m || memcmp(first, second, n))
		abort();
	free(first);
	free(second);
	profile_free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *p = profile_new();
	struct error e = { 0 };
	int err;

	pprof_looks((const char *)data, size);
	err = pprof_read(p, (const char *)data, size, &(struct input_notes){ 0 }, &e);
	if (err ? err > 0 || !*e.text : *e.text)
		abort();
	if (!err)
		check_again(p);
	profile_free(p);
	return 0;
}
