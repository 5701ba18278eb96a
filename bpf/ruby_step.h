/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the control frames of CRuby: from a frame to the one that called it.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct ruby_env` (opaque here) and
 *   int ruby_read(env, dst, size, address)	target memory: 0, or negative
 * and may define RUBY_READ_NEAR(env, what, size, address): the same of what is read for
 * each frame, into an array or a variable that has room for more.
 *
 * Nothing that is read is trusted: a frame has to lie in the stack of the thread's execution
 * context, and what it runs has to say of itself that it is an instruction sequence.
 */
#ifndef EBPROF_RUBY_STEP_H
#define EBPROF_RUBY_STEP_H

#include "bpf/ruby.h"

#ifndef RUBY_READ_NEAR
#define RUBY_READ_NEAR(env, what, size, address) ruby_read((env), &(what), (size), (address))
#endif

#define RUBY_KEYS		32	/* as in python_step.h */
#define RUBY_PTHREAD_KEYS	0x310
#define RUBY_MODULES		4096	/* numbers of libraries with thread-local variables */
#define RUBY_STACK_WORDS	(1u << 24)
#define RUBY_HOPS		6	/* from a block to its method */

/* Flags of objects. */
#define RUBY_TYPE(flags)	((flags) & 0x1f)
#define RUBY_CLASS		2
#define RUBY_MODULE		3
#define RUBY_STRING		5
#define RUBY_ARRAY		7
#define RUBY_IMEMO		0x1a
#define RUBY_ICLASS		0x1c
#define RUBY_IMEMO_KIND(flags)	(((flags) >> 12 & 15) | (RUBY_TYPE(flags) ^ RUBY_IMEMO) << 4)
#define RUBY_SVAR		2
#define RUBY_METHOD		6
#define RUBY_ISEQ		7

/* Flags of a frame's environment. */
#define RUBY_FRAME_KIND		0x7fff0001
#define RUBY_FRAME_C		0x55550001
#define RUBY_FRAME_DUMMY	0x79990001	/* below all others of a thread */
#define RUBY_FRAME_FINISH	0x20
#define RUBY_FRAME_OF_C		0x80
#define RUBY_ENV_LOCAL		2

/* Words of what is read. */
enum { RUBY_PC, RUBY_SP, RUBY_FRAME_ISEQ, RUBY_SELF, RUBY_EP, RUBY_FRAME_WORDS };
enum { RUBY_ENV_METHOD, RUBY_ENV_PREVIOUS, RUBY_ENV_FLAGS, RUBY_ENV_WORDS };
enum { RUBY_ISEQ_FLAGS, RUBY_ISEQ_WRAPPER, RUBY_ISEQ_BODY, RUBY_ISEQ_WORDS };
enum { RUBY_METHOD_FLAGS, RUBY_METHOD_CLASS, RUBY_METHOD_DEF, RUBY_METHOD_ID, RUBY_METHOD_OWNER,
       RUBY_METHOD_WORDS };
/* of the body: */
enum { RUBY_BODY_SIZE, RUBY_BODY_CODE, RUBY_BODY_PATH = 8, RUBY_BODY_BASE, RUBY_BODY_LABEL,
       RUBY_BODY_FIRST_LINE, RUBY_BODY_WORDS = 20 };

struct ruby_state {
	__u64 bias;		/* of the interpreter's mapping */
	__u64 frame, end;	/* the next one, and where there are none */
	/* What the last step found: */
	__u64 identity;		/* of its code; 0: the frame is none of a program's */
	__u64 method;		/* address of its method entry; 0: none */
	/* the sequence whose identity this is, with its words; 0: none. A stack's code is alive. */
	__u64 cached, cached_identity;
	__u64 cached_method;	/* what is in method_words */
	__u64 object;		/* that is looked at */
	__u32 place;
	__u32 entry;		/* a call of the interpreter began this frame */
	__u32 is_c;		/* a method in C */
	__u32 has_code;		/* ... or instructions */
	__u32 collects;		/* the collector runs, in whatever thread */
	__u64 frame_words[RUBY_FRAME_WORDS];
	__u64 env_words[RUBY_ENV_WORDS];
	__u64 iseq_words[RUBY_ISEQ_WORDS];
	__u64 method_words[RUBY_METHOD_WORDS];
	__u64 body_words[RUBY_BODY_WORDS];
	__u64 name_words[5];
	__u64 variables[12];	/* of a class: {hash, key, value} each */
};

static __always_inline __u64 ruby_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

/* The word at @address; 0: it cannot be read. No branch: the helper leaves zeroes. */
static __always_inline __u64 ruby_word(struct ruby_env *env, __u64 address)
{
	__u64 word = 0;

	ruby_read(env, &word, sizeof(word), address);
	return word;
}

/* --- Where the frames are. ----------------------------------------------------- */

/* The execution context of the thread that @key, a thread-specific one, leads to. */
static __always_inline __u64 ruby_context_by_key(struct ruby_env *env, const struct ebp_ruby *o,
						 __u64 address, __u64 tp)
{
	__u32 key = ruby_word(env, address);
	__u64 thread;

	if (key >= RUBY_KEYS)
		return 0;
	thread = ruby_word(env, tp + RUBY_PTHREAD_KEYS + key * 16 + 8);
	if (!thread || ruby_word(env, thread + o->thread_id) != tp)
		return 0;
	return ruby_word(env, thread + o->thread_ec);
}

/* Of the thread-local variable whose module and offset are at @address: glibc's vector. */
static __always_inline __u64 ruby_context_by_slot(struct ruby_env *env, const struct ebp_ruby *o,
						  __u64 address, __u64 tp)
{
	__u64 module = ruby_word(env, address), vector = ruby_word(env, tp + 8), block;

	if (!module || module >= RUBY_MODULES || !vector)
		return 0;
	block = ruby_word(env, vector + module * 16);
	if (!block || block == (__u64)-1)
		return 0;
	return ruby_word(env, block + ruby_word(env, address + 8) + o->distance);
}

#define RUBY_COLLECTOR	2	/* its identity: that of code is odd */

/* Whether the collector runs, in whatever thread. */
static __always_inline __u32 ruby_collects(struct ruby_env *env, const struct ebp_ruby *o,
					   __u64 bias)
{
	__u64 vm;
	__u8 flags = 0;

	if (!o->collects)
		return 0;
	vm = ruby_word(env, bias + o->vm);
	if (o->flags & EBP_RUBY_VM_SLOT)
		vm = ruby_word(env, vm);
	ruby_read(env, &flags, sizeof(flags), ruby_word(env, vm + o->space) + o->collects_at);
	return flags & o->collects;
}

/*
 * The frame that the thread with thread pointer @tp runs. 0; negative where it has none: it is not
 * Ruby's, or Ruby is not there yet.
 */
static __always_inline int ruby_begin(struct ruby_env *env, struct ruby_state *s,
				      const struct ebp_ruby *o, __u64 bias, __u64 tp)
{
	__u64 context, words[3] = { 0 };

	s->bias = bias;
	s->frame = s->end = s->cached = s->cached_method = 0;
	if (o->flags & EBP_RUBY_KEY)
		context = ruby_context_by_key(env, o, bias + o->slot, tp);
	else if (o->flags & EBP_RUBY_STATIC)
		context = ruby_word(env, tp + o->distance);
	else
		context = ruby_context_by_slot(env, o, bias + o->slot, tp);
	if (!context || ruby_read(env, words, sizeof(words), context))
		return -1;
	/* The stack, its size in words, the frame. */
	if (!words[1] || words[1] > RUBY_STACK_WORDS)
		return -1;
	s->end = words[0] + words[1] * 8;
	s->frame = words[2];
	s->collects = ruby_collects(env, o, bias);
	return s->frame <= words[0] || s->frame > s->end ? -1 : 0;
}

/* --- One frame. ---------------------------------------------------------------- */

/* What the environment says of the method; RUBY_HOPS of these, to that of the method. 1: go on. */
static __always_inline int ruby_hop(struct ruby_env *env, struct ruby_state *s)
{
	__u64 object = s->env_words[RUBY_ENV_METHOD];
	__u32 kind;

	s->method = 0;
	if (!object || object != s->cached_method) {
		s->cached_method = s->method_words[RUBY_METHOD_FLAGS] = 0;
		if (object && RUBY_READ_NEAR(env, s->method_words, sizeof(s->method_words), object))
			return 0;
		s->cached_method = object;
	}
	kind = RUBY_IMEMO_KIND(s->method_words[RUBY_METHOD_FLAGS]);
	/* Special variables stand before it. */
	if (object && kind == RUBY_SVAR) {
		s->env_words[RUBY_ENV_METHOD] = s->method_words[1];
		return 1;
	}
	if (object && kind == RUBY_METHOD) {
		s->method = object;
		return 0;
	}
	if (s->env_words[RUBY_ENV_FLAGS] & RUBY_ENV_LOCAL)
		return 0;
	return !RUBY_READ_NEAR(env, s->env_words, sizeof(s->env_words),
			  (s->env_words[RUBY_ENV_PREVIOUS] & ~3ull) - 16);
}

/* What tells the sequence of instructions of the frame from others; 0: it is none. */
static __always_inline __u64 ruby_identity(struct ruby_env *env, struct ruby_state *s)
{
	__u64 h = s->frame_words[RUBY_FRAME_ISEQ];

	if (RUBY_READ_NEAR(env, s->iseq_words, sizeof(s->iseq_words), h) ||
	    RUBY_IMEMO_KIND(s->iseq_words[RUBY_ISEQ_FLAGS]) != RUBY_ISEQ ||
	    RUBY_READ_NEAR(env, s->body_words, sizeof(s->body_words),
			   s->iseq_words[RUBY_ISEQ_BODY]) ||
	    RUBY_READ_NEAR(env, s->name_words, sizeof(s->name_words),
			   s->body_words[RUBY_BODY_LABEL]) ||
	    RUBY_TYPE(s->name_words[0]) != RUBY_STRING)
		return 0;
	h = ruby_mix(h, s->iseq_words[RUBY_ISEQ_BODY]);
	h = ruby_mix(h, s->body_words[RUBY_BODY_SIZE]);
	h = ruby_mix(h, s->body_words[RUBY_BODY_CODE]);
	h = ruby_mix(h, s->body_words[RUBY_BODY_PATH]);
	h = ruby_mix(h, s->body_words[RUBY_BODY_LABEL]);
	h = ruby_mix(h, s->body_words[RUBY_BODY_FIRST_LINE]);
	h = ruby_mix(h, s->name_words[2]);
	h = ruby_mix(h, s->name_words[3]);
	return ruby_mix(h, s->name_words[4]);
}

/* The place in the code: the word that is run. What the frame has is the one behind it. */
static __always_inline __u32 ruby_place(const struct ruby_state *s)
{
	__u64 at = (s->frame_words[RUBY_PC] - s->body_words[RUBY_BODY_CODE]) >> 3;

	at -= at != 0;
	return at <= s->body_words[RUBY_BODY_SIZE] >> 32 && at < EBP_PLACE_NONE ? at
										 : EBP_PLACE_NONE;
}

/*
 * Reads s->frame, and goes on to its caller. 0; negative where it cannot be read, or there is none.
 * What the frame is of is not looked at yet.
 */
static __always_inline int ruby_step(struct ruby_env *env, struct ruby_state *s,
				     const struct ebp_ruby *o)
{
	__u64 kind;

	s->identity = s->method = 0;
	s->place = EBP_PLACE_NONE;
	s->is_c = s->entry = 0;
	if (s->frame >= s->end ||
	    RUBY_READ_NEAR(env, s->frame_words, sizeof(s->frame_words), s->frame) ||
	    RUBY_READ_NEAR(env, s->env_words, sizeof(s->env_words), s->frame_words[RUBY_EP] - 16))
		return -1;
	s->frame += o->frame_bytes;
	kind = s->env_words[RUBY_ENV_FLAGS] & RUBY_FRAME_KIND;
	s->is_c = kind == RUBY_FRAME_C;
	s->has_code = (kind != RUBY_FRAME_DUMMY) & !!s->frame_words[RUBY_FRAME_ISEQ] &
		      !(s->env_words[RUBY_ENV_FLAGS] & RUBY_FRAME_OF_C);
	s->entry = !!(s->env_words[RUBY_ENV_FLAGS] & RUBY_FRAME_FINISH);
	return 0;
}

/* The frame's code, if it has some. After ruby_step(). */
static __always_inline void ruby_code(struct ruby_env *env, struct ruby_state *s)
{
	if (!s->has_code)
		return;
	if (s->frame_words[RUBY_FRAME_ISEQ] != s->cached) {
		s->cached_identity = ruby_identity(env, s);
		s->cached = s->cached_identity ? s->frame_words[RUBY_FRAME_ISEQ] : 0;
	}
	s->identity = s->cached_identity;
	s->place = ruby_place(s);
}

/* After all hops. */
static __always_inline void ruby_of_method(struct ruby_state *s)
{
	__u64 owner = s->method ? s->method_words[RUBY_METHOD_OWNER] : 0;

	if (s->is_c)
		s->identity = s->method ? ruby_mix(s->method_words[RUBY_METHOD_DEF],
						   s->method_words[RUBY_METHOD_ID])
					: 0;
	if (s->identity)
		s->identity = ruby_mix(s->identity, owner) | 1;
}

#endif
