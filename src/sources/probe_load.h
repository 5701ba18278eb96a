/* SPDX-License-Identifier: MIT */
/*
 * Whether the programs of a source can be loaded: they are, with the least of maps, and nothing is
 * attached.
 */
#ifndef EBPROF_PROBE_LOAD_H
#define EBPROF_PROBE_LOAD_H

#include "collect/collector.h"
#include "collect/features.h"

/* For the row of a source among those of doctor. */
void probe_load(struct feature_result *r, const struct collector_part_ops *ops, void *ctx);

#endif
