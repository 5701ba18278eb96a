/* SPDX-License-Identifier: MIT */
/*
 * The commands. Each takes its own argv (argv[0] is its name) and returns the
 * exit status (base/error.h). What is common to them stands in the helpers.
 */
#ifndef EBPROF_COMMANDS_H
#define EBPROF_COMMANDS_H

#include "base/error.h"

int cmd_record(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_convert(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_alloc(int argc, char **argv);
int cmd_doctor(int argc, char **argv);

/* Prints "ebprof: <text>" on stderr and returns the status to exit with. */
int command_failed(const struct error *e);
/* 1 where standard output is a terminal that takes colour, and NO_COLOR does not forbid it. */
int command_wants_color(void);

#endif
