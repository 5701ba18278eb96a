/* SPDX-License-Identifier: MIT */
/*
 * The uprobes of `ebprof alloc`: two in our preloaded library, or on each function of the
 * allocators that a running process has mapped.
 *
 * An allocator is a file with a function malloc() that is mapped executable: libc, or what was put
 * before it, or the program itself. C++'s operators are taken of such files only: those of
 * libstdc++ call malloc(). Files are opened by /proc/PID/map_files, so they may be deleted, or in a
 * container. Needs CAP_SYS_ADMIN.
 */
#ifndef EBPROF_ALLOC_PROBES_H
#define EBPROF_ALLOC_PROBES_H

#include "alloc/alloc_library.h"
#include "alloc/alloc_links.h"
#include "base/error.h"
#include "bpf/ebprof.h"

/* All add to @p, which begins as zeros. 0, or a negative errno with @e filled. */
int alloc_probes_library(struct alloc_probes *p, const struct alloc_library *l, struct error *e);
/*
 * The places in @pid; nothing is set on them yet. Without @other it is an error that there are
 * none.
 */
int alloc_probes_process(struct alloc_probes *p, pid_t pid, int other, struct error *e);

#define ALLOC_PREFIX_MAX 128

/* An allocator that is told: functions of C whose names begin with a prefix. */
struct alloc_named {
	char path[PATH_MAX], prefix[ALLOC_PREFIX_MAX];
	/* of malloc() and its like: what it has not, for people; "": nothing */
	char missing[8 * ALLOC_PREFIX_MAX];
};

/* "PATH:PREFIX". */
int alloc_named_parse(struct alloc_named *named, const char *text, struct error *e);
/*
 * The places of @named in @pid; fills named.missing. An error where that has none of the functions
 * that give blocks.
 */
int alloc_probes_named(struct alloc_probes *p, pid_t pid, struct alloc_named *named,
		       struct error *e);
/* Sets uprobes on all places, where that is not done by links. */
int alloc_probes_open(struct alloc_probes *p, struct error *e);
/* Closes the uprobes and the files. */
void alloc_probes_free(struct alloc_probes *p);

#endif
