/* SPDX-License-Identifier: MIT */
/*
 * From what the kernel counted to a profile.
 *
 * Stack ids come with their frames once; the frames are turned into locations
 * (image and offset) as soon as they arrive, while their process is known.
 * Counts then are samples of the stack tree. Names are asked for
 * meanwhile, one look-up for each distinct location. All arguments of assembler_new() are borrowed.
 */
#ifndef EBPROF_ASSEMBLER_H
#define EBPROF_ASSEMBLER_H

#include "bpf/ebprof.h"
#include "elf/image.h"
#include "proc/procs.h"
#include "profile/profile.h"
#include "session/namer.h"
#include "sources/sources.h"
#include "unwind/step/step.h"

struct langs;
struct owners;

struct assembler;

/*
 * @namer: asked for names, by nobody else. @why: what has no name tells why in the place of its
 * name.
 */
struct assembler *assembler_new(struct profile *profile, struct images *images, struct procs *procs,
				struct namer *namer, struct sources *sources, int why);
void assembler_free(struct assembler *a);
/*
 * Sets @images, by id below @n, to 0 for those in which a location of the profile has no name yet.
 */
void assembler_needs(const struct assembler *a, unsigned char *images, uint32_t n);
/* Sets it to 0 for all of which the profile has a module. */
void assembler_knows_images(const struct assembler *a, unsigned char *images, uint32_t n);
/* From here on it is who the sources ask about stacks and samples. */
void assembler_serve(struct assembler *a);
/* Bytes of memory that it and its profile take, about. */
size_t assembler_bytes(const struct assembler *a);

/* A process was sampled for the first time: its mappings are read while it lives. */
void assembler_process(struct assembler *a, const struct ebp_process *process, uint64_t time);
void assembler_stack(struct assembler *a, const struct ebp_stack *stack);
/* @now: a time at which the process was still there, where it is not known from before. */
void assembler_count(struct assembler *a, const struct ebp_key *key, const struct ebp_count *count,
		     uint64_t now);
void assembler_sample(struct assembler *a, const struct ebp_sample *sample);
/*
 * Before the first stack: @langs, which is borrowed, knows the frames of interpreters. @native: the
 * interpreters' own stay beside them.
 */
void assembler_languages(struct assembler *a, struct langs *langs, int native);
/* Before the first process: samples are told apart by whose processes they are. Borrowed. */
void assembler_owners(struct assembler *a, struct owners *owners);
/* 0 where a stack of @key is not known: it is being unwound here, or was left out. */
int assembler_knows(const struct assembler *a, const struct ebp_key *key);
/* A sample whose user stack was unwound outside of the kernel. */
void assembler_rescued(struct assembler *a, const struct ebp_rescue *sample,
		       const struct unwind_result *user);

/*
 * Asks for names of new locations, and takes those that were found: now and then. 1 where they are
 * being looked for (namer_go()).
 */
int assembler_ask(struct assembler *a);
/* Takes alone. */
void assembler_take(struct assembler *a);
/* Names all locations that have no name yet; waits for them. */
void assembler_name(struct assembler *a);
/* Before the first stack: these are taken at a tracepoint, and begin where it was hit. */
void assembler_leave_tracing_out(struct assembler *a);
/* The profile is to be looked at now: processes get the names that they have. */
void assembler_update(struct assembler *a);
/*
 * After assembler_update(), now and then: makes one of the processes of one name that ended more
 * than @age ns ago, where there are many of them (profile_fold(), which @mark is for), and forgets
 * them. Nobody but procs and this assembler may hold their numbers.
 */
void assembler_fold(struct assembler *a, uint64_t age, const char *mark);
/*
 * For a profile that nobody looks at before its end, now and then: the same, with
 * assembler_update(), where it knows more processes than are to be kept apart, each in some 600
 * bytes; and where the profile has as many threads, of those that ended in processes that go on,
 * unless threads are told apart. @ticks: that the caller will give new numbers. 1: they have to
 * have them.
 */
int assembler_make_room(struct assembler *a, size_t ticks);
/*
 * Before the first sample, where nobody asks which process was which, and sources keep nothing of
 * the profile: fewer are kept apart, and where there are so many one whose first sample comes when
 * it has ended never is.
 */
void assembler_fold_brief(struct assembler *a);
/* How many processes, and threads of others, were made one with others. */
size_t assembler_folded(const struct assembler *a);
size_t assembler_folded_threads(const struct assembler *a);
/*
 * Takes over from @old, of the same procs and sources: what became of samples, and the processes,
 * but those that ended more than @age ns ago.
 */
void assembler_inherit(struct assembler *a, const struct assembler *old, uint64_t age);
/* At the end: processes get the names that they have now. */
void assembler_finish(struct assembler *a);
/* Samples that were kept, by enum ebp_result. */
const uint64_t *assembler_results(const struct assembler *a);

#endif
