/* SPDX-License-Identifier: MIT */
/* A jitdump of any bytes: functions and lines of whatever addresses. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "symbols/jitdump.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct symbol_source *s, uint64_t at)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_function f;
	char text[64];
	int n = s->ops->frames ? s->ops->frames(s, at, frames) : 0;

	if (!s->ops->find(s, at, &f))
		s->ops->name(s, f.token, text, sizeof(text));
	for (int i = 0; i < n; i++) {
		s->ops->name(s, frames[i].function, text, sizeof(text));
		if (frames[i].file != SOURCE_NO_FILE)
			s->ops->file(s, frames[i].file, text, sizeof(text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("dump", MFD_CLOEXEC);
	struct symbol_source *s;
	uint32_t pid = 0;

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	/* Of the process that it says (jitdump-specification.txt: pid is the sixth word of the header). */
	if (size >= 24)
		memcpy(&pid, data + 20, sizeof(pid));
	s = jitdump_open(fd, (pid_t)pid);
	for (size_t i = 0; s && i + 8 <= size && i < 4096; i += 8) {
		uint64_t at;

		memcpy(&at, data + i, sizeof(at));
		look_up(s, at);
		look_up(s, at + 3);
	}
	symbol_source_free(s);
	return 0;
}
