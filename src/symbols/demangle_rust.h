/* SPDX-License-Identifier: MIT */
/*
 * Rust's mangled names: legacy (_ZN...17h<16 hex digits>E) and v0 (RFC 2603), each
 * in its own file.
 * Without hashes: they tell two builds apart, not two functions.
 *
 * libiberty has a demangler for these too, but one that cannot be bounded: a
 * binder in a skipped path may count to 2^64 without output, and an identifier
 * in punycode holds memory while it is printed, so that it cannot be left.
 */
#ifndef EBPROF_DEMANGLE_RUST_H
#define EBPROF_DEMANGLE_RUST_H

#include <stddef.h>

/*
 * Both write the readable form of the @n bytes at @s to @dst (@size bytes,
 * terminated) and return its length; 0 where it is not such a name, or where
 * it would not fit.
 */
size_t demangle_rust_legacy(const char *s, size_t n, char *dst, size_t size);
size_t demangle_rust_v0(const char *s, size_t n, char *dst, size_t size);

/* 0..15, or -1; the hashes, escapes and constants are all in lower case. */
static inline int rust_hex_digit(int c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

#endif
