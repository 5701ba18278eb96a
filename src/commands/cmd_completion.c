/* SPDX-License-Identifier: MIT */
/*
 * Completion for shells, written from the tables that parse and print help, so that it cannot
 * differ from them. A shell's file asks for nothing but `ebprof -e list`, and that only for names
 * of events.
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/completion.h"
#include "output/output.h"
#include "output/views.h"

struct options {
	string_vec words;
};

static const struct {
	const char *shell;
	void (*write)(FILE *to);
} shells[] = {
	{ "bash", completion_bash },
	{ "zsh", completion_zsh },
	{ "fish", completion_fish },
};
#define SHELLS (sizeof(shells) / sizeof(*shells))

static const struct cli_option rows[] = {
	{ 0, 0, NULL, "SHELL", cli_strings, offsetof(struct options, words), NULL, 0 },
	CLI_END
};

/* What arguments may be, by the names that the tables give them; first those of one command. */
static const struct { const char *command, *arg, *words; } known[] = {
	{ "selftest", "FORMAT", "table json" },
	{ "stat", "FORMAT", "table json" },
	{ NULL, "WHAT", "container pod unit" },
	{ NULL, "HOW", "self total" },
	{ NULL, "BY", "samples seconds none" },
	{ NULL, "STATE[,STATE...]", "blocked disk uninterruptible runnable" },
	{ NULL, "HZ", "99 999 max" },
	{ NULL, "SHELL", "bash zsh fish" },
};

static const char *words_of(const struct cli_command *c, const struct cli_option *r)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].arg, r->arg) &&
		    (!known[i].command || !strcmp(known[i].command, c->name)))
			return known[i].words;
	return NULL;
}

enum completion_kind completion_of(const struct cli_command *c, const struct cli_option *r)
{
	static const struct {
		const char *arg;
		enum completion_kind kind;
	} kinds[] = {
		{ "FILE", COMPLETE_FILES },	  { "DIR", COMPLETE_FOLDERS },
		{ "CGROUP", COMPLETE_FOLDERS },	  { "PID[,PID...]", COMPLETE_PIDS },
		{ "COMM", COMPLETE_NAMES },	  { "EVENT", COMPLETE_EVENTS },
		{ "COMMAND", COMPLETE_PROGRAMS }, { "PATH:PREFIX", COMPLETE_FILES },
		{ "PATTERN", COMPLETE_EVENTS },
	};

	if (!r->arg)
		return COMPLETE_FLAG;
	if (c == &command_help || words_of(c, r) || !strcmp(r->arg, "FORMAT"))
		return COMPLETE_WORDS;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].arg, r->arg))
			return kinds[i].kind;
	return COMPLETE_NOTHING;
}

static void write_formats(const struct output_set *set, FILE *to)
{
	for (const struct output_format *f = set->formats; f->name; f++)
		fprintf(to, "%s%s", f == set->formats ? "" : " ", f->name);
}

void completion_words(const struct cli_command *c, const struct cli_option *r, FILE *to)
{
	const char *words = words_of(c, r);

	if (c == &command_help)
		for (size_t i = 0; commands[i]; i++)
			fprintf(to, "%s%s", i ? " " : "", commands[i]->name);
	else if (!words)
		write_formats(c == &command_diff ? &output_differences : &output_profiles, to);
	else if (c == &command_report && !strcmp(r->arg, "WHAT"))
		for (enum views_by by = 0; by < VIEWS_BY; by++)
			fprintf(to, "%s ", views_name(by));
	if (words)
		fputs(words, to);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct options o = { 0 };
	struct error e = { .status = STATUS_ERROR };
	int rest, err = cli_parse(c, &o, argc, argv, &rest, &e);
	size_t i = 0;

	while (!err && o.words.n == 1 && i < SHELLS && strcmp(shells[i].shell, o.words.v[0]))
		i++;
	if (!err && (o.words.n != 1 || i == SHELLS))
		err = error_set(&e, STATUS_USAGE, -EINVAL,
				"completion takes the name of a shell: bash, zsh or fish");
	if (!err)
		shells[i].write(stdout);
	vec_free(&o.words);
	return err < 0 ? command_failed(&e) : STATUS_OK;
}

const struct cli_command command_completion = {
	.name = "completion", .summary = "what a shell needs to complete commands and options",
	.usage = "completion bash|zsh|fish",
	.about = "Prints the completion file of a shell; make install puts all three in place.\n"
		 "  . <(ebprof completion bash)                       for this bash\n"
		 "  ebprof completion zsh > ~/.zfunc/_ebprof          a folder of $fpath\n"
		 "  ebprof completion fish > ~/.config/fish/completions/ebprof.fish\n",
	.rows = rows, .run = run,
};
