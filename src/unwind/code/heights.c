/* SPDX-License-Identifier: MIT */
#include "unwind/code/heights.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/intern.h"
#include "base/search.h"
#include "base/vec.h"
#include "unwind/code/height.h"

#define GAP		(EBP_RULE_SPECIAL | EBP_RULE_GAP)
#define CONTEXT_BYTES	15	/* of is_context() */
#define RT_SIGRETURN	15
#define PADDING		15	/* bytes between two functions, at most */
#define ALIGNED		16
#define STEPS_MAX	500	/* instructions of a way that is tried */
#define TRIES_MAX	(64u << 20)	/* instructions of all of them; some seconds */
#define ROUNDS_MAX	8	/* over the ways behind calls */
#define UNDECIDED	(-1)

/* An instruction that is to be looked at. */
struct visit {
	uint32_t at;
	uint16_t height;	/* place */
};
typedef VEC(struct visit) visits;

/* Instead of the place of a height. */
enum { SEEN_NOT, SEEN_INSIDE, HEIGHTS_FIRST, AT_ENTRY = HEIGHTS_FIRST };
#define HEIGHTS_MAX UINT16_MAX

/* A function's jumps by tables. */
struct table {
	uint32_t entry;		/* of the function: its place among the entries */
	uint16_t height;	/* of all of them; SEEN_NOT: none yet; SEEN_INSIDE: they differ */
};

struct analysis {
	const struct unwind_code *c;
	uint16_t *seen;			/* by byte: where an instruction begins, its height */
	VEC(struct height) heights;	/* different ones */
	struct interned places;
	uint8_t *targets;		/* by byte, a bit: a jump leads there */
	/* ways that are sure, and those behind calls that may not return */
	visits sure, behind_calls;
	uint64_t left;			/* instructions that may be tried */
	VEC(struct table) tables;
	struct hashmap tables_of;	/* by entry */
};

static int same(const void *analysis, uint32_t i, const void *x)
{
	const struct analysis *a = analysis;

	return !memcmp(&a->heights.v[i], x, sizeof(struct height));
}

/* Its place. What does not fit any more is not known. */
static uint16_t place_of(struct analysis *a, const struct height *h)
{
	uint64_t hash = hash_bytes(h, sizeof(*h));
	uint32_t i = intern_find(&a->places, hash, same, a, h);

	if (i == HASHMAP_NONE) {
		i = (uint32_t)a->heights.n;
		if (i > HEIGHTS_MAX)
			return SEEN_NOT;
		intern_add(&a->places, hash, i);
		vec_push(&a->heights, *h);
	}
	return (uint16_t)i;
}

/* --- Ways through the code. ----------------------------------------------------- */

static void go(const struct analysis *a, visits *where, int64_t at, uint16_t height)
{
	if (at >= 0 && at < (int64_t)a->c->n)
		vec_push(where, (struct visit){ (uint32_t)at, height });
}

/* The number of the function that has @at, 1 and more; 0: it is before all. */
static uint32_t function_of(const struct analysis *a, size_t at)
{
	return (uint32_t)upper_bound(a->c->entries, a->c->nentries, , a->c->base + at);
}

/* The jumps by tables of the function that has @at; NULL: none. */
static struct table *table_of(const struct analysis *a, size_t at)
{
	uint32_t i = hashmap_get(&a->tables_of, function_of(a, at));

	return i == HASHMAP_NONE ? NULL : &a->tables.v[i];
}

static void add_table(struct analysis *a, size_t at)
{
	uint32_t function = function_of(a, at);

	if (hashmap_put(&a->tables_of, function, (uint32_t)a->tables.n) == a->tables.n)
		vec_push(&a->tables, (struct table){ function, SEEN_NOT });
}

static void take_table(struct analysis *a, size_t at, uint16_t height)
{
	struct table *t = table_of(a, at);

	if (t)
		t->height = t->height == SEEN_NOT || t->height == height ? height : SEEN_INSIDE;
}

/* How an instruction hands on. */
enum flow { FLOW_ON, FLOW_BRANCH, FLOW_JUMP, FLOW_TABLE, FLOW_CALL, FLOW_RETURN };

