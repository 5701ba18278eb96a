/* SPDX-License-Identifier: MIT */
/* What makes memory grow: page faults, which two software events take when the page is mapped. */
#ifndef EBPROF_PAGE_FAULTS_H
#define EBPROF_PAGE_FAULTS_H

#include "sources/event_part.h"
#include "sources/source.h"

/* One of @period of them is a sample. */
struct source *page_faults_new(uint64_t period);

struct source_options;
/* Of its ops. */
int page_faults_check(struct source_options *o, struct stack_options *stack, struct error *e);
int page_faults_choose(struct source_options *o, struct source **s, struct error *e);

extern const struct source_ops page_faults_ops;

/*
 * All page faults that came to a good end: minor ones, and with them major ones. Both are counted
 * when the page is there (the event page-faults is when it is not), so the kernel can tell how
 * large it is.
 */
extern const struct event page_faults_event;

/* Below: for the two halves of this source. */
struct page_faults {
	struct source source;
	uint64_t period;		/* faults that a sample stands for */
	uint64_t page;			/* bytes of a page whose fault does not tell */
	uint32_t faults, space;		/* types of the profile */
	uint64_t sized;			/* samples that told how large their page is */
	struct event_part part;
};

extern const struct collector_part_ops page_faults_kernel;

#endif
