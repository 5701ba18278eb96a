/* SPDX-License-Identifier: MIT */
/*
 * The unwind table of one ELF file: its CFI, packed as bpf/unwind.h says, in
 * plain memory. Where it will lie in the shards is not known yet, so pages and
 * blocks are named by number here; unwind_store.h places them.
 *
 * Building reads only through elf_file.h (pread): it may run in any thread.
 */
#ifndef EBPROF_UNWIND_TABLE_H
#define EBPROF_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"
#include "elf/elf_file.h"

#define UNWIND_PAGE_NONE	UINT32_MAX	/* no rule in this page: EBP_REF_GAP */

struct unwind_table {
	uint32_t first_page;	/* of the file; see struct ebp_object */
	uint32_t npages;
	/* npages: index of its block, which several may share, or UNWIND_PAGE_NONE */
	uint32_t *page;
	uint32_t nblocks;
	/* nblocks + 1: where in @bytes each begins; 16-aligned; each less than 324 KiB */
	uint32_t *block;
	uint8_t *bytes;
	struct ebp_exotic *exotic;
	uint32_t nexotic;
	uint32_t flags;		/* EBP_OBJECT_NO_CFI */
	/* For the account. */
	uint64_t rows;		/* in all blocks */
	uint64_t code;		/* bytes of code that rules were found for */
};

/*
 * Builds the table of @elf's executable segments: .eh_frame, and .debug_frame
 * of @elf and of @debug (its separate debug file, or NULL) where that says more;
 * PLT sections without FDEs; of a Go program without .debug_frame its runtime's
 * own table; the entry point of a file that has no FDE for it is a root. Sections are
 * found by name, else (stripped headers) by PT_GNU_EH_FRAME. 0 (also for a file
 * without any CFI: then flags says so); -ENOEXEC not for @machine of this
 * program; -EFBIG more than 16 M rows; or a read's error. Where FDEs overlap the one
 * that starts later holds from there on. What is damaged, and code behind 4 GiB of the file, is a
 * gap.
 */
int unwind_table_build(const struct elf_file *elf, const struct elf_file *debug,
		       struct unwind_table *out);
/* The same for files of another machine (EM_X86_64, EM_AARCH64). */
int unwind_table_build_for(uint16_t machine, const struct elf_file *elf,
			   const struct elf_file *debug, struct unwind_table *out);
void unwind_table_free(struct unwind_table *t);

/*
 * The rule of @offset of the file, as the step would find it; EBP_RULE_SPECIAL | EBP_RULE_GAP where
 * there is none.
 */
uint16_t unwind_table_rule(const struct unwind_table *t, uint64_t offset);

#endif
