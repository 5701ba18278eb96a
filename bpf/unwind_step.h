/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One step of the unwinder: from a frame to its caller's.
 *
 * The same code is compiled for BPF and natively. Who includes it defines
 * before: `struct unwind_env` (opaque here) and
 *   const __u8 *env_shard(env, index)	EBP_SHARD_BYTES + EBP_SHARD_SLACK bytes, or NULL
 *   const __u8 *env_rows(env, s, &offset)	the shard of the process's mapping rows, and where
 *					they begin in it
 *   int env_read(env, dst, size, address)	target memory: 0, or negative
 *   __u64 env_uprobe(env, s, slot)	the address that a uprobe replaced at @slot, 0: not found
 *   int env_code(env, s)		a rule for code without CFI, of which user space may know
 *					more; 0: none
 *   TABLE16(p), TABLE32(p), TABLE64(p)	loads, aligned to their size
 *   TABLE8X8(p)			eight bytes, anywhere
 *   ROWS_STEPS(env)			of the search for a row: there is room for 2^that - 1
 * and may define
 *   TAKES(LANGUAGE)			0: code of that language is not met
 *
 * Searches are branch-free and every offset is masked: the verifier then sees
 * one path and a constant bound, whatever the tables hold. Comparisons are
 * subtractions whose sign is shifted down: BPF has no conditional move.
 */
#ifndef EBPROF_UNWIND_STEP_SHARED_H
#define EBPROF_UNWIND_STEP_SHARED_H

#include "bpf/unwind.h"

#ifndef TAKES
#define TAKES(LANGUAGE) 1
#endif

#ifdef __BPF__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

#define STEP_DONE(result) (1 + (int)(result))	/* what a step returns at the end; 0: go on */
/* ... the frame was not taken: it may be one of a language's, which looks first */
#define STEP_MACHINE (-1)
/*
 * ... it was taken, but nothing describes its code: leave_gap() is to follow, apart, so that the
 * verifier looks at that once
 */
#define STEP_GAP (-2)

#define UPROBES_PASSED 8	/* stale return instances passed over in one step */
#define NO_PAGE (1ull << 63)	/* none, not even one before the first page of the tables */
#define WINDOW_WORDS 128	/* of the stack, read at once: some 10 frames */
/* moves that do not go up: signal stacks, stacks that a runtime switches */
#define JUMPS_MAX 8

struct unwind_state {
	/* The frame: */
	__u64 pc, sp, fp;
	__u64 lr;			/* aarch64 */
	/* a leaf, or interrupted by a signal: pc itself is where it is, and regs hold */
	__u32 exact;
	__u32 jumps;
	struct ebp_registers regs;	/* of the last frame that was exact */
	/* Its mapping and object, kept from frame to frame: */
	struct ebp_mapping row;
	__u64 dir;			/* 0: no tables; else ref of the directory */
	__u64 first_page, npages, exotic, nexotic;
	__u64 no_cfi;
	/* the last page of the object, and what its directory says */
	__u64 page, block;
	/* The process: */
	__u64 rows;			/* ref */
	__u64 nrows;
	__u32 no_rescue;
	/* found by code without CFI: a guess; on aarch64 sp is at least so much */
	__u32 by_fp;
	/* kernel address of the next return instance; 0: not looked for yet */
	__u64 uprobe;
	/* Stack memory [window, window_end): */
	__u64 window, window_end;
	__u64 words[WINDOW_WORDS];
	/* The runtimes of the process (struct ebp_space): */
	__u32 lang, machine;
	__u64 lang_bias, machine_bias;
	__u32 asked;			/* the language has looked: the frame is none of its own */
	__u32 begun;			/* ... and at this stack before */
	__u32 inside;			/* there are more functions in its frame */
	/* code of a machine language whose frames are its own in spite of CFI; 0 bytes: none is */
	__u32 own_bytes;
	__u64 own;
	/*
	 * Code of a language [@loop, @loop + @loop_bytes), and the stack pointer of its innermost
	 * frame; 0: none was met.
	 */
	__u64 loop, loop_sp;
	__u32 loop_bytes;
	__u32 language;			/* enum ebp_language; 0: no such code is known */
	__u32 apart;			/* the stack is a context's, which others have called */
	struct ebp_jump jump;
	/* some were: then zeros end no stack, because the threads of such runtimes begin in libc */
	__u32 made;
	/* What was found: */
	__u32 n, max;
	__u32 fp_frames;
	__u32 raw;			/* words of frames that only the process knows */
	__u64 hash;			/* of the frames; begun by the caller */
	/* room for the caller's: it and the frames are sent as one */
	__u64 head[sizeof(struct ebp_stack) / 8];
	__u64 frames[EBP_WORDS_MAX + 1];
};

