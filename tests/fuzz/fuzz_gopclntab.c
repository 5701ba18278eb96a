/* SPDX-License-Identifier: MIT */
/* Go's function table in any ELF file: functions, inlined calls, lines and stacks. */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "symbols/gopclntab.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct symbol_source *s, uint64_t address)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct gopclntab_stack stack;
	struct source_function f;
	char text[300];
	int n;

	gopclntab_stack(s, address, &stack);
	if (!s->ops->find(s, address, &f)) {
		if (f.start > address)
			abort();
		s->ops->name(s, f.token, text, sizeof(text));
	}
	n = s->ops->frames(s, address, frames);
	if (n > SOURCE_FRAMES_MAX || n == 0)
		abort();
	for (int i = 0; i < n; i++) {
		s->ops->name(s, frames[i].function, text, sizeof(text));
		if (frames[i].file != SOURCE_NO_FILE)
			s->ops->file(s, frames[i].file, text, sizeof(text));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f = elf_file_open_memory(data, size);
	const struct elf_segment *segments;
	struct symbol_source *s;
	size_t n;

	if (!f)
		return 0;
	n = elf_file_segments(f, &segments);
	s = gopclntab_open(f);
	for (size_t i = 0; s && i < n && i < 16; i++)
		for (uint64_t at = 0; at < segments[i].memsz && at < 1024; at += 7)
			look_up(s, segments[i].vaddr + at);
	symbol_source_free(s);
	elf_file_free(f);
	return 0;
}
