/* SPDX-License-Identifier: MIT */
/*
 * The files that a command writes a profile to: what -o and -f mean, for all commands.
 */
#ifndef EBPROF_RESULT_FILES_H
#define EBPROF_RESULT_FILES_H

#include <stdio.h>

#include "base/error.h"
#include "base/outfile.h"
#include "base/vec.h"
#include "cli/cli.h"
#include "output/output.h"

/* All zeros: none. */
struct result_files {
	/* replaces files that are write-protected; set before they are opened */
	int force;
	int quiet;		/* result_files_save() does not name them */
	VEC(struct result_file {
		struct outfile *file;
		int written;	/* under its own name */
		const char *path;
		const struct output_format *format;
	}) files;
};

/* The row of an option that is stored at @offset, an int. */
#define RESULT_FILES_FORCE(offset, commands) \
	{ 0, 0, "force", NULL, cli_flag, offset, "replace a write-protected file, too", commands }

/* -EINVAL with @e filled where -f @name (NULL: not given) is no format. */
int result_files_check(const char *name, struct error *e);
/*
 * Opens @paths, or standard output where there are none, as @u; the names stay borrowed. @format:
 * of all, or NULL.
 */
int result_files_open(struct result_files *r, const string_vec *paths, const char *format,
		      const struct user *u, struct error *e);
/*
 * Writes and closes every file, whatever happens to the others; the first error is told. @o is for
 * all of them; what depends on the terminal is filled in.
 */
int result_files_write(struct result_files *r, const struct profile *p,
		       const struct output_options *o, struct error *e);
/* All of it: opens @paths as above, writes @p there, names the files, and frees @r. */
int result_files_save(struct result_files *r, const struct profile *p, const string_vec *paths,
		      const char *format, const struct output_options *o, struct error *e);
/* Names on standard error the files that were written, and says how to open them. */
void result_files_tell(const struct result_files *r);
/* 1 where the table goes to standard output: then that is all that the user sees of the profile. */
int result_files_show(const struct result_files *r);
/* Throws away what was not written. */
void result_files_free(struct result_files *r);

/* Adds to @o what is known of the terminal, where @f is one. */
void result_files_terminal(const struct outfile *f, struct output_options *o);
/* The formats, one line each, for --help. */
void result_files_help(FILE *to);

#endif