static __always_inline __u64 hash_step(__u64 h, __u64 x)
{
	h = (h ^ x) * 0x9e3779b97f4a7c15ULL;
	return h ^ h >> 32;
}

static __always_inline void take_frame(struct unwind_state *s, __u64 frame)
{
	s->raw += EBP_FRAME_IS_OF_PROCESS(frame);
	s->hash = hash_step(s->hash, frame);
	s->frames[s->n++ & EBP_FRAMES_MAX] = frame;
}

/*
 * 1 where @a >= @b and @c >= @d, all below 2^63. What the compiler cannot see
 * through it does not turn into a branch. To be shifted, not negated for a mask:
 * from what is 0 or -1 the verifier of newer kernels goes on twice.
 */
static __always_inline __u64 both_at_least(__u64 a, __u64 b, __u64 c, __u64 d)
{
	__u64 yes = ~((a - b) | (c - d)) >> 63;

	__asm__ volatile("" : "+r"(yes));
	return yes;
}

static __always_inline __u64 ref_shard(__u64 ref)
{
	return ref >> (EBP_SHARD_SHIFT - EBP_REF_SHIFT);
}

static __always_inline __u64 ref_offset(__u64 ref)
{
	return ref << EBP_REF_SHIFT & EBP_SHARD_MASK;
}

/* Of a shard; masked to its size and to the value's own. */
static __always_inline __u16 table16(const __u8 *shard, __u64 offset)
{
	return TABLE16(shard + (offset & EBP_SHARD_MASK & ~1ull));
}

static __always_inline __u32 table32(const __u8 *shard, __u64 offset)
{
	return TABLE32(shard + (offset & EBP_SHARD_MASK & ~3ull));
}

static __always_inline __u64 table64(const __u8 *shard, __u64 offset)
{
	return TABLE64(shard + (offset & EBP_SHARD_MASK & ~7ull));
}

/* The mapping row of @at into s->row; 0 where there is none. */
static __always_inline int find_row(struct unwind_env *env, struct unwind_state *s, __u64 at)
{
	__u64 lo = 0, begin = 0, offset;
	const __u8 *p = env_rows(env, s, &begin);

	if (!p)
		return 0;
	UNROLL
	for (int bit = ROWS_STEPS(env) - 1; bit >= 0; bit--) {
		__u64 i = lo + (1u << bit) - 1;
		__u64 start = table64(p, begin + i * sizeof(struct ebp_mapping));

		lo += both_at_least(at, start & ~(1ull << 63), s->nrows, i + 1) << bit;
	}
	offset = begin + (lo - 1) * sizeof(struct ebp_mapping);
	if (!lo)
		return 0;
	s->row.start = table64(p, offset);
	s->row.end = table64(p, offset + 8);
	s->row.bias = table64(p, offset + 16);
	s->row.object = table32(p, offset + 24);
	s->row.image = table32(p, offset + 28);
	/* From 2^63 on the signs mislead: such an address may lie below the row that it got. */
	return at - s->row.start < s->row.end - s->row.start;
}

