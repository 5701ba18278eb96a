/* SPDX-License-Identifier: MIT */
/* The executable segments of an ELF file in the order of their addresses, for who looks up many. */
#ifndef EBPROF_ELF_CODE_H
#define EBPROF_ELF_CODE_H

#include "elf/elf_file.h"

struct elf_code {
	struct elf_segment *v;
	size_t n;
};

/*
 * Where two segments overlap, which the gABI forbids, the one that begins first has what they
 * share.
 */
void elf_code_collect(const struct elf_file *f, struct elf_code *out);
void elf_code_free(struct elf_code *c);

/* The segment that has @vaddr in the file, as far as it is its own; or NULL. */
const struct elf_segment *elf_code_at(const struct elf_code *c, uint64_t vaddr);

#endif
