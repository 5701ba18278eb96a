/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where HotSpot's code is, and what blob an address is of: what the step over its frames
 * (hotspot_step.h) looks at first.
 */
#ifndef EBPROF_HOTSPOT_CODE_H
#define EBPROF_HOTSPOT_CODE_H

#include "bpf/hotspot.h"

#define HOTSPOT_HEAPS	4
#define HOTSPOT_HOPS	20	/* from a segment to its block's first: 254 segments each */
#define HOTSPOT_WORDS	64	/* of a CodeBlob */
#define HOTSPOT_SPAN	(1u << 20)	/* bytes of one frame, at most */

#define HOTSPOT_OTHER	(-1)	/* of a step: it is no code of HotSpot's */
/* ... hotspot_finish() has to leave it: its frame is unknown, it is code that says no size of */
#define HOTSPOT_GUESS	(-2)
#define HOTSPOT_FRAMELESS (-3)	/* frames, or one of none */
#define HOTSPOT_UNSIZED	(-4)

struct hotspot_heap {
	__u64 start, end, segmap, shift;
};

enum hotspot_kind {
	HOTSPOT_STUB,		/* code that is no method's */
	HOTSPOT_INTERPRETED,
	HOTSPOT_COMPILED,
};

struct hotspot_state {
	/* Of the process: where its code is. */
	__u64 process;		/* which one, and when; the caller's */
	__u64 bias;
	__u64 low, high;
	__u64 interpreter, interpreter_end;
	struct hotspot_heap heaps[HOTSPOT_HEAPS];
	/* What the last step found: */
	__u64 blob;		/* 0: the interpreter's code, which was not looked for */
	__u64 method;		/* 0: none */
	/* where the bytecode is, as a register has it and as the frame has it; 0: not known */
	__u64 bcp, saved_bcp;
	__u64 code;		/* where a blob's code begins */
	__u64 pc;
	__u32 kind;		/* enum hotspot_kind */
	__u32 exact;		/* pc is no return address */
	__u64 name;		/* the beginning of a stub's; 0: not in memory */
	__u64 own[3];		/* of the stack, that a step looks at */
	__u64 call[2];		/* a call, before the address that it returns to */
	__u8 text[40];		/* a leaf's code, and what is before it */
	__u64 words[HOTSPOT_WORDS];	/* of the blob */
};

static __always_inline __u64 hotspot_word(const struct hotspot_state *s, __u32 offset)
{
	return s->words[offset >> 3 & (HOTSPOT_WORDS - 1)];
}

static __always_inline __u32 hotspot_half(const struct hotspot_state *s, __u32 offset)
{
	return (__u32)(hotspot_word(s, offset) >> (offset & 4) * 8);
}

static __always_inline int hotspot_is_code(const struct hotspot_state *s, __u64 address)
{
	return address >= s->low && address < s->high;
}

static __always_inline __u64 hotspot_pointer(struct unwind_env *env, __u64 address)
{
	__u64 value = 0;

	return env_read(env, &value, sizeof(value), address) ? 0 : value;
}

/* --- Where code is. --------------------------------------------------------- */

static __always_inline void hotspot_load_heap(struct unwind_env *env, struct hotspot_heap *h,
					      const struct ebp_hotspot *o, __u64 heap)
{
	h->start = heap ? hotspot_pointer(env, heap + o->heap_start) : 0;
	h->end = heap ? hotspot_pointer(env, heap + o->heap_end) : 0;
	h->segmap = heap ? hotspot_pointer(env, heap + o->heap_segmap) : 0;
	h->shift = hotspot_pointer(env, heap + o->heap_shift) & 31;
}

