/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * HotSpot's frames of the current task: a language whose frames are machine frames (walk.bpf.h).
 *
 * Ids are of methods. A place in compiled code is of several, where the compiler put some into
 * others: what is found of it once is kept by process, code and address. Each of them is a word of
 * the stack, the innermost first.
 */
#ifndef EBPROF_HOTSPOT_BPF_H
#define EBPROF_HOTSPOT_BPF_H

#include "bpf/hotspot.h"
#include "bpf/lang.bpf.h"

#include "bpf/hotspot_step.h"

#include "bpf/hotspot_scopes.h"

#define HOTSPOT_LEVELS	30	/* methods that one place is of, at most */
#define HOTSPOT_PLACES	4096	/* places in compiled code that are kept */
/* of ns: what is kept is looked at again, for ids have an end (langs.h) */
#define HOTSPOT_KEPT	33
#define HOTSPOT_FRESH	24	/* the same of where a process has its code */

/* A place that was met; written by several CPUs, as code_slot is. */
struct hotspot_slot {
	__u64 check;		/* hash of the place, and of all words */
	__u64 n;
	__u64 words[HOTSPOT_LEVELS];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, HOTSPOT_PLACES);
	__type(key, __u32);
	__type(value, struct hotspot_slot);
} hotspot_places SEC(".maps");

/* Of one frame: what lies between its functions. */
struct hotspot_walk {
	struct hotspot_state s;
	struct hotspot_scope scope;
	struct hotspot_slot found;
	__u64 place;		/* hash of the compiled place */
	__u64 constants;	/* ConstMethod of the method that is looked at */
	__u64 pool, holder, class_name;
	__u64 header[8];
	__u32 bci;		/* of that method, or EBP_PLACE_NONE */
	__s32 done;		/* what the step returned */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct hotspot_walk);
} hotspot_walks SEC(".maps");

static __always_inline struct hotspot_walk *hotspot_this(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&hotspot_walks, &zero);
}

/* By the state of this CPU: a global function takes numbers alone before 5.12. */
__noinline int hotspot_search_here(__u64 cfa)
{
	__u32 zero = 0;
	struct hotspot_walk *h = hotspot_this();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);

	return h && u ? hotspot_search(u, &h->s, cfa) : HOTSPOT_ROUND;
}

static __always_inline int hotspot_search_round(const struct unwind_state *u,
						const struct hotspot_state *s, __u64 cfa)
{
	(void)u;
	(void)s;
	return hotspot_search_here(cfa);
}

/* --- Which method. ------------------------------------------------------------- */

static __always_inline __u64 hotspot_header(const struct hotspot_walk *h, __u32 offset)
{
	return h->header[offset >> 3 & 7];
}

static __always_inline __u32 hotspot_header16(const struct hotspot_walk *h, __u32 offset)
{
	return hotspot_header(h, offset) >> (offset & 6) * 8 & 0xffff;
}

/* Of a Symbol's first word, what is not its count of references. */
static __always_inline __u64 hotspot_symbol_part(const struct ebp_hotspot *o, __u64 word)
{
	return word & (o->symbol_length ? ~0xffffull : ~0xffff0000ull);
}

/*
 * What tells the method at @method from others, of what it and its class say; 0: it is none. A
 * class may be gone, and its memory another's, that looks the same but for the name.
 */
static __always_inline __u64 hotspot_identity(struct hotspot_walk *h, const struct ebp_hotspot *o,
					      __u64 method)
{
	__u64 hash;

	h->constants = method ? hotspot_pointer(NULL, method + o->method_const) : 0;
	if (!h->constants || env_read(NULL, h->header, sizeof(h->header), h->constants)) {
		h->constants = 0;
		return 0;
	}
	h->pool = hotspot_header(h, o->const_pool);
	h->holder = hotspot_pointer(NULL, h->pool + o->pool_holder);
	h->class_name = h->holder ? hotspot_pointer(NULL, h->holder + o->class_name) : 0;
	if (!h->class_name)
		return 0;
	hash = hash_step(method, h->constants);
	hash = hash_step(hash, h->pool);
	hash = hash_step(hash, hotspot_header(h, o->const_code));
	hash = hash_step(hash, h->class_name);
	return hash_step(hash, hotspot_symbol_part(o, hotspot_pointer(NULL, h->class_name)));
}

