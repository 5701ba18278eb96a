/* SPDX-License-Identifier: MIT */
/*
 * The top table: functions by the samples taken in them, then processes.
 *
 * SELF% and SAMPLES count the samples whose innermost frame is the function,
 * so the column adds up to all samples; TOTAL% those with it anywhere on the
 * stack, recursion counted once. 100 % are the samples that were kept.
 */
#include "output/formats.h"
#include "output/views.h"

void top_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	views_top(p, VIEWS_FUNCTION, o->sort == OUTPUT_SORT_TOTAL, o, f);
	if (profile_view(p).total) {
		outfile_write(f, "\n", 1);
		views_top(p, VIEWS_PROCESS, 0, o, f);
	} else {
		outfile_printf(f, "no samples\n");
	}
}
