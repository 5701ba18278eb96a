/* SPDX-License-Identifier: MIT */
/* Whether a function's name is what the user wrote. */
#ifndef EBPROF_PROBES_NAMES_H
#define EBPROF_PROBES_NAMES_H

#include <regex.h>
#include <stddef.h>

#define PROBE_NAME_MAX 4096	/* bytes of a demangled name; what is longer has no match */

/* A name, a pattern (fnmatch(3)), or a regular expression between slashes. */
struct probe_pattern {
	const char *text;	/* borrowed */
	int is_regex;
	regex_t regex;
};
/*
 * 0, or -EINVAL: it is no regular expression, or has {, back-references (\1) or more than eight +,
 * and nothing is to be closed.
 */
int probe_pattern_open(struct probe_pattern *p, const char *text);
void probe_pattern_close(struct probe_pattern *p);
int probe_pattern_matches(const struct probe_pattern *p, const char *name);

/* The same of @name as the linker knows it; a version ("@GLIBC") does not count. */
int probe_name_matches(const struct probe_pattern *p, const char *name);
/*
 * The same of the demangled name: with its arguments, or without these and what it returns
 * ("ns::f", "std::vector<int>::push_back"); one of Rust also without the trait and the types that
 * it was made for ("Apple::price" of "<Apple as Priced>::price", "total" of "total::<Apple>").
 */
int probe_name_matches_demangled(const struct probe_pattern *p, const char *name);

/* @name as people read it, cleaned (base/text.h). */
void probe_name_show(const char *name, char *shown, size_t size);

#endif
