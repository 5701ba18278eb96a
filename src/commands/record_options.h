/* SPDX-License-Identifier: MIT */
/*
 * What the user asked `ebprof record`, `alloc` or `top` for: the option table (record_rows.c) and
 * its checks. Options are in groups, which belong to the modules that read them.
 */
#ifndef EBPROF_RECORD_OPTIONS_H
#define EBPROF_RECORD_OPTIONS_H

#include "base/error.h"
#include "cli/cli.h"
#include "collect/stack_options.h"
#include "commands/naming.h"
#include "commands/targets.h"
#include "commands/view_options.h"
#include "sinks/results.h"

#define ALLOC_ALL UINT64_MAX
#define OVERHEAD_NONE (-1.0)	/* of max_overhead: no bound */

/* What top shows, and how often. */
struct live_options {
	uint64_t refresh, window;	/* ns */
	uint64_t tables;		/* after so many the plain view ends; 0: never */
	int plain, since_start;
};

struct record_options {
	struct target_options target;
	/* what and how often */
	const char *event;		/* NULL: cycles, else cpu-clock */
	int off_cpu, wall, wakers, hide_idle;
	uint64_t min_block;		/* ns */
	unsigned int states;		/* a bit for each enum ebp_kind; 0: all */
	double max_overhead;		/* %, or OVERHEAD_NONE; 0: the default */
	/* allocations, instead of samples; 0 with @page_faults, which are samples of an event */
	int alloc;
	int page_faults;
	string_vec allocators;		/* PATH:PREFIX, not looked at yet */
	uint64_t alloc_interval;	/* bytes a sample; ALLOC_ALL: every block */
	int leaks;
	uint64_t min_age;		/* ns */
	uint64_t frequency, period;	/* Hz; events a sample; exactly one is not 0 */
	uint64_t duration, delay;	/* ns; 0: until told to stop; none */
	struct stack_options stack;
	struct name_options names;
	struct view_options view;	/* top has the rows of its plain table there */
	struct result_options results;
	struct live_options live;	/* of top */
	int annotate, no_keep;
	int strict, quiet, verbose;
};

/*
 * The options of these commands, which are bits of struct cli_command; a row says which of them
 * take it.
 */
enum { EBPROF_RECORD = 1, EBPROF_ALLOC = 2, EBPROF_TOP = 4 };
extern const struct cli_option record_rows[];
extern const struct cli_command *const record_family[];

/* Parses and checks; @o is all zeros but for @alloc; argv stays borrowed. As cli_parse(). */
int record_options_parse(struct record_options *o, const struct cli_command *c, int argc,
			 char **argv, struct error *e);
void record_options_free(struct record_options *o);

#endif
