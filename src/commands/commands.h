/* SPDX-License-Identifier: MIT */
/*
 * The commands: a file and a row each. `run` takes its own argv (argv[0] is its name) and returns
 * the exit status (base/error.h). What is common to them stands in the helpers.
 */
#ifndef EBPROF_COMMANDS_H
#define EBPROF_COMMANDS_H

#include "base/error.h"
#include "base/near.h"
#include "cli/cli.h"

extern const struct cli_command command_record, command_alloc, command_top, command_report,
	command_annotate, command_convert, command_diff, command_stat, command_list,
	command_push, command_serve, command_doctor, command_selftest, command_completion,
	command_help, command_version;

/* All of them, in the order of the list; the first is the default; ends with NULL. */
extern const struct cli_command *const commands[];

/* By its name; NULL where there is none. */
const struct cli_command *command_find(const char *name);
/* Considers the names of all of them. */
void command_near(struct near *n);

/* Prints "ebprof: <text>" on stderr and returns the status to exit with. */
int command_failed(const struct error *e);
/* The same, and where @verbose its details. */
int command_failed_because(const struct error *e, int verbose);

#endif