static enum flow flow_of(const struct x86 *i)
{
	unsigned op = i->op, which = i->reg & 7;

	if (i->map)
		return i->map == 1 && !i->vex && (op & 0xf0) == 0x80 ? FLOW_BRANCH : FLOW_ON;
	if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3))
		return FLOW_BRANCH;
	if (op == 0xeb || op == 0xe9)
		return FLOW_JUMP;
	if (op == 0xc3 || op == 0xc2 || op == 0xcf)
		return FLOW_RETURN;
	if (op == 0xe8 || (op == 0xff && which == 2))
		return FLOW_CALL;
	return op == 0xff && (which == 4 || which == 5) ? FLOW_TABLE : FLOW_ON;
}

static int is_target(const struct analysis *a, size_t at)
{
	return at < a->c->n && a->targets[at / 8] >> at % 8 & 1;
}

static void find_targets(struct analysis *a)
{
	struct x86 i;

	for (size_t at = 0; at < a->c->n; at += i.size) {
		enum flow flow;
		int64_t to;

		if (x86_decode(a->c->code, a->c->n, at, &i)) {
			i.size = 1;
			continue;
		}
		flow = flow_of(&i);
		to = x86_target(&i, at);
		if (flow == FLOW_TABLE)
			add_table(a, at);
		if ((flow == FLOW_BRANCH || flow == FLOW_JUMP) && to >= 0 && to < (int64_t)a->c->n)
			a->targets[to / 8] |= (uint8_t)(1 << to % 8);
	}
}

/* Bytes of padding at @at, which nobody runs. */
static size_t padding(const struct unwind_code *c, size_t at)
{
	struct x86 i;

	if (c->code[at] == 0xcc || !c->code[at])
		return 1;
	if (x86_decode(c->code, c->n, at, &i))
		return 0;
	return (!i.map && i.op == 0x90) || (i.map == 1 && i.op == 0x1f) ? i.size : 0;
}

/* Where it goes on from the instruction at @at. */
static void follow(struct analysis *a, const struct x86 *i, size_t at, uint16_t height)
{
	size_t next = at + i->size;

	switch (flow_of(i)) {
	case FLOW_BRANCH:
		go(a, &a->sure, x86_target(i, at), height);
		break;
	case FLOW_JUMP:
		go(a, &a->sure, x86_target(i, at), height);
		return;
	case FLOW_TABLE:
		take_table(a, at, height);
		return;
	case FLOW_RETURN:
		return;
	case FLOW_CALL:
		/* What follows a call that never returns has another way that leads there. */
		if (next >= a->c->n ||
		    (!is_target(a, next) && !padding(a->c, next) && !table_of(a, at)))
			break;
		go(a, &a->behind_calls, (int64_t)next, height);
		return;
	default:
		break;
	}
	go(a, &a->sure, (int64_t)next, height);
}

/* What two ways disagree about is not known. */
static uint16_t join(struct analysis *a, uint16_t known, uint16_t height)
{
	struct height k = a->heights.v[known], h = a->heights.v[height];

	if (k.rbp == RBP_ROOT || h.rbp == RBP_ROOT)
		return known;
	if (k.sp != h.sp)
		k.sp = HEIGHT_UNKNOWN;
	if (k.rbp != h.rbp || k.fp != h.fp)
		height_lose_rbp(&k);
	return place_of(a, &k);
}

static void look(struct analysis *a, const struct visit *v)
{
	uint16_t *seen = &a->seen[v->at];
	struct height h;
	struct x86 i;

	if (*seen) {
		if (*seen != SEEN_INSIDE && *seen != v->height)
			*seen = join(a, *seen, v->height);
		return;
	}
	if (x86_decode(a->c->code, a->c->n, v->at, &i))
		return;
	*seen = v->height;
	for (size_t k = 1; k < i.size; k++)
		if (!seen[k])
			seen[k] = SEEN_INSIDE;
	h = a->heights.v[v->height];
	height_apply(&h, &i);
	follow(a, &i, v->at, place_of(a, &h));
}

