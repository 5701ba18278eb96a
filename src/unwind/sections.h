/* SPDX-License-Identifier: MIT */
/*
 * The whole CFI of ELF files, loaded as it is asked for and kept for a few of
 * them; for the stacks that no table can express.
 */
#ifndef EBPROF_UNWIND_SECTIONS_H
#define EBPROF_UNWIND_SECTIONS_H

#include <stdint.h>

#include "dwarf/cfi.h"

struct unwind_sections;

struct unwind_sections *unwind_sections_new(void);
void unwind_sections_free(struct unwind_sections *s);

/*
 * The row that holds at @offset of file @id, which is @fd (UNWIND_FD_VDSO: our own
 * vDSO), and its section, valid until the next call. 0; -ENOENT: there is none; or
 * another negative errno.
 */
int unwind_sections_row(struct unwind_sections *s, uint32_t id, int fd, uint64_t offset,
			struct cfi_row *row, const struct cfi_section **section);

/* File @id is not what it was any more. Takes NULL. */
void unwind_sections_forget(struct unwind_sections *s, uint32_t id);

/* What all rows so far took, in bytes of programs that were run, or as long as that. */
uint64_t unwind_sections_work(const struct unwind_sections *s);

#endif
