/* SPDX-License-Identifier: MIT */
#include "commands/commands.h"
#include "commands/completion.h"

/* How each kind of argument is completed; the words stand in $words. */
static const char *const how[] = {
	[COMPLETE_FILES] = "files", [COMPLETE_FOLDERS] = "folders", [COMPLETE_PIDS] = "pids",
	[COMPLETE_NAMES] = "names", [COMPLETE_EVENTS] = "events", [COMPLETE_PROGRAMS] = "program",
	[COMPLETE_NOTHING] = "nothing",
};

/*
 * A colon and "=" end a word for bash: `cur` and `last` are taken from the line itself, and what
 * stands before the last of them is cut off the replies.
 */
static const char body[] =
	"_ebprof() {\n"
	"\tlocal line=${COMP_LINE:0:COMP_POINT} cur last word command=record kind= words= program= "
	"i cut\n"
	"\tlocal -a typed\n"
	"\tread -ra typed <<<\"$line\"\n"
	"\t[[ $line == *[[:space:]] ]] && typed+=('')\n"
	"\tcur=${typed[-1]}\n"
	"\tlast=${typed[${#typed[@]}-2]}\n"
	"\tCOMPREPLY=()\n"
	"\tif [[ ${#typed[@]} -gt 2 && \" $(_ebprof_commands) \" == *\" ${typed[1]} \"* ]]; then\n"
	"\t\tcommand=${typed[1]}\n"
	"\t\t[[ ${#typed[@]} -eq 3 ]] && last=\n"
	"\tfi\n"
	"\tif [[ $cur == --*=* ]]; then\n"
	"\t\tlast=${cur%%=*}\n"
	"\t\tcur=${cur#*=}\n"
	"\tfi\n"
	"\t_ebprof_argument \"$command\" \"$last\"\n"
	"\tif [[ -z $kind && $cur == -* ]]; then\n"
	"\t\tCOMPREPLY=($(compgen -W \"$(_ebprof_options \"$command\")\" -- \"$cur\"))\n"
	"\t\treturn\n"
	"\tfi\n"
	"\tif [[ -z $kind ]]; then\n"
	"\t\t_ebprof_argument \"$command\" operand\n"
	"\t\t[[ ${#typed[@]} -eq 2 ]] && COMPREPLY=($(compgen -W \"$(_ebprof_commands)\" -- "
	"\"$cur\"))\n"
	"\tfi\n"
	"\tcase $kind in\n"
	"\twords) COMPREPLY=($(compgen -W \"$words\" -- \"$cur\")) ;;\n"
	"\tfiles) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
	"\tfolders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
	"\tpids) COMPREPLY=($(compgen -W \"$(cd /proc && echo [0-9]*)\" -- \"$cur\")) ;;\n"
	"\tnames) mapfile -t COMPREPLY < <(compgen -W \"$(cat /proc/[0-9]*/comm 2>/dev/null | sort "
	"-u)\""
	" -- \"$cur\") ;;\n"
	"\tevents) COMPREPLY=($(compgen -W \"$(ebprof -e list 2>/dev/null | cut -d' ' -f1)\" -- "
	"\"$cur\")) ;;\n"
	"\tprogram) mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -c -- \"$cur\"; compgen "
	"-f -- \"$cur\") ;;\n"
	"\tesac\n"
	"\tif [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]]; then\n"
	"\t\tcut=${cur%:*}:\n"
	"\t\tfor i in \"${!COMPREPLY[@]}\"; do COMPREPLY[i]=${COMPREPLY[i]#\"$cut\"}; done\n"
	"\tfi\n"
	"}\n"
	"complete -F _ebprof ebprof\n";

static void write_option_names(const struct cli_command *c, FILE *to)
{
	for (struct cli_walk w = CLI_WALK(c); cli_next(&w);) {
		const struct cli_option *r = w.row;

		if (!r->help || !cli_has(c, r))
			continue;
		if (r->letter)
			fprintf(to, " -%c", r->letter);
		if (r->name)
			fprintf(to, " --%s", r->name);
	}
}

/* A branch of `case COMMAND:OPTION`. */
static void write_argument(const struct cli_command *c, const struct cli_option *r, FILE *to)
{
	enum completion_kind kind = completion_of(c, r);

	if (!cli_has(c, r) || kind == COMPLETE_FLAG)
		return;
	fputc('\t', to);
	if (!r->letter && !r->name)
		fprintf(to, "%s:operand", c->name);
	if (r->letter)
		fprintf(to, "%s:-%c%s", c->name, r->letter, r->name ? "|" : "");
	if (r->name)
		fprintf(to, "%s:--%s", c->name, r->name);
	if (kind == COMPLETE_WORDS) {
		fputs(") kind=words words='", to);
		completion_words(c, r, to);
		fputs("' ;;\n", to);
	} else {
		fprintf(to, ") kind=%s ;;\n", how[kind]);
	}
}

void completion_bash(FILE *to)
{
	fputs("# Completion of ebprof for bash: written by `ebprof completion bash`.\n"
	      "_ebprof_commands() {\n\techo", to);
	for (size_t i = 0; commands[i]; i++)
		fprintf(to, " %s", commands[i]->name);
	fputs("\n}\n_ebprof_options() {\n\tcase $1 in\n", to);
	for (size_t i = 0; commands[i]; i++) {
		fprintf(to, "\t%s) echo", commands[i]->name);
		write_option_names(commands[i], to);
		fputs(" ;;\n", to);
	}
	fputs("\tesac\n}\n_ebprof_argument() {\n\tcase $1:$2 in\n", to);
	for (size_t i = 0; commands[i]; i++)
		for (struct cli_walk w = CLI_WALK(commands[i]); cli_next(&w);)
			write_argument(commands[i], w.row, to);
	fputs("\tesac\n}\n", to);
	fputs(body, to);
}
