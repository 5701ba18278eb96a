/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPython's frames of the current task, put behind the native ones of its stack.
 *
 * A frame has an id for its code object. The first time a code object is met,
 * what it says of itself is read and sent, so that a process which ends a moment
 * later has its names. "Met" is a direct-mapped cache, as that of stacks is (count.bpf.h).
 *
 * As in unwind.bpf.h each loop is a global function, which the verifier looks at once.
 */
#ifndef EBPROF_PYTHON_BPF_H
#define EBPROF_PYTHON_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/python.h"
#include "bpf/unwind.bpf.h"

struct python_env;

static __always_inline int python_read(struct python_env *env __attribute__((unused)), void *dst,
				       __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

#include "bpf/python_step.h"

/* By number less 1 (struct ebp_space). */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBP_PYTHONS_MAX);
	__type(key, __u32);
	__type(value, struct ebp_python);
} pythons SEC(".maps");

/*
 * A code object that was met. Another CPU may write while one reads: so what is compared is made of
 * both.
 */
struct python_slot {
	__u64 check;		/* hash of the code ^ id */
	__u64 id;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, EBP_CODES);
	__type(key, __u32);
	__type(value, struct python_slot);
} python_codes SEC(".maps");

/* What one walk needs, too big for BPF's own stack. */
struct python_walk {
	struct python_state s;
	struct ebp_process process;
	__u64 process_id;
	__u64 pending;		/* the last frame: it may still become the outermost of its run */
	__u64 wanted;		/* hash of its code, which was not met before */
	__u32 layout;
	__u32 made;		/* ids of code by this CPU */
	__u32 native;		/* frames of the stack that are no interpreter's */
	__u32 reserved;
	__u64 hash;		/* of these */
	__u64 header[4];	/* of a string */
	__u32 done;		/* the walk reached its end */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_walk);
} python_walks SEC(".maps");

/* struct ebp_code with its room. */
struct python_record {
	__u64 words[(sizeof(struct ebp_code) + EBP_CODE_TABLE) / sizeof(__u64)];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct python_record);
} python_records SEC(".maps");

/* --- What a code object says of itself. ------------------------------------ */

#define UNICODE_KIND(state)	((state) >> 2 & 7)
#define UNICODE_COMPACT		0x20u
#define UNICODE_ASCII		0x40u

/*
 * The string object at @address into @dst, of which @mask + 1 bytes may be written. Objects that
 * are not compact, which only old extensions make, have none.
 */
static __always_inline void python_text(struct python_walk *w, const struct ebp_python *o,
					__u64 address, struct ebp_text *t, __u8 *dst, __u32 mask)
{
	__u32 state = 0, bytes;

	t->length = t->width = 0;
	if (bpf_probe_read_user(w->header, sizeof(w->header), (void *)address) ||
	    w->header[1] != w->s.bias + o->unicode_type ||
	    bpf_probe_read_user(&state, sizeof(state), (void *)(address + 32)) ||
	    !(state & UNICODE_COMPACT))
		return;
	address += state & UNICODE_ASCII ? o->ascii : o->compact;
	bytes = w->header[2] < mask ? w->header[2] * UNICODE_KIND(state) : mask;
	bytes = bytes < mask ? bytes : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (bpf_probe_read_user(dst, bytes, (void *)address))
		return;
	t->length = w->header[2] < 1u << 30 ? w->header[2] : 1u << 30;
	t->width = UNICODE_KIND(state);
}

/* The line table, a bytes object. Returns how much of it was read. */
static __always_inline __u32 python_table(struct python_walk *w, struct ebp_code *r,
					  __u64 address)
{
	__u32 n;

	r->table = address + 32;
	r->table_bytes = 0;
	if (bpf_probe_read_user(w->header, sizeof(w->header), (void *)address))
		return 0;
	r->table_bytes = w->header[2] < 1u << 30 ? w->header[2] : 1u << 30;
	n = r->table_bytes < EBP_CODE_TABLE ? r->table_bytes : EBP_CODE_TABLE - 1;
	barrier_var(n);
	n &= EBP_CODE_TABLE - 1;
	return bpf_probe_read_user(r->table_data, n, (void *)(address + 32)) ? 0 : n;
}

/* 0 where all could be read. */
static __always_inline int python_describe(struct python_walk *w, const struct ebp_python *o,
					   struct ebp_code *r)
{
	r->head.type = EBP_CODE;
	r->process = w->process;
	r->lang = EBP_LANGUAGE_PYTHON;
	r->minor = o->minor;
	r->first_line = python_half(w->s.code_words, o->code_first_line,
					 PYTHON_CODE_WORDS - 1);
	python_text(w, o, CODE_WORD(&w->s, o->code_name), &r->name, r->name_bytes,
		    EBP_CODE_NAME - 1);
	python_text(w, o, CODE_WORD(&w->s, o->code_file), &r->file, r->file_bytes,
		    EBP_CODE_FILE - 1);
	r->head.n = python_table(w, r, CODE_WORD(&w->s, o->code_table));
	return !(r->name.width && r->file.width && r->head.n);
}

#define CODES_OF_CPU 24		/* bits of an id */

