/* SPDX-License-Identifier: MIT */
/* Go's table in any ELF file. */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "symbols/go_symbols.h"
#include "unwind/table/go.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct symbol_source *s, uint64_t address)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_function f;
	char name[300];
	int n;

	if (s->ops->find(s, address, &f))
		return;
	if (f.start > address)
		abort();
	s->ops->name(s, f.token, name, sizeof(name));
	n = s->ops->frames(s, address, frames);
	/* The last frame is the function itself. */
	if (n < 1 || n > SOURCE_FRAMES_MAX || frames[n - 1].function != f.token)
		abort();
	for (int i = 0; i < n; i++) {
		s->ops->name(s, frames[i].function, name, sizeof(name));
		s->ops->file(s, frames[i].file, name, sizeof(name));
	}
}

static void take(void *ctx, uint64_t start, uint64_t end, uint16_t rule)
{
	uint64_t *last = ctx;

	(void)rule;
	/* A trampoline has one byte of what is before it. */
	if (start >= end || start + 1 < *last)
		abort();
	*last = end;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f = elf_file_open_memory(data, size);
	struct symbol_source *s = f ? go_symbols_open(f) : NULL;
	const struct elf_segment *segments;
	size_t n = s ? elf_file_segments(f, &segments) : 0;
	uint64_t last = 0;

	for (size_t i = 0; i < n && i < 8; i++)
		for (uint64_t k = 0; k < 256 && k < segments[i].memsz; k++)
			look_up(s, segments[i].vaddr + k);
	if (s)
		unwind_go_table(f, take, &last);
	symbol_source_free(s);
	elf_file_free(f);
	return 0;
}
