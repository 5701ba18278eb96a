/* SPDX-License-Identifier: MIT */
/*
 * The lines of `perf script` (tools/perf/builtin-script.c), whatever -F chose:
 *
 *	COMM PID[/TID] [CPU] SEC.FRACTION: PERIOD EVENT: REST
 *		ADDRESS SYMBOL+OFFSET (DSO)
 *	  FILE:LINE
 *
 * A line that begins with a sample is a header; each of its parts may be missing,
 * and COMM may hold blanks and digits. Frames begin with blanks, unless something took these
 * away. Without a call chain REST is the frame; of a tracepoint it is the event's own text.
 */
#ifndef EBPROF_PERF_SCRIPT_LINE_H
#define EBPROF_PERF_SCRIPT_LINE_H

#include "input/slice.h"

struct perf_script_header {
	struct slice comm, event, rest;		/* empty where missing */
	uint64_t pid, tid;			/* 0, and one for the other, where missing */
	uint64_t time;				/* ns */
	uint64_t period;
	uint32_t cpu;
	int has_pid, has_time, has_period;
};

struct perf_script_frame {
	uint64_t address;
	struct slice symbol;		/* without its offset; empty where missing or "[unknown]" */
	struct slice dso;		/* the same */
	int unknown;			/* "[unknown]" stands there for one of them */
	int inlined;			/* into the frame that follows */
};

enum perf_script_line {
	PERF_SCRIPT_BLANK,		/* ends a sample */
	PERF_SCRIPT_HEADER,
	PERF_SCRIPT_FRAME,
	/* a comment, or about the frame before it: source, instruction */
	PERF_SCRIPT_REMARK,
	PERF_SCRIPT_OTHER,		/* not understood */
};

/* What @line is; fills the one of @h and @f that it is. */
enum perf_script_line perf_script_line(struct slice line, struct perf_script_header *h,
				       struct perf_script_frame *f);
/* "ADDRESS SYMBOL (DSO)" without what stands before it. 1 with @f filled. */
int perf_script_frame(struct slice text, struct perf_script_frame *f);
/*
 * What -F srcline prints below a frame: "  main.c:12", or "  libc.so.6[1234]" where no source is
 * known.
 */
int perf_script_is_source(struct slice line);
/* "main.c:12" or "main.c:12 (inlined)"; 1 with @file, @line and @inlined filled. */
int perf_script_source(struct slice text, struct slice *file, uint32_t *line, int *inlined);

#endif
