/* SPDX-License-Identifier: MIT */
/*
 * The events of a perf script text, and the sample types that they become.
 *
 * A sample's period says how many events it stands for, so it is the weight of its stack
 * (perf-record(1), "period"; stackcollapse-perf.pl adds periods up in the same way). Of each
 * event a profile gets the number of samples and, where there are periods other than 1, their sum.
 * The sum is shown. Sums of different events cannot be added, so of more events than there is
 * room for only the number of samples is kept.
 */
#ifndef EBPROF_PERF_SCRIPT_EVENTS_H
#define EBPROF_PERF_SCRIPT_EVENTS_H

#include "input/perf_script_line.h"
#include "profile/profile.h"

#define PERF_SCRIPT_EVENTS_MAX 8

/* All zeros: nothing was seen. */
struct perf_script_events {
	struct slice_memo names;	/* name -> index in list */
	struct slice last_event;	/* that was asked for, and where @names has it */
	uint32_t *last;
	struct perf_script_event {
		uint64_t first_period;
		int weighted;		/* has a period that is not 1 */
		int varies;		/* has several */
		/* its sample type, where it is weighted; that of samples is its index */
		uint32_t weights;
	} list[PERF_SCRIPT_EVENTS_MAX];
	uint64_t samples;
	uint64_t begin, end;		/* ns, of samples */
	int all_have_time;
};

/* 1 where @h by itself is a sample, with frames or without; 0: it is, if frames follow. */
int perf_script_is_sample(const struct perf_script_header *h);
/* Takes note of a sample. */
void perf_script_events_survey(struct perf_script_events *s, const struct perf_script_header *h);
/* Gives an empty profile its sample types, and what is known of the recording. */
void perf_script_events_describe(struct perf_script_events *s, struct profile *p);
/* Counts a sample that was surveyed; returns the number of its event. */
uint32_t perf_script_events_count(struct perf_script_events *s, struct profile *p, uint32_t sample,
				  const struct perf_script_header *h);
void perf_script_events_free(struct perf_script_events *s);

#endif
