/* SPDX-License-Identifier: MIT */
/* Which options exclude or need one another, and why: tables of names. */
#ifndef EBPROF_CLI_RULES_H
#define EBPROF_CLI_RULES_H

#include <stddef.h>

#include "base/error.h"

#define CLI_GIVEN_MAX 64	/* names; there are fewer options */

/* What stands on a command line: long names of options, the command's own, CLI_GIVES_COMMAND. */
struct cli_given {
	const char *names[CLI_GIVEN_MAX];
	size_t n;
};

#define CLI_GIVES_COMMAND "COMMAND"	/* a program to start */

/*
 * Broken where two of @one_of are given; or where all of @all are, and any of @any (NULL: whatever
 * else is), and none of @needs. Each is a list of names with blanks between them. A row that has
 * @rules stands for that table. The last row of a table is {0}.
 */
struct cli_rule {
	const char *one_of, *all, *any, *needs;
	const char *why;
	const struct cli_rule *rules;
};

/* 1 where @name is there. */
int cli_given_has(const struct cli_given *g, const char *name);
/* Adds @name, where it is not there yet. */
void cli_given_add(struct cli_given *g, const char *name);
/* -EINVAL with @e filled by the first rule that is broken, or 0. */
int cli_rules_check(const struct cli_rule *rules, const struct cli_given *g, struct error *e);

#endif