/* The place in the method that hotspot_identity() was asked about last. */
static __always_inline __u32 hotspot_bci(const struct hotspot_walk *h, const struct ebp_hotspot *o)
{
	__u64 begin = h->constants + o->const_bytes;
	__u32 size = hotspot_header16(h, o->const_code);

	if (h->s.bcp - begin < size)
		return h->s.bcp - begin;
	return h->s.saved_bcp - begin < size ? h->s.saved_bcp - begin : EBP_PLACE_NONE;
}

/* --- What it says of itself. --------------------------------------------------- */

/* The Symbol at @symbol, in modified UTF-8. @mask: bytes of @dst less 1. */
static __always_inline void hotspot_text(const struct ebp_hotspot *o, __u64 symbol,
					 struct ebp_text *t, __u8 *dst, __u32 mask)
{
	__u16 length = 0;
	__u32 bytes;

	t->object = symbol;
	t->length_at = o->symbol_length;
	t->text_at = o->symbol_body;
	if (!symbol || env_read(NULL, &length, sizeof(length), symbol + o->symbol_length))
		return;
	bytes = length < mask ? length : mask;
	barrier_var(bytes);
	bytes &= mask;
	if (env_read(NULL, dst, bytes, symbol + o->symbol_body))
		return;
	t->length = length;
	t->width = EBP_TEXT_UTF8;
}

/* Entry @index of the pool of constants. */
static __always_inline __u64 hotspot_constant(const struct hotspot_walk *h,
					      const struct ebp_hotspot *o, __u32 index)
{
	return hotspot_pointer(NULL, h->pool + o->pool_bytes + index * 8ull);
}

#define HOTSPOT_HAS_LINES 1	/* ConstMethodFlags */

/* The table of lines is behind the bytecodes, and ends with a zero. Returns how much was read. */
static __always_inline __u32 hotspot_table(const struct hotspot_walk *h,
					   const struct ebp_hotspot *o, struct ebp_code *r)
{
	__u64 code = o->const_bytes + hotspot_header16(h, o->const_code);
	__u64 size = (__u32)(hotspot_header(h, o->const_size) >> (o->const_size & 4) * 8) * 8ull;
	__u32 n;

	if (!(hotspot_header16(h, o->const_flags) & HOTSPOT_HAS_LINES) || size <= code)
		return 0;
	r->table = h->constants + code;
	r->table_bytes = size - code;
	n = r->table_bytes < EBP_CODE_TABLE ? r->table_bytes : EBP_CODE_TABLE - 1;
	barrier_var(n);
	n &= EBP_CODE_TABLE - 1;
	return env_read(NULL, r->table_data, n, r->table) ? 0 : n;
}

/* Of the method that hotspot_identity() was asked about last. 1: all could be read. */
static __always_inline int hotspot_describe(struct hotspot_walk *h, const struct ebp_hotspot *o,
					    struct ebp_code *r)
{
	__u64 file = o->flags & EBP_HOTSPOT_CLASS_FILE ? h->holder + o->class_file
							: h->pool + o->pool_file;
	__u16 index = 0;

	r->version = o->version;
	hotspot_text(o, h->class_name, &r->scope, r->scope_bytes, EBP_CODE_SCOPE - 1);
	hotspot_text(o, hotspot_constant(h, o, hotspot_header16(h, o->const_name)), &r->name,
		     r->name_bytes, EBP_CODE_NAME - 1);
	if (!env_read(NULL, &index, sizeof(index), file) && index)
		hotspot_text(o, hotspot_constant(h, o, index), &r->file, r->file_bytes,
			     EBP_CODE_FILE - 1);
	r->head.n = hotspot_table(h, o, r);
	/* User space reads what was not in memory. */
	return r->name.object && r->scope.object;
}

