/* SPDX-License-Identifier: MIT */
/*
 * Rules for code without call frame information, by what its instructions do to the stack pointer
 * and to rbp (stack height analysis). x86-64.
 *
 * Each path is followed from the functions' entries, where the return address lies at rsp, also
 * into parts of functions that lie elsewhere (.cold). A compiler's code has one height at each
 * instruction, whatever way leads there: where two ways disagree there is no rule. Code that is
 * reached by a jump table alone has the height of its function's jump.
 */
#ifndef EBPROF_UNWIND_CODE_HEIGHTS_H
#define EBPROF_UNWIND_CODE_HEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/unwind.h"

#define UNWIND_HEIGHTS_MAX (16u << 20)	/* bytes of code; each takes two of memory */

struct unwind_code {
	const uint8_t *code;	/* may be anything */
	size_t n;
	/* where functions begin, ascending: entries[i] - base is the place in @code */
	const uint64_t *entries;
	size_t nentries;
	/* the same of those that begin there if nothing else leads there */
	const uint64_t *maybe;
	size_t nmaybe;
	uint64_t base;
};

/*
 * From byte @at of the code on @rule holds; @x: what it says where it is exotic (bpf/unwind.h),
 * without a number yet.
 */
typedef void unwind_heights_row(void *ctx, size_t at, uint16_t rule, const struct ebp_exotic *x);

/*
 * Gives the rows of the code, ascending. Bytes that no path leads to, and those of whose frame
 * nothing is known, are a gap.
 */
void unwind_heights(const struct unwind_code *c, unwind_heights_row *fn, void *ctx);

#endif
