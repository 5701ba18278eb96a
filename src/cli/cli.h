/* SPDX-License-Identifier: MIT */
/*
 * Commands and their options as rows of tables: a row parses, stores and prints its own help, and
 * completes itself in a shell.
 *
 * A command has a struct of plain fields and a const table of rows that say at which offset each
 * option is stored and how. Several commands may share a table: a row then says which of them take
 * it.
 */
#ifndef EBPROF_CLI_H
#define EBPROF_CLI_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "cli/cli_rules.h"

#define CLI_RATE_MAX UINT64_MAX		/* of cli_rate(): "max" */
#define CLI_BLANKS " \t\n"		/* as pidof(1) and pgrep(1) write between PIDs */

/* Stores @text (NULL for a flag) at @field. 0, or a negative errno with @e filled. */
typedef int cli_store(const char *option, const char *text, void *field, struct error *e);

cli_store cli_flag;		/* int: 1 */
cli_store cli_string;		/* const char *, borrowed from argv */
cli_store cli_strings;		/* string_vec: one more each time */
cli_store cli_pids;		/* int_vec: a list with commas or blanks, added; each > 0 */
cli_store cli_cpus;		/* int_vec: "0-3,7", replaced, ascending */
cli_store cli_duration;		/* uint64_t ns: 10, 10s, 500ms, 20us, 2m, 1h; > 0 */
cli_store cli_moment;		/* uint64_t ns since the beginning: as cli_duration, or 0 */
/* uint64_t ns: a plain number of milliseconds, or as cli_duration */
cli_store cli_millis;
cli_store cli_rate;		/* uint64_t Hz: 99, 99Hz, 1kHz, max (CLI_RATE_MAX); > 0 */
cli_store cli_percent;		/* double: above 0, to 100; with or without % behind it */
cli_store cli_count;		/* uint64_t: > 0 */
cli_store cli_kib;		/* uint64_t bytes: a power of two of KiB */
/* uint64_t bytes: 64, 64M, 1G; a plain number is MiB; 1 MiB to 4 GiB */
cli_store cli_memory;
cli_store cli_share;		/* double: 0 to 100, with or without "%" */
cli_store cli_ignore;		/* nothing: accepted from habit */
cli_store cli_heading;		/* no option: a heading, @help, above the rows below it */
cli_store cli_parts;		/* no option: the rows of the command's parts stand here */
cli_store cli_answer;		/* what cli_parse() answers; @offset: an enum cli_answer_kind */

enum cli_answer_kind { CLI_HELP, CLI_VERSION };

struct cli_option {
	char letter, alias;	/* 0: none; an alias is another letter for the same */
	const char *name;	/* long name; NULL: none. Without letter and name: the operands. */
	const char *arg;	/* name of its argument; NULL: a flag */
	cli_store *store;
	size_t offset;		/* in the command's struct */
	const char *help;	/* NULL: not listed */
	unsigned int commands;	/* whose (cli_command.bit), 0: all that have the table; CLI_BRIEF */
};

#define CLI_BRIEF (1u << 31)	/* one of the few rows that -h shows */
#define CLI_HEADING(text) { .store = cli_heading, .help = (text) }
/* The rows of all parts, whose structs lie within the one @at there. */
#define CLI_PARTS(at) { .store = cli_parts, .offset = (at) }
/* The last rows of every table, and its end. */
#define CLI_END \
	CLI_HEADING("Help"), \
	{ 'h', 0, "help", NULL, cli_answer, CLI_HELP, "this text; -h: the essentials", 0 }, \
	{ 'V', 0, "version", NULL, cli_answer, CLI_VERSION, "the version of ebprof", 0 }, \
	{ 0 }

/* A table that others have made for their own struct; the last one of several is {0}. */
struct cli_part {
	const struct cli_option *rows;	/* the last one is {0} */
	size_t offset;			/* of the struct */
};

struct cli_command {
	const char *name;
	const char *summary;	/* in a few words, for the list of commands */
	const char *usage;	/* its forms, without "ebprof" in front; a line each */
	const char *about;	/* below them: what it does, examples; whole lines */
	const struct cli_option *rows;	/* its last one is CLI_END */
	const struct cli_part *parts;	/* NULL: no row is CLI_PARTS */
	unsigned int bit;	/* which of @rows, where others have them, too */
	const struct cli_rule *rules;	/* NULL: all options go together */
	/*
	 * The commands that have the same table, up to NULL: they are named to whoever gives one
	 * an option of another. NULL: it has its table alone.
	 */
	const struct cli_command *const *family;
	int starts;		/* behind "--" stands a program to start */
	void (*more)(FILE *to);	/* below the options in --help; NULL: nothing */
	/* argv[0] is its name; returns the exit status. */
	int (*run)(const struct cli_command *c, int argc, char **argv);
};

/* What cli_parse() returns where the user asked for help or the version, and has it. */
#define CLI_ANSWERED 1
/* What the store of an operand returns where a program to start begins with it. */
#define CLI_PROGRAM 1

/*
 * Parses @argv (@argv[0] is skipped) into @options. Where no row takes operands, and where the
 * command starts programs, what stands behind "--" is left for the caller: *@rest is its index in
 * @argv, or @argc where there is none. -EINVAL with @e filled, or CLI_ANSWERED.
 */
int cli_parse(const struct cli_command *c, void *options, int argc, char **argv, int *rest,
	      struct error *e);

/* A walk through all rows of a command, and those of its parts where they stand. */
struct cli_walk {
	const struct cli_option *row;	/* that it has reached */
	size_t offset;			/* of its field, in the command's struct */
	int index;			/* from 1 */
	const struct cli_option *next, *inner;	/* rows; @inner is in @part, NULL: in none */
	const struct cli_part *part;
	size_t parts;			/* where their structs begin */
};
#define CLI_WALK(command) { .next = (command)->rows, .part = (command)->parts }
/* 1 where there is one row more, which is in @w then. */
int cli_next(struct cli_walk *w);
/* 1 where @row is an option of @c, or its operands. */
int cli_has(const struct cli_command *c, const struct cli_option *row);
/* All of a command for --help, or at most 25 lines for -h. */
void cli_help(const struct cli_command *c, int brief, FILE *to);
/* The options alone, under their headings. */
void cli_help_options(const struct cli_command *c, int brief, FILE *to);

#endif
