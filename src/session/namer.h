/* SPDX-License-Identifier: MIT */
/*
 * Names, found beside the recording by a thread of usual priority, which alone has the symbolizer.
 *
 * The owner asks for places and hands them over now and then; answers come back in
 * any order, each place's once. A batch is named in the order of files and
 * offsets, which is what makes it cheap, and one that took long is followed by a
 * pause, so that what is asked for meanwhile is one batch. All functions are for
 * one thread, the owner's.
 */
#ifndef EBPROF_NAMER_H
#define EBPROF_NAMER_H

#include <stdint.h>

#include "elf/image.h"
#include "symbols/symbolizer.h"

struct namer;

/* What is known of a place. Its texts live as long as the namer. */
struct namer_answer {
	uint32_t id;			/* the asker's */
	/* frames, or a negative errno: symbolizer_user(), symbolizer_kernel() */
	int n;
	/* innermost first; they are there while it is given */
	const struct symbol_frame *frames;
	uint64_t start; /* symbolizer_start() of a place in a file, where there are none */
	const char *module;		/* of a place in the kernel that has a name; else "" */
	int reread;			/* after namer_reread_kernel() */
};

typedef void namer_take_answer(void *ctx, const struct namer_answer *answer);

/*
 * The thread starts with the first batch. @o is borrowed, and belongs to the namer until it is
 * freed.
 */
struct namer *namer_new(const struct symbolizer_options *o);
/* Waits for the look-up that is under way; what was asked for is dropped. Takes NULL. */
void namer_free(struct namer *n);

/*
 * Asks for the names at offset @address of @image, or of the kernel's @address
 * where that is NULL. The image must not change any more: its file is open, or
 * nobody looks at mappings of it again.
 */
void namer_ask(struct namer *n, uint32_t id, const struct image *image, uint64_t address);
/*
 * From here on, what is loaded into the kernel counts as it is now: it is read again before the
 * next batch.
 */
void namer_reread_kernel(struct namer *n);
/*
 * Hands over what was asked for, unless a batch is under way, or was until a moment ago and took
 * long.
 */
void namer_go(struct namer *n);
/* Gives what has been answered. Does not wait. */
void namer_take(struct namer *n, namer_take_answer *take, void *ctx);
/*
 * From here on the names are waited for: the thread has the owner's priority, and makes no pauses.
 */
void namer_urge(struct namer *n);
/* Urges, hands over, waits and gives until all is answered. */
void namer_finish(struct namer *n, namer_take_answer *take, void *ctx);

/*
 * At the end: symbolizer_kernel_hidden() and symbolizer_save(). What was asked for, and was not
 * answered by then, is dropped.
 */
int namer_kernel_hidden(struct namer *n);
void namer_save(struct namer *n);

#endif