static void look_at_sure(struct analysis *a)
{
	while (a->sure.n) {
		struct visit v = a->sure.v[--a->sure.n];

		if (v.height >= HEIGHTS_FIRST)
			look(a, &v);
	}
}

/*
 * Whether the way that goes straight on from there comes to a return with the return address at
 * rsp, or to what is known already: 1, or 0; UNDECIDED.
 */
static int fits(struct analysis *a, const struct visit *v)
{
	struct height h = a->heights.v[v->height];
	size_t at = v->at;

	for (int steps = 0; steps < STEPS_MAX && at < a->c->n && a->left; steps++, a->left--) {
		enum flow flow;
		int64_t to;
		struct x86 i;

		if (a->seen[at] == SEEN_INSIDE)
			return 0;
		if (steps && at == v->at)
			return h.sp == a->heights.v[v->height].sp;
		if (a->seen[at]) {
			int32_t known = a->heights.v[a->seen[at]].sp;

			return known == HEIGHT_UNKNOWN ? UNDECIDED : known == h.sp;
		}
		if (h.sp == HEIGHT_UNKNOWN || x86_decode(a->c->code, a->c->n, at, &i))
			return UNDECIDED;
		flow = flow_of(&i);
		to = x86_target(&i, at);
		if (flow == FLOW_RETURN ||
		    (flow == FLOW_JUMP && (to < 0 || to >= (int64_t)a->c->n)))
			return h.sp == 8;
		height_apply(&h, &i);
		at = flow == FLOW_JUMP ? (size_t)to : at + i.size;
		/* A function may end with a call that does not return. */
		if (flow == FLOW_TABLE ||
		    (flow == FLOW_CALL && at < a->c->n && padding(a->c, at)))
			return UNDECIDED;
	}
	return a->left ? UNDECIDED : 0;
}

/* One round over the ways behind calls; those that are not decided yet are left. */
static int look_behind_calls(struct analysis *a, int accept)
{
	visits all = a->behind_calls;
	int any = 0;

	a->behind_calls = (visits){ 0 };
	for (size_t i = 0; i < all.n; i++) {
		const struct visit *v = &all.v[i];
		int fit = a->seen[v->at] || v->height < HEIGHTS_FIRST ? 0 : fits(a, v);

		if (fit == UNDECIDED && !accept) {
			vec_push(&a->behind_calls, *v);
		} else if (fit) {
			vec_push(&a->sure, *v);
			look_at_sure(a);
			any = 1;
		}
	}
	vec_free(&all);
	return any;
}

static void look_at_all(struct analysis *a)
{
	look_at_sure(a);
	for (int round = 0; a->behind_calls.n && round < ROUNDS_MAX; round++)
		if (!look_behind_calls(a, round == ROUNDS_MAX - 1))
			round = ROUNDS_MAX - 2 > round ? ROUNDS_MAX - 2 : round;
}

/*
 * A register pushed that belongs to the caller, or endbr64 where compilers align functions: nothing
 * else begins so.
 */
static int begins_function(const struct unwind_code *c, size_t at)
{
	static const uint8_t endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	const uint8_t *p = c->code + at;
	size_t n = c->n - at;

	if ((c->base + at) % ALIGNED == 0 && n >= sizeof(endbr) && !memcmp(p, endbr, sizeof(endbr)))
		return 1;
	/* rbx, rbp; r12 to r15 */
	return *p == 0x53 || *p == 0x55 || (n > 1 && *p == 0x41 && p[1] >= 0x54 && p[1] <= 0x57);
}

/* What a place has that no way leads to; SEEN_NOT: that is not known. */
static uint16_t height_of_rest(const struct analysis *a, size_t at)
{
	const struct table *t = table_of(a, at);

	return begins_function(a->c, at) ? AT_ENTRY : t ? t->height : SEEN_NOT;
}

/* Cases of a jump table, or a function which is called by its address alone. */
static void look_at_rest(struct analysis *a)
{
	size_t at = 0;
	int follows = 0;	/* something that was seen, and padding */

	while (at < a->c->n) {
		size_t skip = a->seen[at] ? 1 : padding(a->c, at);

		follows |= a->seen[at] != SEEN_NOT;
		if (!skip && follows) {
			struct visit v = { (uint32_t)at, height_of_rest(a, at) };

			if (v.height >= HEIGHTS_FIRST && fits(a, &v))
				vec_push(&a->sure, v);
			look_at_all(a);
			follows = 0;
		}
		at += skip ? skip : 1;
	}
}

