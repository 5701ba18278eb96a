/* SPDX-License-Identifier: MIT */
/*
 * The stubs through which a file calls into others, as a symbol source
 * (symbol_source.h); their names are those of what they call. x86-64 (psABI
 * 5.2): what slot a stub jumps through is in its instruction, and the
 * relocations tell whose slot that is, whichever linker laid them out.
 */
#ifndef EBPROF_PLT_SYMBOLS_H
#define EBPROF_PLT_SYMBOLS_H

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

/* Borrows @elf. NULL with errno: ENODATA there are no stubs, or none that we know. */
struct symbol_source *plt_symbols_open(const struct elf_file *elf);

#endif
