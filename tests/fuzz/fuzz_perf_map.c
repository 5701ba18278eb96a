/* SPDX-License-Identifier: MIT */
/*
 * A perf map of any bytes, read in two parts: what it says afterwards is what it says when read at
 * once.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/perf_map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int file_of(const uint8_t *data, size_t size)
{
	int fd = memfd_create("perf_map", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	return fd;
}

/* 1 where @address has a name, which is then in @name. */
static int look_up(const struct symbol_source *s, uint64_t address, char name[256], uint64_t *start)
{
	struct source_function f;

	if (s->ops->find(s, address, &f))
		return 0;
	if (f.start > address || s->ops->name(s, f.token, name, 256) || !*name ||
	    memchr(name, '\n', strlen(name)))
		abort();
	*start = f.start;
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = file_of(data, size / 2);
	struct symbol_source *parts = perf_map_open(fd),
			     *whole = perf_map_open(file_of(data, size));

	if (!parts || !whole || pwrite(fd, data + size / 2, size - size / 2, (off_t)(size / 2)) < 0)
		abort();
	if (perf_map_refresh(parts) || perf_map_skipped(parts) != perf_map_skipped(whole))
		abort();
	for (uint64_t i = 0; i < 512; i++) {
		/* Where the seeds have functions, and all over. */
		uint64_t address = i % 2 ? 0x1000 + i * 8 : i * 0x9e3779b97f4a7c15, starts[2];
		char names[2][256];
		int found = look_up(parts, address, names[0], &starts[0]);

		if (found != look_up(whole, address, names[1], &starts[1]))
			abort();
		if (found && (strcmp(names[0], names[1]) || starts[0] != starts[1]))
			abort();
	}
	symbol_source_free(parts);
	symbol_source_free(whole);
	return 0;
}
