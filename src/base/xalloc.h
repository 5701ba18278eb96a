/* SPDX-License-Identifier: MIT */
/*
 * Allocation that does not fail: out of memory is one clear line and exit
 * status 1. Use it for what is bounded by what we do ourselves; a size that
 * comes from a file or a process is checked against a limit first.
 */
#ifndef EBPROF_XALLOC_H
#define EBPROF_XALLOC_H

#include <stddef.h>

/* So that neither a compiler nor an analyzer thinks of NULL. */
#define XALLOC __attribute__((returns_nonnull))

/* libiberty has the first three by the same names, and takes ours: all of them must be here. */
XALLOC void *xmalloc(size_t size);
XALLOC void *xcalloc(size_t n, size_t size);
XALLOC void *xrealloc(void *p, size_t size);
XALLOC void *xreallocarray(void *p, size_t n, size_t size);
XALLOC char *xstrdup(const char *s);
XALLOC char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

#endif
