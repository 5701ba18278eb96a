/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/kallsyms.h"

#define BEFORE 64	/* bytes before a function that are its, at most */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct kallsyms *k)
{
	struct kallsyms_symbol s;

	for (uint64_t i = 0; k && i < 256; i++) {
		/* Around where the seeds have symbols, and all over the upper half. */
		uint64_t address = i % 2 ? 0xffffffff81000000 + i * 8 : i * 0x9e3779b97f4a7c15;

		if (!kallsyms_find(k, address, &s) &&
		    ((s.start > address && s.start - address > BEFORE) || !*s.name || !*s.module))
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("kallsyms", MFD_CLOEXEC);
	struct kallsyms *k;
	char path[64];

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	k = kallsyms_new(path);
	close(fd);
	check(k);
	kallsyms_free(k);
	k = kallsyms_of_kept(data, size, 0xffffffff81000000);
	check(k);
	kallsyms_free(k);
	return 0;
}
