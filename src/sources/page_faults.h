/* SPDX-License-Identifier: MIT */
/* What makes memory grow: page faults, which two software events take when the page is mapped. */
#ifndef EBPROF_PAGE_FAULTS_H
#define EBPROF_PAGE_FAULTS_H

#include "collect/collector.h"
#include "sources/event_part.h"

struct page_faults {
	struct event_part part;
};

/* Their context is a struct page_faults, of which @part.event and .period are filled. */
extern const struct collector_part_ops page_faults_kernel;

#endif
