/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step over the contexts of Perl (PERL_CONTEXT), from the newest: each is a frame, or nothing.
 *
 * The same code is compiled for BPF and natively. The includer defines before:
 * `struct perl_env` (opaque here) and
 *   int perl_read(env, dst, size, address)	target memory: 0, or negative
 *   int perl_read_text(env, dst, size, address)
 *	up to a zero, or as much as there is room for, with a zero: bytes with it, or negative
 * and may define PERL_READ_NEAR(env, what, size, address): perl_read() of what is read for
 * each frame, into an array or a variable that has room for more.
 *
 * Nothing that is read is trusted. The interpreter counts only where its two ways to the stack that
 * it runs on agree, and a sub only where it has a sub's type: so a layout that does not fit gives
 * no frames, not wrong ones. A frame's place is its line.
 *
 * What C calls returns to no op, and so begins a run of frames. Two things hide that: a call that
 * is the last op of a block that C runs (of sort, of a regular expression) returns to none, too,
 * and such a block may have no frame of its own.
 */
#ifndef EBPROF_PERL_STEP_H
#define EBPROF_PERL_STEP_H

#include "bpf/perl.h"

#ifndef PERL_READ_NEAR
#define PERL_READ_NEAR(env, what, size, address) perl_read((env), &(what), (size), (address))
#endif

#define PERL_KEYS	32	/* of a thread's first block of keys */
#define PERL_DEPTH	(1u << 20)
#define PERL_FILE_BYTES	512
#define PERL_TEXT_MASK	(PERL_FILE_BYTES / 8 - 1)
#define PERL_TEXT_WORDS	8	/* of a file's name that tell it from others: its last bytes */

/* Words of a context. */
#define PERL_COP	2
#define PERL_RETOP	6
#define PERL_CX_BYTES	80
#define PERL_CX_WORDS	16

/* Its type, and what an eval was before: op << 7, in the first word. */
#define PERL_TYPE	15u
#define PERL_NULL	0u
#define PERL_BLOCK	2u
#define PERL_SUB	9u
#define PERL_FORMAT	10u
#define PERL_EVAL	11u
#define PERL_TRY	0x40u	/* with PERL_EVAL: a block, no text and no file */
#define PERL_REGEX	0x40u	/* with PERL_SUB: code in a regular expression */
#define PERL_NO_CALL	0x80u	/* ... that is no sub of its own */
#define PERL_EVAL_OP(word) ((__u32)((word) >> 23 & 511))

/* Words of PERL_SI. */
#define PERL_SI_LIST	0
#define PERL_SI_STACK	1
#define PERL_SI_BACK	2
#define PERL_SI_NEXT	3
#define PERL_SI_TOP	4	/* the low half */
#define PERL_SI_WORDS	6
#define PERL_SI_SORT	3u	/* a type */

/* Of a COP: the op's type, of nine bits, and the line in one word; the file two words on. */
#define PERL_COP_TYPE	32
#define PERL_COP_WORDS	3

/* Types of SV: sub, format. */
#define PERL_SV_SUB	13u
#define PERL_SV_FORMAT	14u

/* Words of XPVCV, less the first four: they are read from there. */
#define PERL_CV_BODY	32
#define PERL_CV_STASH	0
#define PERL_CV_START	1
#define PERL_CV_NAME	3
#define PERL_CV_FILE	4
#define PERL_CV_FLAGS	7	/* the high half */
#define PERL_CV_WORDS	8
#define PERL_CV_NAMED	0x8000u
#define PERL_CV_LEXICAL	0x10000u

#define PERL_GV_NAME	32	/* of XPVGV; behind it is the stash */
/* Of a hash: its array; of its body, XPVHV: the array's last index, and what is behind it. */
#define PERL_HV_ARRAY	16
#define PERL_HV_LAST	24
#define PERL_HV_AUX	32
/* Of what is rare in a hash: the name, or an array of names, and how many: 0: it is no array. */
#define PERL_AUX_NAME	0
#define PERL_AUX_NAMES	28

#define PERL_CODE_FILE	1
#define PERL_CODE_EVAL	2

