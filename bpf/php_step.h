/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the frames of PHP (zend_execute_data): from a frame to the one that called it.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct php_env` (opaque here) and
 *   int php_read(env, dst, size, address)	target memory: 0, or negative
 * and may define PHP_READ_NEAR(env, what, size, address): the same of what is read for
 * each frame, into an array or a variable that has room for more.
 *
 * Nothing that is read is trusted. A function counts only where its kind is one that there is, and
 * where its names and its file are strings: so a layout that does not fit gives no frames, not
 * wrong ones. Every offset is masked.
 */
#ifndef EBPROF_PHP_STEP_H
#define EBPROF_PHP_STEP_H

#include "bpf/php.h"

#ifndef PHP_READ_NEAR
#define PHP_READ_NEAR(env, what, size, address) php_read((env), &(what), (size), (address))
#endif

#define PHP_FRAME_WORDS	8
#define PHP_CODE_WORDS	32
#define PHP_KEYS	32	/* of a thread's first block of keys */
#define PHP_CHAIN	16	/* generators that wait for one another: those that are shown */

/* Words of zend_execute_data. */
#define PHP_OPLINE	0
#define PHP_FUNCTION	3
#define PHP_THIS	4
#define PHP_INFO	5	/* the low half */
#define PHP_BACK	6

#define PHP_IS_OBJECT	8u		/* the type of This, in the info's low byte */
#define PHP_CALL_TOP	(1u << 17)	/* from C */

/* Of zend_function: its kind is the first byte, and words. */
#define PHP_INTERNAL	1
#define PHP_USER	2
#define PHP_EVAL	4
#define PHP_NAME	1
#define PHP_SCOPE	2

#define PHP_CLASS_NAME	8		/* of zend_class_entry */

/* Of zend_string: */
#define PHP_IS_STRING	6
#define PHP_LENGTH	16
#define PHP_TEXT	24

/* Of an instruction: */
#define PHP_OP_SHIFT	5
#define PHP_OP_LINE	24

struct php_state {
	__u64 frame;		/* the next one; 0: there is none */
	__u64 ip;		/* of the first: where registers say that it is; 0: they do not */
	/* What the last step found: */
	__u64 code;		/* address of the function; 0: the frame has none */
	__u64 identity;		/* of that code: differs where another one has its address */
	__u64 scope_name;	/* the string that its class has as its name; 0: it is in none */
	__u32 place;		/* its line */
	__u32 entry;		/* a call of the interpreter began this frame */
	/* generators that wait for the last frame's, the outermost first */
	__u64 chain[PHP_CHAIN];
	__u64 waiting;		/* how many */
	__u64 cached;		/* the function that is in code_words */
	__u64 frame_words[PHP_FRAME_WORDS];
	__u64 code_words[PHP_CODE_WORDS];
	__u64 string[3];
};

#define PHP_WORD(s, offset) ((s)->code_words[(offset) >> 3 & (PHP_CODE_WORDS - 1)])

static __always_inline __u64 php_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static __always_inline int php_is_user(const struct php_state *s)
{
	__u8 kind = s->code_words[0];

	return kind == PHP_USER || kind == PHP_EVAL;
}

/* Where the frame is named that runs, of the thread with thread pointer @tp; 0: nowhere. */
static __always_inline __u64 php_current(struct php_env *env, const struct ebp_php *o, __u64 bias,
					 __u64 tp)
{
	__u64 table = 0, globals = 0;
	__u32 key = 0;

	if (!o->keys)
		return bias + o->current;
	if (php_read(env, &key, sizeof(key), bias + o->current) || key >= PHP_KEYS ||
	    php_read(env, &table, sizeof(table), tp + o->keys + key * 16 + 8) || !table ||
	    php_read(env, &globals, sizeof(globals), bias + o->globals))
		return 0;
	return table + globals + o->in_globals;
}

/*
 * The frame that the process runs, or its thread; @fp and @ip: the registers in which the
 * interpreter keeps its frame and its instruction, where it runs. 0; negative where it has none.
 */
static __always_inline int php_begin(struct php_env *env, struct php_state *s,
				     const struct ebp_php *o, __u64 bias, __u64 tp, __u64 fp,
				     __u64 ip)
{
	__u64 at = php_current(env, o, bias, tp);

	s->code = s->cached = s->waiting = 0;
	if (!at || php_read(env, &s->frame, sizeof(s->frame), at) || !s->frame) {
		s->frame = 0;
		return -1;
	}
	s->ip = fp == s->frame ? ip : 0;
	return 0;
}

/* @h with the string at @address; 0: it is none. */
static __always_inline __u64 php_mix_string(struct php_env *env, struct php_state *s, __u64 h,
					    __u64 address)
{
	if (PHP_READ_NEAR(env, s->string, sizeof(s->string), address) ||
	    (s->string[0] >> 32 & 15) != PHP_IS_STRING)
		return 0;
	return php_mix(php_mix(h, s->string[1]), s->string[2]) | 1;
}

/*
 * What tells the code in s->code_words from others; 0: it is no code. The address is no part of it,
 * for each object of a closure has a copy of its function.
 */
static __always_inline __u64 php_identity(struct php_env *env, struct php_state *s,
					  const struct ebp_php *o)
{
	int user = php_is_user(s);
	__u64 h = php_mix(s->code_words[PHP_SCOPE] ^ (__u8)s->code_words[0],
			  PHP_WORD(s, user ? o->opcodes : o->handler)) | 1;

	s->scope_name = 0;
	if (s->code_words[PHP_NAME])
		h = php_mix_string(env, s, h, s->code_words[PHP_NAME]);
	if (h && s->code_words[PHP_SCOPE]) {
		if (PHP_READ_NEAR(env, s->scope_name, sizeof(s->scope_name),
			     s->code_words[PHP_SCOPE] + PHP_CLASS_NAME))
			return 0;
		h = php_mix_string(env, s, h, s->scope_name);
	}
	if (h && user)
		h = php_mix_string(env, s, php_mix(h, PHP_WORD(s, o->lines)),
				   PHP_WORD(s, o->file));
	return h;
}

/* The function at s->code. 0; negative where it is none. */
static __always_inline int php_read_code(struct php_env *env, struct php_state *s,
					 const struct ebp_php *o)
{
	__u32 bytes;

	s->cached = 0;
	if (PHP_READ_NEAR(env, s->code_words, sizeof(s->code_words[0]), s->code))
		return -1;
	if (!php_is_user(s) && (__u8)s->code_words[0] != PHP_INTERNAL)
		return -1;
	bytes = (php_is_user(s) ? o->user_bytes : o->internal_bytes) & 255;
	if (PHP_READ_NEAR(env, s->code_words, bytes, s->code))
		return -1;
	s->identity = php_identity(env, s, o);
	if (!s->identity)
		return -1;
	s->cached = s->code;
	return 0;
}

/* @ip is an instruction of the code. */
static __always_inline int php_is_at(const struct php_state *s, const struct ebp_php *o, __u64 ip)
{
	__u64 from = ip - PHP_WORD(s, o->opcodes);
	__u32 last = PHP_WORD(s, o->last) >> (o->last & 4) * 8;

	return !(from & ((1u << PHP_OP_SHIFT) - 1)) && from >> PHP_OP_SHIFT < last;
}

static __always_inline __u32 php_place(struct php_env *env, struct php_state *s,
				       const struct ebp_php *o)
{
	__u64 ip = s->ip;
	__u32 line = 0;

	if (!php_is_at(s, o, ip))
		ip = s->frame_words[PHP_OPLINE];
	if (!php_is_at(s, o, ip) || PHP_READ_NEAR(env, line, sizeof(line), ip + PHP_OP_LINE))
		return EBP_PLACE_NONE;
	return line && line < EBP_PLACE_NONE ? line : EBP_PLACE_NONE;
}

/*
 * A frame without a function: of no interest, or the place of generators, each of which waits for
 * the next one (yield from). The last of them is the frame before; the object has the first.
 */
static __always_inline void php_placeholder(struct php_env *env, struct php_state *s,
					    const struct ebp_php *o, __u64 frame)
{
	__u64 generator = s->frame_words[PHP_THIS];

	if ((s->frame_words[PHP_INFO] & 0xff) != PHP_IS_OBJECT ||
	    frame - o->generator_fake != generator)
		return;
	for (__u32 i = 0; i < PHP_CHAIN; i++) {
		__u64 parent = 0;

		if (php_read(env, &parent, sizeof(parent), generator + o->generator_parent) ||
		    !parent)
			return;
		s->chain[i] = generator;
		s->waiting = i + 1;
		generator = parent;
	}
}

/* The address of the next frame; 0: it cannot be read. */
static __always_inline __u64 php_next(struct php_env *env, struct php_state *s,
				      const struct ebp_php *o)
{
	__u64 frame = 0;

	if (!s->waiting)
		return s->frame;
	s->waiting--;
	if (php_read(env, &frame, sizeof(frame),
		     s->chain[s->waiting & (PHP_CHAIN - 1)] + o->generator_data))
		return 0;
	return frame;
}

/* One frame: 0. Negative: there are no more, or it cannot be read. */
static __always_inline int php_step(struct php_env *env, struct php_state *s,
				    const struct ebp_php *o)
{
	__u32 is_waiting = !!s->waiting;
	__u64 frame = php_next(env, s, o);

	s->code = 0;
	if (!frame || PHP_READ_NEAR(env, s->frame_words, (PHP_BACK + 1) * sizeof(__u64), frame))
		return -1;
	if (!is_waiting)
		s->frame = s->frame_words[PHP_BACK];
	s->entry = 0;
	s->place = EBP_PLACE_NONE;
	if (!s->frame_words[PHP_FUNCTION]) {
		if (!is_waiting)
			php_placeholder(env, s, o, frame);
		return 0;
	}
	s->code = s->frame_words[PHP_FUNCTION];
	if (s->code != s->cached && php_read_code(env, s, o)) {
		s->code = 0;
		return -1;
	}
	if (php_is_user(s)) {
		s->entry = !is_waiting && s->frame_words[PHP_INFO] & PHP_CALL_TOP;
		s->place = php_place(env, s, o);
	} else if (!s->code_words[PHP_NAME]) {
		s->code = 0;
	}
	s->ip = 0;
	return 0;
}

#endif
