/* SPDX-License-Identifier: MIT */
/*
 * What `ebprof push` has done, in Prometheus' text format 0.0.4 (prometheus.io/docs, "Exposition
 * formats"), for whoever asks for it: --metrics.
 *
 * metrics_new() before anything foreign is read; metrics_update() as often as one likes: it reads
 * a few files of /proc of our own processes, and waits for nobody.
 */
#ifndef EBPROF_METRICS_H
#define EBPROF_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/vec.h"
#include "profile/profile.h"
#include "push/push.h"

/* A process of ours: what it took so far. */
struct metrics_process {
	const char *name;
	double cpu;		/* seconds */
	uint64_t resident;	/* bytes */
};

struct metrics_values {
	const struct profile_account *account;
	uint64_t frequency;	/* Hz a CPU, now; 0: none */
	struct push_counts counts;
	/* of each server, in the order of the command line */
	const struct spool_counts *const *servers;
	size_t nservers;
	const struct metrics_process *processes;
	size_t nprocesses;
};

/* To be found by its PID. */
struct metrics_member { const char *name; pid_t pid; };

typedef VEC(char) metrics_text;

/* Appends the whole page. */
void metrics_format(metrics_text *to, const struct metrics_values *v);

struct metrics;

/* NULL with @e filled, as metrics_server_new(). */
struct metrics *metrics_new(const char *address, struct error *e);
/* Those of @members with pid 0 are left out; that of the server is added. */
void metrics_update(struct metrics *m, struct profile *profile, const struct push *push,
		    const struct metrics_member *members, size_t n);
void metrics_free(struct metrics *m);

#endif
