/* SPDX-License-Identifier: MIT */
/*
 * Option tables: one row parses, stores and prints its own help.
 *
 * A command has a struct of plain fields and a const table of rows that say at
 * which offset each option is stored and how. Nothing here knows a command.
 */
#ifndef EBPROF_CLI_H
#define EBPROF_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"

typedef VEC(int) int_vec;
typedef VEC(const char *) string_vec;

/* Stores @text (NULL for a flag) at @field. 0, or a negative errno with @e filled. */
typedef int cli_store(const char *option, const char *text, void *field, struct error *e);

cli_store cli_flag;		/* int: 1 */
cli_store cli_string;		/* const char *, borrowed from argv */
cli_store cli_strings;		/* string_vec: one more each time */
cli_store cli_pids;		/* int_vec: a comma-separated list, added; each > 0 */
cli_store cli_cpus;		/* int_vec: "0-3,7", replaced, ascending */
cli_store cli_duration;		/* uint64_t ns: 10, 10s, 500ms, 20us, 2m, 1h; > 0 */
cli_store cli_millis;		/* uint64_t ns: a plain number of milliseconds, or as cli_duration */
cli_store cli_percent;		/* double: above 0, to 100; with or without % behind it */
cli_store cli_count;		/* uint64_t: > 0 */
cli_store cli_kib;		/* uint64_t bytes: a power of two of KiB */
cli_store cli_memory;		/* uint64_t bytes: 64, 64M, 1G; a plain number is MiB; 1 MiB to 4 GiB */
cli_store cli_share;		/* double: 0 to 100, with or without "%" */
cli_store cli_ignore;		/* nothing: accepted from habit */

struct cli_option {
	char letter, alias;	/* 0: none; an alias is another letter for the same */
	const char *name;	/* long name; NULL: none. A row without letter and name takes the operands. */
	const char *arg;	/* name of its argument; NULL: a flag */
	cli_store *store;
	size_t offset;		/* in the command's struct */
	const char *help;	/* NULL: not listed */
};

/*
 * Parses @argv (@argv[0] is skipped) by @rows, which end with a row whose store
 * is NULL. Where no row takes operands, only what stands behind "--" is left for the
 * caller: *@rest is its index in @argv, or @argc where there is none. -EINVAL with @e filled.
 */
int cli_parse(const struct cli_option *rows, void *options, int argc, char **argv, int *rest, struct error *e);
/* One line an option, aligned. */
void cli_help(const struct cli_option *rows, FILE *to);

#endif
