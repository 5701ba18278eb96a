/* SPDX-License-Identifier: MIT */
/*
 * Where a demangler writes: a buffer of fixed size. What does not fit makes the
 * whole name fail, and after a failure nothing is written any more.
 */
#ifndef EBPROF_NAME_OUT_H
#define EBPROF_NAME_OUT_H

#include <stddef.h>
#include <stdint.h>

struct name_out {
	char *dst;
	size_t size, len;	/* @len < @size, always: one byte is left for the end */
	unsigned int silent;	/* > 0: what is written is left out */
	int failed;
};

void name_out_bytes(struct name_out *o, const char *p, size_t n);
void name_out_text(struct name_out *o, const char *text);
/* One character as UTF-8; fails for what is none. */
void name_out_char(struct name_out *o, uint32_t c);
/* Terminates the name. Its length, 0 where it failed or is empty. */
size_t name_out_end(struct name_out *o);

#endif
