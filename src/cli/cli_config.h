/* SPDX-License-Identifier: MIT */
/*
 * Options from a file: a line each, "NAME = VALUE" by the long name, or NAME alone for a flag.
 * Empty lines and those that begin with "#" are comments. What the command line says counts instead
 * of what the file says of the same option.
 */
#ifndef EBPROF_CLI_CONFIG_H
#define EBPROF_CLI_CONFIG_H

#include "cli/cli.h"

#define CLI_CONFIG_MOST (64u << 10)	/* bytes of a file */

/* The field of a row of cli_config; all zeros, or with the last two filled in. */
struct cli_config {
	const char *path;		/* borrowed; NULL: no file was read */
	char *text;			/* of the file; what was stored points into it */
	/* This file, where there is one and neither a file nor the option @unless is given. */
	const char *fallback, *unless;
};

cli_store cli_config;

/*
 * Stores what the file says, if there is one, in @options of @c, and notes it in @given, which has
 * what the command line said. 0, or a negative errno with @e filled: it names the line.
 */
int cli_config_read(const struct cli_command *c, void *options, struct cli_config *config,
		    struct cli_given *given, struct error *e);
/*
 * The same of the text of a file called @name, which is changed, and must outlive what was stored.
 */
int cli_config_parse(const struct cli_command *c, void *options, const char *name, char *text,
		     struct cli_given *given, struct error *e);
void cli_config_free(struct cli_config *config);

#endif
