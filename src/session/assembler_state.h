/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the assembler share: assembler.c makes samples of counts, assembler_places.c
 * finds where frames are, assembler_lang.c those of interpreters, assembler_names.c gives names to
 * them, assembler_fold.c forgets what ended.
 */
#ifndef EBPROF_ASSEMBLER_STATE_H
#define EBPROF_ASSEMBLER_STATE_H

#include "base/hashmap.h"
#include "base/vec.h"
#include "collect/tracing_text.h"
#include "proc/owners.h"
#include "session/assembler.h"
#include "session/frame_word.h"
#include "session/known_processes.h"
#include "session/stacks.h"

/* The code that a process made at run time: one module, whether its names are known or not. */
struct made {
	uint32_t incarnation, module;
	struct namer_runtime *runtime;
	/* the namer's, once there is one; NULL: its program has not told any yet */
	struct symbol_source *names;
	uint64_t looked;		/* when they were last looked for; ns */
	int over;			/* its process is gone, and they are not needed any more */
};

/* A function of an interpreter's language. */
struct lang_function {
	uint32_t module, name;	/* of the profile: module, string */
	uint32_t first_line;
};

struct lang_stack {
	size_t first;		/* in lang_words */
	size_t machine;		/* words of the machine's stack, which go before */
	size_t n;		/* all, with those of a list */
};

/* Processes that are kept apart, though they ended, where it is not asked which is which. */
#define APART_BRIEF 2048

struct assembler {
	struct profile *profile;
	struct images *images;
	struct procs *procs;
	struct namer *namer;
	struct known_processes processes;
	struct owners *owners;		/* NULL: it is not told whose they are */
	struct stacks stacks;		/* results: enum ebp_result */
	/* image id -> module of the profile, PROFILE_NONE: not yet */
	VEC(uint32_t) image_modules;
	VEC(uint32_t) module_images;	/* and back; IMAGE_NONE: not an image */
	VEC(struct made) made;
	struct hashmap made_ids;	/* incarnation -> index */
	/* module of the profile -> index, PROFILE_NONE: made by a compiler */
	VEC(uint32_t) module_made;
	size_t asked;			/* locations whose names were asked for */
	uint32_t kernel_module;
	struct sources *sources;
	struct tracing_text tracing;	/* left out of stacks; empty: nothing is */
	VEC(uint8_t) sample_results;	/* sample of the profile -> enum ebp_result */
	struct langs *langs;		/* NULL: no interpreters are known */
	int native;			/* their own frames are shown, too */
	VEC(struct lang_function) lang_functions;
	struct hashmap lang_function_ids;	/* hash of one -> index */
	VEC(__u64) lang_words;		/* of stacks that rescues refer to */
	VEC(struct lang_stack) lang_stacks;
	struct hashmap lang_stack_ids;	/* id -> index */
	VEC(__u64) words, merged;	/* room for one stack */
	int why;			/* is to be told */
	int folds_brief;		/* assembler_fold_brief() */
	/* processes that ended and were made one with others, and threads of others */
	size_t folded, folded_threads;
	size_t threads_left;		/* in the profile, when it was last looked who lives */
	uint64_t folding;		/* what ended before goes, while processes are folded; ns */
	uint64_t looked;		/* when there was last to be room, ns */
	uint64_t results[EBP_RESULTS];
};

/* While processes are folded (source_host.is_over). */
int assembler_is_over(void *ctx, const struct ebp_process *process);
/* Modules of the profile: the kernel's is made by init, others as their frames come. */
void assembler_places_init(struct assembler *a);
void assembler_places_free(struct assembler *a);
/* The location of a user frame; @incarnation is that of its process where it is none of a file. */
uint32_t assembler_location(struct assembler *a, uint32_t incarnation,
			    const struct frame_word *frame, uint64_t time);
/* That of a frame whose number is of no file: "[unknown]". */
uint32_t assembler_no_place(struct assembler *a, enum frame_kind kind, uint32_t image);
/* The stack of @id with its frames of an interpreter is what a rescue may refer to. */
void assembler_lang_stack(struct assembler *a, const struct ebp_stack *stack);
/*
 * @words, native ones and behind them an interpreter's, as they lie on one another. Returns how
 * many there are in a->merged. @complete: the native ones reach the root.
 */
size_t assembler_merge(struct assembler *a, const __u64 *words, size_t n, int complete);
/*
 * The words that a rescue found, from @stop of the stack @lang_id on, what is below before them,
 * and its words of a list behind them: in a->words, that many.
 */
size_t assembler_join_lang(struct assembler *a, const __u64 *words, size_t n, uint64_t lang_id,
			   uint32_t stop);
/* The location of an interpreter's frame, which has its name. */
uint32_t assembler_lang_location(struct assembler *a, const struct frame_word *frame);
/* source_host.lock */
const char *assembler_lock(void *ctx, uint64_t id);
void assembler_lang_free(struct assembler *a);
/* Names of files and of the kernel that @old knows already are not looked for again. */
void assembler_inherit_names(struct assembler *a, const struct assembler *old);
/* Looks for the names of code that @m's process makes, while it is there. */
void assembler_find_names(struct assembler *a, struct made *m);

#endif
