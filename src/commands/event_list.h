/* SPDX-License-Identifier: MIT */
/* `-e list` and `ebprof list`: the events that can be sampled here, on standard output. */
#ifndef EBPROF_EVENT_LIST_H
#define EBPROF_EVENT_LIST_H

#include "base/error.h"
#include "base/vec.h"

/* 1 where that is what the user asked for by all of -e. */
int event_list_asked(const string_vec *events);
/*
 * Those whose names match @pattern (fnmatch(3)), or all where it is NULL; with the fields of
 * tracepoints where there is but one, or where @fields is set. 0, or -ENOENT with @e filled: none
 * matches.
 */
int event_list_print(const char *pattern, int fields, struct error *e);

#endif
