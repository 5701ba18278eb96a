/* SPDX-License-Identifier: MIT */
/* Whether a function's name is what the user wrote. */
#ifndef EBPROF_PROBES_NAMES_H
#define EBPROF_PROBES_NAMES_H

#include <stddef.h>

#define PROBE_NAME_MAX 4096	/* bytes of a demangled name; what is longer has no match */

/*
 * @pattern is a name or a pattern (fnmatch(3)), @name as the linker knows it; a version ("@GLIBC")
 * does not count.
 */
int probe_name_matches(const char *pattern, const char *name);
/*
 * The same of the demangled name: with its arguments, or without these and what it returns
 * ("ns::f", "std::vector<int>::push_back").
 */
int probe_name_matches_demangled(const char *pattern, const char *name);

/* @name as people read it, cleaned (base/text.h). */
void probe_name_show(const char *name, char *shown, size_t size);

#endif
