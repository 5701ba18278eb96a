/* SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "commands/completion.h"

/* What complete(1) of fish is given for each kind of argument. */
static const char *const how[] = {
	[COMPLETE_FLAG] = "", [COMPLETE_NOTHING] = " -x", [COMPLETE_FILES] = " -r -F",
	[COMPLETE_FOLDERS] = " -x -a '(__fish_complete_directories)'",
	[COMPLETE_PIDS] = " -x -a '(__fish_complete_pids)'",
	[COMPLETE_NAMES] = " -x -a '(cat /proc/*/comm 2>/dev/null | sort -u)'",
	[COMPLETE_EVENTS] = " -x -a '(ebprof -e list 2>/dev/null | string replace -r \" +\" \\t)'",
};

/* Within single quotes. */
static void write_text(const char *text, FILE *to)
{
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			fputc('\\', to);
		fputc(*text, to);
	}
}

static void write_option(const struct cli_command *c, const struct cli_option *r, FILE *to)
{
	enum completion_kind kind = completion_of(c, r);

	fprintf(to, "complete -c ebprof -n '__ebprof_is %s'", c->name);
	if (r->letter)
		fprintf(to, " -s %c", r->letter);
	if (r->name)
		fprintf(to, " -l %s", r->name);
	if (kind == COMPLETE_WORDS) {
		fputs(" -x -a '", to);
		completion_words(c, r, to);
		fputs("'", to);
	} else {
		fputs(how[kind], to);
	}
	fputs(" -d '", to);
	write_text(r->help, to);
	fputs("'\n", to);
}

/* What stands without an option: programs, files or words. */
static void write_operands(const struct cli_command *c, const struct cli_option *r, FILE *to)
{
	enum completion_kind kind = completion_of(c, r);

	fprintf(to, "complete -c ebprof -n '__ebprof_is %s'", c->name);
	if (kind == COMPLETE_PROGRAMS)
		fputs(" -F -a '(__fish_complete_command)'\n", to);
	else if (kind != COMPLETE_WORDS)
		fputs(" -F\n", to);
	else {
		fputs(" -f -a '", to);
		completion_words(c, r, to);
		fputs("'\n", to);
	}
}

void completion_fish(FILE *to)
{
	fputs("# Completion of ebprof for fish: written by `ebprof completion fish`.\n"
	      "set -g __ebprof_commands", to);
	for (size_t i = 0; commands[i]; i++)
		fprintf(to, " %s", commands[i]->name);
	fputs("\n# The command that was typed; without one it is the first.\n"
	      "function __ebprof_is\n"
	      "\tset -l typed (commandline -opc)\n"
	      "\tif contains -- \"$typed[2]\" $__ebprof_commands\n"
	      "\t\ttest \"$typed[2]\" = $argv[1]\n"
	      "\telse\n"
	      "\t\ttest $__ebprof_commands[1] = $argv[1]\n"
	      "\tend\n"
	      "end\n"
	      "complete -c ebprof -f\n", to);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(to,
			"complete -c ebprof -n 'test (count (commandline -opc)) -eq 1' -a %s -d '",
			commands[i]->name);
		write_text(commands[i]->summary, to);
		fputs("'\n", to);
	}
	for (size_t i = 0; commands[i]; i++)
		for (struct cli_walk w = CLI_WALK(commands[i]); cli_next(&w);) {
			const struct cli_option *r = w.row;

			if (!cli_has(commands[i], r))
				continue;
			if (!r->letter && !r->name)
				write_operands(commands[i], r, to);
			else if (r->help)
				write_option(commands[i], r, to);
		}
}