static __always_inline void load_object(struct unwind_env *env, struct unwind_state *s)
{
	const __u8 *p;
	__u64 offset;

	s->dir = s->npages = s->nexotic = 0;
	s->page = NO_PAGE;
	s->no_cfi = s->row.object == EBP_OBJECT_NONE;
	if (s->row.object < EBP_OBJECT_FIRST)
		return;
	p = env_shard(env, ref_shard(s->row.object));
	if (!p)
		return;
	offset = ref_offset(s->row.object);
	s->dir = table32(p, offset);
	s->npages = table32(p, offset + 4);
	s->first_page = table32(p, offset + 8);
	s->exotic = table32(p, offset + 12);
	s->nexotic = table32(p, offset + 16);
	s->no_cfi = table32(p, offset + 20) & EBP_OBJECT_NO_CFI;
}

/* 2^@bit where as many rows more all lie before @next and not above @low, else 0. */
static __always_inline __u64 search_step(const __u8 *p, __u64 lows, __u64 lo, __u64 next, __u64 low,
					 int bit)
{
	__u64 at = lo + (1u << bit);

	return both_at_least(low, p[(lows + at - 1) & EBP_SHARD_MASK], next, at) << bit;
}

/* How many of the first @n bytes in @bytes are not above @low: all eight at once. */
static __always_inline __u64 count_up_to(__u64 bytes, __u64 n, __u64 low)
{
	const __u64 ones = 0x0101010101010101ull, tops = 0x80 * ones;
	__u64 lows = low * ones, skip = n < 8 ? 32 - n * 4 : 0;
	/*
	 * A byte's top bit is that of the low one less the other, where their own top bits are the
	 * same.
	 */
	__u64 difference = (lows | tops) - (bytes & ~tops);
	__u64 fits = ((difference & ~(lows ^ bytes)) | (lows & ~bytes)) & tops;

	/* In two steps: a shift by 64 would be none. */
	fits = fits << skip << skip;
	return (fits >> 7) * ones >> 56;
}

/* The page block of @offset of the file, or EBP_REF_NONE, EBP_REF_GAP. */
static __always_inline __u64 find_block(struct unwind_env *env, struct unwind_state *s,
					__u64 offset)
{
	__u64 page = (offset >> EBP_PAGE_SHIFT) - s->first_page;
	const __u8 *p;

	if (page == s->page)
		return s->block;
	if (!s->dir)
		return EBP_REF_NONE;
	if (page >= s->npages)
		return EBP_REF_GAP;
	p = env_shard(env, ref_shard(s->dir));
	if (!p)
		return EBP_REF_NONE;
	s->page = page;
	s->block = table32(p, ref_offset(s->dir) + page * 4);
	return s->block;
}

/* The rule at @offset of the file; negative: no table. */
static __always_inline int find_rule(struct unwind_env *env, struct unwind_state *s, __u64 offset)
{
	__u64 ref = find_block(env, s, offset), block, lows, ids, first, next, lo, in_page, i, id;
	const __u8 *p;

	if (ref == EBP_REF_NONE)
		return -1;
	if (ref == EBP_REF_GAP)
		return EBP_RULE_SPECIAL | EBP_RULE_GAP;
	p = env_shard(env, ref_shard(ref));
	if (!p)
		return -1;
	block = ref_offset(ref);
	in_page = offset & (EBP_PAGE_BYTES - 1);
	i = block + 8 + (in_page >> EBP_BUCKET_SHIFT) * 2;
	first = table16(p, i);
	next = table16(p, i + 2);
	lows = block + sizeof(struct ebp_block) + table16(p, block + 2) * 2;
	ids = lows + table16(p, block);
	lo = first;
	/* Up to 256 rows in a bucket of 256 bytes; few have more than 8. */
	if (next - first > 8) {
		UNROLL
		for (int k = 7; k > 2; k--)
			lo += search_step(p, lows, lo, next, in_page & 255, k);
	}
	lo += count_up_to(TABLE8X8(p + ((lows + lo) & EBP_SHARD_MASK)), next - lo, in_page & 255);
	if (!lo)
		return table16(p, block + 4);
	if (table16(p, block + 6) & EBP_BLOCK_WIDE)
		id = table16(p, ids + 1 + (lo - 1) * 2);
	else
		id = p[(ids + lo - 1) & EBP_SHARD_MASK];
	return table16(p, block + sizeof(struct ebp_block) + id * 2);
}

