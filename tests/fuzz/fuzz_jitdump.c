/* SPDX-License-Identifier: MIT */
/* A jitdump of any bytes of the process that its header names, read in two parts. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define PID_AT 20	/* in the header */

static void look_up(struct symbol_source *s, uint64_t address)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_function f;
	char name[256];
	int n;

	if (s->ops->find(s, address, &f))
		return;
	if (f.start > address || s->ops->name(s, f.token, name, sizeof(name)) || !*name)
		abort();
	n = s->ops->frames(s, address, frames);
	if (n == 0 || n > 1 || (n == 1 && frames[0].function != f.token))
		abort();
	if (n == 1 && frames[0].file != SOURCE_NO_FILE &&
	    s->ops->file(s, frames[0].file, name, sizeof(name)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("jitdump", MFD_CLOEXEC);
	struct symbol_source *s;
	uint32_t pid = 0;
	size_t half;

	if (size >= PID_AT + sizeof(pid))
		memcpy(&pid, data + PID_AT, sizeof(pid));
	half = size / 2 < 64 && size > 64 ? 64 : size / 2;
	if (fd < 0 || write(fd, data, half) != (ssize_t)half)
		abort();
	s = jitdump_open(fd, (pid_t)pid);
	if (!s)
		return 0;
	if (write(fd, data + half, size - half) < 0 || jitdump_refresh(s))
		abort();
	/* Where the seeds have functions, and at whatever the input has. */
	for (uint64_t i = 0; i < 256; i++)
		look_up(s, 0x10000 + i * 0x10);
	for (size_t i = 40; i + 8 <= size && i < 4096; i += 4) {
		uint64_t address;

		memcpy(&address, data + i, sizeof(address));
		look_up(s, address);
		look_up(s, address + 1);
	}
	symbol_source_free(s);
	return 0;
}
