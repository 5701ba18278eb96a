/* SPDX-License-Identifier: MIT */
/* Who of us runs first. */
#ifndef EBPROF_PRIORITY_H
#define EBPROF_PRIORITY_H

/*
 * The calling thread runs before all of usual priority, where it may; or as they do. What it starts
 * is not favoured.
 */
void priority_first(int first);

#endif
