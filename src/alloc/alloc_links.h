/* SPDX-License-Identifier: MIT */
/*
 * Where the probes of `ebprof alloc` go, and the programs on them.
 *
 * Either each probe is a perf event that was opened before (uprobe.h), and stays until the end. Or,
 * since Linux 6.6, all places of a file are set by a few links, which are quickly made and undone
 * while the recording runs: those of a process's *ends* (free, and realloc, which may end a block)
 * apart from those of all other *calls*; where no ends are wanted realloc is one of these.
 */
#ifndef EBPROF_ALLOC_LINKS_H
#define EBPROF_ALLOC_LINKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/ebprof.h"
#include "slices/thread_list.h"

/* A function of an allocator that a process has mapped. */
struct alloc_place {
	enum alloc_probe_kind kind;	/* not PROBE_RETURNED: all but free() return something */
	int file;			/* open */
	uint64_t offset;		/* in it */
	pid_t pid;
	/* its first instruction is slow to trap on: it is run out of line */
	int stepped;
};

struct alloc_probes {
	/* Uprobes that are set, in the order in which programs are to be put on them. */
	struct alloc_probe { enum alloc_probe_kind kind; int fd; } *v;
	size_t n;
	/* All places; where @by_link they have no uprobes in @v. */
	struct alloc_place *places;
	size_t nplaces;
	int *files;			/* to be closed */
	size_t nfiles;
	/*
	 * C++'s operators that take their blocks from malloc() of another file: callers of it, but
	 * not who wants a block.
	 */
	struct alloc_operator {
		char *path;		/* of the file, as struct image has it */
		uint64_t offset, size;	/* in it, bytes */
	} *operators;
	size_t noperators;
	int by_link;
	/* by links: calls are not sampled at first; frees are not seen */
	int paused, endless;
	/* bytes a sample, 0: every block; but of our library, which knows it itself */
	uint64_t interval;
};

/* Closes the uprobes: until then they trap. */
void alloc_probes_close(struct alloc_probes *p);

#define ALLOC_PLACES_MAX 64	/* of a file and a process; an allocator has some 30 functions */

/*
 * A set of these: what gives blocks, but for realloc(); free() and realloc(); both of them but for
 * free().
 */
enum alloc_group { ALLOC_CALLS = 1, ALLOC_ENDS = 2, ALLOC_ALL_CALLS = 4 };

struct alloc_links;

/* What the programs look at (bpf/sources/allocations_any.bpf.h). */
struct alloc_switches { uint32_t *paused, *endless, *window; };

/*
 * Nothing is set yet. NULL with errno. @p is borrowed; the rest are programs (descriptors): @call
 * and @returned for uprobe_link(), @list for thread_list_read(), where calls are not sampled at
 * first.
 */
struct alloc_links *alloc_links_new(const struct alloc_probes *p, int call, int returned, int list,
				    const struct alloc_switches *on);
void alloc_links_free(struct alloc_links *l);

/*
 * Sets probes, as alloc_probes.paused and .endless say. 0 or a negative errno; that a process is
 * gone is none. So all below.
 */
int alloc_links_begin(struct alloc_links *l);
/* Takes all away; traps end when this returns. */
void alloc_links_end(struct alloc_links *l);
/* Those of calls are set, and calls sampled; or taken away, and no call is sampled any more. */
int alloc_links_resume(struct alloc_links *l);
void alloc_links_pause(struct alloc_links *l);
/* All threads of the targets. 0 or a negative errno: then some may be missing. */
int alloc_links_threads(const struct alloc_links *l, thread_list_entry *fn, void *ctx);
/* Pauses, and takes those of ends away for good. */
void alloc_links_give_up_ends(struct alloc_links *l);
/*
 * @pid was forked by @parent: it has the same places, with the probes that are set now, also when
 * it executes another program that maps the same files. Both take NULL: there are no links.
 */
void alloc_links_fork(struct alloc_links *l, pid_t pid, pid_t parent);
/* @pid has exited. */
void alloc_links_exit(struct alloc_links *l, pid_t pid);

#endif
