/* SPDX-License-Identifier: MIT */
/*
 * Names, inlined calls and lines of Go programs, also stripped ones, from the
 * runtime's own table (go/gopclntab.h), as a symbol source (symbol_source.h).
 */
#ifndef EBPROF_GO_SYMBOLS_H
#define EBPROF_GO_SYMBOLS_H

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

/*
 * Go 1.2 and later, 64 bits; inlined calls from Go 1.16 on. Borrows @elf, which
 * must outlive the source. NULL with errno: ENODATA not a Go program, EBADMSG
 * damaged, ENOTSUP a version (or a size of pointers) that is not known, or pread's.
 */
struct symbol_source *go_symbols_open(const struct elf_file *elf);

#endif
