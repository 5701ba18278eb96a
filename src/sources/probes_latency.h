/* SPDX-License-Identifier: MIT */
/* The times of calls: how many took how long. */
#ifndef EBPROF_SOURCES_PROBES_LATENCY_H
#define EBPROF_SOURCES_PROBES_LATENCY_H

#include <stdint.h>

#include "bpf/ebprof.h"
#include "profile/summary.h"

#define LATENCY_BUCKETS (64 * EBP_LATENCY_PARTS)

/* The least of bucket @i, ns; of LATENCY_BUCKETS the most that there is. */
uint64_t latency_least(unsigned int i);
/* The time within which the share @part of all @n calls are, ns; 0 where there are none. */
uint64_t latency_within(const uint64_t calls[LATENCY_BUCKETS], double part);
/* Adds shares, and a line for each power of two between the first and the last that has calls. */
void latency_summary(const char *name, const uint64_t calls[LATENCY_BUCKETS], struct summary *rows);

#endif