/* The heaps of code, and between which addresses they lie. */
static __always_inline void hotspot_load_heaps(struct unwind_env *env, struct hotspot_state *s,
					       const struct ebp_hotspot *o, __u64 bias)
{
	__u64 heaps = hotspot_pointer(env, bias + o->heaps), data, one = heaps;
	__u32 n = 1, single = !!(o->flags & EBP_HOTSPOT_ONE_HEAP);

	data = !single && heaps ? hotspot_pointer(env, heaps + o->array_data) : 0;
	if (!single)
		n = data ? (__u32)hotspot_pointer(env, heaps) : 0;
	for (__u32 i = 0; i < HOTSPOT_HEAPS; i++) {
		if (!single)
			one = i < n ? hotspot_pointer(env, data + i * 8) : 0;
		hotspot_load_heap(env, &s->heaps[i], o, i < n ? one : 0);
	}
	s->low = single ? s->heaps[0].start : hotspot_pointer(env, bias + o->low);
	s->high = single ? s->heaps[0].end : hotspot_pointer(env, bias + o->high);
}

/* Where a process has its code. It still moves while a JVM starts. 0, or negative: it has none. */
static __always_inline int hotspot_load(struct unwind_env *env, struct hotspot_state *s,
					const struct ebp_hotspot *o, __u64 bias)
{
	__u64 queue = hotspot_pointer(env, bias + o->interpreter);

	s->bias = bias;
	s->process = 0;
	s->interpreter = queue ? hotspot_pointer(env, queue + o->queue_start) : 0;
	s->interpreter_end =
		s->interpreter + (__u32)hotspot_pointer(env, queue + o->queue_bytes);
	hotspot_load_heaps(env, s, o, bias);
	return s->heaps[0].start && s->low ? 0 : -1;
}

/* The CodeBlob that has @pc, by the map of segments; 0: none. */
static __always_inline __u64 hotspot_find(struct unwind_env *env, const struct hotspot_state *s,
					  const struct ebp_hotspot *o, __u64 pc)
{
	__u64 start = 0, segmap = 0, shift = 0, index;
	__u8 back = 0;

	for (__u32 i = 0; i < HOTSPOT_HEAPS; i++) {
		if (pc >= s->heaps[i].start && pc < s->heaps[i].end) {
			start = s->heaps[i].start;
			segmap = s->heaps[i].segmap;
			shift = s->heaps[i].shift;
		}
	}
	if (!start)
		return 0;
	index = (pc - start) >> shift;
	for (int i = 0; i < HOTSPOT_HOPS; i++) {
		if (env_read(env, &back, sizeof(back), segmap + index) || back == 0xff ||
		    back > index)
			return 0;
		if (!back)
			return start + (index << shift) + o->block;
		index -= back;
	}
	return 0;
}

#define HOTSPOT_ADAPTER 0x4932432f433249ull	/* "I2C/C2I", without its last byte */

/* The blob of @pc into s->words. */
static __always_inline int hotspot_read_blob(struct unwind_env *env, struct hotspot_state *s,
					     const struct ebp_hotspot *o, __u64 pc)
{
	__u32 bytes = o->blob_bytes & 511;

	s->blob = hotspot_find(env, s, o, pc);
	if (!s->blob)
		return -1;
	/* The last one may end where nothing follows. */
	if (env_read(env, s->words, bytes, s->blob) && env_read(env, s->words, 128, s->blob))
		return -1;
	s->name = 0;
	s->code = o->flags & EBP_HOTSPOT_CODE_OFFSET ? s->blob + hotspot_half(s, o->blob_code)
						      : hotspot_word(s, o->blob_code);
	/* Names would tell, but nobody reads them, so they need not be in memory. */
	if ((__u16)(hotspot_word(s, o->blob_header) >> (o->blob_header & 6) * 8) ==
	    o->method_header) {
		s->kind = HOTSPOT_COMPILED;
		s->method = hotspot_word(s, o->method);
		return 0;
	}
	s->kind = HOTSPOT_STUB;
	s->name = hotspot_pointer(env, hotspot_word(s, o->blob_name));
	return 0;
}

/* The caller, where @ra says that it is Java code. */
static __always_inline int hotspot_leave(struct unwind_state *u, const struct hotspot_state *s,
					 __u64 ra, __u64 sp, __u64 fp)
{
	if (!hotspot_is_code(s, ra) || sp & 7 || sp < u->sp + !u->exact ||
	    sp - u->sp > HOTSPOT_SPAN)
		return -1;
	u->pc = ra;
	u->sp = sp;
	u->fp = fp;
	u->by_fp = u->exact = 0;
	return 0;
}

#endif
