/* SPDX-License-Identifier: MIT */
/*
 * Readable names from mangled ones: C++ (Itanium ABI, by libiberty), Rust
 * (legacy and v0, demangle_rust.h) and D (by libiberty). Names come from hostile files: input
 * length (8,191 bytes), output size, depth and time are all bounded, and what does not fit or does
 * not parse is given as it is.
 *
 * What stands behind a name:
 *   memcpy@@GLIBC_2.14      the version is dropped
 *   name.llvm.1234          dropped: it differs from build to build and tells nothing
 *   _Z3foov.part.0.cold     foo() [clone .part.0] [clone .cold], as c++filt has it; Rust alike
 *   _Z3foov::bar            foo()::bar: as DWARF's names have it of what lies in a function
 *   foo.constprop.0         of a plain name: kept as it is
 */
#ifndef EBPROF_DEMANGLE_H
#define EBPROF_DEMANGLE_H

#include <stddef.h>

#include "symbols/demangler.h"

/*
 * Writes the readable form of @raw to @dst (@size bytes, at least 1; always
 * terminated), or @raw itself, cut to fit. Not yet cleaned (base/text.h).
 * Returns 1 where it was demangled, 0 where @raw was copied. Without @d (NULL) C++ names that may
 * take long are copied, too.
 */
int demangle(struct demangler *d, const char *raw, char *dst, size_t size);

#endif