/* --- Rows. ---------------------------------------------------------------------- */

/*
 * `mov $15, %eax; syscall`: the kernel's signal frame lies above it, and no caller. The step knows
 * it by its bytes where there is no rule.
 */
static int is_sigreturn(const struct unwind_code *c, size_t at)
{
	struct x86 move, call;

	return (c->code[at] == 0xb8 || c->code[at] == 0x48) &&
	       !x86_decode(c->code, c->n, at, &move) && !move.map &&
	       (move.op == 0xb8 || move.op == 0xc7) && move.imm == RT_SIGRETURN &&
	       !x86_decode(c->code, c->n, at + move.size, &call) && call.map == 1 &&
	       call.op == 0x05;
}

/*
 * `jmp *%rbx` into the function of a context, before what that returns to: xor %rdi, %rdi; call;
 * hlt. No caller lies above it, which the step knows by the same bytes (bpf/unwind_x86.h).
 */
static int is_context(const struct unwind_code *c, size_t at)
{
	static const uint8_t jump[] = { 0xff, 0xe3 }, endbr[] = { 0xf3, 0x0f, 0x1e, 0xfa },
			     clear_and_call[] = { 0x48, 0x31, 0xff, 0xe8 };
	const uint8_t *p = c->code + at;

	if (c->n - at < CONTEXT_BYTES || memcmp(p, jump, sizeof(jump)))
		return 0;
	p += sizeof(jump);
	p += memcmp(p, endbr, sizeof(endbr)) ? 0 : sizeof(endbr);
	return !memcmp(p, clear_and_call, sizeof(clear_and_call)) && p[8] == 0xf4;
}

static void give_rows(const struct analysis *a, unwind_heights_row *fn, void *ctx)
{
	struct ebp_exotic x;
	size_t unseen = 0;

	fn(ctx, 0, GAP, NULL);
	for (size_t at = 0; at < a->c->n; at++) {
		unseen = a->seen[at] ? 0 : unseen + 1;
		if (a->seen[at] >= HEIGHTS_FIRST)
			fn(ctx, at, is_sigreturn(a->c, at) || is_context(a->c, at)
					    ? GAP
					    : height_rule(&a->heights.v[a->seen[at]], &x), &x);
		else if (unseen > PADDING)
			fn(ctx, at, GAP, NULL);
	}
}

void unwind_heights(const struct unwind_code *c, unwind_heights_row *fn, void *ctx)
{
	struct analysis a = { .c = c, .left = TRIES_MAX };
	const struct height nothing = { .sp = HEIGHT_UNKNOWN }, at_entry = { .sp = 8 };

	if (c->n > UNWIND_HEIGHTS_MAX)
		return;
	a.seen = xcalloc(c->n + 1, sizeof(*a.seen));
	a.targets = xcalloc(c->n / 8 + 1, 1);
	find_targets(&a);
	for (size_t i = 0; i < HEIGHTS_FIRST; i++)
		vec_push(&a.heights, nothing);
	place_of(&a, &at_entry);
	for (size_t i = 0; i < c->nentries; i++)
		go(&a, &a.sure, (int64_t)(c->entries[i] - c->base), AT_ENTRY);
	look_at_all(&a);
	for (size_t i = 0; i < c->nmaybe; i++) {
		uint64_t at = c->maybe[i] - c->base;

		if (at < c->n && !a.seen[at]) {
			go(&a, &a.sure, (int64_t)at, AT_ENTRY);
			look_at_all(&a);
		}
	}
	look_at_rest(&a);
	give_rows(&a, fn, ctx);
	free(a.seen);
	free(a.targets);
	vec_free(&a.heights);
	interned_free(&a.places);
	vec_free(&a.sure);
	vec_free(&a.behind_calls);
	vec_free(&a.tables);
	hashmap_free(&a.tables_of);
}
