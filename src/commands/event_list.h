/* SPDX-License-Identifier: MIT */
/* `-e list`: the events that can be sampled here, on standard output. */
#ifndef EBPROF_EVENT_LIST_H
#define EBPROF_EVENT_LIST_H

/* 1 where that is what the user asked for by -e @event (may be NULL). */
int event_list_asked(const char *event);
/* Returns the exit status. */
int event_list_print(void);

#endif
