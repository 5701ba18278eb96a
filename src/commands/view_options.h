/* SPDX-License-Identifier: MIT */
/*
 * What a user may ask of any profile that is shown or written, saved before or not: the same
 * options of record, report, convert and diff.
 */
#ifndef EBPROF_VIEW_OPTIONS_H
#define EBPROF_VIEW_OPTIONS_H

#include "cli/cli.h"
#include "output/output.h"
#include "profile/profile.h"
#include "sinks/results.h"

struct view_options {
	const char *title;	/* NULL: as it is */
	uint64_t rows;		/* of each table; 0: not given */
	enum output_sort sort;
	int short_templates, no_inline;
};

cli_store view_options_sort;	/* enum output_sort */

/* Rows for the options of tables; @at: the offset of a struct view_options. */
#define VIEW_OPTIONS_TABLE(at, commands) \
	{ 0, 0, "sort", "HOW", view_options_sort, (at) + offsetof(struct view_options, sort), \
		"tables by self (default) or total", commands }, \
	{ 0, 0, "rows", "N", cli_count, (at) + offsetof(struct view_options, rows), \
		"at most N rows of each table", commands }
/* Where results go; @at: the offset of a struct result_options. */
#define RESULT_OPTIONS_FILES(at, help, commands) \
	{ 'o', 0, "output", "FILE", cli_strings, (at) + offsetof(struct result_options, files), \
		help, commands }
#define RESULT_OPTIONS_FORMAT(at, help, commands) \
	{ 'f', 0, "format", "FORMAT", cli_string, \
		(at) + offsetof(struct result_options, format), help, commands }
#define RESULT_OPTIONS_FORCE(at, commands) \
	{ 0, 0, "force", NULL, cli_flag, (at) + offsetof(struct result_options, force), \
		"replace a write-protected file, too", commands }
/* For what changes a profile that was saved. */
#define VIEW_OPTIONS_PROFILE(at) \
	{ 0, 0, "title", "TEXT", cli_string, (at) + offsetof(struct view_options, title), \
		"a title for formats that show one", 0 }, \
	{ 0, 0, "no-inline", NULL, cli_flag, (at) + offsetof(struct view_options, no_inline), \
		"count inlined functions as their callers", 0 }, \
	{ 0, 0, "short-templates", NULL, cli_flag, \
		(at) + offsetof(struct view_options, short_templates), \
		"names without template arguments and return types", 0 }

/* Adds to @o what outputs want to know. */
void view_options_output(const struct view_options *v, struct output_options *o);
/* Takes out of a profile that was read what is not wanted, and gives it its title. */
void view_options_apply(const struct view_options *v, struct profile *p);

#endif
