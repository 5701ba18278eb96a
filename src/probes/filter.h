/* SPDX-License-Identifier: MIT */
/*
 * Filters of events, as perf and ftrace take them (Documentation/trace/events.rst, "Event
 * filtering"): fields compared by == != < <= > >= & ~ with numbers and texts, joined by && || ! and
 * brackets. They become tests of a BPF program, because the kernel's own filters are not asked
 * before it is called. Each test says which one is next where it holds, and where it does not.
 */
#ifndef EBPROF_PROBES_FILTER_H
#define EBPROF_PROBES_FILTER_H

#include <stdint.h>

#include "base/error.h"
#include "base/vec.h"
#include "bpf/probe_record.h"

/* A field by its name. */
struct filter_field {
	uint16_t offset, size;	/* in what is tested, bytes; of a text all that it may have */
	enum ebp_operand operand;
	int is_signed;
};

/* 0, or -ENOENT: there is no such field; -ENOTSUP: it cannot be compared. */
typedef int filter_find(void *ctx, const char *name, struct filter_field *out);

typedef VEC(struct ebp_test) filter_tests;

/*
 * Adds the tests of @text to @tests; the first of them is the next one that there is. 0, or -EINVAL
 * with @e filled.
 */
int filter_compile(const char *text, filter_find *find, void *ctx, filter_tests *tests,
		   struct error *e);

#endif
