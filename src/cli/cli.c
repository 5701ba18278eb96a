/* SPDX-License-Identifier: MIT */
#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#include "base/near.h"
#include "cli/cli_config.h"

#define LETTERS_MAX 256
#define LONG_BASE 1000		/* getopt_long's value of a row is LONG_BASE + its index */
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

static int reach(struct cli_walk *w, const struct cli_option *r, size_t offset)
{
	w->row = r;
	w->offset = offset + r->offset;
	w->index++;
	return 1;
}

int cli_next(struct cli_walk *w)
{
	const struct cli_option *r;

	while (w->inner) {
		r = w->inner++;
		if (r->store)
			return reach(w, r, w->parts + w->part->offset);
		w->inner = (++w->part)->rows;
	}
	r = w->next++;
	if (!r->store)
		return 0;
	if (r->store != cli_parts)
		return reach(w, r, 0);
	w->parts = r->offset;
	w->inner = w->part->rows;
	return cli_next(w);
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

/* The row that takes operands: 1 where there is one, and @w has it then. */
static int find_operands(const struct cli_command *c, struct cli_walk *w)
{
	*w = (struct cli_walk)CLI_WALK(c);
	while (cli_next(w))
		if (is_operand(w->row) && cli_has(c, w->row))
			return 1;
	return 0;
}

/* The row that getopt_long() means by @value, the same. */
static int find_row(const struct cli_command *c, int value, struct cli_walk *w)
{
	if (value == 1)
		return find_operands(c, w);
	*w = (struct cli_walk)CLI_WALK(c);
	while (value && cli_next(w)) {
		const struct cli_option *r = w->row;

		if (value >= LONG_BASE ? value == LONG_BASE + w->index
				       : cli_has(c, r) && (r->letter == value || r->alias == value))
			return 1;
	}
	return 0;
}

/* getopt_long's two tables, from ours. */
static void getopt_tables(const struct cli_command *c, char letters[LETTERS_MAX],
			  struct option longs[LETTERS_MAX])
{
	struct cli_walk operands;
	size_t n = 0;

	/* "-": give operands as options of value 1; "+": stop at the first one. */
	*letters++ = find_operands(c, &operands) ? '-' : '+';
	*letters++ = ':';	/* tell a missing argument from an unknown option */
	for (struct cli_walk w = CLI_WALK(c); cli_next(&w);) {
		const struct cli_option *r = w.row;
		const char own[] = { r->letter, r->alias };

		for (int k = 0; k < 2 && cli_has(c, r); k++) {
			if (!own[k])
				continue;
			*letters++ = own[k];
			if (r->arg)
				*letters++ = ':';
		}
		if (r->name && cli_has(c, r))
			longs[n++] = (struct option){ .name = r->name, .val = LONG_BASE + w.index,
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

		for (struct cli_walk w = CLI_WALK(c); cli_next(&w);) {
			size_t n = strlen(list);

			if (!cli_has(c, w.row) || !is_called(w.row, letter, name))
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
	for (struct cli_walk w = CLI_WALK(c); !letter && cli_next(&w);)
		if (w.row->name && w.row->help && cli_has(c, w.row))
			near_consider(&n, w.row->name);
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
	struct cli_walk w;
	int err = 0, operands = !c->starts && find_operands(c, &w);

	for (; operands && optind < argc && !err; optind++)
		err = w.row->store(w.row->arg, argv[optind], (char *)options + w.offset, e);
	*rest = optind;
	if (!err && c->starts && argc > 1 && optind >= argc && !strcmp(argv[argc - 1], "--"))
		return error_set(e, STATUS_USAGE, -EINVAL, "no command after --");
	if (err || optind >= argc || (c->starts && !strcmp(argv[optind - 1], "--")))
		return err;
	return error_set(e, STATUS_USAGE, -EINVAL, "unexpected argument '%s'; see ebprof %s --help",
			 argv[optind], c->name);
}

/* By its own name; or where it is another's older one, which has the same field, by that. */
static void note(struct cli_given *given, const struct cli_command *c, const struct cli_walk *w)
{
	const char *name = w->row->name;

	for (struct cli_walk same = CLI_WALK(c); !w->row->help && cli_next(&same);)
		if (same.row->name && same.row->help && same.offset == w->offset &&
		    same.row->store == w->row->store)
			name = same.row->name;
	if (name)
		cli_given_add(given, name);
}

/* The options: up to where *@rest begins, what is no option, or to their end. */
static int take_options(const struct cli_command *c, void *options, int argc, char **argv,
			int *rest, struct cli_given *given, struct error *e)
{
	char letters[LETTERS_MAX], name[NAME_SIZE];
	struct option longs[LETTERS_MAX];
	int value;

	getopt_tables(c, letters, longs);
	opterr = 0;
	optind = 0;	/* glibc: scan anew */
	while ((value = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		const char *last = argv[optind - 1];
		struct cli_walk w;
		int err;

		if (value == ':')
			return error_set(e, STATUS_USAGE, -EINVAL,
					 "option '%s' needs an argument; see ebprof %s --help",
					 last, c->name);
		if (!find_row(c, value, &w))
			return unknown(c, last, optopt < LONG_BASE ? (char)optopt : 0, e);
		if (w.row->store == cli_answer)
			return answer(c, w.row, value < LONG_BASE);
		name_of(w.row, name, sizeof(name));
		err = w.row->store(name, optarg, (char *)options + w.offset, e);
		if (err == CLI_PROGRAM) {
			*rest = optind - 1;
			return 0;
		}
		if (err)
			return err;
		note(given, c, &w);
	}
	return take_rest(c, options, argc, argv, rest, e);
}

/* What the file says that the command line names, if it names one. */
static int take_file(const struct cli_command *c, void *options, struct cli_given *given,
		     struct error *e)
{
	for (struct cli_walk w = CLI_WALK(c); cli_next(&w);)
		if (w.row->store == cli_config && cli_has(c, w.row))
			return cli_config_read(c, options,
					       (void *)((char *)options + w.offset), given, e);
	return 0;
}

int cli_parse(const struct cli_command *c, void *options, int argc, char **argv, int *rest,
	      struct error *e)
{
	struct cli_given given = { .names = { c->name }, .n = 1 };
	int err = take_options(c, options, argc, argv, rest, &given, e);

	if (!err)
		err = take_file(c, options, &given, e);
	if (err || !c->rules)
		return err;
	if (c->starts && *rest < argc)
		cli_given_add(&given, CLI_GIVES_COMMAND);
	return cli_rules_check(c->rules, &given, e);
}
