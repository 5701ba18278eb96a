/* SPDX-License-Identifier: MIT */
/* A saved profile as commands take it: a file's name, and which of its sample types is wanted. */
#ifndef EBPROF_SAVED_H
#define EBPROF_SAVED_H

#include <stddef.h>

#include "base/error.h"
#include "profile/profile.h"

/* Rows of the commands that show files; @at: the offset of a const char *, and of an int. */
#define SAVED_OPTIONS_TYPE(at) \
	{ 0, 0, "sample-type", "NAME", cli_string, at, "which values, if a file has several", \
		CLI_BRIEF }
#define SAVED_OPTIONS_QUIET(at) { 'q', 0, "quiet", NULL, cli_flag, at, "no summary", 0 }

/*
 * The profile in @path, "-" for standard input. @type: the name of the type to show, NULL: the
 * file's own. NULL with @e filled.
 */
struct profile *saved_read(const char *path, const char *type, struct error *e);
/* The same of the last recording of the invoking user (last_recording.h). */
struct profile *saved_read_last(const char *type, struct error *e);
/*
 * The same of @n runs together (profile/merge.h); at least one. Where their rates differ and no
 * @type is asked for, what makes them comparable is shown (profile/rates.h), which standard error
 * says.
 */
struct profile *saved_read_all(const char *const *paths, size_t n, const char *type,
			       struct error *e);
/* The same, with the label @key for samples, which has the name of the file that they are of. */
struct profile *saved_read_labelled(const char *const *paths, size_t n, const char *key,
				    const char *type, struct error *e);

#endif
