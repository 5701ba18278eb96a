/* SPDX-License-Identifier: MIT */
/*
 * The flame graph page of a profile that grows: the page without a profile, and updates, which it
 * asks its server for (flamegraph/live.js). Each is a line of JSON:
 *
 *	{"sequence":N,"whole":false,"profile":{...},"up":"...","label":"...","self0":"...",
 *	 "tick-time":"...","tick-node":"..."}
 *
 * The members are those of the page's elements (html.c). An update has what came since the one
 * before; a whole one all up to there, and takes the place of what came before.
 */
#ifndef EBPROF_HTML_LIVE_H
#define EBPROF_HTML_LIVE_H

#include <stdint.h>

#include "base/outfile.h"
#include "profile/profile.h"

void html_write_live(struct outfile *f);
void html_write_update(const struct profile *p, uint64_t sequence, int whole, struct outfile *f);

#endif
