/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions between a tracepoint and the program that was called for it. A stack that
 * is taken there ends in them, and they are not where the tracepoint was hit.
 */
#ifndef EBPROF_TRACING_TEXT_H
#define EBPROF_TRACING_TEXT_H

#include <stddef.h>
#include <stdint.h>

struct tracing_text {
	struct text_range { uint64_t begin, end; } *v;	/* by address */
	size_t n;
};

/* Reads all of @kallsyms (/proc/kallsyms). What the kernel hides from us is not there. */
void tracing_text_find(struct tracing_text *t, const char *kallsyms);
void tracing_text_free(struct tracing_text *t);
/* How many of the @n frames, leaf first, are such functions; 0 where all are. */
size_t tracing_text_leaves(const struct tracing_text *t, const uint64_t *frames, size_t n);

#endif
