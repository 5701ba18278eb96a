/* SPDX-License-Identifier: MIT */
/* Options of record, alloc and top that exclude or need one another. */
#include "commands/option_rules.h"

#include <string.h>

#include "test.h"

/* What the rules say of @o; "" where none is broken. */
static const char *said(struct record_options o, unsigned int command)
{
	static struct error e;

	return option_rules_check(&o, command, &e) ? e.text : "";
}

static int says(struct record_options o, unsigned int command, const char *part)
{
	const char *text = said(o, command);

	return *part ? strstr(text, part) != NULL : !*text;
}

#define O(...) ((struct record_options){ __VA_ARGS__ })

static int number = 1;
static char *argv[] = { "x", NULL };
#define PID .target.pids = { .v = &number, .n = 1 }

static void one_of(void)
{
	CHECK(says(O(PID), EBPROF_RECORD, ""));
	CHECK(says(O(PID, .target.all = 1), EBPROF_RECORD, "one target"));
	CHECK(says(O(.target.comm = "x", .target.cgroup = "y"), EBPROF_TOP, "one target"));
	CHECK(says(O(.frequency = 1, .period = 1), EBPROF_RECORD, "-F and -c"));
	CHECK(says(O(.stack.user_only = 1, .stack.kernel_only = 1), EBPROF_RECORD, "-U and -K"));
	CHECK(says(O(.off_cpu = 1, .wall = 1), EBPROF_RECORD, "has both"));
}

static void needs(void)
{
	CHECK(says(O(.wakers = 1), EBPROF_RECORD, "go with --off-cpu or --wall"));
	CHECK(says(O(.wakers = 1, .wall = 1), EBPROF_RECORD, ""));
	CHECK(says(O(.max_overhead = 1), EBPROF_RECORD, "ebprof alloc -p"));
	CHECK(says(O(.max_overhead = 1, .alloc = 1, PID), EBPROF_ALLOC, ""));
	CHECK(says(O(.leaks = 1), EBPROF_TOP, "top --alloc"));
	CHECK(says(O(.alloc = 1), EBPROF_ALLOC, "-p PID"));
	CHECK(says(O(.alloc = 1, .page_faults = 1), EBPROF_ALLOC, ""));
	CHECK(says(O(.alloc = 1, .target.command = argv), EBPROF_ALLOC, ""));
}

static void excludes(void)
{
	CHECK(says(O(.stack.timeline = 1, .wall = 1), EBPROF_RECORD, "with --wall"));
	CHECK(says(O(.stack.timeline = 1, .off_cpu = 1), EBPROF_RECORD, "with --off-cpu"));
	CHECK(says(O(.alloc = 1, PID, .delay = 1), EBPROF_ALLOC, "leave out -e"));
	CHECK(says(O(.alloc = 1, .target.command = argv, .max_overhead = 1), EBPROF_ALLOC,
		   "a command"));
	CHECK(says(O(.alloc = 1, PID, .max_overhead = -1), EBPROF_TOP, "not slices"));
	CHECK(says(O(.alloc = 1, .page_faults = 1, .leaks = 1), EBPROF_ALLOC, "leave out --alloc"));
	CHECK(says(O(.alloc = 1, .page_faults = 1, .wall = 1), EBPROF_TOP, "leave out -e"));
	CHECK(says(O(.alloc = 1, .page_faults = 1, .period = 3), EBPROF_ALLOC, ""));
}

int main(void)
{
	RUN(one_of);
	RUN(needs);
	RUN(excludes);
	return TEST_END();
}