/*
 * The window so that it holds [@from, @to), at most 127 bytes. It begins there:
 * what later frames need lies above. 0, or negative.
 */
static __always_inline int fill_window(struct unwind_env *env, struct unwind_state *s, __u64 from,
				       __u64 to)
{
	__u32 least = (to - from) & 127;

	if (from >= s->window && to <= s->window_end)
		return 0;
	s->window = from;
	s->window_end = from + sizeof(s->words);
	if (!env_read(env, s->words, sizeof(s->words), from))
		return 0;
	/* The end of the stack is near, or a page that is not in memory. */
	s->window_end = to;
	if (!env_read(env, s->words, least, from))
		return 0;
	s->window = s->window_end = 0;
	return -1;
}

/* A word that fill_window() has made sure of. */
static __always_inline __u64 window_word(const struct unwind_state *s, __u64 address)
{
	return s->words[(address - s->window) >> 3 & (WINDOW_WORDS - 1)];
}

/*
 * Whether a frame pointer of 0, in code without CFI, ends the stack: in a file that has none at
 * all, and where frame pointers led there. Code made at run time may use that register for whatever
 * it likes; and that of a runtime does not end in such code.
 */
static __always_inline int is_end_of_chain(const struct unwind_state *s)
{
	return s->no_cfi && ((s->by_fp && !s->made) || s->row.object != EBP_OBJECT_NONE);
}

#if defined(UNWIND_ARM64) || defined(__TARGET_ARCH_arm64) || \
	(defined(__aarch64__) && !defined(UNWIND_X86))
#include "bpf/unwind_arm64.h"
#else
#include "bpf/unwind_x86.h"
#endif

/* By what an architecture's rule finds the caller's frame. 0, or STEP_DONE(). */
static __always_inline int find_caller(struct unwind_env *env, struct unwind_state *s, __u32 rule,
				       struct caller *c)
{
	__u32 special = rule & ~EBP_RULE_SPECIAL;

	if (rule & EBP_RULE_SPECIAL && special >= EBP_RULE_EXOTIC)
		return exotic_rule(env, s, special - EBP_RULE_EXOTIC, c);
	return plain_rule(env, s, rule, c);
}

/*
 * From the frame in @s, whose rule is @rule, no gap, to its caller's; @guess: nothing says that it
 * holds. 0, or STEP_DONE().
 */
static __always_inline int apply_rule(struct unwind_env *env, struct unwind_state *s, __u32 rule,
				      int guess)
{
	struct caller c = {};
	int err;

	if (rule == (EBP_RULE_SPECIAL | EBP_RULE_STOP))
		return STEP_DONE(EBP_COMPLETE);
	if (rule == (EBP_RULE_SPECIAL | EBP_RULE_SIGNAL))
		return signal_frame(env, s);
	err = find_caller(env, s, rule, &c);
	if (err)
		return guess && err != STEP_DONE(EBP_COMPLETE) ? STEP_DONE(EBP_NO_CFI) : err;
	/*
	 * A leaf is level with its caller where it has made no frame, or has taken its return
	 * address from the stack (vfork).
	 */
	if (c.cfa <= s->sp && !(c.cfa == s->sp && s->exact)) {
		s->jumps++;
		if (!guess || s->jumps > JUMPS_MAX)
			return STEP_DONE(guess ? EBP_NO_CFI : EBP_BAD_CFA);
	}
	c.ra = ADDRESS(c.ra);
	/*
	 * Both 0 is how a root is marked that no CFI describes: Go's goexit, coroutines. A guess
	 * marks nothing.
	 */
	if (!c.ra && guess && !GUESS_ENDS(s))
		return STEP_DONE(EBP_NO_CFI);
	if (!c.ra)
		return STEP_DONE(c.fp || s->made ? EBP_ZERO_RETURN : EBP_COMPLETE);
	s->pc = c.ra;
	s->sp = c.cfa;
	s->fp = c.fp;
	s->by_fp = guess;
	s->exact = 0;
	return 0;
}

