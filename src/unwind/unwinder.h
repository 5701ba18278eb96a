/* SPDX-License-Identifier: MIT */
/*
 * Keeps the kernel's unwind tables true: builds the tables of images, in
 * parallel threads, and publishes the mappings of processes.
 *
 * Owned and called by one thread; only building happens in others. Tables are
 * shared by all processes that map an image, counted, and, where the memory
 * limit bites, those that no living process maps go first, then those asked
 * for longest ago. What is asked for most (unwinder_want) is built first.
 */
#ifndef EBPROF_UNWINDER_H
#define EBPROF_UNWINDER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "elf/image.h"
#include "unwind/above.h"
#include "unwind/rows.h"
#include "unwind/step/step.h"

/* What the kernel side offers; all called by the owner's thread. 0 or a negative errno. */
struct unwinder_kernel {
	uint8_t *(*grow)(void *ctx, uint32_t index);				/* as unwind_grow */
	/* insert or replace */
	int (*publish)(void *ctx, pid_t pid, const struct ebp_space *space);
	void (*withdraw)(void *ctx, pid_t pid);
	void *ctx;
};

struct unwinder_options {
	size_t memory;		/* bytes for tables, at most */
	/* while there are more, those that no living process maps go; 0: as @memory */
	size_t memory_unmapped;
	unsigned threads;	/* that build; 0: as many as there are CPUs, at most 8 */
	/*
	 * Reads memory of @pid as it is by now, for rescues; how many bytes, from the first on.
	 * NULL: there is no way to.
	 */
	size_t (*read_memory)(void *ctx, pid_t pid, uint64_t address, void *dst, size_t size);
	void *ctx;
};

struct unwinder;

/* @images is borrowed. NULL with errno. */
struct unwinder *unwinder_new(struct images *images, const struct unwinder_kernel *k,
			      const struct unwinder_options *o);
void unwinder_free(struct unwinder *u);

/*
 * The mappings of @pid are now these, whatever they were: sorted or not, an
 * overlap goes to the later in the list. Its images without tables are queued for
 * building. @start: struct ebp_space. 0 or a negative errno (-ENOSPC: the limit;
 * the process then has no tables and its samples say so).
 */
int unwinder_process(struct unwinder *u, pid_t pid, uint64_t start,
		     const struct unwind_mapping *list, size_t n);
/*
 * @child was forked with the mappings of @parent, which the kernel has copied already. @start: the
 * child's, or 0.
 */
void unwinder_fork(struct unwinder *u, pid_t child, pid_t parent, uint64_t start);
void unwinder_exit(struct unwinder *u, pid_t pid);
/* Whether EBP_RESCUE records come from this process; they do again when its mappings change. */
void unwinder_set_rescue(struct unwinder *u, pid_t pid, int on);

/* Sets @images, by id, to 1 for those that rows name, or whose files are being read. */
void unwinder_mark_images(const struct unwinder *u, unsigned char *images);
/*
 * Before images_retire(): the files of those for which @which, by id, is 1 are not read any more.
 * Their tables stay for others that have the same build id.
 */
void unwinder_retire(struct unwinder *u, const unsigned char *which);

/* One more sample waits for the table of this image. */
void unwinder_want(struct unwinder *u, uint32_t image);
/* Readable when a table has been built. */
int unwinder_fd(const struct unwinder *u);
/* Gives back what rescues have read of files, which the next ones read again. Takes NULL. */
void unwinder_rest(struct unwinder *u);
/* Publishes what has been built. Returns how many. */
size_t unwinder_collect(struct unwinder *u);
/*
 * Waits up to @ns until nothing is queued or being built, publishing as it goes. 1: nothing is
 * left.
 */
int unwinder_wait(struct unwinder *u, uint64_t ns);
/* As unwind_store_epoch(). */
void unwinder_epoch(struct unwinder *u);

/*
 * Finishes a sample, from its @stop on where it has one: then @out lacks the frames below, which
 * count for @max. @list: the process's mappings when it was taken. @above: what lies above the
 * stack; NULL: that is read from the process, as it is now. @jump: of its interpreter; NULL: none.
 * Where a rule is unsupported, or needs a register that only a leaf has, the whole CFI is applied
 * from the leaf on. -EAGAIN: an image's table is queued or being built: try again after
 * unwinder_collect(); else 0.
 */
int unwinder_rescue(struct unwinder *u, const struct ebp_rescue *sample,
		    const struct unwind_above *above, const struct unwind_mapping *list, size_t n,
		    const struct ebp_jump *jump, uint32_t max, struct unwind_result *out);

struct unwinder_stats {
	size_t memory;		/* bytes of all shards */
	uint64_t rows, tables;	/* published now */
	/* tables built; taken away for space; that found no space */
	uint64_t built, evicted, refused;
	uint64_t build_ns;	/* sum over all threads */
};
void unwinder_stats(const struct unwinder *u, struct unwinder_stats *out);

#endif
