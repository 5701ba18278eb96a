/* SPDX-License-Identifier: MIT */
/* The libraries that an ELF file asks its loader for (gABI, "Dynamic Section"). */
#ifndef EBPROF_ELF_NEEDED_H
#define EBPROF_ELF_NEEDED_H

#include "elf/elf_file.h"

/*
 * Whether @is says yes to the name of a library that @f needs (DT_NEEDED), cut to 31 bytes: 1 or 0.
 * Negative: it has no dynamic section that can be read.
 */
int elf_needs(const struct elf_file *f, int (*is)(const char *name));

#endif
