/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/event_list.h"
#include "commands/probe_list.h"
#include "probes/spec.h"

struct options {
	const char *pattern;	/* NULL: all events */
	int_vec pids;
	int fields;
};

#define AT(field) offsetof(struct options, field)

static int store_pattern(const char *option, const char *text, void *field, struct error *e)
{
	struct options *o = field;

	(void)option;
	if (o->pattern)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "one pattern at a time: ebprof list '%s'; quotes keep the shell "
				 "from it", o->pattern);
	o->pattern = text;
	return 0;
}

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "PATTERN", store_pattern, 0, NULL, 0 },
	CLI_HEADING("What is looked at"),
	{ 'p', 0, "pid", "PID[,PID...]", cli_pids, AT(pids),
	  "of these processes: the files that they have mapped", CLI_BRIEF },
	{ 0, 0, "fields", NULL, cli_flag, AT(fields),
	  "the fields of all tracepoints, not only where there is one", CLI_BRIEF },
	CLI_END
};

static int list(const struct options *o, struct error *e)
{
	if (o->pattern && probe_spec_is(o->pattern))
		return probe_list_print(o->pattern, o->pids.v, o->pids.n, e);
	if (o->pids.n)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "-p goes with probes: ebprof list -p %d 'usdt:*', or "
				 "'uprobe:LIBRARY:*'", o->pids.v[0]);
	return event_list_print(o->pattern, o->fields, e);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, &o, argc, argv, &rest, &e);

	if (!err)
		err = list(&o, &e);
	else if (err == CLI_ANSWERED)
		err = 0;
	vec_free(&o.pids);
	return err < 0 ? command_failed(&e) : STATUS_OK;
}

const struct cli_command command_list = {
	.name = "list",
	.summary = "events, tracepoints, functions and static probes that can be recorded",
	.usage = "list [--fields] [PATTERN]\n"
		 "list [-p PID] uprobe:FILE:PATTERN | usdt:FILE[:PROVIDER]:PATTERN | "
		 "kprobe:PATTERN",
	.about = "Lists what -e takes: all events, or those that match a pattern; and the probes\n"
		 "of a program or library. It says of each kind whether this machine can open it.\n"
		 "  ebprof list                           events and tracepoints\n"
		 "  ebprof list 'sched:*wak*'             some tracepoints\n"
		 "  ebprof list 'cpu/*'                   events and terms of a PMU\n"
		 "  ebprof list syscalls:sys_enter_write  one, with its fields\n"
		 "  ebprof list 'uprobe:libc:*alloc'      functions of a library\n"
		 "  ebprof list -p 1234 'usdt:*'          static probes of a process\n",
	.rows = rows,
	.run = run,
};
