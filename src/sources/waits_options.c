/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sources/options.h"

#define AT(field) offsetof(struct waits_options, field)
#define MIN_BLOCK_DEFAULT 1000	/* ns */
#define OVERHEAD_DEFAULT 1.0	/* % of a CPU */

/* Words to bits of enum ebp_kind. */
static int store_states(const char *option, const char *text, void *field, struct error *e)
{
	static const struct {
		const char *word;
		enum ebp_kind kind;
	} states[] = {
		{ "blocked", EBP_BLOCKED },
		{ "disk", EBP_DISK_WAIT },
		{ "uninterruptible", EBP_UNINTERRUPTIBLE },
		{ "runnable", EBP_RUNNABLE },
	};
	unsigned int *bits = field;

	while (*text) {
		size_t n = strcspn(text, ","), i = 0;

		while (i < sizeof(states) / sizeof(*states) &&
		       (strlen(states[i].word) != n || strncmp(states[i].word, text, n)))
			i++;
		if (i == sizeof(states) / sizeof(*states))
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "%s '%s': known states are blocked, disk, uninterruptible "
					 "and runnable",
					 option, text);
		*bits |= 1u << states[i].kind;
		text += n + (text[n] == ',');
	}
	return 0;
}

#define R EBPROF_RECORD
#define T (EBPROF_TOP | EBPROF_SERVE)
#define P EBPROF_PUSH

const struct cli_option waits_rows[] = {
	CLI_HEADING("Waits"),
	{ 0, 0, "off-cpu", NULL, cli_flag, AT(off_cpu),
	  "where threads wait, in time, instead of what they run (or with -e)",
	  R | T | P | CLI_BRIEF },
	{ 0, 0, "wall", NULL, cli_flag, AT(wall),
	  "what threads run and where they wait, in one profile of time", R | T | P | CLI_BRIEF },
	{ 0, 0, "wakers", NULL, cli_flag, AT(wakers),
	  "show above each wait the stack that ended it", R | T | P },
	{ 0, 0, "min-block", "TIME", cli_duration, AT(min_block),
	  "leave out shorter waits (default 1us; with --wall none)", R | T | P },
	{ 0, 0, "state", "STATE[,STATE...]", store_states, AT(states),
	  "only these waits: blocked, disk, uninterruptible, runnable", R | T | P },
	{ 0, 0, "max-overhead", "PERCENT", overhead_store, AT(max_overhead),
	  "of each CPU: for stacks of waits (default 1), for probes (10, or none)", R | T },
	{ 0, 0, "hide-idle", NULL, cli_flag, AT(hide_idle),
	  "leave out the waits of threads that did nothing but wait", R },
	{ 0 }
};

const struct cli_rule waits_rules[] = {
	{ .one_of = "off-cpu wall",
	  .why = "--off-cpu and --wall exclude each other: the latter has both" },
	{ .any = "wakers hide-idle min-block state",
	  .needs = "off-cpu wall",
	  .why = "--wakers, --hide-idle, --min-block and --state go with --off-cpu or --wall" },
	{ .any = "max-overhead",
	  .needs = "off-cpu wall alloc event latency push",
	  .why = "--max-overhead goes with --off-cpu, --wall, -e of probes, --latency or ebprof "
		 "alloc -p" },
	{ 0 }
};

int waits_check(struct source_options *all, struct stack_options *stack, struct error *e)
{
	struct waits_options *o = &all->waits;

	(void)stack;
	(void)e;
	if (!o->off_cpu && !o->wall)
		return 0;
	if (!o->min_block)
		o->min_block = o->wall ? 0 : MIN_BLOCK_DEFAULT;
	if (!o->states)
		o->states = ~0u;
	if (!o->max_overhead)
		o->max_overhead = OVERHEAD_DEFAULT;
	else if (o->max_overhead < 0)
		o->max_overhead = 100;
	return 0;
}

int waits_choose(struct source_options *all, struct source **s, struct error *e)
{
	(void)e;
	if (all->waits.off_cpu || all->waits.wall)
		*s = waits_new(&all->waits);
	return 0;
}
