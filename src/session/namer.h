/* SPDX-License-Identifier: MIT */
/*
 * Names, found beside the recording by a thread that alone has the symbolizer: of mapped files,
 * of the kernel, and of code that processes make at run time. While samples are taken it runs only
 * where a CPU has nothing else to do, unless places wait for too long: 0.2 s where somebody looks,
 * else five seconds.
 *
 * The owner asks once for each place and hands places over now and then; answers come back in
 * any order, each place's once. A batch is named in the order of files and
 * offsets, which is what makes it cheap, and one that took long is followed by a
 * pause, so that what is asked for meanwhile is one batch. A place whose name may still change
 * waits: in a file that could not be opened until it is, code made at run time and what is loaded
 * into the kernel until sampling ends; where somebody looks these have the name that they have now,
 * and are asked for again while they have none. All functions are for one thread, the owner's.
 */
#ifndef EBPROF_NAMER_H
#define EBPROF_NAMER_H

#include <stdint.h>

#include "elf/image.h"
#include "symbols/symbolizer.h"

struct namer;
/* One process's code that is made at run time, or interpreted. */
struct namer_runtime;

struct namer_options {
	const struct symbolizer_options *symbols;
	int live;			/* somebody looks at the names while they are found */
	uint64_t pause;			/* ns between two batches, at least */
	const char *proc;		/* a folder like /proc, which NULL stands for */
};

struct namer_place {
	const struct image *image;	/* a mapped file, or */
	struct namer_runtime *runtime;	/* what a process made; both NULL: the kernel */
	/* offset in the file; an address in the kernel, or what the source of @runtime knows */
	uint64_t address;
};

/* What is known of a place. Its texts live as long as the namer. */
struct namer_answer {
	uint32_t id;			/* the asker's */
	/*
	 * frames, or a negative errno: symbolizer_user(), symbolizer_kernel(), symbolizer_jit();
	 * -ENODATA of a runtime without a source
	 */
	int n;
	/* innermost first; they are there while it is given */
	const struct symbol_frame *frames;
	uint64_t start; /* symbolizer_start() of a place in a file, where there are none */
	const char *module;		/* of a place in the kernel that has a name; else "" */
};

/* Must not call the namer. */
typedef void namer_take_answer(void *ctx, const struct namer_answer *answer);

/*
 * The thread starts with the first batch. @o->symbols is borrowed, and belongs to the namer until
 * it is freed.
 */
struct namer *namer_new(const struct namer_options *o);
/* Waits for the look-up that is under way; what was asked for is dropped. Takes NULL. */
void namer_free(struct namer *n);

/* The image must not change any more once its file is open; it and the runtime are borrowed. */
void namer_ask(struct namer *n, uint32_t id, const struct namer_place *place);

/*
 * Images for which @which, by id below @images, is 1 are not asked for any more; all that was asked
 * has been answered. Their files may be closed. 0: the thread is busy, try again later.
 */
int namer_forget(struct namer *n, const unsigned char *which, uint32_t images);

/* symbolizer_limit(), for batches from the next one on. */
void namer_limit(struct namer *n, size_t memory);

/* Lives as long as the namer. */
struct namer_runtime *namer_runtime(struct namer *n);
/* What names its code, once: @source belongs to the namer, and is refreshed before it is asked. */
void namer_runtime_source(struct namer *n, struct namer_runtime *r, struct symbol_source *source);
/*
 * Its process is gone: what was asked for is answered as it is, and then the source is freed, which
 * the owner must not use any more.
 */
void namer_runtime_end(struct namer *n, struct namer_runtime *r);

/*
 * Hands over what was asked for, unless a batch is under way, or was until a moment ago and took
 * long. 1 where it did.
 */
int namer_go(struct namer *n);
/* Gives what has been answered. Does not wait. */
void namer_take(struct namer *n, namer_take_answer *take, void *ctx);
/*
 * Sampling has ended, and the names are waited for: the thread has the owner's priority, and makes
 * no pauses; what is loaded into the kernel counts as it is now. More may be asked for.
 */
void namer_stopped(struct namer *n);
/* The same; hands over, waits and gives until all is answered. */
void namer_finish(struct namer *n, namer_take_answer *take, void *ctx);

/*
 * At the end: symbolizer_kernel_hidden() and symbolizer_save(). What was asked for, and was not
 * answered by then, is dropped.
 */
int namer_kernel_hidden(struct namer *n);
void namer_save(struct namer *n);

#endif
