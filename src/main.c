/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "commands.h"

static int cmd_version(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	puts("ebprof " EBPROF_VERSION);
	return STATUS_OK;
}

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
} commands[] = {
	{ "record", cmd_record },	/* the first is the default */
	{ "alloc", cmd_alloc },
	{ "top", cmd_top },
	{ "report", cmd_report },
	{ "convert", cmd_convert },
	{ "diff", cmd_diff },
	{ "doctor", cmd_doctor },
	{ "-V", cmd_version },
	{ "--version", cmd_version },
};

int command_failed(const struct error *e)
{
	fprintf(stderr, "ebprof: %s\n", e->text);
	return (int)e->status;
}

int command_wants_color(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return isatty(STDOUT_FILENO) && !(no && *no) && term && strcmp(term, "dumb");
}

int main(int argc, char **argv)
{
	/* A reader that goes away, and a limit on files, are errors of write(2), not our death. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; argc > 1 && i < sizeof(commands) / sizeof(*commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	return commands[0].run(argc, argv);
}
