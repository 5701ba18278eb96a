/* SPDX-License-Identifier: MIT */
/*
 * Where libgcc goes to an exception's handler, on aarch64.
 *
 * It writes the handler's registers over those that its own function has saved, x29 and x30 among
 * them, and only then moves the stack pointer (libgcc/unwind-dw2.c, uw_install_context). Between
 * that, some hundred instructions, call frame information leads to the handler's function, but not
 * to its stack. Where that is, and the handler, stands in a structure of libgcc's on its stack,
 * which the instructions behind the call read.
 */
#ifndef EBPROF_UNWIND_THROW_H
#define EBPROF_UNWIND_THROW_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"
#include "elf/elf_file.h"

#define UNWIND_THROWS 4
#define UNWIND_THROW_BYTES 4		/* of a call */

struct unwind_throw {
	uint64_t offset;		/* of the call, in the file */
	/* so far above the caller's stack pointer is the handler's, and 8 bytes on its address */
	uint32_t place;
};

/*
 * Fills @throws: calls of @elf, for aarch64, in which a handler is gone to. How many: 0 in all
 * files but libgcc and what it is linked into.
 */
size_t unwind_throws(const struct elf_file *elf, struct unwind_throw throws[UNWIND_THROWS]);
/* The rule in such a call: to the handler's frame. */
struct ebp_exotic unwind_throw_rule(const struct unwind_throw *t);

#endif
