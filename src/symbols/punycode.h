/* SPDX-License-Identifier: MIT */
/* Punycode (RFC 3492), in which Rust mangles identifiers that are not ASCII. */
#ifndef EBPROF_PUNYCODE_H
#define EBPROF_PUNYCODE_H

#include <stddef.h>
#include <stdint.h>

/*
 * Decodes the @size bytes at @text, with Rust's "_" in place of "-" between the
 * ASCII characters and the rest. Writes up to @max code points (not checked for
 * being characters) to @out; returns their number, 0 where it is malformed or
 * they are more.
 */
size_t punycode_decode(const char *text, size_t size, uint32_t *out, size_t max);

#endif
