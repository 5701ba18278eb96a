/* SPDX-License-Identifier: MIT */
/* What hits of a place have to be like to count, and what they are worth. */
#ifndef EBPROF_SOURCES_PROBES_VALUES_H
#define EBPROF_SOURCES_PROBES_VALUES_H

#include "sources/probes.h"

/* Reads the weight that the user asked for. 0 or -EINVAL with @e filled; so all below. */
int probes_weight_parse(struct probes *p, struct error *e);
/* Of @place, a tracepoint called @name below @tracefs. */
int probes_values_tracepoint(struct probes *p, struct probes_place *place, const char *tracefs,
			     const char *name, struct error *e);
/*
 * Of @place in a program's code. @arguments: as probes/usdt.h has them where it @is_static, else
 * of a function (probes/signatures.h), "" where they are not known.
 */
int probes_values_user(struct probes *p, struct probes_place *place, int is_static,
		       const char *arguments, struct error *e);
/* All places are there: that what was asked for was found. */
int probes_values_check(const struct probes *p, struct error *e);
/* 1 where any place has a filter, a weight, or a number that tells its hits apart. */
int probes_have_values(const struct probes *p);

#endif
