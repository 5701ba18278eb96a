/* SPDX-License-Identifier: MIT */
/*
 * What the user asked of the sources: a group of options for each of them, which the source's
 * own rows fill (NAME_rows) and its own rules look at (NAME_rules).
 */
#ifndef EBPROF_SOURCES_OPTIONS_H
#define EBPROF_SOURCES_OPTIONS_H

#include "cli/cli.h"
#include "collect/stack_options.h"
#include "sources/allocations.h"
#include "sources/probes.h"
#include "sources/samples.h"
#include "sources/waits.h"

struct source_options {
	struct samples_options samples;
	struct probes_options probes;	/* of samples.events, what is theirs */
	struct waits_options waits;
	struct allocations_options allocations;
	int page_faults;	/* they are followed; samples.period is theirs, too */
	int live;		/* all the time is looked at while it passes */
};

/* The commands that measure, as bits of struct cli_command; rows say which of them take them. */
enum { EBPROF_RECORD = 1, EBPROF_ALLOC = 2, EBPROF_TOP = 4, EBPROF_PUSH = 8,
       EBPROF_SERVE = 16 };

/* All rows and rules; the rows are for struct source_options. */
extern const struct cli_part source_parts[];
extern const struct cli_rule source_rules[];

/* Of each source: its rows, with their heading, and its rules. */
extern const struct cli_option samples_rows[], waits_rows[], allocations_rows[], page_faults_rows[];
extern const struct cli_rule samples_rules[], waits_rules[], allocations_rules[];
extern const struct cli_rule page_faults_rules[];

void source_options_free(struct source_options *o);

#endif
