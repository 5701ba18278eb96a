/* SPDX-License-Identifier: MIT */
#include <signal.h>
#include <string.h>

#include "commands/commands.h"

/* Options of ebprof itself, as commands. */
static const struct { const char *option, *command; } aliases[] = {
	{ "-h", "help" }, { "--help", "help" }, { "-V", "version" }, { "--version", "version" },
};

int main(int argc, char **argv)
{
	const struct cli_command *c = argc > 1 ? command_find(argv[1]) : NULL;

	/* A reader that goes away, and a limit on files, are errors of write(2), not our death. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	for (size_t i = 0; argc > 1 && !c && i < sizeof(aliases) / sizeof(*aliases); i++)
		if (!strcmp(argv[1], aliases[i].option))
			c = command_find(aliases[i].command);
	return c ? c->run(c, argc - 1, argv + 1) : commands[0]->run(commands[0], argc, argv);
}
