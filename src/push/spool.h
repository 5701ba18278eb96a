/* SPDX-License-Identifier: MIT */
/*
 * What waits to be sent: a folder (folder.h) of bodies of requests for one server, which is bounded
 * and outlives us. The number of samples in a body is in its name.
 *
 * One process writes, and removes what is too old or too much; another one sends, and removes what
 * was taken. No two programs have one spool at a time.
 */
#ifndef EBPROF_SPOOL_H
#define EBPROF_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "base/user.h"
#include "push/folder.h"

#define SPOOL_SUFFIX ".req"

/*
 * What became of the bodies and of the samples in them, in memory that all of our processes have in
 * common; by atomic operations.
 */
struct spool_count { uint64_t bodies, samples, bytes; };
struct spool_counts {
	struct spool_count spooled;	/* written, or there from the start */
	struct spool_count sent;
	struct spool_count refused;	/* the server will not have them */
	struct spool_count dropped;	/* too old, or too much */
	struct spool_count waiting;	/* when the sender ended */
};

/* Adds one body. */
void spool_count(struct spool_count *c, uint64_t samples, uint64_t bytes);

struct spool;

struct spool_options {
	const char *dir;		/* NULL: in the folder of what may be lost (base/cache.h) */
	uint64_t keep_for;		/* ns */
	uint64_t keep_bytes;
};

/*
 * That of the server @url, made where it is not there. Waits some seconds where another program has
 * it. NULL with @e filled.
 */
struct spool *spool_open(const char *url, const struct user *u, const struct spool_options *o,
			 struct error *e);
void spool_free(struct spool *s);
/* To be delegated, and to be read: its files have the suffix. */
struct folder *spool_folder(const struct spool *s);
struct spool_counts *spool_counts(const struct spool *s);
/* @start: ns of CLOCK_REALTIME. 0 or a negative errno. */
int spool_write(struct spool *s, uint64_t samples, uint64_t start, const void *bytes, size_t size);
/* As the name of a file in it says. */
uint64_t spool_samples(const char *name);

#endif
