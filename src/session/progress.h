/* SPDX-License-Identifier: MIT */
/* How far a session has come: the counts of what session.h tells of it. */
#ifndef EBPROF_PROGRESS_H
#define EBPROF_PROGRESS_H

#include "collect/collector.h"
#include "session/assembler.h"
#include "session/session.h"

/* Fills in the samples, as far as they were fetched. */
void session_count(struct session_progress *p, const struct collector *c, const struct assembler *a);

#endif
