/* SPDX-License-Identifier: MIT */
/*
 * Builds the unwind table of an ELF file. It reads only through elf_file.h (pread), so
 * it may run in any thread.
 */
#ifndef EBPROF_UNWIND_TABLE_BUILD_H
#define EBPROF_UNWIND_TABLE_BUILD_H

#include <stdint.h>

#include "elf/elf_file.h"
#include "unwind/table/table.h"

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

#endif
