/* SPDX-License-Identifier: MIT */
/* The live view without a terminal: a header and a table, again and again. */
#ifndef EBPROF_PLAIN_H
#define EBPROF_PLAIN_H

#include "profile/window.h"
#include "tui/viewer.h"

/* One table. 0, or a negative errno where standard output takes no more. */
int plain_write(struct window *w, const struct viewer_options *o);

#endif
