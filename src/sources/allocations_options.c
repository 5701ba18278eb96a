/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "sources/options.h"

#define AT(field) offsetof(struct allocations_options, field)
#define INTERVAL_DEFAULT (512u << 10)	/* bytes */
#define INTERVAL_MAX (1ull << 36)

static int store_interval(const char *option, const char *text, void *field, struct error *e)
{
	uint64_t *interval = field;

	if (strcmp(text, "all"))
		return cli_count(option, text, field, e);
	*interval = ALLOC_ALL;
	return 0;
}

#define A EBPROF_ALLOC
#define T EBPROF_TOP
#define P EBPROF_PUSH

const struct cli_option allocations_rows[] = {
	CLI_HEADING("Allocations"),
	{ 0, 0, "alloc", NULL, cli_flag, AT(on),
	  "memory, as in ebprof alloc; v shows its other values", T | CLI_BRIEF },
	{ 0, 0, "alloc", NULL, cli_flag, AT(on),
	  "what -p or COMMAND allocates, and what of it is in use", P | CLI_BRIEF },
	{ 0, 0, "alloc-interval", "BYTES", store_interval, AT(interval),
	  "a block every BYTES (default 524288), or all", A | T | P },
	{ 0, 0, "allocator", "PATH:PREFIX", cli_strings, AT(allocators),
	  "with -p: PREFIXmalloc() and its like in PATH, too; may be repeated", A | T | P },
	{ 0, 0, "leaks", NULL, cli_flag, AT(leaks), "show what was never freed",
	  A | T | CLI_BRIEF },
	{ 0, 0, "min-age", "TIME", cli_duration, AT(min_age),
	  "younger blocks do not count as in use at the end", A },
	{ 0, 0, "max-overhead", "PERCENT", overhead_store, AT(max_overhead),
	  "with -p: of its threads' time (default 10), or none", A | CLI_BRIEF },
	{ 0 }
};

static const char needs_alloc[] =
	"--alloc-interval, --allocator, --leaks, --min-age and --page-faults go with ebprof alloc, "
	"top --alloc or push --alloc";

static const char needs_target[] =
	"ebprof alloc follows a command that it starts, or some processes: ebprof alloc "
	"-- COMMAND, or -p PID; probes in all of them would slow all of them down, but "
	"--page-faults is cheap enough for any target";

/* "alloc" is the command, or the option of top; with page faults no block is followed. */
const struct cli_rule allocations_rules[] = {
	{ .any = "alloc-interval allocator leaks min-age", .needs = "alloc", .why = needs_alloc },
	{ .any = "page-faults", .needs = "alloc push", .why = needs_alloc },
	{ .all = "push alloc page-faults",
	  .why = "--alloc and --page-faults exclude each other: blocks, or what of them is "
		 "touched" },
	{ .all = "page-faults",
	  .any = "alloc-interval allocator leaks min-age max-overhead",
	  .why = "page faults show where memory comes from, whichever allocator asks for it, not "
		 "when it goes; leave out --alloc-interval, --allocator, --leaks, --min-age and "
		 "--max-overhead" },
	{ .all = "alloc", .needs = "page-faults pid " CLI_GIVES_COMMAND, .why = needs_target },
	/* Beside these a command only says how long. */
	{ .all = "alloc", .any = "tid all cgroup comm", .needs = "page-faults",
	  .why = needs_target },
	{ .all = "alloc",
	  .any = "event off-cpu wall frequency period timeline kernel delay",
	  .needs = "page-faults",
	  .why = "ebprof alloc follows allocations alone; leave out -e, -F, -c, -K, --off-cpu, "
		 "--wall, --timeline and --delay" },
	{ .all = "alloc max-overhead " CLI_GIVES_COMMAND,
	  .needs = "page-faults pid",
	  .why = "--max-overhead goes with ebprof alloc -p: a command pays for its samples alone, "
		 "and a larger --alloc-interval takes fewer" },
	{ .all = "alloc allocator " CLI_GIVES_COMMAND,
	  .needs = "page-faults pid",
	  .why = "--allocator goes with ebprof alloc -p: in a command that ebprof starts, only "
		 "functions with the usual names can be replaced; start it, and follow it by -p" },
	{ .all = "top alloc max-overhead",
	  .needs = "page-faults",
	  .why = "top --alloc shows all the time, not slices of it; --max-overhead goes with "
		 "ebprof alloc -p" },
	{ 0 }
};

/* Blocks have user stacks; all of them are followed, or some. */
int allocations_check(struct source_options *all, struct stack_options *stack, struct error *e)
{
	struct allocations_options *o = &all->allocations;

	if (o->interval != ALLOC_ALL && o->interval > INTERVAL_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--alloc-interval %llu: at most %llu",
				 (unsigned long long)o->interval,
				 (unsigned long long)INTERVAL_MAX);
	if (!o->on)
		return 0;
	stack->user_only = 1;
	if (!o->interval)
		o->interval = INTERVAL_DEFAULT;
	/* It shows all the time, so no part of it is left out. */
	if (all->live)
		o->max_overhead = OVERHEAD_NONE;
	return 0;
}

int allocations_choose(struct source_options *all, struct source **s, struct error *e)
{
	(void)e;
	if (all->allocations.on)
		*s = allocations_new(&all->allocations);
	return 0;
}
