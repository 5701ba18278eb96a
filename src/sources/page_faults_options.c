/* SPDX-License-Identifier: MIT */
#include "sources/options.h"
#include "sources/page_faults.h"

/* Below those of allocations. */
const struct cli_option page_faults_rows[] = {
	{ 0, 0, "page-faults", NULL, cli_flag, 0,
	  "follow page faults instead: cheap, for any target",
	  EBPROF_ALLOC | EBPROF_TOP | EBPROF_PUSH | CLI_BRIEF },
	{ 0 }
};

const struct cli_rule page_faults_rules[] = {
	{ .all = "page-faults",
	  .any = "event off-cpu wall frequency",
	  .why = "--page-faults counts each of them, or one of -c PERIOD; leave out -e, -F, "
		 "--off-cpu and --wall" },
	{ 0 }
};

/* All of them, unless the user asks for fewer; they take the place of blocks. */
int page_faults_check(struct source_options *all, struct stack_options *stack, struct error *e)
{
	struct samples_options *o = &all->samples;

	(void)stack;
	(void)e;
	if (!all->page_faults)
		return 0;
	o->period = o->period ? o->period : 1;
	all->allocations.on = 0;
	return 0;
}

int page_faults_choose(struct source_options *all, struct source **s, struct error *e)
{
	(void)e;
	if (all->page_faults)
		*s = page_faults_new(all->samples.period);
	return 0;
}
