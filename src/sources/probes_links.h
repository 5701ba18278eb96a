/* SPDX-License-Identifier: MIT */
/* Links that set the probes of programs (Linux 6.6): one for the places of an event in one file. */
#ifndef EBPROF_SOURCES_PROBES_LINKS_H
#define EBPROF_SOURCES_PROBES_LINKS_H

#include "sources/probes.h"

/*
 * Adds a link of @program (a descriptor) for the places from @first on, which is not set yet.
 * Returns how many it has.
 */
size_t probes_links_add(struct probes *p, size_t first, int program);
/* Sets those that are not. 0 or a negative errno: some are not set. */
int probes_links_set(struct probes *p);
/* No place of them traps any more when this returns. */
void probes_links_close(struct probes *p);

#endif
