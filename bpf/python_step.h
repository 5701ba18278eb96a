/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the frames of CPython: from a frame to the one that called it.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct python_env` (opaque here) and
 *   int python_read(env, dst, size, address)	target memory: 0, or negative
 *   __u64 PYTHON_KNOWN(env, s, o)	what the includer knows the code at s->code by, which it has
 *			met before and which is the same still; 0: nothing
 *   PYTHON_AWAIT(o)	whether frames of tasks that await the one that runs are wanted: then
 *			python_await_next() is to be called behind each step that leaves
 *			s->await.on set
 * and may define PYTHON_READ_NEAR(env, what, size, address): python_read() of what is read
 * for each frame, into an array or a variable that has room for more.
 *
 * Nothing that is read is trusted. A thread's state counts only where it names this
 * very thread, and a code object only where its type is CPython's own: so a
 * layout that does not fit gives no frames, not wrong ones. Every offset is masked.
 */
#ifndef EBPROF_PYTHON_STEP_H
#define EBPROF_PYTHON_STEP_H

#include "bpf/python.h"
#include "bpf/python_await.h"

#ifndef PYTHON_READ_NEAR
#define PYTHON_READ_NEAR(env, what, size, address) python_read((env), &(what), (size), (address))
#endif

#define PYTHON_FRAME_WORDS	16
#define PYTHON_CODE_WORDS	32
#define PYTHON_KEYS		32	/* of a thread's first block of keys */
#define PYTHON_MUSL_KEYS	128	/* PTHREAD_KEYS_MAX */
/* glibc, x86-64: from the thread pointer, a vector of blocks, entries {block, to free} */
#define PYTHON_DTV		8
#define PYTHON_MODULES		4096

struct python_state {
	__u64 bias;		/* of the interpreter's mapping */
	__u64 frame;		/* the next one; 0: there is none */
	/* EBP_PYTHON_CFRAME: what the frame is that called the interpreter last; checked once */
	__u64 below;
	__u32 unchecked;
	/* the thread runs a subinterpreter: who called that has frames in another list */
	__u32 partial;
	/* What the last step found: */
	__u64 code;		/* address of the code object; 0: the frame has none */
	__u64 known;		/* PYTHON_KNOWN() of that code; where it is 0: */
	__u64 identity;		/* differs where another one has its address */
	__u32 place;
	/* a call of the interpreter began this frame, or, where it has no code, the last one */
	__u32 entry;
	struct python_await await;
	__u64 frame_words[PYTHON_FRAME_WORDS];
	__u64 code_words[PYTHON_CODE_WORDS];
	__u64 name_words[4];	/* of its name, and of other objects that are looked at */
};

static __always_inline __u64 python_word(const __u64 *words, __u32 offset, __u32 mask)
{
	return words[offset >> 3 & mask];
}

static __always_inline __u32 python_half(const __u64 *words, __u32 offset, __u32 mask)
{
	return (__u32)(words[offset >> 3 & mask] >> (offset & 4) * 8);
}

#define FRAME_WORD(s, offset) python_word((s)->frame_words, (offset), PYTHON_FRAME_WORDS - 1)
#define CODE_WORD(s, offset) python_word((s)->code_words, (offset), PYTHON_CODE_WORDS - 1)

static __always_inline __u64 python_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/*
 * The frame of the C frame at @cframe. A call of the interpreter makes its own known before
 * that names a frame: some instructions later its last frame was called by the one below (3.11,
 * 3.12).
 */
static __always_inline int python_cframe(struct python_env *env, struct python_state *s,
					 const struct ebp_python *o, __u64 cframe)
{
	__u64 previous = 0;

	if (python_read(env, &s->frame, sizeof(s->frame), cframe + o->cframe_current) ||
	    python_read(env, &previous, sizeof(previous), cframe + o->cframe_previous)) {
		s->frame = 0;
		return -1;
	}
	/* The thread's own, in which nothing is called yet. */
	if (!previous)
		return 0;
	s->unchecked = 1;
	return python_read(env, &s->below, sizeof(s->below), previous + o->cframe_current);
}

/* Where a thread-local variable of a library lies; 0: nowhere. */
static __always_inline __u64 python_in_module(struct python_env *env, const struct ebp_python *o,
					      __u64 bias, __u64 tp)
{
	__u64 index[2] = {}, blocks = 0, block = 0;

	if (python_read(env, index, sizeof(index), bias + o->key) || index[0] >= PYTHON_MODULES ||
	    python_read(env, &blocks, sizeof(blocks), tp + PYTHON_DTV) ||
	    python_read(env, &block, sizeof(block), blocks + index[0] * 16))
		return 0;
	return block + index[1] + o->slot;
}

/* Where the thread names its state; 0: nowhere. */
static __always_inline __u64 python_slot(struct python_env *env, const struct ebp_python *o,
					 __u64 bias, __u64 tp)
{
	__u64 key = 0, array = 0;

	if (o->flags & EBP_PYTHON_TLS)
		return tp + o->key;
	if (o->flags & EBP_PYTHON_MODULE)
		return python_in_module(env, o, bias, tp);
	if (python_read(env, &key, sizeof(key), bias + o->key))
		return 0;
	if (o->flags & EBP_PYTHON_BARE_KEY)
		key = key << 32 | 1;
	if ((__u32)key != 1 || key >> 32 >= PYTHON_MUSL_KEYS)
		return 0;
	if (o->flags & EBP_PYTHON_MUSL)
		return python_read(env, &array, sizeof(array), tp - o->self + o->keys) ?
			       0 :
			       array + (key >> 32) * 8;
	if (key >> 32 >= PYTHON_KEYS)
		return 0;
	return tp - o->self + o->keys + (key >> 32) * 16 + 8;
}

/*
 * The state that the thread has at @slot; 0: none. It is only so if it names this thread, by where
 * its struct pthread begins.
 */
static __always_inline __u64 python_thread(struct python_env *env, const struct ebp_python *o,
					   __u64 slot, __u64 tp)
{
	const __u32 fixed = EBP_PYTHON_TLS | EBP_PYTHON_MODULE | EBP_PYTHON_MUSL;
	__u32 step = o->flags & fixed ? 0 : EBP_PYTHON_SELF;

	for (__u32 i = 0; i < EBP_PYTHON_SELVES && i <= o->selves; i++) {
		__u64 thread = 0, self = 0;

		if (python_read(env, &thread, sizeof(thread), slot - i * step) || !thread ||
		    python_read(env, &self, sizeof(self), thread + o->thread_id))
			continue;
		if (self == tp - o->self - i * EBP_PYTHON_SELF)
			return thread;
	}
	return 0;
}

/* Whether @thread is a subinterpreter's: the main one is number 0. */
static __always_inline int python_is_sub(struct python_env *env, const struct ebp_python *o,
					 __u64 thread)
{
	__u64 interpreter = 0, id = 0;

	return o->thread_interp &&
	       !python_read(env, &interpreter, sizeof(interpreter), thread + o->thread_interp) &&
	       !python_read(env, &id, sizeof(id), interpreter + o->interp_id) && id;
}

/*
 * The frame that the thread with thread pointer @tp runs. 0; negative where it has none: it is not
 * Python's, or Python is not there yet.
 */
static __always_inline int python_begin(struct python_env *env, struct python_state *s,
					const struct ebp_python *o, __u64 bias, __u64 tp)
{
	__u64 slot = python_slot(env, o, bias, tp), thread, current = 0;

	s->bias = bias;
	s->frame = s->code = s->unchecked = s->partial = 0;
	thread = slot ? python_thread(env, o, slot, tp) : 0;
	if (!thread || python_read(env, &current, sizeof(current), thread + o->current))
		return -1;
	s->partial = python_is_sub(env, o, thread);
	python_await_begin(env, &s->await, o, thread);
	if (o->flags & EBP_PYTHON_CFRAME)
		return python_cframe(env, s, o, current);
	s->frame = current;
	return 0;
}

/* Words of a code object that are looked at, from the first behind its head on. */
#define PYTHON_CODE_FIRST 2
#define PYTHON_CODE_END	  20

static __always_inline __u64 python_identity_word(const struct python_state *s,
						  const struct ebp_python *o, int i)
{
	return s->code_words[i] & (0 - (o->code_words >> i & 1));
}

/*
 * What tells the code at s->code from others, of what was read of it; 0: it is no code. Three sums,
 * none of which waits for another.
 */
static __always_inline __u64 python_identity(struct python_env *env, struct python_state *s,
					     const struct ebp_python *o)
{
	__u64 a = s->code, b, c;

	if (s->code_words[1] != s->bias + o->code_type)
		return 0;
	/* Names are interned, so their hash is there: it differs where the texts do. */
	if (PYTHON_READ_NEAR(env, s->name_words, sizeof(s->name_words), CODE_WORD(s, o->code_name)))
		return 0;
	b = s->name_words[2];
	c = s->name_words[3];
#ifdef __clang__
#pragma unroll
#endif
	for (int i = PYTHON_CODE_FIRST; i < PYTHON_CODE_END; i += 3) {
		a = python_mix(a, python_identity_word(s, o, i));
		b = python_mix(b, python_identity_word(s, o, i + 1));
		c = python_mix(c, python_identity_word(s, o, i + 2));
	}
	a = python_mix(python_mix(a, b), c);
	return a ? a : 1;
}

/* The place in the code, in instructions of two bytes. */
static __always_inline __u32 python_place(const struct python_state *s, const struct ebp_python *o)
{
	__u64 at;

	if (o->flags & EBP_PYTHON_POINTER) {
		at = FRAME_WORD(s, o->frame_place) - (s->code + o->code_start);
		/* One before the first: it has not begun. */
		at = at == (__u64)-2 ? 0 : at >> 1;
	} else {
		__u32 index = python_half(s->frame_words, o->frame_place, PYTHON_FRAME_WORDS - 1);

		at = index == (__u32)-1 ? 0 : o->flags & EBP_PYTHON_BYTES ? index >> 1 : index;
	}
	return at < EBP_PLACE_NONE ? at : EBP_PLACE_NONE;
}

/* What has to be known of the code at s->code. 0; negative where it is no code. */
static __always_inline int python_read_code(struct python_env *env, struct python_state *s,
					    const struct ebp_python *o)
{
	s->known = PYTHON_KNOWN(env, s, o);
	if (s->known)
		return 0;
	s->identity = PYTHON_READ_NEAR(env, s->code_words, o->code_bytes & 255, s->code)
			      ? 0
			      : python_identity(env, s, o);
	if (s->identity)
		return 0;
	s->code = 0;
	return -1;
}

/* Reads s->frame, and goes on to its caller. 0; negative where it cannot be read. */
static __always_inline int python_read_frame(struct python_env *env, struct python_state *s,
					     const struct ebp_python *o)
{
	__u32 bytes = o->frame_bytes & 127, mark;
	__u64 code, at = s->frame;

	if (PYTHON_READ_NEAR(env, s->frame_words, bytes, at))
		return -1;
	s->frame = FRAME_WORD(s, o->frame_back);
	python_await_at(&s->await, at, s->frame);
	mark = FRAME_WORD(s, o->frame_entry) >> (o->frame_entry & 7) * 8 & 0xff;
	s->entry = !!(o->flags & EBP_PYTHON_ALWAYS_ENTRY) | (mark == o->entry_value);
	if (o->flags & EBP_PYTHON_OWNER && mark >= o->entry_value) {
		s->entry &= s->frame || !(o->flags & EBP_PYTHON_BASE);
		s->code = 0;
		return 0;
	}
	/* Since 3.14 the lowest bits are a tag; objects are aligned. */
	code = FRAME_WORD(s, o->frame_code) & ~7ull;
	if (code != s->code || !code) {
		s->code = code;
		if (python_read_code(env, s, o))
			return -1;
	}
	s->place = python_place(s, o);
	return 0;
}

#define PYTHON_AGAIN 1

/*
 * One frame: 0. Negative: there are no more, or it cannot be read. PYTHON_AGAIN: what steps gave so
 * far is not so, and they begin again.
 */
static __always_inline int python_step(struct python_env *env, struct python_state *s,
				       const struct ebp_python *o)
{
	int err = s->frame ? python_read_frame(env, s, o) : -1;

	if (!s->unchecked || (!err && !s->entry))
		return err;
	s->unchecked = 0;
	if (!err && s->frame == s->below)
		return 0;
	s->frame = s->below;
	s->code = 0;
	return PYTHON_AGAIN;
}

#endif
