/* SPDX-License-Identifier: MIT */
#include "proc/remap.h"

#include <string.h>
#include <unistd.h>

#define PLACES	16	/* that are compared, spread evenly */
#define BYTES	64		/* at each */

int remap_holds_file(struct remote *remote, pid_t pid, uint64_t start, uint64_t end, int fd,
		     uint64_t offset)
{
	char memory[PLACES * BYTES], file[BYTES];
	uint64_t step = (end - start) / PLACES;
	struct iovec places[PLACES];

	if (fd < 0 || end <= start || step < BYTES)
		return 0;
	for (uint64_t i = 0; i < PLACES; i++)
		places[i] = (struct iovec){ (void *)(uintptr_t)(start + i * step), BYTES };
	if (remote_read(remote, pid, places, PLACES, memory) != sizeof(memory))
		return 0;
	for (uint64_t i = 0; i < PLACES; i++)
		if (pread(fd, file, BYTES, (off_t)(offset + i * step)) != BYTES ||
		    memcmp(memory + i * BYTES, file, BYTES))
			return 0;
	return 1;
}
