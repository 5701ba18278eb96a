/* SPDX-License-Identifier: MIT */
/*
 * The lives that procs.c keeps: one for each program in each process, as a
 * chain for each PID, the newest first. Pointers stay valid until lives_forget().
 */
#ifndef EBPROF_LIVES_H
#define EBPROF_LIVES_H

#include <stdint.h>
#include <sys/types.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "proc/mappings.h"

#define LIFE_OPEN	UINT64_MAX	/* end of what has not ended */
#define LIFE_UNASKED	UINT32_MAX	/* incarnation of what nobody asked for */
#define LIFE_SKEW	1000000u	/* ns; see procs_at() */

struct life {
	struct life *older;	/* what this PID was before */
	struct mappings *maps;	/* NULL: none known */
	uint64_t begin, end;	/* ns, CLOCK_MONOTONIC */
	/* ns; it was there by then: what started later is another process */
	uint64_t seen;
	uint64_t start;		/* field 22 of /proc/PID/stat; 0: not known yet */
	uint64_t next_read;	/* ns; its maps are not read again before */
	uint64_t wait;		/* ns; until the read after that */
	pid_t pid;
	pid_t parent;		/* 0: not forked in our sight, or exec'ed since */
	pid_t ppid;		/* of the process, over its programs; 0: not known */
	uint32_t incarnation;	/* or LIFE_UNASKED */
	uint32_t losses;	/* how often events had been lost when it was last read */
	uint32_t slot;		/* private */
	uint8_t named;		/* @comm is known */
	uint8_t complete;	/* its mappings are known from the beginning, or cannot be */
	uint8_t execed;		/* began with an exec in our sight */
	uint8_t exited;		/* ended by exit, not by exec */
	/* its mappings have changed since procs_next_changed() told of it */
	uint8_t changed;
	uint8_t discovered;	/* read from /proc before any event told of it */
	char comm[16 + 1];	/* raw */
};

struct lives {
	VEC(struct life *) slots;	/* NULL: free */
	VEC(uint32_t) unused;		/* the free slots */
	VEC(struct life *) ended;	/* what lives_forget() may drop */
	struct hashmap newest;		/* pid -> slot */
};

/* The newest life of @pid, or NULL. */
struct life *lives_newest(const struct lives *all, pid_t pid);
/* The life of @pid at @time, by the rules told at procs_at(), or NULL. */
struct life *lives_find(const struct lives *all, pid_t pid, uint64_t time);
/* A new newest life of @pid; the one before it is ended by the caller. */
struct life *lives_add(struct lives *all, pid_t pid, uint64_t begin);
/*
 * A life of @pid before all that are known, of which nothing is known; ended at @end if it is the
 * only one.
 */
struct life *lives_add_unknown(struct lives *all, pid_t pid, uint64_t end);
/* Ends it, never before it began. */
void lives_end(struct lives *all, struct life *l, uint64_t time);
/* Frees what ended before @time and @drop returns 1 for. */
void lives_forget(struct lives *all, uint64_t time, int (*drop)(struct life *l, void *ctx),
		  void *ctx);
/* Frees all, not @all itself. */
void lives_free(struct lives *all);

#endif
