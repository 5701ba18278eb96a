/* SPDX-License-Identifier: MIT */
/*
 * Counts told apart by thread, process, CPU or cgroup, or those of one cgroup: events that count
 * on each CPU, whose counts a BPF program gives to who leaves the CPU (bpf/tally/). Needs Linux
 * 5.11.
 */
#ifndef EBPROF_TALLY_H
#define EBPROF_TALLY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/tally/tally.h"

struct tally_options {
	enum tally_by by;
	uint64_t cgroup;		/* kernfs id of the one that is counted; 0: all */
	const char *controller;		/* of its hierarchy, and of those told apart; "": v2 */
	size_t events;			/* at most TALLY_EVENTS */
	int targets;			/* threads that are added, and what these start */
};

struct tally;

/* Nothing counts yet. NULL with @e filled. */
struct tally *tally_new(const struct tally_options *o, struct error *e);
/* Takes NULL. */
void tally_free(struct tally *t);
/* Event @i of @cpu is @fd, which stays the caller's. 0 or a negative errno. */
int tally_set_event(struct tally *t, size_t i, int cpu, int fd);
/* All threads that @pid has, and what they start. 0, or a negative errno: -ESRCH: it has none. */
int tally_add_process(struct tally *t, pid_t pid);
/* A command, from its exec on. 0 or a negative errno. */
int tally_add_command(struct tally *t, pid_t pid);
/* When the events count. */
void tally_start(struct tally *t);

/* What one of them had. */
struct tally_part {
	struct tally_key key;
	struct tally_entry entry;
};

/*
 * All that was counted up to now, in a malloc'd array; returns how many. Each CPU changes threads
 * for it once.
 */
size_t tally_read(struct tally *t, struct tally_part **parts);
/* Switches whose counts belong to nobody, because there were too many to be told apart. */
uint64_t tally_lost(const struct tally *t);

#endif
