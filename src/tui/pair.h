/* SPDX-License-Identifier: MIT */
/* Two functions that the user has marked, A and B, beside each other. */
#ifndef EBPROF_PAIR_H
#define EBPROF_PAIR_H

#include "tui/rows.h"

/*
 * What both have by themselves, with what they call, and together; then who calls them and what
 * they call, the most first. Of each row A's value is in self, B's in total.
 */
row_vec pair_rows(const struct profile *p, const struct rows_choice *c);

/* 0 for A, 1 for B, -1: the function was not marked. */
int pair_find(const struct rows_mark marks[2], const char *name, const char *module);
/*
 * Marks the function, or takes its mark away. Where two others are marked, B goes. 1: it is marked
 * now.
 */
int pair_toggle(struct rows_mark marks[2], const char *name, const char *module);
void pair_free(struct rows_mark marks[2]);

#endif
