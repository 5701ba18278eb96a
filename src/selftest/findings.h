/* SPDX-License-Identifier: MIT */
/* What `ebprof selftest` found, for people and for programs. */
#ifndef EBPROF_FINDINGS_H
#define EBPROF_FINDINGS_H

#include <stddef.h>

#include "base/outfile.h"
#include "selftest/judge.h"

/* A line, and why where it is not right. */
void findings_line(struct outfile *out, const struct outcome *o, int color);
/* The closing line. */
void findings_sum(struct outfile *out, const struct outcome *all, size_t n);
/* All of it as one object. */
void findings_json(struct outfile *out, const struct outcome *all, size_t n);

#endif
