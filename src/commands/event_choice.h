/* SPDX-License-Identifier: MIT */
/* Which event is sampled: the one that the user names, or the best one that this machine has. */
#ifndef EBPROF_EVENT_CHOICE_H
#define EBPROF_EVENT_CHOICE_H

#include "base/error.h"
#include "collect/event.h"
#include "commands/record_options.h"

/*
 * 1 where there is one, 0 where nothing is sampled (waits or allocations alone), or a negative
 * errno with @e filled. @o gets the rate that the event wants.
 */
int event_choose(struct record_options *o, struct event *event, struct error *e);

#endif
