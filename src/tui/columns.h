/* SPDX-License-Identifier: MIT */
/* How the rows of each view are made; for the table of views. */
#ifndef EBPROF_COLUMNS_H
#define EBPROF_COLUMNS_H

#include "tui/rows.h"

row_vec rows_functions(const struct profile *p, const struct rows_choice *c);
row_vec rows_modules(const struct profile *p, const struct rows_choice *c);
row_vec rows_tasks(const struct profile *p, const struct rows_choice *c);
row_vec rows_tree(const struct profile *p, const struct rows_choice *c);
row_vec rows_callers(const struct profile *p, const struct rows_choice *c);
row_vec rows_lines(const struct profile *p, const struct rows_choice *c);

#endif
