/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "cli/cli.h"

#define LEFT_MAX 64

/* "  -p, --pid PID", with the place of a letter left free where there is none. */
static void show_option(const struct cli_option *r, FILE *to)
{
	char left[LEFT_MAX];

	snprintf(left, sizeof(left), "  %c%c%s %s%s%s%s", r->letter ? '-' : ' ',
		 r->letter ? r->letter : ' ', r->letter && r->name ? "," : " ", r->name ? "--" : "",
		 r->name ? r->name : "", r->arg ? " " : "", r->arg ? r->arg : "");
	fprintf(to, "%-30s %s\n", left, r->help);
}

void cli_help_options(const struct cli_command *c, int brief, FILE *to)
{
	const struct cli_option *heading = NULL;
	unsigned int chosen = 0;

	for (struct cli_walk w = CLI_WALK(c); brief && cli_next(&w);)
		chosen |= cli_has(c, w.row) ? w.row->commands & CLI_BRIEF : 0;
	/* A short table has no choice, and is shown whole. */
	for (struct cli_walk w = CLI_WALK(c); cli_next(&w);) {
		const struct cli_option *r = w.row;

		if (r->store == cli_heading)
			heading = r;
		else if (r->help && cli_has(c, r) && (r->commands & chosen) == chosen) {
			if (heading && !brief)
				fprintf(to, "\n%s:\n", heading->help);
			heading = NULL;
			show_option(r, to);
		}
	}
}

static void show_usage(const char *usage, FILE *to)
{
	const char *lead = "Usage: ";

	while (*usage) {
		size_t n = strcspn(usage, "\n");

		fprintf(to, "%sebprof %.*s\n", lead, (int)n, usage);
		usage += n + (usage[n] == '\n');
		lead = "       ";
	}
}

void cli_help(const struct cli_command *c, int brief, FILE *to)
{
	show_usage(c->usage, to);
	fputs(c->about, to);
	if (brief)
		fputc('\n', to);
	cli_help_options(c, brief, to);
	if (brief)
		fprintf(to, "All of it: ebprof %s --help\n", c->name);
	else if (c->more)
		c->more(to);
}
