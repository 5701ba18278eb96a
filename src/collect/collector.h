/* SPDX-License-Identifier: MIT */
/*
 * The kernel side of a recording: loads the BPF programs that its parts need, has them attached,
 * and drains what they counted. What each source of samples does there is its own (sources/).
 *
 * Life: collector_new (opens, configures, loads), collector_start (events run
 * from here on), any number of collector_read and collector_drain,
 * collector_stop, a last collector_drain, collector_free. Nothing is pinned:
 * when this process dies, so does all of it. Not thread safe.
 */
#ifndef EBPROF_COLLECTOR_H
#define EBPROF_COLLECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "bpf/ebprof.h"
#include "collect/loader.h"
#include "collect/stack_options.h"
#include "collect/target_options.h"
#include "collect/unwind_maps.h"

struct bpf_program;
struct collector_options;
struct load_use;
struct successor;
struct ebprof_bpf;	/* ebprof.skel.h */

/*
 * What a source of samples does on the kernel's side, called in this order. Functions that return
 * int give 0, or a negative errno with @e filled; rate, configure, attach and
 * stop are there, the others may be NULL.
 */
struct collector_part_ops {
	size_t ring_bytes;	/* of the ring buffer, at least */
	const struct load_use *uses;	/* of its programs (load_log.h) */
	/* entries that its counts may need each second, with @ncpus CPUs: maps are sized by it */
	uint64_t (*rate)(const void *ctx, size_t ncpus);
	/* Before loading: fixes its rodata, and chooses the programs and maps that it needs. */
	int (*configure)(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
			 struct error *e);
	/* All is loaded. */
	int (*open)(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		    struct error *e);
	/* It counts from here on. The parts are attached in turn, the first one last. */
	int (*attach)(void *ctx, struct ebprof_bpf *skel, struct error *e);
	/* @now (CLOCK_MONOTONIC ns): all parts count. */
	void (*began)(void *ctx, struct ebprof_bpf *skel, uint64_t now);
	/* now and then: CPUs may have come online */
	void (*refresh_cpus)(void *ctx);
	/* CPUs that it counts on; without it those that were online at the start */
	size_t (*cpus)(const void *ctx);
	/*
	 * All three or none. Which programs with frames of languages can succeed others
	 * while it counts (successor.h): how many are in @programs, or 0.
	 */
	size_t (*successors)(const void *ctx, const struct collector_options *o,
			     struct ebprof_bpf *skel,
			     struct bpf_program *programs[LOADER_PROGRAMS]);
	/* Attaches them, loaded as @fds, beside those that they succeed. Where it fails none is. */
	int (*succeed)(void *ctx, struct ebprof_bpf *skel, const int *fds);
	/*
	 * Ends those that were there before where @succeeded, else the others. NULL: they call
	 * their successors.
	 */
	void (*settle)(void *ctx, struct ebprof_bpf *skel, int succeeded);
	/* collector_skipped() */
	uint64_t (*skipped)(const void *ctx);
	/* Nothing after @now counts. */
	void (*stop)(void *ctx, struct ebprof_bpf *skel, uint64_t now);
	/* Frees what the functions above made; also where one of them failed. */
	void (*close)(void *ctx);
};

struct collector_part {
	const struct collector_part_ops *ops;
	void *ctx;
};

#define COLLECTOR_PARTS_MAX 8

struct collector_options {
	struct collector_part parts[COLLECTOR_PARTS_MAX];
	size_t nparts;
	/* As the user gave them; borrowed. */
	const struct target_options *target;
	const struct stack_options *stack;
	/* What @target names, as far as that had to be looked up. */
	const pid_t *targets;		/* processes, or the threads of @target */
	size_t ntargets;		/* 0: all */
	pid_t command;			/* to be sampled from its exec on; 0: none */
	uint64_t cgroup;		/* only this cgroup and what is below; 0: all */
	const char *cgroup_controller;	/* cgroup v1: whose hierarchy; "": v2 */
	pid_t self[EBP_SELF_MAX];	/* left out; 0: nobody */
	/* used by the programs; must outlive the collector */
	const struct unwind_maps *unwind_maps;
	int trial;			/* doctor asks whether all can be loaded */
	/*
	 * Whose frames are taken from the start, where others can be later (successor.h), else
	 * those of all are. Of a part: 0 says that it is to load programs without.
	 */
	uint32_t languages;
};

struct collector;

/* NULL with @e filled. */
struct collector *collector_new(const struct collector_options *o, struct error *e);
void collector_free(struct collector *c);

int collector_start(struct collector *c, struct error *e);
/* Samples process (or thread) @id, too; only where there were targets. 0 or a negative errno. */
int collector_add_target(struct collector *c, pid_t id);
/* Follows CPUs that came online; to be called now and then (it costs one small read). */
void collector_refresh_cpus(struct collector *c);
void collector_stop(struct collector *c);

/* Readable when records wait that should not wait for the next tick. */
int collector_fd(const struct collector *c);

/* What loads the programs with frames of more languages (successor.h); NULL: they take all. */
struct successor *collector_successor(const struct collector *c);

/*
 * Moves what is in the ring buffer to records of ours, oldest first. They stay
 * valid until the next call. Walk them with
 * collector_next(): it gives the record's head or NULL at the end, and starts
 * with *@at = 0. A record of type EBP_DRAIN is not passed on but remembered:
 * see collector_drain_wanted().
 */
void collector_read(struct collector *c);
const struct ebp_head *collector_next(const struct collector *c, size_t *at);
int collector_drain_wanted(const struct collector *c);

/*
 * collector_swap() puts an empty count map in the place of the one in use, and
 * begins to wait until no program uses the old one; nothing, where that is under way
 * already. collector_swap_fd() is readable when that is so, and
 * collector_swapped() then 1, once (0: not yet; -1: it failed; with @wait it
 * is waited for). After it collector_read() gives the frames of all that the old
 * map counted (frames are sent before they are counted), and
 * collector_counts() the counts, in that order. The latter returns 0 or a negative errno.
 */
void collector_swap(struct collector *c);
int collector_swap_fd(const struct collector *c);
int collector_swapped(struct collector *c, int wait);
typedef void collector_count(void *ctx, const struct ebp_key *key, const struct ebp_count *count);
int collector_counts(struct collector *c, collector_count *fn, void *ctx);

/* From now on samples are counted, and their times not sent. */
void collector_end_timeline(struct collector *c);

/* Each stack's frames come anew with its next sample, but for those of programs that run now. */
void collector_resend_stacks(struct collector *c);

/* Sum over all CPUs. Exact after collector_stop(). */
void collector_counters(const struct collector *c, struct ebp_counters *sum);
/* CLOCK_MONOTONIC ns of the first sample kept; 0: none yet. */
uint64_t collector_first_sample(const struct collector *c);
/*
 * Of a tracepoint: hits, of any thread and before any period, that the kernel let pass, for another
 * BPF program ran on that CPU, as far as it tells (Linux 6.7). Of other events 0: a clock's are
 * sampled in spite of that, of the rest it tells nothing.
 */
uint64_t collector_skipped(const struct collector *c);
/* CPUs that are sampled. */
size_t collector_cpus(const struct collector *c);

#endif
