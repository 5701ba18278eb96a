/* SPDX-License-Identifier: MIT */
/* The probes of `ebprof alloc`, and what they will cost. */
#ifndef EBPROF_RECORDING_ALLOC_H
#define EBPROF_RECORDING_ALLOC_H

#include "commands/recording.h"

/*
 * Finds the places of the probes; sets them, where that is not done later by links; says what they
 * cost. For recording_prepare(), while we may. 0, or a negative errno with @e filled.
 */
int recording_alloc(struct recording *r, struct error *e);

#endif
