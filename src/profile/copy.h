/* SPDX-License-Identifier: MIT */
/*
 * Things of one profile brought into another: the one place where strings, functions, locations,
 * stacks, threads and labels are copied. merge.h adds whole profiles, part.h makes a smaller one.
 *
 * A thing is copied when it is first asked for, with all that it refers to, and its index is kept;
 * so the order of the calls is the order in the other profile.
 *
 * profile_follow() is for a profile that grows and whose copy has the same indexes.
 */
#ifndef EBPROF_COPY_H
#define EBPROF_COPY_H

#include <stdint.h>

#include "profile/profile.h"

/* What makes two frames, threads or processes of two profiles one. */
enum copy_identity {
	/*
	 * Modules by name, path and build id; locations by address and lines; processes by pid,
	 * incarnation and comm, but those that were folded by their name.
	 */
	COPY_PLACES,
	/*
	 * The same, but locations by their functions: without addresses and lines. For what has
	 * grown for long, as there are many addresses and few functions.
	 */
	COPY_FUNCTIONS,
	/*
	 * Names alone, to compare two builds or two runs: frames by the names and modules of
	 * their functions, without addresses and lines ("[libfoo.so+0x1234]" is "[libfoo.so]"),
	 * threads by comm. Labels are left out.
	 */
	COPY_NAMES,
};

struct copy;

/* Both profiles are borrowed. What is added to @from later is not known to the copy. */
struct copy *copy_new(struct profile *to, const struct profile *from, enum copy_identity identity);
void copy_free(struct copy *c);

/*
 * Frames of these kinds are left out of stacks: a bit 1 << kind each. Before the first
 * copy_node().
 */
void copy_leave_out(struct copy *c, unsigned int kinds);
/* Every sample has this label, too, in place of one of its own. Before the first copy_labels(). */
void copy_label(struct copy *c, const char *key, const char *text);

/* All take an index of @from and return the one of @to. */
uint32_t copy_string(const struct copy *c, uint32_t string);
uint32_t copy_function(struct copy *c, uint32_t function);
uint32_t copy_module(struct copy *c, uint32_t module);
/*
 * The location with the same lines at the same address. Where @to has other lines there, which
 * happens where addresses are made up or belong to code that was made at run time, or where only
 * names count, another address stands for it.
 */
uint32_t copy_location(struct copy *c, uint32_t location);
/* 0 where all frames are left out. */
uint32_t copy_node(struct copy *c, uint32_t node);
/* Two processes of one number and different names stay two. */
uint32_t copy_process(struct copy *c, uint32_t process);
uint32_t copy_thread(struct copy *c, uint32_t thread);
uint32_t copy_labels(struct copy *c, uint32_t set);
/* The sample of the same thread, stack and labels; its values are the caller's business. */
uint32_t copy_sample(struct copy *c, uint32_t sample);

/* Makes type @as of @to, one that it has or the next one, what type @type of @from is. */
void copy_type(const struct copy *c, uint32_t type, uint32_t as);
/* What @from says of itself, with strings of @to. */
struct profile_meta copy_meta(const struct copy *c);

/*
 * Makes @dst, which no other call has changed, equal to @src: what has come since the last time is
 * added, and values and names are those of now. Indexes are equal, and texts of @dst stay where
 * they are. @dst cannot be added to: it can only be looked at. Costs little more than copying the
 * values.
 */
void profile_follow(struct profile *dst, const struct profile *src);

#endif
