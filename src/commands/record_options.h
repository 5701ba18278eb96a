/* SPDX-License-Identifier: MIT */
/*
 * What the user asked `ebprof record`, `alloc` or `top` for: the option table (record_rows.c) and
 * its checks. Options are in groups, which belong to the modules that read them.
 */
#ifndef EBPROF_RECORD_OPTIONS_H
#define EBPROF_RECORD_OPTIONS_H

#include "base/error.h"
#include "cli/cli_config.h"
#include "collect/stack_options.h"
#include "commands/naming.h"
#include "commands/targets.h"
#include "commands/view_options.h"
#include "commands/with_source.h"
#include "push/push.h"
#include "serve/server.h"
#include "sinks/results.h"
#include "sources/options.h"

#define PUSH_CONFIG "/etc/ebprof/push.conf"

/* What top shows, and how often. */
struct live_options {
	uint64_t refresh, window;	/* ns */
	uint64_t tables;		/* after so many the plain view ends; 0: never */
	int plain, since_start;
};

struct record_options {
	struct target_options target;
	struct source_options sources;	/* what is measured, and how often */
	uint64_t duration, delay;	/* ns; 0: until told to stop; none */
	struct stack_options stack;
	struct name_options names;
	struct view_options view;	/* top has the rows of its plain table there */
	struct result_options results;
	struct with_source_options source;	/* of html pages, and of what top shows */
	struct live_options live;	/* of top */
	struct push_options push;
	struct server_options server;	/* of serve */
	struct cli_config config;	/* of push */
	const char *metrics;		/* where they are shown; NULL: nowhere */
	int annotate, no_keep;
	int strict, quiet, verbose;
};

extern const struct cli_option record_rows[];
extern const struct cli_rule record_rules[];
extern const struct cli_command *const record_family[];

/*
 * Parses and checks; @o is all zeros but for sources.allocations.on; argv stays borrowed. As
 * cli_parse().
 */
int record_options_parse(struct record_options *o, const struct cli_command *c, int argc,
			 char **argv, struct error *e);
void record_options_free(struct record_options *o);

#endif
