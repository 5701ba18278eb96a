/* SPDX-License-Identifier: MIT */
/*
 * How big a frame is by the code that leaves it, where nothing else says so: functions that were
 * written by hand without call frame information, those that a C library adds to each program
 * (crtstuff), and what a JIT makes that uses the C stack as compilers do (PCRE's). x86-64.
 *
 * The code is followed from where its frame is to a `ret`. On the way only what moves the stack
 * pointer counts: what is called gives back what it takes, and both ways of a branch come to the
 * same; the other way is followed where the first one leads to no `ret`.
 */
#ifndef EBPROF_UNWIND_STEP_CODE_H
#define EBPROF_UNWIND_STEP_CODE_H

#include <stddef.h>
#include <stdint.h>

#define UNWIND_CODE_BEFORE	512	/* bytes of code that are of use, before the place */
#define UNWIND_CODE_BEHIND	8192
#define UNWIND_CODE_MADE	8192	/* before the place, of code made at run time */
#define UNWIND_CODE_MAX		(UNWIND_CODE_MADE + UNWIND_CODE_BEHIND)

/*
 * The rule (bpf/unwind.h) at @code + @at, of @n bytes that belong to no function with call frame
 * information; 0: it cannot be known.
 */
uint16_t unwind_code_rule(const uint8_t *code, size_t n, size_t at);

#endif
