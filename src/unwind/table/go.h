/* SPDX-License-Identifier: MIT */
/*
 * What the call frame information of Go programs (cmd/link, ld/dwarf.go) leaves
 * out: where rbp is saved, and that some functions of the runtime have no
 * caller, switch stacks, or are a signal's trampoline. Those are found by name.
 * And all of it for stripped programs, from the table that the runtime unwinds by.
 */
#ifndef EBPROF_UNWIND_TABLE_GO_H
#define EBPROF_UNWIND_TABLE_GO_H

#include "elf/elf_file.h"

struct unwind_go_function {
	/* virtual addresses; @start as a return address less one may have it */
	uint64_t start, end;
	uint16_t rule;		/* special: EBP_RULE_STOP, _GAP or _SIGNAL; else of a part of one */
};

#define UNWIND_GO_MAX 32

/*
 * Fills @out from @elf's .symtab, else from that of its separate file @debug
 * (or NULL), and returns how many: 0 in what is not a Go program.
 */
size_t unwind_go(const struct elf_file *elf, const struct elf_file *debug,
		 struct unwind_go_function out[UNWIND_GO_MAX]);
/*
 * Calls @fn with the stretches of all functions, ascending, and the rule of each, by the runtime's
 * own table (go/gopclntab.h): 0, or -ENODATA in what is not a Go program for x86-64, or why the
 * table cannot be read.
 */
int unwind_go_table(const struct elf_file *elf,
		    void (*fn)(void *ctx, uint64_t start, uint64_t end, uint16_t rule), void *ctx);
/*
 * The rule of a Go function with rbp: it is saved next to the return address where there is a frame
 * (cmd/internal/obj/x86).
 */
uint16_t unwind_go_rule(uint16_t machine, uint16_t rule);

#endif
