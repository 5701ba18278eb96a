/* SPDX-License-Identifier: MIT */
/* `ebprof list`: functions and static probes of programs, and functions of the kernel. */
#ifndef EBPROF_PROBE_LIST_H
#define EBPROF_PROBE_LIST_H

#include <stddef.h>

#include "base/error.h"

/*
 * Prints what the probe @text stands for, in the files of @pids where there are any; of "usdt:*"
 * in all that they have mapped. 0, or a negative errno with @e filled: there is none.
 */
int probe_list_print(const char *text, const int *pids, size_t n, struct error *e);

#endif
