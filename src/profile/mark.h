/* SPDX-License-Identifier: MIT */
/* Frames that are no code: they say what became of a stack. */
#ifndef EBPROF_MARK_H
#define EBPROF_MARK_H

#include "profile/profile.h"

/* The node of the frame "[truncated: ...]" or the like below @parent; @text is clean. */
uint32_t profile_mark(struct profile *p, uint32_t parent, const char *text);

#endif
