/* SPDX-License-Identifier: MIT */
/* How the unwinding of a stack ended, in words. */
#ifndef EBPROF_UNWIND_RESULT_H
#define EBPROF_UNWIND_RESULT_H

#include "bpf/ebprof.h"

/* "depth", "no CFI", ...; NULL for EBP_COMPLETE. */
const char *unwind_result_name(enum ebp_result result);

#endif
