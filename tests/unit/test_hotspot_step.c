/* SPDX-License-Identifier: MIT */
/* The step over HotSpot's frames, and the scopes of its code, in memory that is laid out here. */
#include <stdint.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define TABLE16(p) (*(const __u16 *)(p))
#define TABLE32(p) (*(const __u32 *)(p))
#define TABLE64(p) (*(const __u64 *)(p))
#define TABLE8X8(p) TABLE64(p)
#define ROWS_STEPS(env) EBP_ROWS_SHIFT

#include "bpf/unwind.h"

#define BASE	0x10000u
#define SIZE	0x10000u

struct unwind_env {
	uint8_t bytes[SIZE];
};
struct unwind_state;

static const __u8 *env_shard(struct unwind_env *env, __u64 index)
{
	(void)env, (void)index;
	return NULL;
}

static const __u8 *env_rows(struct unwind_env *env, struct unwind_state *s, __u64 *offset)
{
	(void)env, (void)s, (void)offset;
	return NULL;
}

static int env_read(struct unwind_env *env, void *dst, __u32 size, __u64 address)
{
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

static __u64 env_uprobe(struct unwind_env *env, struct unwind_state *s, __u64 slot)
{
	(void)env, (void)s, (void)slot;
	return 0;
}

static int env_code(struct unwind_env *env, struct unwind_state *s)
{
	(void)env, (void)s;
	return 0;
}

#include "bpf/unwind_step.h"

#include "bpf/hotspot_step.h"

static int hotspot_search_round(const struct unwind_state *u, const struct hotspot_state *s,
				__u64 cfa)
{
	return hotspot_search(u, s, cfa);
}

#include "bpf/hotspot_scopes.h"

enum {
	VARIABLES = BASE,		/* of libjvm.so */
	ARRAY = BASE + 0x100,
	HEAP = BASE + 0x200,
	QUEUE = BASE + 0x300,
	SEGMAP = BASE + 0x400,
	CACHE = BASE + 0x1000,		/* segments of 128 bytes */
	BLOB = CACHE + 0x400 + 16,
	CODE = BLOB + 0x100,
	INTERPRETER = CACHE + 0x2000,
	CACHE_END = CACHE + 0x3000,
	STACK = BASE + 0x8000,
	METHOD = BASE + 0xc000,
	METADATA = BASE + 0xc100,
	SCOPES = BASE + 0xc200,
	PCS = BLOB + 0x200,
	RETURN = CACHE + 0x1800,	/* where the caller goes on */
};

static const struct ebp_hotspot layout = {
	.heaps = 0, .low = 8, .high = 16, .interpreter = 24, .array_data = 8, .heap_start = 0,
	.heap_end = 8, .heap_segmap = 16, .heap_shift = 24, .block = 16, .queue_start = 0,
	.queue_bytes = 8, .blob_bytes = 128, .blob_header = 16, .method_header = 352,
	.blob_name = 96, .blob_frame = 28, .blob_complete = 20, .blob_code = 32, .method = 112,
	.compile_id = 100, .pcs = 104, .pcs_end = 108, .scopes = 40, .metadata = 48, .bcp = 8,
	.method_entry = 56,
};
static struct unwind_env memory;
static struct unwind_state u;
static struct hotspot_state s;

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put32(uint32_t address, uint32_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void put(uint32_t address, const char *bytes, size_t n)
{
	memcpy(memory.bytes + (address - BASE), bytes, n);
}

/* A process with one heap, in which a compiled method with frames of 6 words is. */
static void begin_test(void)
{
	memset(&memory, 0, sizeof(memory));
	memset(&u, 0, sizeof(u));
	memset(&s, 0, sizeof(s));
	put64(VARIABLES, ARRAY);
	put64(VARIABLES + 8, CACHE);
	put64(VARIABLES + 16, CACHE_END);
	put64(VARIABLES + 24, QUEUE);
	put32(ARRAY, 1);
	put64(ARRAY + 8, ARRAY + 16);
	put64(ARRAY + 16, HEAP);
	put64(HEAP, CACHE);
	put64(HEAP + 8, CACHE_END);
	put64(HEAP + 16, SEGMAP);
	put32(HEAP + 24, 7);
	put64(QUEUE, INTERPRETER);
	put32(QUEUE + 8, 0x1000);
	/* Eight segments before the blob's first are free, then it has eleven. */
	memset(memory.bytes + (SEGMAP - BASE), 0xff, 0x60);
	for (uint8_t i = 0; i < 11; i++)
		memory.bytes[SEGMAP - BASE + 8 + i] = i;
	put32(BLOB + 16, 352);
	put32(BLOB + 20, 16);
	put32(BLOB + 28, 6);
	put64(BLOB + 32, CODE);
	put64(BLOB + 112, METHOD);
	CHECK_EQ(hotspot_load(&memory, &s, &layout, VARIABLES), 0);
}

/* A step from @pc, with the stack at STACK, that leads to RETURN. */
static int step(struct unwind_state *u, struct hotspot_state *s, const struct ebp_hotspot *o)
{
	int done = hotspot_finish(&memory, u, s, hotspot_step(&memory, u, s, o));

	return done == STEP_GAP ? leave_gap(&memory, u) : done;
}

static void check_step(uint64_t pc, int exact, uint64_t sp, uint64_t fp)
{
	u.pc = pc;
	u.sp = STACK;
	u.exact = (__u32)exact;
	u.window = u.window_end = 0;
	CHECK_EQ(step(&u, &s, &layout), 0);
	CHECK_EQ(u.pc, RETURN);
	CHECK_EQ(u.sp, sp);
	CHECK_EQ(u.fp, fp);
	CHECK_EQ(u.exact, 0);
}

TEST(compiled_by_size)
{
	begin_test();
	put64(STACK + 32, 0x1234);
	put64(STACK + 40, RETURN);
	u.fp = 5;
	check_step(CODE + 64, 0, STACK + 48, 0x1234);
	CHECK_EQ(s.kind, HOTSPOT_COMPILED);
	CHECK_EQ(s.blob, BLOB);
	CHECK_EQ(s.method, METHOD);
	check_step(CODE + 64, 1, STACK + 48, 0x1234);
}

/* push %rbp; sub $32, %rsp; 16 bytes are the frame's making. */
TEST(leaf_at_the_beginning)
{
	begin_test();
	put(CODE, "\x89\x84\x24\x00\xc0\xfe\xff\x55\x48\x83\xec\x20\x90", 13);
	put64(STACK, RETURN);
	u.fp = 5;
	check_step(CODE, 1, STACK + 8, 5);
	check_step(CODE + 7, 1, STACK + 8, 5);
	put64(STACK, 0x1234);
	put64(STACK + 8, RETURN);
	check_step(CODE + 8, 1, STACK + 16, 0x1234);
	put64(STACK + 8, 0);
	put64(STACK + 32, 0x99);
	put64(STACK + 40, RETURN);
	check_step(CODE + 12, 1, STACK + 48, 0x99);
}

/* push %rbp; mov %rsp, %rbp; sub $32, %rsp */
TEST(leaf_with_a_frame_pointer)
{
	begin_test();
	put(CODE, "\x55\x48\x8b\xec\x48\x83\xec\x20", 8);
	put64(STACK, 0x1234);
	put64(STACK + 8, RETURN);
	u.fp = STACK;
	check_step(CODE + 4, 1, STACK + 16, 0x1234);
}

/* sub $40, %rsp; mov %rbp, 32(%rsp) */
TEST(leaf_that_keeps_the_frame_pointer_later)
{
	begin_test();
	put(CODE, "\x48\x83\xec\x28\x48\x89\x6c\x24\x20", 9);
	put64(STACK + 40, RETURN);
	u.fp = 5;
	check_step(CODE + 4, 1, STACK + 48, 5);
}

/* pop %rbp; cmp 0x338(%r15), %rsp; ja; ret */
TEST(leaf_at_the_end)
{
	begin_test();
	put(CODE + 0x40, "\x5d\x49\x3b\xa7\x38\x03\x00\x00\x0f\x87\x01\x00\x00\x00\xc3", 15);
	put64(STACK, 0x1234);
	put64(STACK + 8, RETURN);
	check_step(CODE + 0x40, 1, STACK + 16, 0x1234);
	put64(STACK, RETURN);
	u.fp = 5;
	check_step(CODE + 0x41, 1, STACK + 8, 5);
	check_step(CODE + 0x48, 1, STACK + 8, 5);
	check_step(CODE + 0x4e, 1, STACK + 8, 5);
}

/* Zeros are how a coroutine's stack ends, but no thread of a JVM. */
TEST(zeros_end_no_stack_with_methods)
{
	begin_test();
	u.pc = CODE;
	u.sp = STACK;
	u.fp = 5;
	CHECK_EQ(apply_rule(&memory, &u, 2, 0), STEP_DONE(EBP_ZERO_RETURN));
	u.fp = 0;
	CHECK_EQ(apply_rule(&memory, &u, 2, 0), STEP_DONE(EBP_COMPLETE));
	u.made = 1;
	CHECK_EQ(apply_rule(&memory, &u, 2, 0), STEP_DONE(EBP_ZERO_RETURN));
}

/* A JVM with one heap of code, whose bounds are nowhere else. */
TEST(one_heap)
{
	struct ebp_hotspot o = layout;

	begin_test();
	o.flags = EBP_HOTSPOT_ONE_HEAP;
	o.low = o.high = 0;
	put64(VARIABLES, HEAP);
	memset(&s, 0, sizeof(s));
	CHECK_EQ(hotspot_load(&memory, &s, &o, VARIABLES), 0);
	CHECK_EQ(s.low, CACHE);
	CHECK_EQ(s.high, CACHE_END);
	CHECK_EQ(s.heaps[1].start, 0);
	CHECK_EQ(hotspot_find(&memory, &s, &o, CODE), BLOB);
	put64(VARIABLES, 0);
	CHECK(hotspot_load(&memory, &s, &o, VARIABLES));
}

TEST(interpreted)
{
	begin_test();
	put64(STACK + 0x100, 0x1234);
	put64(STACK + 0x108, RETURN);
	put64(STACK + 0x100 - 8, STACK + 0x130);
	put64(STACK + 0x100 - 24, METHOD);
	put64(STACK + 0x100 - 64, METHOD + 0x50);
	u.fp = STACK + 0x100;
	check_step(INTERPRETER + 0x100, 0, STACK + 0x130, 0x1234);
	CHECK_EQ(s.kind, HOTSPOT_INTERPRETED);
	CHECK_EQ(s.method, METHOD);
	CHECK_EQ(s.saved_bcp, METHOD + 0x50);
}

/* The frame is not made yet: the method is in rbx, the caller's stack pointer in r13. */
TEST(interpreted_at_the_beginning)
{
	begin_test();
	put64(STACK, RETURN);
	u.fp = 5;
	u.regs.r[3] = METHOD;
	put64(METHOD + 56, INTERPRETER - 16);
	u.regs.r[13] = STACK + 8;
	check_step(INTERPRETER, 1, STACK + 8, 5);
	CHECK_EQ(s.method, METHOD);
	/* The return address is taken, and there are locals where it was. */
	put64(STACK, 0);
	u.regs.r[0] = RETURN;
	u.regs.r[13] = STACK + 16;
	check_step(INTERPRETER + 20, 1, STACK + 16, 5);
	/* A frame pointer, but not more. */
	put64(STACK, 0x1234);
	put64(STACK + 8, RETURN);
	u.fp = STACK;
	check_step(INTERPRETER + 30, 1, STACK + 16, 0x1234);
}

TEST(other_code_is_left_alone)
{
	begin_test();
	u.pc = CACHE_END;
	CHECK_EQ(step(&u, &s, &layout), HOTSPOT_OTHER);
	u.pc = CACHE + 0x80;		/* free */
	CHECK_EQ(step(&u, &s, &layout), HOTSPOT_OTHER);
	CHECK_EQ(u.pc, CACHE + 0x80);
}

/* A method's frame whose return address is no Java code ends the stack: nothing is guessed. */
TEST(compiled_without_a_caller)
{
	begin_test();
	u.pc = CODE + 64;
	u.sp = STACK;
	u.fp = STACK + 16;
	put64(STACK + 40, BASE);
	CHECK_EQ(step(&u, &s, &layout), STEP_DONE(EBP_NO_CFI));
}

/* The blob becomes one of C1's runtime, that has no size of frames; RETURN is behind its call. */
static void begin_runtime(const char *code, size_t n)
{
	begin_test();
	put32(BLOB + 16, 128);
	put32(BLOB + 28, (uint32_t)-1);
	put(CODE, code, n);
	put(RETURN - 5, "\xe8", 1);
	put32(RETURN - 4, CODE - RETURN);
	u.fp = 5;
}

/* A step that finds no caller, and does not guess one. */
static void check_cut(uint64_t pc)
{
	u.pc = pc;
	u.sp = STACK;
	u.exact = 1;
	u.window = u.window_end = 0;
	CHECK_EQ(step(&u, &s, &layout), STEP_DONE(EBP_NO_CFI));
}

/*
 * slow_subtype_check: its caller has pushed two arguments, it pushes four registers. To JDK 22:
 * mov 48(%rsp), %rsi; mov 40(%rsp), %rax; ... pop %rax; pop %rcx; pop %rsi; pop %rdi; ret
 */
#define SUBTYPE "\x57\x56\x51\x50\x48\x8b\x74\x24\x30\x48\x8b\x44\x24\x28"
#define SUBTYPE_END "\x58\x59\x5e\x5f\xc3"

TEST(subtype_check)
{
	begin_runtime(SUBTYPE "\x48\x8b\x7e\x28" SUBTYPE_END, 23);
	for (uint32_t i = 0; i <= 4; i++) {
		memset(memory.bytes + (STACK - BASE), 0, 64);
		put64(STACK + i * 8, RETURN);
		check_step(CODE + i, 1, STACK + i * 8 + 24, 5);
		check_step(CODE + 22 - i, 1, STACK + i * 8 + 24, 5);
	}
	check_step(CODE + 14, 1, STACK + 56, 5);
	/* What a register or the caller has is not taken for it, nor another's return address. */
	put64(STACK + 16, RETURN);
	check_step(CODE + 14, 1, STACK + 56, 5);
	put64(STACK + 32, RETURN + 8);
	put64(STACK + 40, RETURN);
	check_cut(CODE + 14);
}

/* Since JDK 23: sub $32, %rsp, of which one word is not written; lea 32(%rsp), %rsp */
TEST(subtype_check_by_table)
{
	begin_runtime(SUBTYPE "\x48\x83\xec\x20\x90\x48\x8d\x64\x24\x20" SUBTYPE_END, 29);
	put64(STACK + 32, RETURN);
	check_step(CODE + 14, 1, STACK + 56, 5);
	check_step(CODE + 24, 1, STACK + 56, 5);
	put64(STACK + 32, 0);
	put64(STACK + 24, RETURN);
	put64(STACK + 64, RETURN);
	check_step(CODE + 18, 1, STACK + 88, 5);
	check_step(CODE + 19, 1, STACK + 88, 5);
}

/*
 * unwind_exception, that a method has jumped to whose frame is gone: mov %rax, %r14; ...
 * sub $8, %rsp; call; add $8, %rsp; jmp; call; mov %rax, %rbx
 */
TEST(unwinding_of_an_exception)
{
	begin_runtime("\x4c\x8b\xf0\x48\x83\xec\x08\xe8\x00\x00\x00\x00\x48\x83\xc4\x08\xeb\x05"
		      "\xe8\x00\x00\x00\x00\x48\x8b\xd8", 26);
	put(RETURN - 5, "\x90\x90\x90\xff\xd0", 5);
	put64(STACK, RETURN);
	check_step(CODE, 1, STACK + 8, 5);
	check_step(CODE + 18, 1, STACK + 8, 5);
	check_step(CODE + 23, 0, STACK + 8, 5);
	put64(STACK, RETURN + 8);
	put64(STACK + 8, RETURN);
	check_step(CODE + 7, 1, STACK + 16, 5);
	check_step(CODE + 12, 0, STACK + 16, 5);
	put64(STACK + 8, 0);
	check_cut(CODE + 7);
}

/* A barrier, that saves as much as it likes: push %rbp; mov %rsp, %rbp; ... leave; ret */
TEST(runtime_with_a_frame_pointer)
{
	begin_runtime("\x55\x48\x8b\xec\x50\x51\xc9\xc3", 8);
	put64(STACK, RETURN);
	check_step(CODE, 1, STACK + 8, 5);
	check_step(CODE + 7, 1, STACK + 8, 5);
	put64(STACK, 0x1234);
	put64(STACK + 8, RETURN);
	check_step(CODE + 1, 1, STACK + 16, 0x1234);
	put64(STACK, RETURN + 8);
	put64(STACK + 8, 0);
	put64(STACK + 0x200, 0x1234);
	put64(STACK + 0x208, RETURN);
	u.fp = STACK + 0x200;
	check_step(CODE + 6, 0, STACK + 0x210, 0x1234);
	u.fp = STACK + 0x200;
	check_step(CODE + 6, 1, STACK + 0x210, 0x1234);
	u.fp = STACK + 0x300;
	check_cut(CODE + 6);
}

/* A stub with frames of a size, while it makes one: the frame pointer is there before the rest. */
TEST(stub_that_makes_its_frame)
{
	begin_runtime("\x55\x48\x8b\xec\x48\x83\xec\x20", 8);
	put32(BLOB + 28, 6);
	put64(STACK + 8, 0x1234);
	put64(STACK + 16, RETURN);
	put64(STACK + 40, RETURN + 8);
	u.fp = STACK + 8;
	check_step(CODE + 4, 1, STACK + 24, 0x1234);
}

/* handle_exception_from_callee: leave; pop %rcx; jmp *%rcx, to where its caller handles it. */
TEST(handler_of_an_exception)
{
	begin_runtime("\x55\x48\x8b\xec\xc9\x59\xff\xe1", 8);
	put32(BLOB + 28, 2);
	put64(STACK, 0x1234);
	put64(STACK + 8, RETURN);
	check_step(CODE + 4, 1, STACK + 16, 0x1234);
	put64(STACK, RETURN);
	put64(STACK + 8, RETURN + 8);
	u.fp = 5;
	check_step(CODE + 5, 1, STACK + 8, 5);
	put64(STACK, 0);
	u.regs.r[2] = RETURN;
	check_step(CODE + 6, 1, STACK, 5);
}

/* push %rax; push %rcx; push %rdx; push %rsi; push %rdi; of StubRoutines, that has no size. */
TEST(conversion)
{
	begin_runtime("\x50\x51\x52\x56\x57\x90", 6);
	put32(BLOB + 28, 0);
	put64(STACK + 40, RETURN);
	check_step(CODE + 5, 1, STACK + 48, 5);
	/* A register may have an address of code. */
	put64(STACK + 16, RETURN + 8);
	check_step(CODE + 5, 1, STACK + 48, 5);
	/* It is no such conversion. */
	put(CODE, "\x90", 1);
	u.pc = CODE + 5;
	u.sp = STACK;
	u.exact = 1;
	u.fp = 5;
	step(&u, &s, &layout);
	CHECK(u.pc != RETURN);
}

/* At 0x20 the method itself at bytecode 5, at 0x30 another at 2, in the first, at 9. */
static void check_scopes(const struct ebp_hotspot *o, const char *scopes, size_t size)
{
	struct hotspot_scope c = { 0 };
	const struct hotspot_pc pcs[] = {
		{ -1, 0, 0, 0 }, { 0x20, 1, 0, 0 }, { 0x30, 7, 0, 0 }, { 0x7fffffff, 0, 0, 0 },
	};

	begin_test();
	put32(BLOB + 104, PCS - BLOB);
	put32(BLOB + 108, PCS - BLOB + sizeof(pcs));
	put64(BLOB + 40, SCOPES);
	put32(BLOB + 48, METADATA - BLOB);
	put(PCS, (const char *)pcs, sizeof(pcs));
	put(SCOPES, scopes, size);
	put64(METADATA, METHOD);
	put64(METADATA + 8, METHOD + 0x40);
	u.pc = CODE + 0x30;
	u.sp = STACK;
	put64(STACK + 40, RETURN);
	step(&u, &s, o);
	CHECK_EQ(hotspot_first_scope(&memory, &s, o, &c), 0);
	CHECK_EQ(c.at, 7);
	CHECK_EQ(hotspot_next_scope(&memory, o, &c), 0);
	CHECK_EQ(c.method, METHOD + 0x40);
	CHECK_EQ(c.bci, 2);
	CHECK_EQ(c.at, 4);
	CHECK_EQ(hotspot_next_scope(&memory, o, &c), 0);
	CHECK_EQ(c.method, METHOD);
	CHECK_EQ(c.bci, 9);
	CHECK_EQ(c.at, 0);
	/* Between two of them it is the one behind. */
	s.pc = CODE + 0x11;
	CHECK_EQ(hotspot_first_scope(&memory, &s, o, &c), 0);
	CHECK_EQ(c.at, 1);
}

TEST(inlined_methods)
{
	struct ebp_hotspot o = layout;

	check_scopes(&o, "\x00\x00\x01\x06\x00\x01\x0a\x04\x02\x03", 10);
	o.flags = EBP_HOTSPOT_NO_ZERO;
	check_scopes(&o, "\x00\x01\x02\x07\x01\x02\x0b\x05\x03\x04", 10);
}

int main(void)
{
	RUN(compiled_by_size);
	RUN(leaf_at_the_beginning);
	RUN(leaf_with_a_frame_pointer);
	RUN(leaf_that_keeps_the_frame_pointer_later);
	RUN(leaf_at_the_end);
	RUN(zeros_end_no_stack_with_methods);
	RUN(one_heap);
	RUN(interpreted);
	RUN(interpreted_at_the_beginning);
	RUN(other_code_is_left_alone);
	RUN(compiled_without_a_caller);
	RUN(subtype_check);
	RUN(subtype_check_by_table);
	RUN(unwinding_of_an_exception);
	RUN(runtime_with_a_frame_pointer);
	RUN(stub_that_makes_its_frame);
	RUN(handler_of_an_exception);
	RUN(conversion);
	RUN(inlined_methods);
	return TEST_END();
}
