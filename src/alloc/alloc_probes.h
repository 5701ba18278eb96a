/* SPDX-License-Identifier: MIT */
/*
 * The uprobes of `ebprof alloc`: two in our preloaded library, or on each function of the
 * allocators that a running process has mapped.
 *
 * An allocator is a file with a function malloc() that is mapped executable: libc, or what was put
 * before it, or the program itself. C++'s operators are taken of such files only: those of libstdc++
 * call malloc(). Files are opened by /proc/PID/map_files, so they may be deleted, or in a
 * container. Needs CAP_SYS_ADMIN.
 */
#ifndef EBPROF_ALLOC_PROBES_H
#define EBPROF_ALLOC_PROBES_H

#include "alloc/alloc_library.h"
#include "base/error.h"
#include "collect/collector.h"

/* All add to @p, which begins as zeros. 0, or a negative errno with @e filled. */
int alloc_probes_library(struct alloc_probes *p, const struct alloc_library *l, struct error *e);
/* The places in @pid; nothing is set on them yet. */
int alloc_probes_process(struct alloc_probes *p, pid_t pid, struct error *e);
/* Sets uprobes on all places, where that is not done by links. */
int alloc_probes_open(struct alloc_probes *p, struct error *e);
/* Closes those that nobody took over, and the files. */
void alloc_probes_free(struct alloc_probes *p);

#endif
