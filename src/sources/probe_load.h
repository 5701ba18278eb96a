/* SPDX-License-Identifier: MIT */
/*
 * Whether the programs of a source can be loaded: they are, with the least of maps, and nothing is
 * attached.
 */
#ifndef EBPROF_PROBE_LOAD_H
#define EBPROF_PROBE_LOAD_H

#include "collect/collector.h"
#include "collect/features.h"

/*
 * For the row of a source among those of doctor. With frames of @languages, as of struct
 * collector_options: the functions that take those are the same for all sources, and the verifier
 * looks at each by itself, so that one source tells for all.
 */
void probe_load(struct feature_result *r, const struct collector_part_ops *ops, void *ctx,
		uint32_t languages);

#endif
