/* SPDX-License-Identifier: MIT */
/*
 * DWARF over any ELF file: units, functions, inlined calls, lines, names; compressed sections, too.
 */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "symbols/dwarf_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(struct symbol_source *s, uint64_t address)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_function f;
	char text[300];
	int n = s->ops->frames(s, address, frames), found = s->ops->find(s, address, &f);

	if (n > SOURCE_FRAMES_MAX || n == 0 || (n < 0 && !found))
		abort();
	if (n > 0 && !found && frames[n - 1].function != f.token)
		abort();
	/* A line alone is of a function that has no name. */
	if (n > 0 && found &&
	    (n > 1 || !s->ops->name(s, frames[0].function, text, sizeof(text))))
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
	const struct elf_section *sections;
	struct symbol_source *s;
	size_t n;

	if (!f)
		return 0;
	n = elf_file_sections(f, &sections);
	/* Itself as dwz's file and as its package: references to those are followed, too. */
	s = dwarf_symbols_open(f, f, f, 0);
	/* In a file without sections of code, too. */
	for (uint64_t at = 0; s && at < 256; at += 16)
		look_up(s, elf_file_entry(f) + at);
	for (size_t i = 0; s && i < n && i < 40; i++)
		for (uint64_t at = 0; at < sections[i].size && at < 4096; at += 61)
			look_up(s, sections[i].addr + at);
	symbol_source_free(s);
	elf_file_free(f);
	return 0;
}
