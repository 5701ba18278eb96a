/* SPDX-License-Identifier: MIT */
/*
 * Names, inlined calls and lines of Go programs, from the table that the
 * runtime itself needs for its tracebacks: it is there in stripped programs.
 */
#ifndef EBPROF_GOPCLNTAB_H
#define EBPROF_GOPCLNTAB_H

#include "elf/elf_file.h"
#include "symbols/symbol_source.h"

/*
 * Go 1.2 and later, 64 bits; inlined calls from Go 1.16 on. Borrows @elf, which
 * must outlive the source. NULL with errno: ENODATA not a Go program, EBADMSG
 * damaged, ENOTSUP a version (or a size of pointers) that is not known, or pread's.
 */
struct symbol_source *gopclntab_open(const struct elf_file *elf);

/* What the runtime's unwinder must know of a function (runtime/symtab.go, funcFlag; Go 1.17). */
enum {
	GOPCLNTAB_TOPFRAME = 1,		/* it has no caller */
	GOPCLNTAB_SPWRITE = 2,		/* it moves its stack pointer to where no table can tell */
	GOPCLNTAB_ASM = 4,
};

struct gopclntab_stack {
	int32_t delta;		/* from the stack pointer up to what it was at the function's first instruction */
	uint8_t id;		/* the runtime's funcID; 0: a function like any other, or of before Go 1.16 */
	uint8_t flags;		/* GOPCLNTAB_* */
};

/* The stack at @address. @s is of gopclntab_open(). 0, or -ENOENT, or -EBADMSG. */
int gopclntab_stack(const struct symbol_source *s, uint64_t address, struct gopclntab_stack *out);

#endif
