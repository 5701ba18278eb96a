/* SPDX-License-Identifier: MIT */
/* What ebprof has: an overview, the help of each command, the version. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"

struct options {
	string_vec words;
};

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "COMMAND", cli_strings, offsetof(struct options, words), NULL, 0 },
	CLI_END
};

static const struct cli_option version_rows[] = { CLI_END };

/* @brief: fits on a terminal of 25 lines. */
static void overview(int brief)
{
	fputs("ebprof shows which code runs, waits and allocates, with complete call stacks.\n"
	      "Usage: sudo ebprof COMMAND [OPTION]...      recording needs root or capabilities: "
	      "ebprof doctor\n"
	      "       sudo ebprof [TARGET] [OPTION]...     without a command: record\n\n",
	      stdout);
	for (size_t i = 0; commands[i]; i++)
		printf("  %-11s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nExamples:\n"
	      "  sudo ebprof -p PID -d 10                   a process for 10 seconds: a table\n"
	      "  sudo ebprof -a -d 10 -o out.html           the whole machine: a flame graph\n",
	      stdout);
	if (brief) {
		fputs("Most used options: ebprof COMMAND -h; all: ebprof help COMMAND; see "
		      "ebprof(1).\n",
		      stdout);
		return;
	}
	fputs("\nOptions of record:\n", stdout);
	cli_help_options(commands[0], 0, stdout);
	if (commands[0]->more)
		commands[0]->more(stdout);
}

static int unknown(const char *word, struct error *e)
{
	struct near n = NEAR(word);

	command_near(&n);
	if (*n.best)
		return error_set(e, STATUS_USAGE, -EINVAL, "no command '%s'; did you mean '%s'?",
				 word, n.best);
	return error_set(e, STATUS_USAGE, -EINVAL, "no command '%s'; see ebprof help", word);
}

/* `ebprof help COMMAND` is `ebprof COMMAND --help`. */
static int help_of(const string_vec *words, struct error *e)
{
	const struct cli_command *c = command_find(words->v[0]);

	if (words->n > 1)
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "help takes one command; see ebprof help");
	if (!c)
		return unknown(words->v[0], e);
	cli_help(c, 0, stdout);
	return 0;
}

static int run_help(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = 0;

	/* `ebprof --help` and `ebprof -h` come here as they are. */
	if (*argv[0] != '-')
		err = cli_parse(c, &o, argc, argv, &rest, &e);
	if (!err && !o.words.n)
		overview(!strcmp(argv[0], "-h"));
	else if (!err)
		err = help_of(&o.words, &e);
	vec_free(&o.words);
	return err < 0 ? command_failed(&e) : STATUS_OK;
}

static int run_version(const struct cli_command *c, int argc, char **argv)
{
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, NULL, argc, argv, &rest, &e);

	if (!err)
		puts("ebprof " EBPROF_VERSION);
	return err < 0 ? command_failed(&e) : STATUS_OK;
}

const struct cli_command command_help = {
	.name = "help",
	.summary = "this list, or all options of a command: ebprof help COMMAND",
	.usage = "help [COMMAND]",
	.about = "The commands, or what COMMAND does and all its options.\n",
	.rows = rows,
	.run = run_help,
};

const struct cli_command command_version = {
	.name = "version",
	.summary = "the version of ebprof",
	.usage = "version",
	.about = "Prints the version of ebprof.\n",
	.rows = version_rows,
	.run = run_version,
};
