/* SPDX-License-Identifier: MIT */
/* What probes cost: said before they are set, and bounded. */
#ifndef EBPROF_SOURCES_PROBES_PRICE_H
#define EBPROF_SOURCES_PROBES_PRICE_H

#include "sources/probes.h"

/*
 * All places are found, and none is set: counts for a moment how often they are hit, and says what
 * that will cost. Sets the bound of it (probes.bound).
 */
void probes_price(struct probes *p, const struct source_setup *setup);
/* The same of a tracepoint, where of @period hits one has a stack, and nothing bounds them. */
void probes_price_tracepoint(const struct event *ev, uint64_t period,
			     const struct source_setup *setup);

#endif
