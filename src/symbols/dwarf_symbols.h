/* SPDX-License-Identifier: MIT */
/*
 * Functions, inlined calls and lines from DWARF, as a symbol source
 * (symbol_source.h). Addresses are virtual addresses of the file.
 *
 * Opening reads the units' headers alone. A unit is read when the first address
 * in it is asked for, and kept until many others were: ask in the order of addresses.
 */
#ifndef EBPROF_DWARF_SYMBOLS_H
#define EBPROF_DWARF_SYMBOLS_H

#include <sys/types.h>

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

/*
 * Borrows @elf, which must outlive the source; it may be the file itself or its
 * debug file. @alt: what dwz made of several, or NULL. @package: what
 * was split from it (.dwp), or NULL. @target: a process in whose root, after ours, .dwo files are
 * looked for, or 0. NULL with errno: ENODATA there is no DWARF that
 * describes code.
 */
struct symbol_source *dwarf_symbols_open(const struct elf_file *elf, const struct elf_file *alt,
					 const struct elf_file *package, pid_t target);
/* What was read of it takes @most bytes at once, about, or what one unit takes. */
void dwarf_symbols_keep(struct symbol_source *source, size_t most);

/* 1 where a part of the DWARF is in files beside the program (.dwo). */
int dwarf_symbols_split(const struct symbol_source *source);

#endif
