/* SPDX-License-Identifier: MIT */
/* Bytes in memory, compressed by gzip, as servers take them, and back. */
#ifndef EBPROF_GZIP_H
#define EBPROF_GZIP_H

#include <stdint.h>

#include "base/cursor.h"
#include "base/outfile.h"
#include "base/protobuf.h"

#define GZIP_MOST (64u << 20)	/* bytes */

/* Appends @n bytes at @v to @packed. */
void gzip_pack(const void *v, size_t n, struct outfile_bytes *packed);
/*
 * Appends what @packed was to @out. It comes from files and is not trusted: 0; -EINVAL where it is
 * damaged, or more than GZIP_MOST.
 */
int gzip_unpack(const struct cursor *packed, struct protobuf *out);

#endif
