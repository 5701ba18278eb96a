/* SPDX-License-Identifier: MIT */
/*
 * Probes: any number of events, each of whose hits is a sample, or one of n. Functions and static
 * probes of programs, functions of the kernel, tracepoints; and counters and clocks beside the one
 * that the source of samples takes.
 *
 * An event is what the user named; a place is where it is set: a pattern has many.
 */
#ifndef EBPROF_SOURCES_PROBES_H
#define EBPROF_SOURCES_PROBES_H

#include "collect/perf_events.h"
#include "probes/files.h"
#include "probes/filter.h"
#include "probes/spec.h"
#include "slices/slices.h"
#include "sources/early.h"
#include "sources/source.h"

struct source_options;
struct bpf_link;

struct probes_options {
	string_vec events;	/* as the user wrote them; borrowed */
	string_vec filters;	/* of each of them; NULL: none */
	const char *weight;	/* FIELD[:UNIT]; NULL: none */
	const char *by;		/* FIELD; NULL: none */
	/* functions whose calls are timed, or where a time starts, and where that ends; borrowed */
	string_vec latency;
	string_vec ends;	/* of each of them; NULL: it is a function's */
	uint64_t slower;	/* ns: the stacks of such calls alone; 0: of all */
	uint64_t period;	/* hits a sample */
	uint64_t frequency;	/* Hz a CPU, of counters; 0: @period */
	/*
	 * % of a CPU that stacks may take, and of the time of threads that the traps of uprobes
	 * may, or OVERHEAD_NONE; 0: the default, which is of stacks alone
	 */
	double max_overhead;
};

/* @o is borrowed. */
struct source *probes_new(const struct probes_options *o);

/* Of its ops. */
int probes_check(struct source_options *o, struct stack_options *stack, struct error *e);
int probes_choose(struct source_options *o, struct source **s, struct error *e);
/* Finds the places, and opens what needs more rights than there are later. */
int probes_prepare(struct source *s, const struct source_setup *setup, struct error *e);

extern const struct source_ops probes_ops;

/* Below: for the halves of this source. */
enum probes_role {
	PROBES_HIT,		/* each is a sample */
	PROBES_CALL,		/* times start: at calls of a function whose return is the next */
	PROBES_START,		/* ... until the next one is hit */
	PROBES_END,
};

struct probes_event {
	const char *text;		/* as the user wrote it; borrowed */
	char name[256];			/* the same, to be shown */
	enum probes_role role;
	enum ebp_probe_kind kind;
	int at_return;
	int many;			/* a pattern of tracepoints: each is told apart */
	const char *filter;		/* NULL: none */
	int weighted;			/* hits of some of its places are worth something */
	/* of the profile: hits, and what they are worth; of calls their time, of which */
	uint32_t type, value;
	uint32_t own, waiting;		/* was on the CPU, and not */
	int timed;			/* the times of its calls are in the profile */
	int sliced;			/* it is seen in slices of the time */
	struct event counter;		/* where it is one */
	uint64_t unsampled;		/* hits after the last sample that stands for them */
};

struct probes_place {
	uint32_t event;
	int file;			/* of a program's code; borrowed; -1: of none */
	uint64_t offset, semaphore;	/* in it */
	char *label;			/* which of many it is; NULL: its event tells */
	uint16_t price;			/* ns of a trap, where slices bound them */
	struct ebp_place values;	/* for the kernel: its filter, and what hits are worth */
	int fd;				/* of its event; -1: it is set by a link later */
	int link;			/* -1: none */
	struct perf_events *counter;	/* on each CPU; NULL: it is no counter */
};

/* A link for @n places of an event in one file. */
struct probes_link {
	size_t first, n;
	int program;			/* a descriptor */
	int fd;				/* -1: it is not set */
};

/* A count that waits until it is known how often it counts. */
struct probes_held {
	struct ebp_key key;
	struct source_count count;	/* but for its key */
};

/* Probes of programs that are set for a part of the time (probes_slices.h). */
struct probes_slices {
	int on;
	struct slices plan;
	struct slicer *slicer;		/* from started() on */
	struct crew *crew;
	/* what the programs look at (bpf/sources/probe_slices.bpf.h) */
	struct probes_switches { uint32_t *paused, *window, *resumed; } on_kernel;
	int list, exits, times;		/* links of programs; the map of times of calls; or -1 */
	struct ebp_counters counters;	/* when the slicer last asked */
	VEC(struct probes_held) held;
	double carried;			/* what was rounded off of counts */
	/*
	 * Calls by their times, of each event: when the window began, in the one that was @closed
	 * last (0: none that is not scaled yet), and what those of all windows stand for beside
	 * themselves.
	 */
	uint64_t *before, *seen;
	double *more;
	uint32_t closed;
};

struct probes {
	struct source source;
	const struct probes_options *o;
	VEC(struct probes_event) events;
	VEC(struct probes_place) places;
	probe_file_vec files;
	pid_t only;			/* the one process that is probed; 0: all */
	int multi;			/* one link for all places of a file (6.6) */
	int cookies;			/* which place was hit is known (5.15) */
	VEC(struct probes_link) links;	/* of those */
	struct probes_slices slices;
	struct early early;
	struct bpf_link *switches;	/* what calls wait is measured; NULL: it is not */
	filter_tests tests;
	char field[64], unit[32];	/* of the weight; "": none */
	double bound;			/* % of a CPU for stacks; 0: none */
	struct target_options const *target;
};

/* 1 where only the time is taken, from which the next event's is measured. */
static inline int probes_starts(const struct probes_event *ev)
{
	return ev->role == PROBES_CALL || ev->role == PROBES_START;
}

extern const struct collector_part_ops probes_kernel;
extern const struct feature probes_feature;

#endif
