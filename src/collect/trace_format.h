/* SPDX-License-Identifier: MIT */
/*
 * The fields of a tracepoint, by the "format" file beside its id in tracefs
 * (Documentation/trace/events.rst): what a program on it is called with.
 */
#ifndef EBPROF_TRACE_FORMAT_H
#define EBPROF_TRACE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

enum trace_kind {
	TRACE_NUMBER,		/* 1, 2, 4 or 8 bytes */
	TRACE_TEXT,		/* an array of characters in the record */
	TRACE_DYNAMIC_TEXT,	/* its place in the record: 16 bits, and its size above */
	TRACE_OTHER,		/* an array of something else */
};

struct trace_field {
	char name[64];
	char type[96];		/* as in C; of an array with its [] */
	uint32_t offset, size;	/* bytes in the record */
	int is_signed;
	int common;		/* all tracepoints have it */
	enum trace_kind kind;
};

typedef VEC(struct trace_field) trace_field_vec;

/* Adds the fields that @text tells; lines of another form are passed over. */
void trace_format_parse(const char *text, trace_field_vec *fields);
/*
 * The same of the tracepoint @name ("group:name") below @tracefs (its "events" folder). 0 or a
 * negative errno.
 */
int trace_format_read(const char *tracefs, const char *name, trace_field_vec *fields);
/* The field called @name, or NULL. */
const struct trace_field *trace_format_find(const trace_field_vec *fields, const char *name);

#endif
