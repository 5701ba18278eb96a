/* SPDX-License-Identifier: MIT */
#include "commands/option_rules.h"

#include <errno.h>

/* What the user gave. */
enum {
	PIDS = 1 << 0,
	TIDS = 1 << 1,
	ALL = 1 << 2,
	CGROUP = 1 << 3,
	COMM = 1 << 4,
	COMMAND = 1 << 5,
	DELAY = 1 << 6,
	FREQUENCY = 1 << 7,
	PERIOD = 1 << 8,
	EVENT = 1 << 9,
	OFF_CPU = 1 << 10,
	WALL = 1 << 11,
	OF_WAITS = 1 << 12,	/* an option that is for waits alone */
	OVERHEAD = 1 << 13,
	MEMORY = 1 << 14,	/* ebprof alloc, or top --alloc */
	PAGE_FAULTS = 1 << 15,
	BLOCKS = 1 << 16,	/* memory, but not page faults */
	OF_BLOCKS = 1 << 17,	/* an option that is for blocks alone */
	ALLOCATOR = 1 << 18,	/* and this is one, too */
	USER = 1 << 19,
	KERNEL = 1 << 20,
	TIMELINE = 1 << 21,
	TOP = 1 << 22,
};

static unsigned int given(const struct record_options *o, unsigned int command)
{
	const struct {
		unsigned int fact;
		int is;
	} facts[] = {
		{ PIDS, o->target.pids.n > 0 },
		{ TIDS, o->target.tids.n > 0 },
		{ ALL, o->target.all },
		{ CGROUP, o->target.cgroup != NULL },
		{ COMM, o->target.comm != NULL },
		{ COMMAND, o->target.command != NULL },
		{ DELAY, o->delay > 0 },
		{ FREQUENCY, o->frequency > 0 },
		{ PERIOD, o->period > 0 },
		{ EVENT, o->event != NULL },
		{ OFF_CPU, o->off_cpu },
		{ WALL, o->wall },
		{ OF_WAITS, o->min_block || o->states || o->wakers || o->hide_idle },
		{ OVERHEAD, o->max_overhead > 0 || o->max_overhead < 0 },
		{ MEMORY, o->alloc },
		{ PAGE_FAULTS, o->page_faults },
		{ BLOCKS, o->alloc && !o->page_faults },
		{ OF_BLOCKS, o->alloc_interval || o->leaks || o->min_age || o->allocators.n },
		{ ALLOCATOR, o->allocators.n > 0 },
		{ USER, o->stack.user_only },
		{ KERNEL, o->stack.kernel_only },
		{ TIMELINE, o->stack.timeline },
		{ TOP, command == EBPROF_TOP },
	};
	unsigned int set = 0;

	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		set |= facts[i].is ? facts[i].fact : 0;
	return set;
}

/*
 * Broken where two of @one_of are given; or where all of @all are, and any of @any (0: whatever
 * else is), and none of @needs.
 */
struct rule {
	unsigned int one_of, all, any, needs;
	const char *why;
};

static const struct rule rules[] = {
	{ .one_of = PIDS | TIDS | ALL | CGROUP | COMM,
	  .why = "choose one target: -p, -t, -a, -G or -n" },
	{ .one_of = OFF_CPU | WALL,
	  .why = "--off-cpu and --wall exclude each other: the latter has both" },
	{ .all = TIMELINE | WALL,
	  .why = "--timeline knows samples, not waits; leave it out with --wall" },
	{ .all = TIMELINE | OFF_CPU,
	  .why = "--timeline knows samples, not waits; leave it out with --off-cpu" },
	{ .any = OF_WAITS,
	  .needs = OFF_CPU | WALL,
	  .why = "--wakers, --hide-idle, --min-block and --state go with --off-cpu or --wall" },
	{ .any = OVERHEAD,
	  .needs = OFF_CPU | WALL | MEMORY,
	  .why = "--max-overhead goes with --off-cpu, --wall or ebprof alloc -p" },
	{ .one_of = USER | KERNEL,
	  .why = "-U and -K exclude each other; without both, user and kernel stacks are taken" },
	{ .any = OF_BLOCKS | PAGE_FAULTS,
	  .needs = MEMORY,
	  .why = "--alloc-interval, --allocator, --leaks, --min-age and --page-faults go with "
		 "ebprof alloc, or top --alloc" },
	{ .all = PAGE_FAULTS,
	  .any = OF_BLOCKS | OVERHEAD,
	  .why = "page faults show where memory comes from, whichever allocator asks for it, not "
		 "when it goes; leave out --alloc-interval, --allocator, --leaks, --min-age and "
		 "--max-overhead" },
	{ .all = PAGE_FAULTS,
	  .any = EVENT | OFF_CPU | WALL | FREQUENCY,
	  .why = "--page-faults counts each of them, or one of -c PERIOD; leave out -e, -F, "
		 "--off-cpu and --wall" },
	{ .all = BLOCKS,
	  .needs = COMMAND | PIDS,
	  .why = "ebprof alloc follows a command that it starts, or some processes: ebprof alloc "
		 "-- COMMAND, or -p PID; probes in all of them would slow all of them down, but "
		 "--page-faults is cheap enough for any target" },
	{ .all = BLOCKS,
	  .any = EVENT | OFF_CPU | WALL | FREQUENCY | PERIOD | TIMELINE | KERNEL | DELAY,
	  .why = "ebprof alloc follows allocations alone; leave out -e, -F, -c, -K, --off-cpu, "
		 "--wall, --timeline and --delay" },
	{ .all = BLOCKS | COMMAND | OVERHEAD,
	  .why = "--max-overhead goes with ebprof alloc -p: a command pays for its samples alone, "
		 "and a larger --alloc-interval takes fewer" },
	{ .all = BLOCKS | COMMAND | ALLOCATOR,
	  .why = "--allocator goes with ebprof alloc -p: in a command that ebprof starts, only "
		 "functions with the usual names can be replaced; start it, and follow it by -p" },
	{ .all = TOP | BLOCKS | OVERHEAD,
	  .why = "top --alloc shows all the time, not slices of it; --max-overhead goes with "
		 "ebprof alloc -p" },
	{ .one_of = FREQUENCY | PERIOD,
	  .why = "-F and -c exclude each other: a rate, or a number of events" },
};

static int is_broken(const struct rule *r, unsigned int set)
{
	unsigned int of = set & r->one_of;

	if (r->one_of)
		return (of & (of - 1)) != 0;
	return (set & r->all) == r->all && (!r->any || set & r->any) && !(set & r->needs);
}

int option_rules_check(const struct record_options *o, unsigned int command, struct error *e)
{
	const unsigned int set = given(o, command);

	for (size_t i = 0; i < sizeof(rules) / sizeof(*rules); i++)
		if (is_broken(&rules[i], set))
			return error_set(e, STATUS_USAGE, -EINVAL, "%s", rules[i].why);
	return 0;
}
