/* SPDX-License-Identifier: MIT */
/* What a picture of a profile is titled with. */
#ifndef EBPROF_CAPTION_H
#define EBPROF_CAPTION_H

#include <stddef.h>

struct profile;

/*
 * The target: "openssl (1234)", "make and 40 other programs", by the processes that the values are
 * of, the one with the most first; "" where there are none. @size: at least 64 bytes.
 */
void caption_target(const struct profile *p, char *dst, size_t size);

#endif
