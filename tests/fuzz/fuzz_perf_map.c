/* SPDX-License-Identifier: MIT */
/* A perf map of any bytes: every look-up covers its address and has a name. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);
	struct symbol_source *s;
	struct source_function f;
	char name[32];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	s = perf_map_open(fd);
	for (int again = 0; s && again < 2; again++) {
		for (uint64_t at = 0; at < 0x4000; at += 7)
			if (!s->ops->find(s, at, &f) && (f.start > at || s->ops->name(s, f.token, name, sizeof(name))))
				abort();
		perf_map_refresh(s);
	}
	symbol_source_free(s);
	return 0;
}
