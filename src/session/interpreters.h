/* SPDX-License-Identifier: MIT */
/*
 * The processes of this machine that may be interpreters by the name of their program, and which of
 * them have work: where none has, programs without frames of languages do for a start
 * (collect/successor.h).
 */
#ifndef EBPROF_INTERPRETERS_H
#define EBPROF_INTERPRETERS_H

#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct interpreters {
	VEC(struct interpreter { pid_t pid; uint32_t languages; uint64_t ran; }) all;
};

/* Those that there are now. Others' programs are told to who may see them (ptrace(2)). */
void interpreters_find(struct interpreters *in);
void interpreters_free(struct interpreters *in);
/*
 * Of which languages those are that have had CPU time since, some 10 ms of it: a bit for each enum
 * ebp_language.
 */
uint32_t interpreters_ran(const struct interpreters *in);

#endif
