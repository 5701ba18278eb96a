/* SPDX-License-Identifier: MIT */
/*
 * Where the probes of `ebprof alloc` go, and the programs on them.
 *
 * Either each probe is a perf event that was opened before (uprobe.h), and stays until the end. Or, since
 * Linux 6.6, all places of a file are set by a few links, which are quickly made and undone while
 * the recording runs: those of a process's *ends* (free, and realloc, which may end a block)
 * apart from those of all other *calls*.
 */
#ifndef EBPROF_ALLOC_LINKS_H
#define EBPROF_ALLOC_LINKS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bpf/ebprof.h"

/* A function of an allocator that a process has mapped. */
struct alloc_place {
	enum alloc_probe_kind kind;	/* not PROBE_RETURNED: all but free() return something */
	int file;			/* open */
	uint64_t offset;		/* in it */
	pid_t pid;
	int stepped;			/* its first instruction is slow to trap on: it is run out of line */
};

struct alloc_probes {
	/* Uprobes that are set, in the order in which programs are to be put on them; collector_start() takes them over. */
	struct alloc_probe { enum alloc_probe_kind kind; int fd; } *v;
	size_t n;
	/* All places; where @by_link they have no uprobes in @v. */
	struct alloc_place *places;
	size_t nplaces;
	int *files;			/* to be closed */
	size_t nfiles;
	int by_link;
	uint64_t interval;		/* bytes a sample, 0: every block; but of our library, which knows it itself */
};

/* A set of these. */
enum alloc_group { ALLOC_CALLS = 1, ALLOC_ENDS = 2 };

struct alloc_links;

/* Nothing is attached yet. @p is borrowed; @call and @returned are programs (descriptors) for uprobe_link(). */
struct alloc_links *alloc_links_new(const struct alloc_probes *p, int call, int returned);
/* Detaches all. */
void alloc_links_free(struct alloc_links *l);

/* Sets the probes of @groups in all processes where they are not set. 0 or a negative errno; a process that is gone is none. */
int alloc_links_attach(struct alloc_links *l, unsigned int groups);
/* Takes them away; traps end when this returns. */
void alloc_links_detach(struct alloc_links *l, unsigned int groups);
/* @pid was forked by @parent: it has the same places, and the groups that are attached now. 0 or a negative errno. */
int alloc_links_fork(struct alloc_links *l, pid_t pid, pid_t parent);
/* @pid has exited. */
void alloc_links_exit(struct alloc_links *l, pid_t pid);

#endif
