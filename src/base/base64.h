/* SPDX-License-Identifier: MIT */
/* Bytes as text: base64 (RFC 4648, section 4), padded, without line breaks. */
#ifndef EBPROF_BASE64_H
#define EBPROF_BASE64_H

#include <stddef.h>

#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)	/* characters of @n bytes */

/*
 * Fills @text, which is not terminated; returns BASE64_SIZE(@n). Parts of whole groups of 3 bytes
 * can follow one another.
 */
size_t base64_encode(char *text, const unsigned char *p, size_t n);
/* Fills @p, which has room for @n / 4 * 3 bytes. 0 with *@size, or -EBADMSG. */
int base64_decode(unsigned char *p, size_t *size, const char *text, size_t n);

#endif
