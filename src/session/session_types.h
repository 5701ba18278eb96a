/* SPDX-License-Identifier: MIT */
/* What the profile of a recording measures. */
#ifndef EBPROF_SESSION_TYPES_H
#define EBPROF_SESSION_TYPES_H

#include "session/assembler.h"
#include "session/session.h"

/*
 * Gives @p, which is new, the types of what @options ask for, and says which of them counts what.
 */
struct assembler_types session_types(struct profile *p, const struct session_options *options);
/* 1 where samples of @event at a rate stand for time on the CPU. */
int session_times(const struct event *event);

#endif
