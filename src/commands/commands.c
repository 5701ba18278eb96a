/* SPDX-License-Identifier: MIT */
#include "commands/commands.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/say.h"
#include "base/text.h"

const struct cli_command *const commands[] = {
	&command_record,
	&command_alloc,
	&command_top,
	&command_serve,
	&command_push,
	&command_report,
	&command_annotate,
	&command_convert,
	&command_diff,
	&command_stat,
	&command_list,
	&command_doctor,
	&command_selftest,
	&command_completion,
	&command_help,
	&command_version,
	NULL
};

const struct cli_command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

void command_near(struct near *n)
{
	for (size_t i = 0; commands[i]; i++)
		near_consider(n, commands[i]->name);
}

int command_failed(const struct error *e)
{
	say(SAY_ERROR, "%s", e->text);
	return (int)e->status;
}

int command_failed_because(const struct error *e, int verbose)
{
	char raw[256], clean[256];

	command_failed(e);
	for (const char *line = e->details; verbose && *line;) {
		size_t n = strcspn(line, "\n");

		snprintf(raw, sizeof(raw), "%.*s", (int)n, line);
		text_clean(clean, sizeof(clean), raw);
		fprintf(stderr, "ebprof: | %s\n", clean);
		line += n + (line[n] == '\n');
	}
	return (int)e->status;
}
