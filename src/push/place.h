/* SPDX-License-Identifier: MIT */
/*
 * Where windows go: one row of a table each (place.c), found by the beginning of what the user
 * gives. A folder gets a file for each service; a server a request for each window, which waits in
 * a spool until a courier has sent it. A place that cannot take something loses it, counted and
 * said, and nobody waits for it.
 */
#ifndef EBPROF_PLACE_H
#define EBPROF_PLACE_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/user.h"
#include "push/body.h"
#include "push/courier.h"
#include "push/folder.h"
#include "push/spool.h"

#define PLACE_SERVERS_MAX 4	/* a process each */

/* As the user wants it. */
struct place_options {
	uint64_t keep_for, keep_bytes;		/* of folders: ns, bytes */
	struct spool_options spool;
	struct courier_options courier;
};

/* Files written and their bytes; files that could not be, and their samples. */
struct place_counts { uint64_t files, bytes, failed, failed_samples; };

struct place;

/* 1 where @to is a server. */
int place_is_server(const char *to);
/* @to must outlive it. NULL with @e filled. */
struct place *place_open(const char *to, const struct user *u, const struct place_options *o,
			 struct error *e);
/* Ends its courier, as courier_free(). Takes NULL. */
void place_free(struct place *p);
/* What is sent is sent by a process of its own from here on; 0 or a negative errno, @e filled. */
int place_start(struct place *p, struct error *e);
/* That process; 0 where there is none. */
pid_t place_pid(const struct place *p);
/* To be delegated. */
struct folder *place_folder(const struct place *p);
/* What of struct push_part it needs, in bits: these two. */
enum place_wants { PLACE_PPROF = 1, PLACE_PACKED = 2 };
unsigned int place_wants(const struct place *p);

void place_add(struct place *p, const struct push_part *part);
/* The window is over: what was added goes. */
void place_flush(struct place *p);
/* Waits for the courier, as courier_free(). */
void place_finish(struct place *p);

struct place_counts place_counts(const struct place *p);
/* NULL where it is no server. */
const struct spool_counts *place_sent(const struct place *p);
/* As the user wrote it. */
const char *place_text(const struct place *p);

#endif
