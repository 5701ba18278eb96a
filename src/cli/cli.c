/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/near.h"

#define LETTERS_MAX 256
#define LONG_BASE 1000		/* getopt_long's value of row i is LONG_BASE + i */
#define NAME_SIZE 64		/* of an option, as the user reads it */
#define LIST_SIZE 128

/* "-x" or "--name", as the user is told of row @r. */
static void name_of(const struct cli_option *r, char *buf, size_t size)
{
	if (r->name)
		snprintf(buf, size, "--%s", r->name);
	else if (!r->letter)
		snprintf(buf, size, "%s", r->arg);
	else
		snprintf(buf, size, "-%c", r->letter);
}

int cli_has(const struct cli_command *c, const struct cli_option *row)
{
	unsigned int commands = row->commands & ~CLI_BRIEF;

	return row->store != cli_heading && (!commands || commands & c->bit);
}

static int is_operand(const struct cli_option *r)
{
	return !r->letter && !r->name && r->store != cli_heading;
}

/* The row that takes operands; NULL: none does. */
static const struct cli_option *operand_row(const struct cli_command *c)
{
	for (const struct cli_option *r = c->rows; r->store; r++)
		if (is_operand(r) && cli_has(c, r))
			return r;
	return NULL;
}

static const struct cli_option *row_of(const struct cli_command *c, int value)
{
	if (value >= LONG_BASE)
		return &c->rows[value - LONG_BASE];
	for (const struct cli_option *r = c->rows; r->store; r++)
		if (value && cli_has(c, r) && (r->letter == value || r->alias == value))
			return r;
	return NULL;
}

/* getopt_long's two tables, from ours. */
static void getopt_tables(const struct cli_command *c, char letters[LETTERS_MAX],
			  struct option longs[LETTERS_MAX])
{
	size_t n = 0;

	/* "-": give operands as options of value 1; "+": stop at the first one. */
	*letters++ = operand_row(c) ? '-' : '+';
	*letters++ = ':';	/* tell a missing argument from an unknown option */
	for (int i = 0; c->rows[i].store; i++) {
		const struct cli_option *r = &c->rows[i];
		const char own[] = { r->letter, r->alias };

		for (int k = 0; k < 2 && cli_has(c, r); k++) {
			if (!own[k])
				continue;
			*letters++ = own[k];
			if (r->arg)
				*letters++ = ':';
		}
		if (r->name && cli_has(c, r))
			longs[n++] = (struct option){ .name = r->name, .val = LONG_BASE + i,
				.has_arg = r->arg ? required_argument : no_argument };
	}
	*letters = '\0';
	longs[n] = (struct option){ 0 };
}

/* --- What the user reads of an option that the command does not have. -------- */

static int is_called(const struct cli_option *r, char letter, const char *name)
{
	return name ? r->name && !strcmp(r->name, name) : r->letter == letter;
}

/* The commands of its family that have such an option: "ebprof record and ebprof top". */
static void name_owners(const struct cli_command *asked, char letter, const char *name,
			char list[LIST_SIZE])
{
	const char *separator = "";

	*list = '\0';
	for (size_t i = 0; asked->family && asked->family[i]; i++) {
		const struct cli_command *c = asked->family[i];

		for (const struct cli_option *r = c->rows; r->store; r++) {
			size_t n = strlen(list);

			if (!cli_has(c, r) || !is_called(r, letter, name))
				continue;
			snprintf(list + n, LIST_SIZE - n, "%sebprof %s", separator, c->name);
			separator = " and ";
			break;
		}
	}
}

/* @text is the argument that was not understood; @letter: of a bundle of letters this one, or 0. */
static int unknown(const struct cli_command *c, const char *text, char letter, struct error *e)
{
	char owners[LIST_SIZE], option[NAME_SIZE];
	struct near n = NEAR(option + 2);

	if (letter)
		snprintf(option, sizeof(option), "-%c", letter);
	else
		snprintf(option, sizeof(option), "%.*s", (int)strcspn(text, "="), text);
	name_owners(c, letter, letter ? NULL : option + 2, owners);
	if (*owners)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "leave out %s: ebprof %s has no such option, "
				 "it is for %s",
				 option, c->name, owners);
	for (const struct cli_option *r = c->rows; !letter && r->store; r++)
		if (r->name && r->help && cli_has(c, r))
			near_consider(&n, r->name);
	if (!letter && *n.best)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "unknown option '%s'; did you mean '--%s'?", option, n.best);
	return error_set(e, STATUS_USAGE, -EINVAL, "unknown option '%s'; see ebprof %s --help",
			 option, c->name);
}

static int answer(const struct cli_command *c, const struct cli_option *r, int brief)
{
	if (r->offset == CLI_VERSION)
		puts("ebprof " EBPROF_VERSION);
	else
		cli_help(c, brief, stdout);
	return CLI_ANSWERED;
}

/* What stands behind "--", or behind the last option: operands, or else for the caller. */
static int take_rest(const struct cli_command *c, void *options, int argc, char **argv, int *rest,
		     struct error *e)
{
	const struct cli_option *r = c->starts ? NULL : operand_row(c);
	int err = 0;

	for (; r && optind < argc && !err; optind++)
		err = r->store(r->arg, argv[optind], (char *)options + r->offset, e);
	*rest = optind;
	if (err || optind >= argc || (c->starts && !strcmp(argv[optind - 1], "--")))
		return err;
	return error_set(e, STATUS_USAGE, -EINVAL, "unexpected argument '%s'; see ebprof %s --help",
			 argv[optind], c->name);
}

int cli_parse(const struct cli_command *c, void *options, int argc, char **argv, int *rest,
	      struct error *e)
{
	char letters[LETTERS_MAX], name[NAME_SIZE];
	struct option longs[LETTERS_MAX];
	int value;

	getopt_tables(c, letters, longs);
	opterr = 0;
	optind = 0;	/* glibc: scan anew */
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const struct cli_option *r = value == 1 ? operand_row(c) : row_of(c, value);
		const char *last = argv[optind - 1];
		int err;

		if (value == ':')
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "option '%s' needs an argument; see ebprof %s --help",
					 last, c->name);
		if (!r)
			return unknown(c, last, optopt < LONG_BASE ? (char)optopt : 0, e);
		if (r->store == cli_answer)
			return answer(c, r, value < LONG_BASE);
		name_of(r, name, sizeof(name));
		err = r->store(name, optarg, (char *)options + r->offset, e);
		if (err == CLI_PROGRAM) {
			*rest = optind - 1;
			return 0;
		}
		if (err)
			return err;
	}
	return take_rest(c, options, argc, argv, rest, e);
}
