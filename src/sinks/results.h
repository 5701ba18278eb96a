/* SPDX-License-Identifier: MIT */
/* What a command writes, and where: -o, -f and --force have the same meaning for all commands. */
#ifndef EBPROF_RESULTS_H
#define EBPROF_RESULTS_H

#include <stdio.h>

#include "base/error.h"
#include "base/vec.h"
#include "output/output.h"
#include "sinks/sink.h"

/* What the user asked for. */
struct result_options {
	string_vec files;	/* none: standard output */
	const char *format;	/* of all; NULL: by their names */
	int force;		/* replace files that are write-protected, too */
};

/* All zeros: none. */
struct results {
	const struct output_set *set;
	VEC(struct result {
		struct sink *sink;
		int written;	/* to a file of that name */
		const char *path;
		const struct output_format *format;
	}) v;
};

/* -EINVAL with @e filled where -f @name (NULL: not given) is no format of @set. */
int results_check(const struct output_set *set, const char *name, struct error *e);
/* Opens what @o names, as @u; the names stay borrowed. */
int results_open(struct results *r, const struct output_set *set, const struct result_options *o,
		 const struct user *u, struct error *e);
/*
 * Writes and closes every file, whatever happens to the others; @e has the first error. @o holds
 * for all of them; what depends on the terminal is filled in.
 */
int results_write(struct results *r, const struct profile *p, const struct output_options *o,
		  struct error *e);
/*
 * All of it for a profile and the invoking user: opens, writes, names the files unless @quiet, and
 * closes.
 */
int results_save(const struct profile *p, const struct result_options *where, int quiet,
		 const struct output_options *o, struct error *e);
/* Names on standard error the files that were written, and says how to open them. */
void results_name(const struct results *r);
/* 1 where the table goes to standard output: then that is all that the user sees of the profile. */
int results_show(const struct results *r);
/* Throws away what was not written. */
void results_free(struct results *r);

/* The formats of @set, one line each, for --help. */
void results_help(const struct output_set *set, FILE *to);

#endif
