/* SPDX-License-Identifier: MIT */
/*
 * An ELF file of any bytes: all that is packed in it, and the ELF file in .gnu_debugdata as well.
 */
#include <stdint.h>
#include <stdlib.h>

#include "elf/inflate.h"
#include "elf/minidebug.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LIMIT (4u << 20)
#define BUDGET (64u << 20)

static void unpack_sections(const struct elf_file *f)
{
	const struct elf_section *s;
	size_t n = elf_file_sections(f, &s);

	for (size_t i = 0; i < n && i < 64; i++) {
		size_t size;
		uint8_t *out = inflate_section(f, &s[i], LIMIT, &size);

		if (out && (size > LIMIT || out[size]))
			abort();
		free(out);
	}
	inflate_find(f, ".debug_info");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *f = elf_file_open_memory(data, size), *inner = NULL;
	uint64_t left = BUDGET;
	uint8_t *bytes;
	size_t n;

	if (!f)
		return 0;
	unpack_sections(f);
	bytes = minidebug_unpack(f, &left, &n);
	if (bytes && n > BUDGET - left)
		abort();
	inner = bytes ? elf_file_open_memory(bytes, n) : NULL;
	if (inner)
		unpack_sections(inner);
	elf_file_free(inner);
	free(bytes);
	elf_file_free(f);
	return 0;
}