/* From the frame in @s, in code that nothing describes, to its caller's. 0, or STEP_DONE(). */
static __always_inline int leave_gap(struct unwind_env *env, struct unwind_state *s)
{
	int rule;

	if (LEAVE_JUMPED(env, s))
		return 0;
	rule = rule_without_cfi(env, s);
	return rule < 0 ? -rule : apply_rule(env, s, rule, !!IS_GUESS(rule));
}

/* At the leaf, whose registers are in s->regs. */
static __always_inline void begin(struct unwind_state *s)
{
	s->pc = s->regs.r[REG_PC];
	s->sp = s->regs.r[REG_SP];
	s->fp = s->regs.r[REG_FP];
	s->lr = LEAF_LR(s);
	s->by_fp = 0;
	s->exact = 1;
}

/* The frame's own word: @at in its mapping. */
static __always_inline __u64 native_frame(const struct unwind_state *s, __u64 at)
{
	__u64 offset = at - s->row.bias;

	return s->row.image >= EBP_IMAGE_NONE || offset >> EBP_OFFSET_BITS
		       ? at
		       : EBP_FRAME(s->row.image, offset);
}

/* One frame: taken, then left for its caller's. 0, STEP_DONE(), STEP_MACHINE or STEP_GAP. */
static __always_inline int unwind_one(struct unwind_env *env, struct unwind_state *s)
{
	__u64 at = s->pc - !s->exact, offset, early;
	int rule;

	if (s->n >= s->max)
		return STEP_DONE(EBP_DEPTH);
	if (s->inside)
		return STEP_MACHINE;
	if (at - s->row.start >= s->row.end - s->row.start) {
		s->row.start = s->row.end = 0;
		if (!find_row(env, s, at)) {
			s->row.start = s->row.end = 0;
			s->row.object = EBP_OBJECT_NONE;
			/* Code that was just made, of which user space is to read yet. */
			if (s->own_bytes && !s->asked) {
				s->asked = 1;
				return STEP_MACHINE;
			}
			s->asked = 0;
			take_frame(s, EBP_FRAME_WILD(at));
			return STEP_DONE(EBP_NO_MAPPING);
		}
		load_object(env, s);
	}
	if (s->row.object == EBP_OBJECT_UPROBES) {
		s->pc = s->exact ? 0 : env_uprobe(env, s, UPROBE_SLOT(s));
		if (s->pc)
			return 0;
		take_frame(s, at);
		return STEP_DONE(EBP_UPROBE);
	}
	offset = at - s->row.bias;
	if (s->row.object == EBP_OBJECT_NONE)
		rule = EBP_RULE_SPECIAL | EBP_RULE_GAP;
	else
		rule = find_rule(env, s, offset);
	/* Code made at run time, or a runtime's own that no compiler made. */
	if ((rule == (EBP_RULE_SPECIAL | EBP_RULE_GAP) || at - s->own < s->own_bytes) &&
	    s->machine && !s->asked) {
		s->asked = 1;
		return STEP_MACHINE;
	}
	s->asked = 0;
	/*
	 * Nobody called what a signal's handler returns to: its rule begins a byte early for our
	 * look-up, but not its code.
	 */
	early = !s->exact & (rule == (EBP_RULE_SPECIAL | EBP_RULE_SIGNAL));
	if (at - s->loop < s->loop_bytes && !s->loop_sp)
		s->loop_sp = s->sp;
	take_frame(s, native_frame(s, at + early));
	if (rule < 0)
		return STEP_DONE(EBP_NO_TABLE);
	if (rule == (EBP_RULE_SPECIAL | EBP_RULE_GAP))
		return STEP_GAP;
	return apply_rule(env, s, (__u32)rule, 0);
}

#endif
