/* SPDX-License-Identifier: MIT */
/*
 * A file that we write for the user: complete or not at all.
 *
 * A named file is written beside its place and renamed over it at the end, as
 * the invoking user, never through a symbolic link; a failed write leaves the
 * old file as it was, and an abandoned one leaves nothing behind. "-" and
 * /dev/stdout are standard output; an existing FIFO or device is written
 * straight.
 */
#ifndef EBPROF_OUTFILE_H
#define EBPROF_OUTFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/keeper.h"
#include "base/user.h"

struct outfile;

/* What is written, in memory; a vector of base/vec.h, the caller's. */
struct outfile_bytes { char *v; size_t n, cap; };

/*
 * Opens early, so that a bad name is an error before sampling, not after. A file that nobody may
 * write (mode 0444) is not replaced. NULL with @e filled.
 */
struct outfile *outfile_open(const char *path, const struct user *u, struct error *e);
/* The same, but such a file is replaced, too, where the folder's permissions allow it. */
struct outfile *outfile_open_force(const char *path, const struct user *u, struct error *e);
/*
 * A file within a text: what is written to it goes to @outer as base64. Nothing else may be written
 * to @outer until outfile_commit() ends it, which cannot fail: errors are @outer's.
 */
struct outfile *outfile_within(struct outfile *outer);
/* What is written is appended to @bytes, which outlives it; no error is possible. */
struct outfile *outfile_memory(struct outfile_bytes *bytes);
/* All that is written becomes gzip (RFC 1952); before the first outfile_write(). */
void outfile_compress(struct outfile *f);
/* The same in some 3 % less, for two thirds more time: what goes over networks. */
void outfile_compress_well(struct outfile *f);
/* More than @bytes in the file are an error, -EFBIG. Before the first outfile_write(). */
void outfile_limit(struct outfile *f, uint64_t bytes);
/* Buffered; an error is kept and told by outfile_commit(). */
void outfile_write(struct outfile *f, const void *p, size_t size);
void outfile_printf(struct outfile *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/*
 * Flushes and renames. 0, -EPIPE where a reader of stdout or a FIFO went away
 * (@e is not filled: not an error of ours), or another negative errno with @e
 * filled ("cannot write FILE: No space left on device; ..."). Frees @f.
 */
int outfile_commit(struct outfile *f, struct error *e);
/* Throws away what was written. Takes NULL. */
void outfile_abandon(struct outfile *f);
/*
 * From now on @k gives the finished file its name, and removes what is left
 * of an abandoned one: its job number @job is outfile_keep(), and outfile_end().
 */
void outfile_delegate(struct outfile *f, struct keeper *k, size_t job);
int outfile_keep(void *outfile, const void *bytes, size_t size);
void outfile_end(void *outfile);
/* 1 where it becomes a file of that name; 0 for what is written straight. */
int outfile_is_named(const struct outfile *f);
/* 1 for standard output. */
int outfile_is_stdout(const struct outfile *f);
/* 1 where outfile_open() of that name is standard output. */
int outfile_path_is_stdout(const char *path);

#endif
