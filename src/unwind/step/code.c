/* SPDX-License-Identifier: MIT */
#include "unwind/step/code.h"

#include <string.h>

#include "bpf/unwind.h"
#include "unwind/code/x86.h"

#define STEPS_MAX	4000	/* instructions */
#define PATHS_MAX	64	/* of branches that were not followed yet */
#define NOWHERE		INT64_MIN

/*
 * Where rsp is, by what a register held at the beginning; the caller's rbp, too, once it is back.
 */
struct place {
	int by_fp;		/* by rbp, not rsp */
	int64_t sp;		/* rsp is so much above */
	int64_t saved;		/* rbp's value was there, or NOWHERE */
	int has_copy;		/* rbp was set to what rsp was then: */
	int copy_by_fp;
	int64_t copy;
};

static void from_frame_pointer(struct place *p, int64_t more)
{
	p->sp = (p->has_copy ? p->copy : 0) + more;
	p->by_fp = p->has_copy ? p->copy_by_fp : 1;
}

/* mov %rsp, %rbp, and back; anything else that is done with rsp is not known. Nonzero: so it is. */
static int move(struct place *p, unsigned to, unsigned from)
{
	if (to == X86_RBP && from == X86_RSP) {
		p->has_copy = 1;
		p->copy = p->sp;
		p->copy_by_fp = p->by_fp;
	} else if (to == X86_RSP && from == X86_RBP) {
		from_frame_pointer(p, 0);
	} else {
		return to == X86_RSP;
	}
	return 0;
}

/* add, sub, lea and others that may write rsp. Nonzero: in a way that cannot be followed. */
static int arithmetic(struct place *p, const struct x86 *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;
	int writes = i->mod == 3 && i->rm == X86_RSP && x86_has_modrm(i);

	if (i->op == 0x8d && i->reg == X86_RSP && i->mod != 3) {
		if (i->rm != X86_RSP && i->rm != X86_RBP)
			return -1;
		if (i->rm == X86_RBP)
			from_frame_pointer(p, i->disp);
		else
			p->sp += i->disp;
		return 0;
	}
	if (i->op == 0x89 && i->mod == 3)
		return move(p, i->rm, i->reg);
	if (i->op == 0x8b)
		return i->mod == 3 ? move(p, i->reg, i->rm) : i->reg == X86_RSP;
	if ((i->op == 0x81 || i->op == 0x83) && writes) {
		unsigned which = i->reg & 7;

		if (which != 0 && which != 5 && which != 7)
			return -1;
		p->sp += which == 0 ? i->imm : which == 5 ? -i->imm : 0;
		return 0;
	}
	/* Compared with something, or tested, it may be. */
	if (i->op < 0x40 && (i->op & 7) < 4)
		return i->op < 0x38 && (i->op & 2 ? i->reg == X86_RSP : writes);
	return (writes && i->op >= 0x86 && i->op != 0xff) ||
	       (((i->op & 0xf8) == 0x90 || (i->op & 0xf8) == 0xb8) && reg == X86_RSP);
}

/* What it does to the stack. Nonzero: it cannot be followed. */
static int follow(struct place *p, const struct x86 *i)
{
	unsigned reg = (i->op & 7) | (i->rex & 1) << 3;

	if (i->map)
		return 0;
	if ((i->op & 0xf8) == 0x50 || i->op == 0x68 || i->op == 0x6a || i->op == 0x9c ||
	    (i->op == 0xff && (i->reg & 7) == 6)) {
		p->sp -= 8;
	} else if ((i->op & 0xf8) == 0x58) {
		if (reg == X86_RSP)
			return -1;
		if (reg == X86_RBP) {
			p->saved = p->sp;
			p->has_copy = 0;
		}
		p->sp += 8;
	} else if (i->op == 0x9d || i->op == 0x8f) {
		p->sp += 8;
	} else if (i->op == 0xc9) {
		from_frame_pointer(p, 8);
		p->saved = p->sp - 8;
		p->has_copy = 0;
	} else {
		return arithmetic(p, i);
	}
	return 0;
}

/* At the `ret`: rsp points to the return address. */
static uint16_t rule_of(const struct place *p)
{
	int64_t cfa = p->sp + 8, slot = p->saved == NOWHERE ? 0 : (cfa - 8 - p->saved) / 8;

	if (cfa % 8 || cfa < 8 || cfa / 8 > EBP_RULE_OFFSET_MASK)
		return 0;
	/* What was pushed and popped on the way was no register of the caller. */
	if (!p->by_fp && p->saved < 0)
		slot = 0;
	if (slot < 0 || slot > 7)
		return 0;
	return (uint16_t)(cfa / 8 | (p->by_fp ? EBP_RULE_FP_BASE : 0) |
			  (uint16_t)slot << EBP_RULE_SAVED_SHIFT);
}

/* Where a path begins that was not followed yet. */
struct path {
	size_t at;
	struct place place;
};

struct search {
	const uint8_t *code;
	size_t n;
	uint8_t seen[(UNWIND_CODE_MAX + 7) / 8];	/* bytes of code with an instruction */
	struct path paths[PATHS_MAX];
	size_t npaths;
};

static void add_path(struct search *s, int64_t at, const struct place *p)
{
	if (at >= 0 && at < (int64_t)s->n && s->npaths < PATHS_MAX)
		s->paths[s->npaths++] = (struct path){ .at = (size_t)at, .place = *p };
}

/* The same of one that is followed after all others. */
static void add_last_path(struct search *s, size_t at, const struct place *p)
{
	if (s->npaths >= PATHS_MAX)
		return;
	memmove(s->paths + 1, s->paths, s->npaths++ * sizeof(*s->paths));
	s->paths[0] = (struct path){ .at = at, .place = *p };
}

/*
 * Follows @path over one instruction. 1: it goes on; else it has ended, with *@rule, 0: that says
 * nothing.
 */
static int advance(struct search *s, struct path *path, uint16_t *rule)
{
	struct place *p = &path->place;
	int64_t to;
	struct x86 i;

	if (path->at >= s->n || (s->seen[path->at / 8] >> path->at % 8 & 1) ||
	    x86_decode(s->code, s->n, path->at, &i))
		return 0;
	s->seen[path->at / 8] |= 1 << path->at % 8;
	path->at += i.size;
	if (!i.map && (i.op == 0xc3 || i.op == 0xc2)) {
		*rule = rule_of(p);
		return 0;
	}
	if (!i.map && (i.op == 0xeb || i.op == 0xe9)) {
		to = x86_target(&i, path->at - i.size);
		/* To another function: what is called last, in place of a return. */
		if (to < 0 || to >= (int64_t)s->n)
			*rule = rule_of(p);
		/* Where that is a loop without an end, what comes behind is as good. */
		add_last_path(s, path->at, p);
		path->at = (size_t)to;
		return !*rule;
	}
	if ((!i.map && (i.op & 0xf0) == 0x70) || (i.map == 1 && (i.op & 0xf0) == 0x80))
		add_path(s, x86_target(&i, path->at - i.size), p);
	return !follow(p, &i);
}

uint16_t unwind_code_rule(const uint8_t *code, size_t n, size_t at)
{
	struct search s = { .code = code, .n = n < UNWIND_CODE_MAX ? n : UNWIND_CODE_MAX };
	const struct place start = { .saved = NOWHERE };
	uint16_t rule = 0;
	int steps = 0;

	add_path(&s, (int64_t)at, &start);
	while (s.npaths && !rule) {
		struct path path = s.paths[--s.npaths];

		while (steps++ < STEPS_MAX && advance(&s, &path, &rule))
			;
	}
	return rule;
}
