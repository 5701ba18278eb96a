/* SPDX-License-Identifier: MIT */
/*
 * What the unit tests need of jit_file.c.
 */
#ifndef EBPROF_JIT_FILE_INTERNAL_H
#define EBPROF_JIT_FILE_INTERNAL_H

#include "symbols/jit_file.h"

/* The facts in the text of a /proc/PID/status: 0 or -EINVAL. */
int jit_parse_status(const char *text, struct jit_process *out);

#endif
