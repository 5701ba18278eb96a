/* SPDX-License-Identifier: MIT */
/* Processes below those that started them. */
#ifndef EBPROF_NEST_H
#define EBPROF_NEST_H

#include "output/rollup.h"
#include "tui/rows.h"

/*
 * Puts @rows, which are made of @all in the same order, below the rows of their parents: sets
 * depths, and totals with what is below. Those whose parent has no row stand at depth 0; the
 * greatest totals come first.
 */
void nest_tasks(row_vec *rows, const struct rollup_process *all);

#endif
