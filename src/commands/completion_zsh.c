/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "commands/commands.h"
#include "commands/completion.h"

/* The action of _arguments (zshcompsys(1)) for each kind of argument. */
static const char *const how[] = {
	[COMPLETE_FILES] = "_files", [COMPLETE_FOLDERS] = "_files -/", [COMPLETE_PIDS] = "_pids",
	[COMPLETE_NAMES] = "_ebprof_names", [COMPLETE_EVENTS] = "_ebprof_events",
	[COMPLETE_PROGRAMS] = "_normal", [COMPLETE_NOTHING] = " ",
};

static const char helpers[] =
	"_ebprof_names() {\n"
	"\tlocal -a names=(${(f)\"$(cat /proc/[0-9]*/comm 2>/dev/null | sort -u)\"})\n"
	"\tcompadd -a names\n"
	"}\n"
	"_ebprof_events() {\n"
	"\tlocal -a events=(${(f)\"$(ebprof -e list 2>/dev/null | cut -d' ' -f1)\"})\n"
	"\tcompadd -a events\n"
	"}\n";

static const char body[] =
	"_ebprof() {\n"
	"\tlocal command=record\n"
	"\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
	"\t\t_describe -t commands command _ebprof_commands\n"
	"\t\t_command_names -e\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif (( ${_ebprof_commands[(I)${words[2]}:*]} )); then\n"
	"\t\tcommand=$words[2]\n"
	"\t\tshift words\n"
	"\t\t(( CURRENT-- ))\n"
	"\tfi\n"
	"\t_ebprof_$command\n"
	"}\n";

/* Within single quotes, and with what ends a part of a specification escaped. */
static void write_text(const char *text, const char *special, FILE *to)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\'", to);
		else if (strchr(special, *text))
			fputc('\\', to);
		fputc(*text, to);
	}
}

static void write_spec(const struct cli_command *c, const struct cli_option *r, FILE *to)
{
	enum completion_kind kind = completion_of(c, r);

	if (!r->letter && !r->name)
		fputs(kind == COMPLETE_PROGRAMS ? "\t\t'*::" : "\t\t'*:", to);
	else if (r->letter && r->name)
		fprintf(to, "\t\t{-%c%s,--%s%s}'[", r->letter, r->arg ? "+" : "", r->name,
			r->arg ? "=" : "");
	else if (r->name)
		fprintf(to, "\t\t--%s%s'[", r->name, r->arg ? "=" : "");
	else
		fprintf(to, "\t\t-%c%s'[", r->letter, r->arg ? "+" : "");
	if (r->help) {
		write_text(r->help, "[]", to);
		fputs(r->arg ? "]:" : "]", to);
	}
	if (r->arg) {
		write_text(r->arg, ":[]", to);
		fputc(':', to);
	}
	if (kind == COMPLETE_WORDS) {
		fputc('(', to);
		completion_words(c, r, to);
		fputc(')', to);
	} else if (kind != COMPLETE_FLAG) {
		fputs(how[kind], to);
	}
	fputs("' \\\n", to);
}

static void write_command(const struct cli_command *c, FILE *to)
{
	fprintf(to, "_ebprof_%s() {\n\t_arguments -s -S \\\n", c->name);
	for (struct cli_walk w = CLI_WALK(c); cli_next(&w);)
		if (cli_has(c, w.row) && (w.row->help || !(w.row->letter || w.row->name)))
			write_spec(c, w.row, to);
	fputs("\t\t&& return 0\n}\n", to);
}

void completion_zsh(FILE *to)
{
	fputs("#compdef ebprof\n"
	      "# Completion of ebprof for zsh: written by `ebprof completion zsh`.\n"
	      "typeset -ga _ebprof_commands=(\n", to);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(to, "\t'%s:", commands[i]->name);
		write_text(commands[i]->summary, ":", to);
		fputs("'\n", to);
	}
	fputs(")\n", to);
	fputs(helpers, to);
	for (size_t i = 0; commands[i]; i++)
		write_command(commands[i], to);
	fputs(body, to);
	/* Loaded by compinit the file is the function; sourced, it is told where it belongs. */
	fputs("if [[ $funcstack[1] == _ebprof ]]; then _ebprof \"$@\"; else compdef _ebprof "
	      "ebprof; fi\n",
	      to);
}
