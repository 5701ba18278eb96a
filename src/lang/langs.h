/* SPDX-License-Identifier: MIT */
/*
 * The interpreters of a recording, and the code that they were seen to run.
 *
 * Images are looked at once. What ids of code mean is kept as long as the BPF
 * programs may use them, and a little longer: the cache there gives a slot to another
 * code, and then the record of that names the slot. So a process that makes code
 * without end costs no more than one that does not.
 */
#ifndef EBPROF_LANGS_H
#define EBPROF_LANGS_H

#include "elf/image.h"
#include "lang/lang.h"

struct langs;

/* Makes a layout known to the kernel. 0 or a negative errno. */
typedef int langs_publish(void *ctx, uint32_t number, const struct ebp_layout *layout);

/* As remote_place() (proc/remote.h). */
typedef int langs_read(void *ctx, pid_t pid, uint64_t address, void *to, size_t size);

/* @images is borrowed. */
struct langs *langs_new(const struct images *images, langs_publish *publish, void *ctx);
void langs_free(struct langs *l);
/*
 * Images for which @which, by id, is 1 are mapped by nobody any more: what is known of them is
 * forgotten, and their layouts' numbers are used again.
 */
void langs_retire(struct langs *l, const unsigned char *which);
/* What reads memory that the kernel did not send, or that was not there when it wanted it. */
void langs_memory(struct langs *l, langs_read *read, void *ctx);

/*
 * The number of the layout of @image, from 1 on; 0: no interpreter that is known. Numbers go to
 * EBP_LAYOUTS_MAX, and have the flag EBP_LAYOUT_MACHINE where they are of such a language.
 */
uint32_t langs_layout(struct langs *l, uint32_t image);
/* Where the interpreter of layout @number, mapped with @bias, jumps to what it has compiled. */
void langs_jump(const struct langs *l, uint32_t number, uint64_t bias, struct ebp_jump *out);
/* Whether there is one whose frames are machine frames, which only the kernel can name. */
int langs_has_machine(const struct langs *l);
/* Whether @offset of @image is in an interpreter's own code. */
enum lang_runs langs_runs(struct langs *l, uint32_t image, uint64_t offset);

/* The lock that code at @offset of @image waits for, if it waits (lang_ops.lock), or NULL. */
const char *langs_lock(struct langs *l, uint32_t image, uint64_t offset);

/* Why interpreters were met that are not known: the first reason, as a text; NULL: none were. */
const char *langs_why(const struct langs *l);

/* Takes a record of @size bytes; what is not whole is left out. */
void langs_code(struct langs *l, const struct ebp_code *record, size_t size);
/* What @id means; NULL: not known (any more). Valid until the next langs_code(). */
const struct lang_code *langs_find(const struct langs *l, uint64_t id);
/*
 * Now and then, in what goes on for long: code of processes that were gone the last time, too, is
 * forgotten, for nothing of theirs is under way any more.
 */
void langs_rest(struct langs *l);

/* A thread that sleeps. */
struct langs_thread {
	struct ebp_process process;
	uint64_t thread_pointer;
	uint64_t bias;		/* of the mapping of the interpreter */
	int await;		/* as in struct lang_walk */
};

/*
 * The frames of @t, which runs the interpreter of layout @number, to @words, which has room for
 * EBP_WORDS_MAX: as the BPF programs send them, read from outside while it sleeps. Returns how
 * many; 0 where it has none, or its language is not read so.
 */
size_t langs_walk(struct langs *l, uint32_t number, const struct langs_thread *t, uint64_t *words);

#endif