struct perl_state {
	__u64 list;		/* what the first one has as its list of values */
	__u64 stack;		/* the next one; 0: there is none */
	__u64 base;		/* the contexts of the one that is walked */
	__u64 cop;		/* of the next frame */
	__s32 top;		/* the next context; negative: none */
	__u32 lowest;		/* the type of the last context that had one */
	__u32 sort;		/* the stack that is walked is a sort's */
	__u32 ended;		/* all has been said */
	/* What the last step found: */
	__u64 code;		/* address of a CV, or PERL_CODE_*; 0: no frame */
	__u64 identity;		/* of that code: differs where another one has its address */
	__u64 name, stash;	/* HEK; HV; 0: it has none */
	__u64 file;		/* address of characters, up to a zero */
	__u32 place;
	/* C called it: it began its run; where it has no code, the last one did so */
	__u32 entry;
	/* the last frame of this stack was an entry, right above this context */
	__u32 tail;
	__u32 not_entry;	/* ... and is none: it was this one's last op */
	__u64 cached;		/* the CV that is in body; 0: none */
	__u64 hash;		/* ... what of its name is in identities */
	__u64 words[PERL_CX_WORDS];
	__u64 cop_words[PERL_COP_WORDS];
	__u64 body[PERL_CV_WORDS];
	__u64 text[PERL_FILE_BYTES / 8 + PERL_TEXT_WORDS];
};

static __always_inline __u64 perl_mix(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ull;
	return h ^ h >> 32;
}

static __always_inline int perl_begin(struct perl_env *env, struct perl_state *s,
				      const struct ebp_perl *o, __u64 bias, __u64 tp)
{
	__u64 self = 0;
	__u32 key = 0;

	s->stack = s->code = s->cached = s->tail = s->ended = s->sort = s->lowest = 0;
	s->top = -1;
	if (perl_read(env, &key, sizeof(key), bias + o->key) || key >= PERL_KEYS ||
	    perl_read(env, &self, sizeof(self), tp + o->keys + key * 16 + 8) || !self ||
	    perl_read(env, s->cop_words, sizeof(s->cop_words), self + o->cop))
		return -1;
	s->cop = s->cop_words[0];
	s->list = s->cop_words[1];
	s->stack = s->cop_words[2];
	return s->stack && s->list ? 0 : -1;
}

/* The statement of the next frame: its line and its file. */
static __always_inline void perl_statement(struct perl_env *env, struct perl_state *s,
					   const struct ebp_perl *o)
{
	__u32 type, line;

	s->place = EBP_PLACE_NONE;
	s->file = 0;
	if (!s->cop ||
	    PERL_READ_NEAR(env, s->cop_words, sizeof(s->cop_words), s->cop + PERL_COP_TYPE))
		return;
	type = s->cop_words[0] & 511;
	line = s->cop_words[0] >> 32;
	/* PL_compiling and the like have no type. */
	if (type && type != o->op_state && type != o->op_state + 1u)
		return;
	s->file = s->cop_words[2];
	if (line && line < EBP_PLACE_NONE)
		s->place = line;
}

/* The name of the sub in s->body, and its package. 0; negative where it cannot be read. */
static __always_inline int perl_name(struct perl_env *env, struct perl_state *s)
{
	__u64 body = 0, name[2] = { s->body[PERL_CV_NAME], s->body[PERL_CV_STASH] };
	__u32 flags = s->body[PERL_CV_FLAGS] >> 32;

	s->hash = 0;
	if (!name[0])
		return 0;
	if (!(flags & PERL_CV_NAMED) &&
	    (PERL_READ_NEAR(env, body, sizeof(body), name[0]) ||
	     PERL_READ_NEAR(env, name, sizeof(name), body + PERL_GV_NAME)))
		return -1;
	s->name = name[0];
	s->stash = flags & PERL_CV_LEXICAL ? 0 : name[1];
	/* Its own hash, and its length. */
	return s->name ? PERL_READ_NEAR(env, s->hash, sizeof(s->hash), s->name) : 0;
}

/* The sub at s->code. 0; negative where it is none. */
static __always_inline int perl_sub(struct perl_env *env, struct perl_state *s)
{
	__u64 head[2] = { 0, 0 };
	__u8 type;

	if (s->code != s->cached) {
		s->cached = s->name = s->stash = 0;
		if (PERL_READ_NEAR(env, head, sizeof(head), s->code))
			return -1;
		type = head[1] >> 32;
		if ((type != PERL_SV_SUB && type != PERL_SV_FORMAT) ||
		    PERL_READ_NEAR(env, s->body, sizeof(s->body), head[0] + PERL_CV_BODY) ||
		    perl_name(env, s))
			return -1;
		s->cached = s->code;
	}
	/* Closures of one text have its first op. */
	s->identity = perl_mix(perl_mix(s->stash, s->body[PERL_CV_START]), s->hash) | 1;
	s->file = s->body[PERL_CV_FILE];
	return 0;
}

