/* SPDX-License-Identifier: MIT */
/*
 * Probes of programs that are set for slices of the time (slices/slicer.h), where --max-overhead
 * bounds what their traps cost.
 */
#ifndef EBPROF_SOURCES_PROBES_SLICES_H
#define EBPROF_SOURCES_PROBES_SLICES_H

#include "sources/probes.h"

/*
 * Before the links are set. Programs: @list lists threads, @exits sees them end; @times: the map of
 * calls by their times, or negative: none are measured. 0 or a negative errno.
 */
int probes_slices_open(struct probes *p, int list, int exits, int times,
		       const struct probes_switches *on);
void probes_slices_begin(struct probes *p);
/*
 * How often what @key was counted for counts; 0: that is not known yet, and is to be asked again
 * (probes_slices_hold()).
 */
double probes_slices_scale(const struct probes *p, const struct ebp_key *key);
/* @c is taken again, by @take, when its scale is known; at the @last time all are. */
void probes_slices_hold(struct probes *p, const struct source_count *c);
void probes_slices_flush(struct probes *p, int last,
			 void (*take)(struct probes *p, const struct source_count *c,
				      double times));
/* The end: what no count stands for, and the times of calls, are as often as they are to count. */
void probes_slices_finish(struct probes *p);
/* 1 where counts are scaled. */
int probes_slices_are(const struct probes *p);
void probes_slices_summary(const struct probes *p, struct summary *rows);
void probes_slices_close(struct probes *p);

#endif
