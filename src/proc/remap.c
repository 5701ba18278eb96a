/* SPDX-License-Identifier: MIT */
#include "proc/remap.h"

#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define PLACES	16	/* that are compared, spread evenly */
#define BYTES	64	/* at each */

int remap_holds_file(pid_t pid, uint64_t start, uint64_t end, int fd, uint64_t offset)
{
	char memory[BYTES], file[BYTES];
	uint64_t step = (end - start) / PLACES;

	if (fd < 0 || end <= start || step < BYTES)
		return 0;
	for (uint64_t i = 0; i < PLACES; i++) {
		struct iovec to = { memory, BYTES }, from = { (void *)(uintptr_t)(start + i * step), BYTES };

		if (process_vm_readv(pid, &to, 1, &from, 1, 0) != BYTES ||
		    pread(fd, file, BYTES, (off_t)(offset + i * step)) != BYTES || memcmp(memory, file, BYTES))
			return 0;
	}
	return 1;
}