/* The same of code that is no method's: its blob has a name. */
static __always_inline int hotspot_describe_stub(const struct hotspot_walk *h,
						 const struct ebp_hotspot *o, struct ebp_code *r)
{
	long n;

	r->version = o->version;
	if (!h->s.blob) {
		__builtin_memcpy(r->name_bytes, "Interpreter", 12);
		n = 12;
	} else {
		r->name.object = hotspot_word(&h->s, o->blob_name);
		r->name.length_at = EBP_TEXT_ENDS;
		n = bpf_probe_read_user_str(r->name_bytes, EBP_CODE_NAME, (void *)r->name.object);
	}
	if (n < 2)
		return 1;
	r->name.length = n - 1;
	r->name.width = EBP_TEXT_UTF8;
	return 1;
}

/* Gives what the walk looks at an id, into w->pending. @level as in unwind_frame(). */
__noinline int hotspot_announce(__u32 level)
{
	struct lang_walk *w = this_walk();
	struct hotspot_walk *h = hotspot_this();
	const struct ebp_hotspot *o = w ? walk_layout(w) : NULL;
	struct ebp_code *r;
	int whole;

	if (!o || !h || level > HOTSPOT_LEVELS)
		return LANG_END;
	r = code_begin(w, EBP_LANGUAGE_HOTSPOT);
	if (!r)
		return LANG_END;
	whole = h->constants ? hotspot_describe(h, o, r) : hotspot_describe_stub(h, o, r);
	w->pending = code_send(whole);
	return LANG_ON;
}

/* --- Frames. ------------------------------------------------------------------- */

/*
 * The next method of the frame's place: its id into w->pending. @level as in unwind_frame().
 * LANG_END: there is none.
 */
__noinline int hotspot_level(__u32 level)
{
	struct lang_walk *w = this_walk();
	struct hotspot_walk *h = hotspot_this();
	const struct ebp_hotspot *o = w ? walk_layout(w) : NULL;
	__u64 identity;

	if (!o || !h || level > HOTSPOT_LEVELS)
		return LANG_END;
	if (!level) {
		h->scope.at = 0;
		if (h->s.kind == HOTSPOT_COMPILED)
			hotspot_first_scope(NULL, &h->s, o, &h->scope);
		h->scope.method = h->s.method;
		h->scope.bci = -1;
	}
	if (level ? !h->scope.at : 0)
		return LANG_END;
	if (h->scope.at && hotspot_next_scope(NULL, o, &h->scope))
		return LANG_END;
	h->constants = 0;
	identity = h->scope.method ? hotspot_identity(h, o, h->scope.method) : 0;
	if (!h->scope.method)
		identity = hash_step(h->s.blob, 1);
	h->bci = h->scope.bci < 0 ? EBP_PLACE_NONE : (__u32)h->scope.bci;
	if (h->s.kind == HOTSPOT_INTERPRETED && h->constants)
		h->bci = hotspot_bci(h, o);
	w->pending = identity ? code_id(identity) : EBP_CODE_UNNAMED;
	return w->pending ? LANG_ON : LANG_NEW;
}

static __always_inline __u64 hotspot_check(const struct hotspot_slot *x, __u64 place)
{
	return hash_step(place, x->n ^ x->words[0]);
}

/* The slot of the compiled place at which the walk is. */
static __always_inline struct hotspot_slot *hotspot_slot_of(const struct hotspot_walk *h)
{
	__u32 at = h->place & (HOTSPOT_PLACES - 1);

	return bpf_map_lookup_elem(&hotspot_places, &at);
}