/* Sends what the code object of the walk @w says of itself, and returns its id. */
static __always_inline __u64 python_new_id(struct python_walk *w, struct ebp_code *r)
{
	__u32 at = w->wanted & (EBP_CODES - 1);
	struct python_slot *slot = bpf_map_lookup_elem(&python_codes, &at);
	const struct ebp_python *o = bpf_map_lookup_elem(&pythons, &w->layout);
	__u64 id;
	int partial;

	if (!o || !slot)
		return EBP_CODE_UNNAMED;
	id = ((__u64)bpf_get_smp_processor_id() << CODES_OF_CPU) + EBP_CODE_FIRST + w->made++;
	id &= (1ull << EBP_CODE_BITS) - 1;
	r->id = id;
	r->slot = at;
	partial = python_describe(w, o, r);
	if (send(r, sizeof(*r) + (r->head.n & (EBP_CODE_TABLE - 1)), 0))
		return EBP_CODE_UNNAMED;
	/* What was not in memory may be there next time. */
	if (!partial) {
		slot->id = id;
		slot->check = w->wanted ^ id;
	}
	return id;
}

#define PYTHON_NEW 2	/* of python_frame(): its code was not met before */

/*
 * Gives the last frame of this CPU's walk its id. Called beside python_frame(), not by it: before
 * 6.8 a program and all that it calls have 512 bytes of stack. @frame as in unwind_frame().
 */
__noinline int python_announce(__u32 frame)
{
	__u32 zero = 0;
	struct python_walk *w = bpf_map_lookup_elem(&python_walks, &zero);
	struct ebp_code *r = bpf_map_lookup_elem(&python_records, &zero);

	if (!w || !r || frame > EBP_WORDS_MAX)
		return 1;
	w->pending |= python_new_id(w, r) << EBP_CODE_SHIFT;
	return 0;
}

/* --- The walk. ------------------------------------------------------------- */

/* A frame becomes a word of the stack when it is known what follows. */
static __always_inline void python_flush(struct python_walk *w, struct unwind_state *u)
{
	if (!w->pending)
		return;
	u->hash = hash_step(u->hash, w->pending);
	u->frames[u->n++ & EBP_WORDS_MAX] = w->pending;
	w->pending = 0;
}

/* The id of the code that the walk is at; 0: it was not met before. */
static __always_inline __u64 python_code_id(struct python_walk *w)
{
	__u64 hash = hash_step(w->process_id, w->s.identity);
	__u32 at = hash & (EBP_CODES - 1);
	const struct python_slot *slot = bpf_map_lookup_elem(&python_codes, &at);
	__u64 id = slot ? slot->id : 0;

	w->wanted = hash;
	return slot && slot->check == (hash ^ id) ? id : 0;
}

/* A call of the interpreter began what was last. */
static __always_inline void python_entry(struct python_walk *w, struct unwind_state *u)
{
	if (!w->pending || w->pending & EBP_FRAME_ENTRY) {
		python_flush(w, u);
		w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, EBP_CODE_NONE,
					       EBP_PLACE_NONE);
	}
	w->pending |= EBP_FRAME_ENTRY;
}

/* One frame of this CPU's walk. 1 at the end, or PYTHON_NEW. @frame as in unwind_frame(). */
__noinline int python_frame(__u32 frame)
{
	__u32 zero = 0;
	struct python_walk *w = bpf_map_lookup_elem(&python_walks, &zero);
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_python *o = w ? bpf_map_lookup_elem(&pythons, &w->layout) : NULL;
	__u64 id;
	int step;

	if (!w || !u || !o || frame > EBP_WORDS_MAX || u->n >= EBP_WORDS_MAX - 1)
		return 1;
	w->done = !w->s.frame && !w->s.unchecked;
	if (w->done)
		return 1;
	step = python_step(NULL, &w->s, o);
	if (step < 0)
		return 1;
	if (step == PYTHON_AGAIN) {
		u->n = w->native;
		u->hash = w->hash;
		w->pending = 0;
		return 0;
	}
	if (!w->s.code) {
		python_entry(w, u);
		return 0;
	}
	python_flush(w, u);
	id = python_code_id(w);
	w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, id, w->s.place);
	if (w->s.entry)
		w->pending |= EBP_FRAME_ENTRY;
	return id ? 0 : PYTHON_NEW;
}

__noinline int python_some(__u32 frame)
{
	for (__u32 i = 0; i < ROUNDS; i++) {
		int done = python_frame(frame + i);

		if (done == PYTHON_NEW)
			done = python_announce(frame + i);
		if (done)
			return done;
	}
	return 0;
}

__noinline int python_all(__u32 mask)
{
	for (__u32 i = 0; i <= EBP_WORDS_MAX; i += ROUNDS)
		if (python_some(i & mask))
			return 1;
	return 0;
}

/*
 * Puts the frames of the current task's interpreter behind those of @u, if it runs one.
 * @process_id: hash_process() of @process.
 */
static __always_inline void python_frames(struct unwind_state *u, const struct ebp_process *process,
					  __u64 process_id)
{
	__u32 zero = 0;
	struct python_walk *w = bpf_map_lookup_elem(&python_walks, &zero);
	const struct ebp_python *o;

	if (!w || !u->lang)
		return;
	w->layout = u->lang - 1;
	o = bpf_map_lookup_elem(&pythons, &w->layout);
	if (!o || python_begin(NULL, &w->s, o, u->lang_bias, thread_pointer()))
		return;
	w->process = *process;
	w->process_id = process_id;
	w->pending = w->done = 0;
	w->native = u->n;
	w->hash = u->hash;
	python_all(EBP_WORDS_MAX);
	python_flush(w, u);
	if (!w->done) {
		w->pending = EBP_FRAME_OF_CODE(EBP_LANGUAGE_PYTHON, EBP_CODE_NONE,
					       EBP_PLACE_NONE);
		python_flush(w, u);
	}
}

#endif
