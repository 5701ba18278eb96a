/* SPDX-License-Identifier: MIT */
/* The line that says what is shown: of whom, of which time, and what became of the samples. */
#ifndef EBPROF_HEADING_H
#define EBPROF_HEADING_H

#include <stddef.h>

#include "profile/window.h"

/*
 * @target: NULL where there is little room; then only what matters most is said. @live: 0 where it
 * is a saved profile, which has no window.
 */
void heading_text(char *buf, size_t size, const struct window_show *show, const char *target,
		  int since_start, int live);

#endif
