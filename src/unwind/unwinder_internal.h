/* SPDX-License-Identifier: MIT */
/* Shared by the parts of the unwinder; not for others. */
#ifndef EBPROF_UNWINDER_INTERNAL_H
#define EBPROF_UNWINDER_INTERNAL_H

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/vec.h"
#include "unwind/sections.h"
#include "unwind/shards/store.h"
#include "unwind/table/builder.h"
#include "unwind/unwinder.h"

#define UNWIND_NO_FILE	HASHMAP_NONE
/* In place of a file's descriptor: no image is that file now, but one may be again. */
#define UNWIND_FD_NONE	(-2)
#define UNWIND_FD_UNUSED (-3)	/* the place is nothing */

enum unwind_file_state {
	UNWIND_FILE_NONE,	/* no table: new, evicted, or no room was found for it */
	UNWIND_FILE_QUEUED,	/* for building, or being built */
	UNWIND_FILE_PARKED,	/* built; it waits for the epochs that free the memory for it */
	UNWIND_FILE_READY,	/* published; an empty table where it could not be built */
};

/* What an object is made of: a file, whatever number of images name it. */
struct unwind_file {
	enum unwind_file_state state;
	uint32_t object;	/* in the store; 0: none. Once there, it stays while rows name it */
	uint32_t users;		/* rows that name it */
	int fd;			/* an image's, or UNWIND_FD_* */
	uint64_t size;
	uint32_t owner;		/* user id */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_size;	/* 0: none, so no other image can be known to be the same */
	uint64_t asked;		/* when it was last asked for, in ticks */
	uint64_t not_before;	/* epoch of the next try to build it */
	uint32_t setbacks;	/* how often it was evicted or refused */
	uint32_t parked_tries;
	uint64_t rows;		/* of its table */
	struct unwind_table parked;
};

/* Rows in the store, of one process or of several that were forked. */
struct unwind_set {
	uint32_t ref, n;
	uint32_t users;		/* processes; 0: this place is unused */
};

struct unwind_process {
	uint64_t start;
	uint32_t set;		/* its place in @sets */
	uint32_t flags;		/* EBP_SPACE_* */
	uint32_t lang, machine;	/* as in struct ebp_space */
	uint64_t lang_bias, machine_bias;
};

/* bytes: a question for them costs less than two for a page each */
#define UNWIND_LATER	32768u

struct unwinder {
	struct images *images;
	struct unwinder_kernel kernel;
	struct unwinder_options options;
	struct unwind_store *store;
	struct unwind_builder *builder;
	size_t limit;				/* of the store, bytes */
	uint64_t tick, epoch;
	VEC(struct unwind_file) files;
	VEC(uint32_t) unused_files;		/* places of it that are nothing */
	VEC(uint32_t) file_of_image;		/* by image id; UNWIND_NO_FILE: none yet */
	struct interned by_identity;		/* of the files that have a build id */
	struct hashmap by_object;		/* ref -> file */
	size_t pending;				/* files that are queued or being built */
	VEC(uint32_t) parked;			/* files */
	VEC(struct unwind_set) sets;
	VEC(uint32_t) unused_sets;
	VEC(struct unwind_process) processes;
	VEC(uint32_t) unused_processes;
	struct hashmap by_pid;
	/* for rescues; NULL before the first that needs it */
	struct unwind_sections *sections;
	void *vdso;				/* a copy, the same */
	size_t vdso_size;
	char later[UNWIND_LATER];		/* what a rescue reads of its process */
	/* what only grows, and the sums of what is published */
	struct unwinder_stats stats;
};

/* --- files.c --- */

/*
 * The file of @image, its table asked for where it has none; UNWIND_NO_FILE where there is nothing
 * to build from.
 */
uint32_t unwind_file_get(struct unwinder *u, uint32_t image);
/* Its object in the store, made where there is none. 0 with errno. */
uint32_t unwind_file_object(struct unwinder *u, uint32_t file);
/* One that was built: publishes it, or parks it. 1: published. */
int unwind_file_built(struct unwinder *u, struct unwind_built *built);
/*
 * An epoch has passed: tries the parked ones again, and keeps some memory free. How many were
 * published.
 */
size_t unwind_files_epoch(struct unwinder *u);
/* As unwinder_retire(). */
void unwind_files_retire(struct unwinder *u, const unsigned char *which);
void unwind_files_free(struct unwinder *u);
/*
 * There is no room: evicts what has to go for @bytes, which are free after the
 * next two epochs; @mapped: also what processes map. 0: even that does not suffice.
 */
int unwind_files_evict(struct unwinder *u, size_t bytes, int mapped);

/* --- unwinder.c --- */

/*
 * The rows of @list, in a malloc'd array *@out. Their files are counted as used
 * until unwinder_unpin(). Returns how many, or a negative errno.
 */
long unwinder_rows(struct unwinder *u, const struct unwind_mapping *list, size_t n,
		   struct ebp_mapping **out);
void unwinder_unpin(struct unwinder *u, const struct ebp_mapping *rows, size_t n);

#endif
