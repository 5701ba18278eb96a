/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the steps of all languages share: the layouts, ids for code, and the memory of a walk.
 *
 * A frame has an id for its code. The first time that code is met, what it says of itself is read
 * and sent, so that a process which ends a moment later has its names. "Met" is a direct-mapped
 * cache, as that of stacks is (count.bpf.h).
 *
 * A language has global functions, which the verifier looks at by themselves, so that one language
 * more costs its own instructions and no multiple of them:
 *
 *	NAME_start()	of a listed one: where the current task's frames begin
 *	NAME_frame()	one frame of this CPU's walk
 *	NAME_announce()	what its code says of itself, where it was not met before. Called beside the
 *			other, not by it: before 6.8 a program and all that it calls have 512 bytes
 *			of stack.
 */
#ifndef EBPROF_LANG_BPF_H
#define EBPROF_LANG_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/lang.h"
#include "bpf/near.bpf.h"
#include "bpf/unwind.bpf.h"

/* What NAME_frame() of a listed language returns. */
#define LANG_ON		0
#define LANG_END	1
#define LANG_NEW	2	/* go on; its code was not met before */

/*
 * By number less 1 (struct ebp_space). A map by itself, of one value, made by user space before the
 * programs are loaded; as data, for no look-up is needed then.
 */
struct ebp_layout layouts[EBP_LAYOUTS_MAX] SEC(".data.layouts");

/* Code that was met. Another CPU may write while one reads: what is compared is made of both. */
struct code_slot {
	__u64 check;		/* hash of the code ^ id */
	__u64 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBP_CODES);
	__type(key, __u32);
	__type(value, struct code_slot);
} codes SEC(".maps");

#define WALK_WORDS 128

/* What one walk needs, too big for BPF's own stack. */
struct lang_walk {
	struct ebp_process process;
	__u64 process_id;	/* hash_process() of it */
	__u64 pending;		/* the last frame: it may still become the outermost of its run */
	__u64 wanted;		/* hash of its code, which was not met before */
	__u32 slot;		/* of the code that was asked for last: where it is, or belongs */
	__u32 layout;		/* number less 1 */
	__u32 made;		/* ids of code by this CPU */
	__u32 native;		/* frames of the stack that are before those of the list */
	__u32 done;		/* the walk reached its end */
	__u32 whole;		/* the list has all frames: one that ends before its root is cut */
	__u64 hash;		/* of the frames before the list */
	__u64 state[WALK_WORDS];/* the language's own */
	struct near_memory near;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct lang_walk);
} lang_walks SEC(".maps");

/* struct ebp_code with its room. */
struct code_record {
	__u64 words[(sizeof(struct ebp_code) + EBP_CODE_TABLE) / sizeof(__u64)];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct code_record);
} code_records SEC(".maps");

static __always_inline struct lang_walk *this_walk(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&lang_walks, &zero);
}

__noinline __u32 near_bring(__u64 address, __u32 size)
{
	struct lang_walk *w = this_walk();

	return w ? near_find(&w->near, address, size) : NEAR_NOT;
}

/* What a language's steps read with, to them struct NAME_env. */
static __always_inline void *walk_env(struct lang_walk *w)
{
	return &w->near;
}

/* The layout with number @i + 1; NULL: there is none. */
static __always_inline const struct ebp_layout *layout_at(__u32 i)
{
	if (i >= EBP_LAYOUTS_MAX)
		return NULL;
	/* So that the mask, which the verifier understands, is not taken away. */
	barrier_var(i);
	return &layouts[i & (EBP_LAYOUTS_MAX - 1)];
}

/* The layout of the walk, the language's own structure. */
static __always_inline const void *walk_layout(const struct lang_walk *w)
{
	const struct ebp_layout *o = layout_at(w->layout);

	return o ? o->words : NULL;
}

/* --- Ids of code. -------------------------------------------------------------- */

#define CODE_OTHER 1	/* of code_in(): the slot has another */

/* The id of the code with @hash, in slot @at; 0: the slot is free, or CODE_OTHER. */
static __always_inline __u64 code_in(__u64 hash, __u32 at)
{
	const struct code_slot *slot = bpf_map_lookup_elem(&codes, &at);
	__u64 id = slot ? slot->id : 0;

	if (!id)
		return 0;
	return slot->check == (hash ^ id) ? id : CODE_OTHER;
}

