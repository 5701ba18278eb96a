/* SPDX-License-Identifier: MIT */
/* How far a session has come: the counts of what session.h tells of it. */
#ifndef EBPROF_PROGRESS_H
#define EBPROF_PROGRESS_H

#include "collect/collector.h"
#include "session/assembler.h"
#include "session/session.h"

/* Tells o->progress of the samples, as far as they were fetched. */
void session_report(const struct session_options *o, const struct collector *c,
		    const struct assembler *a, uint64_t elapsed);

#endif
