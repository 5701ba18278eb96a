/* SPDX-License-Identifier: MIT */
/*
 * One perf event a CPU, or two that are one to the user, with a BPF program on them.
 */
#ifndef EBPROF_PERF_EVENTS_H
#define EBPROF_PERF_EVENTS_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "collect/event.h"

/* perf_event_open(2), close on exec. The fd or a negative errno. */
int perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu);
/* The same, into the group that the event @lead leads; -1: into none. */
int perf_event_open_in(struct perf_event_attr *attr, pid_t pid, int cpu, int lead);
/*
 * The same with a config3 (Linux 6.3), which the structure may not have here; -EOPNOTSUPP where the
 * kernel does not know it.
 */
int perf_event_open_wide(struct perf_event_attr *attr, uint64_t config3, pid_t pid, int cpu,
			 int lead);

/*
 * 1 where this machine does not offer @ev. Without the rights to ask it may have it: 0. Events of
 * PMUs are tried as they are counted; many cannot be sampled.
 */
int perf_event_absent(const struct event *ev);

/*
 * CPUs that are online now, ascending, in a malloc'd array. Those of @only, ascending too,
 * (@nonly of them) where it is not NULL.
 */
int perf_online_cpus(const int *only, size_t nonly, int **cpus, size_t *n);

struct perf_events;

/*
 * @attr is copied; @also: the config of the second event, 0: none; @cpus as for perf_online_cpus;
 * @prog_fd is borrowed; -1: none.
 */
struct perf_events *perf_events_new(const struct perf_event_attr *attr, uint64_t also,
				    const int *cpus, size_t ncpus, int prog_fd);
void perf_events_free(struct perf_events *p);
/* Before the first event is opened: it is @ev, on the CPUs on which its PMU counts. */
void perf_events_set_pmu(struct perf_events *p, const struct event *ev);
/*
 * Before the first event is opened: the program can ask which one called it (Linux 5.15). Not with
 * a second event.
 */
void perf_events_set_cookie(struct perf_events *p, uint64_t cookie);
/*
 * Before the first event is opened: each is put into @map (a BPF_MAP_TYPE_PERF_EVENT_ARRAY) at
 * @first + its CPU. @map is borrowed.
 */
void perf_events_set_map(struct perf_events *p, int map, uint32_t first);
/*
 * Whether the event can be had on a CPU that is online: 0 or a negative errno. What its sample_type
 * asks for is left out where the kernel is too old for it.
 */
int perf_events_try(struct perf_events *p);
/*
 * Opens events on the CPUs that are online and have none, and closes those of
 * CPUs that went away. CPUs are started one after the other, spread over at
 * most @spread_ns, so that they do not all sample at the same instant. A CPU
 * that goes offline meanwhile is no error. 0, or a negative errno: of the
 * first CPU that failed.
 */
int perf_events_refresh(struct perf_events *p, unsigned long spread_ns);
/*
 * Another sample_freq from now on: events are opened anew, which takes half the time between two
 * samples from each CPU. As perf_events_refresh(), which may make up for what failed.
 */
int perf_events_set_frequency(struct perf_events *p, uint64_t frequency, unsigned long spread_ns);
/*
 * Opens events with @prog_fd beside those that are there, as perf_events_refresh(); where that
 * fails, nothing has changed. perf_events_settle() is to follow: it closes the old ones where
 * @succeeded, else the new ones.
 */
int perf_events_succeed(struct perf_events *p, int prog_fd, unsigned long spread_ns);
void perf_events_settle(struct perf_events *p, int succeeded);
/* Closes all events; programs that run at this moment may still end later. */
void perf_events_stop(struct perf_events *p);
/* CPUs that have their events. */
size_t perf_events_count(const struct perf_events *p);

#endif
