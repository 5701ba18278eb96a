/* SPDX-License-Identifier: MIT */
/*
 * Where a stripped program's main() is: what its _start hands to
 * __libc_start_main() as the first argument (glibc's sysdeps/x86_64/start.S and
 * sysdeps/aarch64/start.S, in all forms that linkers make of them).
 */
#ifndef EBPROF_ELF_MAIN_H
#define EBPROF_ELF_MAIN_H

#include "elf/elf_file.h"

/* Its virtual address, in the file's code; 0: the entry point is no such _start. */
uint64_t elf_main(const struct elf_file *f);

#endif
