/* SPDX-License-Identifier: MIT */
/* C++ names (Itanium ABI), by libiberty. */
#ifndef EBPROF_DEMANGLE_CXX_H
#define EBPROF_DEMANGLE_CXX_H

#include <stddef.h>

/*
 * Whether libiberty surely has little to do with @name. Substitutions let a name of a few hundred
 * bytes unfold to a tree of 2^100 nodes, which libiberty may walk without any output, so that
 * nothing but its time can bound it.
 */
int demangle_cxx_is_cheap(const char *name);

/*
 * The readable form of @name in @dst, terminated: its length, or 0 where it is no such name or does
 * not fit. Takes no memory but the stack, in which it may be left by a jump. Without bound on time,
 * and on the stack none but the name's length, unless the name is cheap.
 */
size_t demangle_cxx(const char *name, char *dst, size_t size);

#endif
