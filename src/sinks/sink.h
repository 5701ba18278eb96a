/* SPDX-License-Identifier: MIT */
/*
 * Where a result goes: a file, standard output. One row of a table each (sink.c), found by the
 * name that the user gives. A sink is opened early, so that a bad name is an error before
 * anything is measured; what is written arrives whole at sink_commit(), or not at all.
 *
 * Formats write to an outfile (base/outfile.h), whatever is behind it.
 */
#ifndef EBPROF_SINK_H
#define EBPROF_SINK_H

#include "base/error.h"
#include "base/outfile.h"
#include "base/user.h"
#include "output/output.h"

struct sink;

/* What the user asks for. */
struct sink_target {
	const char *path;		/* "-" is standard output */
	const struct user *user;	/* who gets the file */
	int force;			/* replace a file that is write-protected, too */
};

/* A kind of sink. */
struct sink_ops {
	const char *name;
	int (*takes)(const char *path);
	/* What is written goes there. NULL with @e filled. */
	struct outfile *(*open)(const struct sink_target *t, struct error *e);
	/* Both free @f. The first as outfile_commit(). */
	int (*commit)(struct outfile *f, struct error *e);
	void (*abandon)(struct outfile *f);
	int screen;			/* 1: may be the user's terminal */
};

/* The table; ends with a row whose name is NULL. The first row that takes a path has it. */
extern const struct sink_ops sink_kinds[];

/* NULL with @e filled. */
struct sink *sink_open(const struct sink_target *t, struct error *e);
/* Standard output, as whoever we are. */
struct sink *sink_open_stdout(struct error *e);
/* To be written to, and delegated (outfile_delegate()); the sink's. */
struct outfile *sink_file(const struct sink *s);
/* 1 where it becomes a file of that name. */
int sink_is_named(const struct sink *s);
/* 1 where it is a terminal. */
int sink_is_terminal(const struct sink *s);
/* Adds to @o what is known of the terminal, where it is one. */
void sink_fit(const struct sink *s, struct output_options *o);
/*
 * 0, -EPIPE where a reader went away (@e is not filled: not an error of ours), or another negative
 * errno with @e filled. Frees @s.
 */
int sink_commit(struct sink *s, struct error *e);
/* Throws away what was written. Takes NULL. */
void sink_abandon(struct sink *s);

/* 1 where standard output is a terminal that shows colour, and the user wants it (NO_COLOR). */
int sink_wants_color(void);

#endif
