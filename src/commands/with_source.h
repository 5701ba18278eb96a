/* SPDX-License-Identifier: MIT */
/* --source: an html page takes the lines and instructions of hot functions along. */
#ifndef EBPROF_WITH_SOURCE_H
#define EBPROF_WITH_SOURCE_H

#include "annotate/hot.h"
#include "base/user.h"
#include "cli/cli.h"
#include "output/output.h"
#include "sinks/results.h"

struct with_source_options {
	int on;
	string_vec dirs;
};

/* The rows; @at: the offset of a struct with_source_options. */
#define WITH_SOURCE_ON(at, commands) \
	{ 0, 0, "source", NULL, cli_flag, (at) + offsetof(struct with_source_options, on), \
		"html: with the source and instructions of hot functions", commands }
#define WITH_SOURCE_DIR(at, commands) \
	{ 0, 0, "source-dir", "DIR", cli_strings, \
		(at) + offsetof(struct with_source_options, dirs), \
		"look for source files here first; may be repeated", commands }

/* What reads functions for a browser of saved profiles, to be freed. */
struct annotator *with_source_reader(const struct with_source_options *o);

/* All zeros: nothing was asked for. */
struct with_source {
	struct annotator *by;
	struct user user;
	annotation_vec made;
};

/* -EINVAL with @e filled where no page would have what is asked for. */
int with_source_check(const struct with_source_options *o, const struct result_options *results,
		      struct error *e);
/* What is needed later, where @o asks for it: before a sandbox. @servers: asked, too; or NULL. */
void with_source_begin(struct with_source *w, const struct with_source_options *o,
		       struct debuginfod *servers);
/*
 * Annotates @p for the page that is written next by @output; until with_source_end(). From then on
 * the process is in a sandbox that lets results be opened and written, as the invoking user.
 */
void with_source_add(struct with_source *w, const struct profile *p,
		     struct output_options *output);
void with_source_end(struct with_source *w);

#endif
