/* SPDX-License-Identifier: MIT */
/* How high the stack is before an instruction, and what the instruction makes of it. x86-64. */
#ifndef EBPROF_UNWIND_CODE_HEIGHT_H
#define EBPROF_UNWIND_CODE_HEIGHT_H

#include <stdint.h>

#include "bpf/unwind.h"
#include "unwind/code/x86.h"

#define HEIGHT_UNKNOWN INT32_MIN

/* What rbp holds. */
enum rbp { RBP_CALLERS, RBP_FRAME, RBP_OTHER, RBP_ROOT };

/* Before an instruction. Bytes from the CFA down. */
struct height {
	int32_t sp;		/* of rsp; HEIGHT_UNKNOWN */
	int32_t fp;		/* of rbp, with RBP_FRAME; else 0 */
	int32_t saved;		/* of the caller's rbp; 0: it was not saved */
	uint32_t rbp;		/* enum rbp */
};
_Static_assert(sizeof(struct height) == 16, "compared by its bytes");

/* rbp no longer holds what it held. */
void height_lose_rbp(struct height *h);
void height_apply(struct height *h, const struct x86 *i);

/*
 * The rule of a frame with that height. Where only an exotic one says it, *@x is filled, and
 * EBP_RULE_SPECIAL | EBP_RULE_EXOTIC returned; a gap where it is not known.
 */
uint16_t height_rule(const struct height *h, struct ebp_exotic *x);

#endif
