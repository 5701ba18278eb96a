/* SPDX-License-Identifier: MIT */
/*
 * Who was this process at that moment: the history of processes and their
 * executable mappings, over fork, exec, mmap and exit.
 *
 * An *incarnation* is one program in one process: exec starts a new one, and
 * so does a PID that is used again. Side-band events are fed in the order of
 * time; a process that was there before them is read from /proc/PID/maps when
 * it is first asked for. Times are CLOCK_MONOTONIC nanoseconds. Mappings of
 * processes that have exited are forgotten by procs_forget(), their names by procs_release().
 * Not thread safe.
 */
#ifndef EBPROF_PROCS_H
#define EBPROF_PROCS_H

#include <stdint.h>
#include <sys/types.h>

#include "elf/image.h"
#include "proc/mappings.h"
#include "proc/remote.h"

struct procs;

/* Both are borrowed and must live as long as the result. @remote: NULL: no memory is read. */
struct procs *procs_new(struct images *images, struct remote *remote);
void procs_free(struct procs *p);

/* --- The side band (perf_event_open(2)). ---------------------------------- */
/* a new process, not a thread */
void procs_fork(struct procs *p, uint64_t time, pid_t pid, pid_t parent);
/* COMM with PERF_RECORD_MISC_COMM_EXEC */
void procs_exec(struct procs *p, uint64_t time, pid_t pid, const char *comm);
/* the leader renamed itself */
void procs_comm(struct procs *p, uint64_t time, pid_t pid, const char *comm);
void procs_mmap(struct procs *p, uint64_t time, pid_t pid, const struct image_key *key,
		uint64_t offset);
/*
 * The leader's exit. Newer kernels (6.18, not 6.1) tell of one at each exec, too, of tasks that
 * have events of their own: right after the exec, before anything is mapped. That is no end, and 0;
 * else 1.
 */
int procs_exit(struct procs *p, uint64_t time, pid_t pid);
/* Whether any of that PID is known, so that its exit is not looked up in /proc. */
int procs_knows(const struct procs *p, pid_t pid);
/* Events were lost: what is known of living processes is read again when next asked for. */
void procs_events_lost(struct procs *p);

/* --- Questions. ----------------------------------------------------------- */
/*
 * The incarnation of @pid at @time, as a small number that stays valid until
 * procs_release(). Unknown ones are read from /proc (or taken from the parent they were
 * forked from); it always returns one, at worst without mappings.
 *
 * The boundary between two programs is the exec event, exactly: before it the
 * CPU ran in the old program or in its execve(). A time up to 1 ms before the
 * first event of a PID belongs to what begins there, since clocks of two CPUs
 * may differ; one after an exit belongs to the exited process until its PID is
 * used again (threads outlive their leader, and exit itself takes time).
 */
uint32_t procs_at(struct procs *p, pid_t pid, uint64_t time);

struct proc_info {
	pid_t pid;
	pid_t parent;		/* the process that started it, as far as known; 0: not known */
	const char *comm;	/* cleaned; "?" where never seen */
	int exited;		/* 1: it has exited, or is another program now */
	int forgotten;		/* 1: and procs_forget() has freed its mappings */
};
struct proc_info procs_info(const struct procs *p, uint32_t incarnation);

/* Where an address lay: in an image's file, or nowhere known. */
struct proc_place {
	/* IMAGE_NONE: no mapping of a file; then @offset is the address itself */
	uint32_t image;
	uint64_t offset;	/* in the image's file, bytes */
};
/*
 * What @address of @incarnation was at @time. Where no mapping covers it the
 * maps of a living process are read again, at most 10 times a second each.
 */
struct proc_place procs_locate(struct procs *p, uint32_t incarnation, uint64_t address,
			       uint64_t time);

/*
 * For whoever keeps the mappings of living processes elsewhere, too: the PID of
 * a process whose mappings changed since it was last given, or 0. (A fork is no
 * change; an exec is.)
 */
pid_t procs_next_changed(struct procs *p);
/* How many mappings are kept of @incarnation, older ones among them. */
size_t procs_mappings(const struct procs *p, uint32_t incarnation);
/* mappings_each() of what @pid, or @incarnation, holds at @time. */
void procs_each_mapping_of(struct procs *p, pid_t pid, uint64_t time,
			   void (*fn)(void *ctx, const struct mapping *m), void *ctx);
void procs_each_mapping(struct procs *p, uint32_t incarnation, uint64_t time,
			void (*fn)(void *ctx, const struct mapping *m), void *ctx);

/* Sets @images, by id, to 1 for those of which a mapping is known that is not forgotten. */
void procs_mark_images(const struct procs *p, unsigned char *images);

/* Frees the mappings of what exited before @time; nobody may ask for them again. */
void procs_forget(struct procs *p, uint64_t time);
/* How many incarnations there may be: all are less. */
uint32_t procs_count(const struct procs *p);
/*
 * Of what is forgotten the incarnations, too: they are used again. But not where @kept, by
 * incarnation, is 1.
 */
void procs_release(struct procs *p, const unsigned char *kept);

#endif
