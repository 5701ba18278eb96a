/* SPDX-License-Identifier: MIT */
/* The kernel's functions by name, for kprobes. */
#ifndef EBPROF_SOURCES_PROBES_KERNEL_FUNCTIONS_H
#define EBPROF_SOURCES_PROBES_KERNEL_FUNCTIONS_H

#include "base/vec.h"

/* Adds each name in /proc/kallsyms that matches @pattern (probes/names.h), malloc'd, once. */
void kernel_functions(const char *pattern, string_vec *names);
/* 1 where kprobes can be events here. */
int kernel_has_kprobes(void);

#endif
