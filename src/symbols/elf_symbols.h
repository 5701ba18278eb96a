/* SPDX-License-Identifier: MIT */
/*
 * Functions from an ELF file's .symtab and .dynsym, as a symbol source
 * (symbol_source.h). Addresses are virtual addresses of the file.
 *
 * The table keeps 20 bytes for each stretch of code; the names stay in the file
 * and are read when they are asked for, so that a compiler with 20 MB of names
 * costs 3 MB.
 */
#ifndef EBPROF_ELF_SYMBOLS_H
#define EBPROF_ELF_SYMBOLS_H

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

/*
 * Borrows @elf, which must outlive the source. NULL with errno: ENODATA no
 * function symbols (stripped), EBADMSG the tables are damaged, ENOTSUP they are
 * compressed, or a read error.
 */
struct symbol_source *elf_symbols_open(const struct elf_file *elf);

#endif
