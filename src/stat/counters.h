/* SPDX-License-Identifier: MIT */
/*
 * Events that are counted, not sampled (perf_event_open(2)): of a process and what it starts, of
 * threads that run, or of CPUs.
 */
#ifndef EBPROF_COUNTERS_H
#define EBPROF_COUNTERS_H

#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "collect/event.h"
#include "stat/sums.h"
#include "stat/tally.h"

struct counters;

/* @events (@n) stay borrowed. None is opened yet. */
struct counters *counters_new(const struct event *events, size_t n);
/*
 * Before they are opened: counts are told apart as @by says, or are those of a cgroup (@cgroup not
 * 0; @controller stays borrowed). At most TALLY_EVENTS events.
 */
void counters_tell_apart(struct counters *c, enum tally_by by, uint64_t cgroup,
			 const char *controller);
/*
 * Before they are opened: the @n events from @first on count only together, and are read together;
 * @first leads them (perf_event_open(2): group_fd). One group at most.
 */
void counters_group(struct counters *c, size_t first, size_t n);
/* Closes all. Takes NULL. */
void counters_free(struct counters *c);

/*
 * Each opens all events, which count from counters_start() on; those of a command from its exec on,
 * and what it starts is counted, too. An event that this machine lacks stays absent. 0, or a
 * negative errno with @e filled.
 */
int counters_of_command(struct counters *c, pid_t pid, struct error *e);
/* All threads that @pid has now, and those that these make. */
int counters_of_process(struct counters *c, pid_t pid, struct error *e);
/* All that the CPUs that are online do. */
int counters_of_machine(struct counters *c, struct error *e);

void counters_start(struct counters *c);
void counters_stop(struct counters *c);
/* 1 where event @i cannot be counted on this machine. */
int counters_absent(const struct counters *c, size_t i);
/* 1 where this user may count only what happens in user code. */
int counters_user_only(const struct counters *c);
/* What follows is what was counted up to now. */
void counters_look(struct counters *c);
/* What was counted of event @i from its start to the last counters_look(). */
struct counted counters_read(const struct counters *c, size_t i);

/* What is told apart, as of the last counters_look(): how many, whose, and event @i of one. */
size_t counters_parts(const struct counters *c);
const struct tally_part *counters_part(const struct counters *c, size_t part);
struct counted counters_part_read(const struct counters *c, size_t part, size_t i);
/* 1 where there were more of them than can be told apart. */
int counters_lost(const struct counters *c);

#endif