/* What was found of a compiled place is kept. */
static __always_inline void hotspot_keep(struct hotspot_walk *h)
{
	struct hotspot_slot *slot = hotspot_slot_of(h);

	if (!slot || h->s.kind != HOTSPOT_COMPILED)
		return;
	h->found.check = hotspot_check(&h->found, h->place);
	__builtin_memcpy(slot, &h->found, sizeof(*slot));
}

/* Finds out what the frame's place is of, into h->found. @frame as in unwind_frame(). */
__noinline int hotspot_resolve(__u32 frame)
{
	struct lang_walk *w = this_walk();
	struct hotspot_walk *h = hotspot_this();

	if (!w || !h || frame > EBP_WORDS_MAX)
		return LANG_END;
	h->found.n = 0;
	for (__u32 i = 0; i < HOTSPOT_LEVELS; i++) {
		int done = hotspot_level(i);

		if (done == LANG_NEW)
			done = hotspot_announce(i);
		if (done)
			break;
		h->found.words[i] =
			EBP_FRAME_OF_CODE(EBP_LANGUAGE_HOTSPOT, w->pending, h->bci);
		h->found.n = i + 1;
	}
	hotspot_keep(h);
	w->pending = EBP_CODE_UNNAMED;
	return LANG_ON;
}

/* h->found becomes frames. */
__noinline int hotspot_take(__u32 frame)
{
	struct hotspot_walk *h = hotspot_this();
	__u32 zero = 0;
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);

	if (!h || !u || frame > EBP_WORDS_MAX)
		return STEP_DONE(EBP_DEPTH);
	for (__u32 i = 0; i < HOTSPOT_LEVELS && i < h->found.n; i++) {
		if (u->n >= u->max)
			return STEP_DONE(EBP_DEPTH);
		take_frame(u, h->found.words[i]);
	}
	return hotspot_finish(NULL, u, &h->s, h->done);
}

/* What is kept of the place. 0: nothing is. */
static __always_inline int hotspot_kept(struct hotspot_walk *h, const struct lang_walk *w,
					const struct ebp_hotspot *o)
{
	const struct hotspot_slot *slot;

	h->place = hash_step(w->process_id, h->s.pc + h->s.exact);
	h->place = hash_step(h->place, h->s.blob ^ (__u64)hotspot_half(&h->s, o->compile_id) << 32);
	h->place = hash_step(h->place, h->s.method ^ bpf_ktime_get_ns() >> HOTSPOT_KEPT);
	slot = hotspot_slot_of(h);
	if (!slot)
		return 0;
	__builtin_memcpy(&h->found, slot, sizeof(h->found));
	return h->found.n && h->found.check == hotspot_check(&h->found, h->place);
}

/*
 * The frame of this CPU's walk, in code made at run time. Where it is HotSpot's, w->pending is set,
 * and what it is of is in h->found; 1: that has to be found out. @frame as in unwind_frame().
 */
__noinline int hotspot_frame(__u32 frame)
{
	__u32 zero = 0;
	struct lang_walk *w = this_walk();
	struct hotspot_walk *h = hotspot_this();
	struct unwind_state *u = bpf_map_lookup_elem(&unwind_states, &zero);
	const struct ebp_hotspot *o = w ? walk_layout(w) : NULL;
	__u64 process;

	if (!w || !h || !u || !o || frame > EBP_WORDS_MAX)
		return 0;
	process = hash_step(w->process_id, bpf_ktime_get_ns() >> HOTSPOT_FRESH);
	if (h->s.process != process) {
		if (hotspot_load(NULL, &h->s, o, u->machine_bias))
			return 0;
		h->s.process = process;
	}
	h->done = hotspot_step(NULL, u, &h->s, o);
	if (h->done == HOTSPOT_OTHER)
		return 0;
	w->pending = EBP_CODE_UNNAMED;
	return !(h->s.kind == HOTSPOT_COMPILED && hotspot_kept(h, w, o));
}

#endif
