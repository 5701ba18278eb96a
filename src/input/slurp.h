/* SPDX-License-Identifier: MIT */
/* All of a file or a pipe in memory, gzip (RFC 1952) unpacked, with a bound. */
#ifndef EBPROF_SLURP_H
#define EBPROF_SLURP_H

#include <stddef.h>

/*
 * Reads @fd to its end. The bytes in a malloc'd block of *@size (at least one byte is
 * allocated), or NULL with errno: EFBIG over @limit bytes, unpacked; EBADMSG damaged gzip; or
 * read(2)'s. Memory grows with what is really there, whatever the file claims.
 */
char *slurp(int fd, size_t limit, size_t *size);
/* The same of @n bytes that are there: gzip, or EBADMSG. */
char *slurp_unpack(const unsigned char *packed, size_t n, size_t limit, size_t *size);

#endif