/* What is no sub's is told from others by its file. */
static __always_inline void perl_file(struct perl_env *env, struct perl_state *s)
{
	__u64 h = s->code;
	__u32 end, first;
	int n;

	for (__u32 i = 0; i < PERL_TEXT_WORDS; i++)
		s->text[i] = 0;
	n = perl_read_text(env, s->text, PERL_FILE_BYTES, s->file);
	/* Behind it is what was there before. */
	end = n > 0 ? n & (2 * PERL_FILE_BYTES - 1) : 0;
	s->text[end >> 3 & PERL_TEXT_MASK] &= (1ull << (end & 7) * 8) - 1;
	first = end > PERL_TEXT_WORDS * 8 ? (end + 7) / 8 - PERL_TEXT_WORDS : 0;
	for (__u32 i = 0; i < PERL_TEXT_WORDS; i++)
		h = perl_mix(h, s->text[(first & PERL_TEXT_MASK) + i]);
	s->identity = h << 1;
}

/* All stacks were walked: the program's own code, where that runs. */
static __always_inline int perl_last(struct perl_state *s)
{
	s->ended = 1;
	s->entry = s->lowest == PERL_BLOCK;
	s->code = s->entry ? PERL_CODE_FILE : 0;
	return 0;
}

/* The interpreter's list of values and that of its stack are set one after the other. */
static __always_inline int perl_agrees(struct perl_env *env, struct perl_state *s)
{
	__u64 near = 0;

	if (s->words[PERL_SI_LIST] == s->list)
		return 1;
	if (!perl_read(env, &near, sizeof(near), s->words[PERL_SI_BACK]) && near == s->list)
		return 1;
	return !perl_read(env, &near, sizeof(near), s->words[PERL_SI_NEXT]) && near == s->list;
}

/* The stack that was walked has its end; the next one. */
static __always_inline int perl_next_stack(struct perl_env *env, struct perl_state *s,
					   const struct ebp_perl *o)
{
	/* A block of sort's has no frame. */
	s->entry = s->sort && s->lowest == PERL_NULL && !s->tail;
	s->tail = s->sort = 0;
	if (s->entry)
		return 0;
	if (!s->stack)
		return perl_last(s);
	if (perl_read(env, s->words, PERL_SI_WORDS * sizeof(__u64), s->stack) ||
	    (s->list && !perl_agrees(env, s)))
		return -1;
	s->list = 0;
	s->stack = s->words[PERL_SI_BACK];
	s->base = s->words[PERL_SI_STACK];
	s->top = (__s32)s->words[PERL_SI_TOP];
	s->sort = s->top >= 0 && (__u32)(s->words[o->stack_type >> 3 & 7] >>
					 (o->stack_type & 4) * 8) == PERL_SI_SORT;
	s->lowest = PERL_NULL;
	return s->top < (__s32)PERL_DEPTH ? 0 : -1;
}

/* What the context in s->words is: s->code, s->entry. */
static __always_inline void perl_context(struct perl_state *s, const struct ebp_perl *o)
{
	__u32 flags = (__u32)s->words[0], type = flags & PERL_TYPE;
	__u32 is_top = !s->words[PERL_RETOP];

	s->lowest = type;
	if (type == PERL_EVAL) {
		__u32 op = PERL_EVAL_OP(s->words[0]);

		s->code = op == o->op_require || op == o->op_require + 1u ? PERL_CODE_FILE
									   : PERL_CODE_EVAL;
		/* C that wants to know of errors has a block of its own around what it calls. */
		s->entry = is_top && !(flags & PERL_TRY);
	} else if (type == PERL_SUB && flags & PERL_NO_CALL) {
		s->entry = !s->tail;
	} else if (type == PERL_SUB || type == PERL_FORMAT) {
		s->code = s->words[o->context_cv >> 3 & 15];
		s->entry = is_top;
		s->not_entry = type == PERL_SUB && flags & PERL_REGEX && s->tail;
	}
}

/* One context: 0, with s->code 0 where it is no frame. Negative: there are no more. */
static __always_inline int perl_step(struct perl_env *env, struct perl_state *s,
				     const struct ebp_perl *o)
{
	int err = 0;

	s->code = s->entry = s->not_entry = 0;
	if (s->top < 0) {
		err = perl_next_stack(env, s, o);
	} else {
		if (PERL_READ_NEAR(env, s->words, PERL_CX_BYTES,
			      s->base + (__u64)s->top * o->context_bytes))
			return -1;
		s->top--;
		perl_context(s, o);
		if (s->code || s->entry)
			s->tail = s->code && s->entry;
	}
	if (err || !s->code)
		return err;
	perl_statement(env, s, o);
	if (s->code > PERL_CODE_EVAL)
		err = perl_sub(env, s);
	else
		perl_file(env, s);
	s->cop = s->words[PERL_COP];
	return err;
}

#endif