/*
 * The id of the code that has @identity in the process of this CPU's walk; 0: it was not met
 * before. Each has two slots to be in, for of a thousand some would have the same one, and drive
 * each other out.
 */
__noinline __u64 code_id(__u64 identity)
{
	struct lang_walk *w = this_walk();
	__u64 hash, first, second;
	__u32 at, to;

	if (!w)
		return 0;
	hash = hash_step(w->process_id, identity);
	at = hash & (EBP_CODES - 1);
	to = hash >> 40 & (EBP_CODES - 1);
	w->wanted = hash;
	w->slot = at;
	first = code_in(hash, at);
	if (first > CODE_OTHER)
		return first;
	second = code_in(hash, to);
	if (second > CODE_OTHER || (first && !second))
		w->slot = to;
	return second > CODE_OTHER ? second : 0;
}

/* Whether what has @id is in slot @at still: user space knows of no others. */
static __always_inline int code_is_in(__u64 id, __u32 at)
{
	const struct code_slot *slot = bpf_map_lookup_elem(&codes, &at);

	return slot && slot->id == id;
}

#define CODES_OF_CPU 24		/* bits of an id */

static __always_inline struct ebp_code *this_record(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&code_records, &zero);
}

/* The record for the code that was asked for last, with an id, and nothing said yet. */
static __always_inline struct ebp_code *code_begin(struct lang_walk *w, __u16 language)
{
	struct ebp_code *r = this_record();

	if (!r)
		return NULL;
	r->head.type = EBP_CODE;
	r->head.n = 0;
	r->process = w->process;
	r->language = language;
	r->version = 0;
	r->id = ((__u64)bpf_get_smp_processor_id() << CODES_OF_CPU) + EBP_CODE_FIRST + w->made++;
	r->id &= (1ull << EBP_CODE_BITS) - 1;
	r->slot = w->slot;
	r->table = 0;
	r->table_bytes = r->first_line = 0;
	r->name = r->scope = r->file = (struct ebp_text){};
	return r;
}

/*
 * Sends the record of code_begin(), and returns the id. @whole: all could be read. What was not in
 * memory may be there next time.
 */
__noinline __u64 code_send(int whole)
{
	struct lang_walk *w = this_walk();
	struct ebp_code *r = this_record();
	struct code_slot *slot;
	__u32 at;

	if (!w || !r)
		return EBP_CODE_UNNAMED;
	at = w->slot;
	slot = bpf_map_lookup_elem(&codes, &at);
	if (!slot || send(r, sizeof(*r) + (r->head.n & (EBP_CODE_TABLE - 1)), 0))
		return EBP_CODE_UNNAMED;
	if (whole) {
		slot->id = r->id;
		slot->check = w->wanted ^ r->id;
	}
	return r->id;
}

/* --- Frames of listed languages. ----------------------------------------------- */

/* A frame becomes a word of the stack when it is known what follows. */
static __always_inline void walk_flush(struct lang_walk *w, struct unwind_state *u)
{
	if (!w->pending)
		return;
	u->hash = hash_step(u->hash, w->pending);
	u->frames[u->n++ & EBP_WORDS_MAX] = w->pending;
	w->pending = 0;
}

/*
 * Whether one frame more has no room: the one before it may still be pending, and a word that says
 * that the list is cut has to follow.
 */
static __always_inline int walk_is_full(const struct unwind_state *u)
{
	return u->n >= EBP_WORDS_MAX - 2;
}

/* All frames of the list so far are not so. */
static __always_inline void walk_again(struct lang_walk *w, struct unwind_state *u)
{
	u->n = w->native;
	u->hash = w->hash;
	w->pending = 0;
}

/* A call of the interpreter began what was last. */
static __always_inline void walk_entry(struct lang_walk *w, struct unwind_state *u, __u32 language)
{
	if (!w->pending || w->pending & EBP_FRAME_ENTRY) {
		walk_flush(w, u);
		w->pending = EBP_FRAME_OF_CODE(language, EBP_CODE_NONE, EBP_PLACE_NONE);
	}
	w->pending |= EBP_FRAME_ENTRY;
}

#endif
