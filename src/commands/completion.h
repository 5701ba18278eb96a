/* SPDX-License-Identifier: MIT */
/* The completion files of shells: what each is told of the tables of options. */
#ifndef EBPROF_COMPLETION_H
#define EBPROF_COMPLETION_H

#include <stdio.h>

#include "cli/cli.h"

enum completion_kind {
	COMPLETE_FLAG,		/* no argument */
	COMPLETE_NOTHING,	/* one that cannot be guessed: a number, a time */
	COMPLETE_FILES,
	COMPLETE_FOLDERS,
	COMPLETE_PIDS,
	COMPLETE_NAMES,		/* of processes */
	COMPLETE_EVENTS,
	COMPLETE_PROGRAMS,	/* a program to start, and then what it takes */
	COMPLETE_WORDS,		/* completion_words() */
};

enum completion_kind completion_of(const struct cli_command *c, const struct cli_option *r);
/* The words that the argument may be, with blanks between them. */
void completion_words(const struct cli_command *c, const struct cli_option *r, FILE *to);

void completion_bash(FILE *to);
void completion_zsh(FILE *to);
void completion_fish(FILE *to);

#endif
