/* SPDX-License-Identifier: MIT */
/*
 * What `ebprof diff` writes of a comparison: two tables, of what ends in each function and of what
 * has it anywhere on the stack. Not one of the formats of output.h, which know a profile only.
 */
#ifndef EBPROF_DIFFERENCE_H
#define EBPROF_DIFFERENCE_H

#include "base/outfile.h"
#include "output/output.h"
#include "profile/diff.h"

/*
 * Significant changes, and with @all the others too, grey; else they are only counted. By self,
 * total, or both tables.
 */
void difference_write(const struct diff *d, int all, const struct output_options *o,
		      struct outfile *f);
/* The same for programs; rates are fractions of 1. */
void difference_write_json(const struct diff *d, int all, const struct output_options *o,
			   struct outfile *f);

#endif
