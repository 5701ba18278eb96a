/* SPDX-License-Identifier: MIT */
/* The sections of call frame information of an ELF file, read. */
#ifndef EBPROF_CFI_LOAD_H
#define EBPROF_CFI_LOAD_H

#include "dwarf/cfi.h"
#include "elf/elf_file.h"

/*
 * Section @name, also a compressed one, in *@out, whose data is malloc'd, for the
 * caller to free. 0, -ENOENT: there is none that can be used, or a read's error.
 */
int cfi_load_section(const struct elf_file *f, const char *name, struct cfi_section *out);
/* .eh_frame by its name or, where section headers were stripped, by PT_GNU_EH_FRAME. */
int cfi_load_eh_frame(const struct elf_file *f, struct cfi_section *out);

#endif
