/* SPDX-License-Identifier: MIT */
/*
 * Lines and instructions of functions in the flame graph page: an element of JSON, which
 * flamegraph/source.js reads,
 *
 *	{"all":SAMPLES,"functions":[{"name":...,"module":...,"self":N,"total":N,"rows":[
 *		[KIND,NUMBER,SELF,TOTAL,TARGET,TEXT,ARROWS],...]},...]}
 *
 * with the kinds of struct annotation_row by their numbers, and addresses as text.
 */
#ifndef EBPROF_HTML_SOURCE_H
#define EBPROF_HTML_SOURCE_H

#include "output/annotation.h"

/* Nothing where @n is 0. */
void html_source_write(struct outfile *f, struct annotation *const *all, size_t n);

#endif
