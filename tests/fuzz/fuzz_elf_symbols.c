/* SPDX-License-Identifier: MIT */
/* Headers, symbols, stubs and function starts of any bytes: what a mapped file leads us to read. */
#include <stdint.h>
#include <stdlib.h>

#include "elf/elf_file.h"
#include "elf/elf_lookup.h"
#include "proc/self_contained.h"
#include "symbols/elf_symbols.h"
#include "symbols/function_starts.h"
#include "symbols/plt_symbols.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void look_up(const struct symbol_source *s, uint64_t address)
{
	struct source_function f;
	char name[300];

	if (s->ops->find(s, address, &f))
		return;
	if (f.start > address)
		abort();
	s->ops->name(s, f.token, name, sizeof(name));
}

static struct symbol_source *starts_open(const struct elf_file *f)
{
	return function_starts_open(f, f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct symbol_source *(*const openers[])(const struct elf_file *) = {
		elf_symbols_open, plt_symbols_open, starts_open,
	};
	struct elf_file *f = elf_file_open_memory(data, size);
	const struct elf_section *sections;
	uint8_t id[ELF_BUILD_ID_MAX];
	struct elf_function functions[] = { { .name = "main" }, { .name = "malloc" } };
	struct symbol_source *s;
	uint64_t address;
	size_t n;

	if (!f)
		return 0;
	n = elf_file_sections(f, &sections);
	for (size_t i = 0; i < n && i < 64; i++) {
		size_t got;

		free(elf_file_section_data(f, &sections[i], 1 << 20, &got));
		elf_file_section(f, sections[i].name);
	}
	elf_file_build_id(f, id);
	elf_lookup(f, functions, 2);
	self_contained_file(f);
	for (size_t k = 0; k < sizeof(openers) / sizeof(*openers); k++) {
		s = openers[k](f);
		for (uint64_t offset = 0; s && offset < size; offset += 1 + size / 256)
			if (!elf_file_vaddr(f, offset, &address))
				look_up(s, address);
		for (size_t i = 0; s && i < n && i < 64; i++)
			look_up(s, sections[i].addr);
		symbol_source_free(s);
	}
	elf_file_free(f);
	return 0;
}
