/* SPDX-License-Identifier: MIT */
/*
 * Where functions begin in code that has no call frame information: C libraries made without
 * (musl), programs made with -fno-asynchronous-unwind-tables, assembler, what linkers add. x86-64.
 */
#ifndef EBPROF_UNWIND_TABLE_CODE_H
#define EBPROF_UNWIND_TABLE_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "elf/elf_file.h"

/* Code that nothing describes. */
struct unwind_stretch {
	uint64_t start, end;	/* virtual addresses */
	uint64_t offset;	/* of the start, in the file */
};

/* Ascending virtual addresses. */
struct unwind_starts {
	uint64_t *v;
	size_t n;
	/* what has its address taken: functions, but for labels in the midst of one */
	uint64_t *taken;
	size_t ntaken;
};

/*
 * Where functions begin in @n stretches of @elf, sorted by address and apart from each other: as
 * symbols, of its debug file @debug (NULL: none), too, and the code that calls them say. None where
 * there is too much of it (16 MiB), or where it is V8's, whose frames are the language's
 * (bpf/v8_step.h).
 */
struct unwind_starts unwind_code_starts(const struct elf_file *elf, const struct elf_file *debug,
					const struct unwind_stretch *stretches, size_t n);
void unwind_starts_free(struct unwind_starts *s);

#endif
