/* SPDX-License-Identifier: MIT */
/* Frames and strings of V8, in memory that is laid out here as versions 8, 11 and 13 do. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#define BASE	0x10000u
#define SIZE	0x10000u

struct v8_env {
	uint8_t bytes[SIZE];
};

static int v8_read(struct v8_env *env, void *dst, uint32_t size, uint64_t address)
{
	if (address < BASE || address - BASE > SIZE - size)
		return -1;
	memcpy(dst, env->bytes + (address - BASE), size);
	return 0;
}

#define V8_OPAQUE(x) (void)(x)

#include "bpf/v8_step.h"
#include "bpf/v8_swap.h"
#include "bpf/v8_text.h"

static int v8_text_hop(struct v8_env *env, struct v8_state *s, const struct ebp_v8 *o,
		       struct v8_text *t, uint8_t *dst, uint32_t mask)
{
	return v8_text_step(env, s, o, t, dst, mask);
}

/* Addresses. */
enum {
	FP = BASE + 0x1000,
	FUNCTION = BASE + 0x2000,
	SHARED = BASE + 0x2100,
	CODE = BASE + 0x2200,
	BYTECODE = BASE + 0x2300,
	SCOPE = BASE + 0x2400,
	ISOLATE = BASE + 0x3000,
	TABLE = BASE + 0x4000,
	MAPS = BASE + 0x5000,		/* one every 16 bytes, by instance type */
	STRINGS = BASE + 0xa000,	/* one every 0x100 bytes */
};

#define STRING(n)	(STRINGS + (n) * 0x100u)
#define TAG(at)		((uint64_t)(at) | 1)

enum { T_SHARED = 262, T_CODE = 245, T_BYTECODE = 191, T_SCOPE = 261, T_OTHER = 300 };

static const struct ebp_v8 of_11 = {
	.version = 11, .shared_type = T_SHARED, .bytecode_type = T_BYTECODE, .nonstring_type = 128,
	.slot_bytecode = 16, .slot_offset = 8, .function_shared = 24, .function_code = 48,
	.shared_data = 8, .shared_name = 16, .shared_script = 32, .code_start = 40, .code_size = 56,
	.bytecode_start = 54, .scope_count = 24, .scope_locals = 32,
};

static struct v8_env memory;
static struct v8_state s;

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory.bytes + (address - BASE), &value, sizeof(value));
}

static void object(uint32_t address, uint32_t type)
{
	put64(address, TAG(MAPS + type * 16));
	put64(MAPS + type * 16 + 8, (uint64_t)type << 32);
}

/* A string that has its characters in itself. */
static uint64_t string(uint32_t n, uint32_t type, const void *bytes, size_t size, uint32_t length)
{
	object(STRING(n), type);
	put64(STRING(n) + 8, (uint64_t)length << 32);
	memcpy(memory.bytes + (STRING(n) + 16 - BASE), bytes, size);
	return TAG(STRING(n));
}

static uint64_t string_of(uint32_t n, uint32_t type, uint32_t length, uint64_t a, uint64_t b)
{
	uint64_t words[2] = { a, b };

	return string(n, type, words, sizeof(words), length);
}

/* A frame of a function with bytecode, at offset 7 of which it is. */
static void make(const struct ebp_v8 *o)
{
	memset(&memory, 0, sizeof(memory));
	memset(&s, 0, sizeof(s));
	put64(FP - 8, TAG(FP));
	put64(FP - 16, TAG(FUNCTION));
	put64(FP - 48 + o->slot_bytecode, TAG(BYTECODE));
	put64(FP - 48 + o->slot_offset, (uint64_t)(o->bytecode_start - 1 + 7) << 32);
	put64(FP, FP + 0x100);
	put64(FP + 8, 0x1234);
	object(FUNCTION, T_OTHER);
	put64(FUNCTION + o->function_shared, TAG(SHARED));
	put64(FUNCTION + o->function_code, TAG(CODE));
	object(SHARED, T_SHARED);
	object(BYTECODE, T_BYTECODE);
	object(CODE, T_CODE);
	put64(SHARED + o->shared_data, TAG(BYTECODE));
	put64(SHARED + o->shared_name, string(0, 8, "name", 4, 4));
	put64(CODE + 40, 0x700000);
	put64(CODE + 56, 0x100);
}

static int look(const struct ebp_v8 *o, uint64_t pc, int runtime)
{
	return v8_look(&memory, &s, o, ISOLATE, FP, pc, runtime);
}

TEST(interpreted)
{
	make(&of_11);
	CHECK_EQ(look(&of_11, 0x400000, 0), 0);
	CHECK_EQ(s.kind, EBP_V8_INTERPRETED);
	CHECK_EQ(s.place, 7);
	CHECK_EQ(s.code_at, TAG(BYTECODE));
	CHECK_EQ(s.words[V8_CALLER_PC], 0x1234);
	CHECK_EQ(s.words[V8_CALLER_FP], FP + 0x100);
}

TEST(compiled)
{
	uint64_t interpreted;

	make(&of_11);
	look(&of_11, 0x400000, 0);
	interpreted = s.identity;
	CHECK_EQ(look(&of_11, 0x700010, 1), 0);
	CHECK_EQ(s.kind, EBP_V8_COMPILED);
	CHECK_EQ(s.place, 0x10);
	CHECK(s.identity != interpreted);
	/* By code that the function has no more. */
	CHECK_EQ(look(&of_11, 0x700100, 1), 0);
	CHECK_EQ(s.kind, EBP_V8_UNPLACED);
	CHECK_EQ(s.pc, 0x700100);
	CHECK_EQ(s.place, 0x700100 & EBP_PLACE_NONE);
}

TEST(code_inside_and_by_handle)
{
	struct ebp_v8 o = of_11;

	o.flags = EBP_V8_CODE_INSIDE;
	o.code_start = 0x60;
	make(&o);
	CHECK_EQ(look(&o, CODE + 0x60 + 5, 1), 0);
	CHECK_EQ(s.place, 5);
	o = of_11;
	o.isolate = 8;
	o.dispatch = 0x20;
	make(&o);
	put64(FUNCTION + o.function_code, 3 << 8 | 0xdeull << 32);
	put64(ISOLATE + 0x20, TABLE);
	put64(TABLE + 3 * 16 + 8, (uint64_t)CODE << 16);
	CHECK_EQ(look(&o, 0x700020, 1), 0);
	CHECK_EQ(s.place, 0x20);
	CHECK_EQ(v8_look(&memory, &s, &o, 0, FP, 0x700020, 1), 0);
	CHECK_EQ(s.kind, EBP_V8_UNPLACED);
}

/* A helper without a frame of its own, which compiled code calls. */
TEST(no_bytecode_in_the_frame)
{
	make(&of_11);
	put64(FP - 48 + of_11.slot_bytecode, TAG(SCOPE));
	object(SCOPE, T_SCOPE);
	CHECK_EQ(look(&of_11, 0x400000, 0), 0);
	CHECK_EQ(s.kind, EBP_V8_UNPLACED);
}

TEST(other_frames)
{
	make(&of_11);
	put64(FP - 8, 22 << 1);
	CHECK(look(&of_11, 0x400000, 0));
	make(&of_11);
	object(SHARED, T_OTHER);
	CHECK(look(&of_11, 0x400000, 0));
	/* A builtin's. */
	make(&of_11);
	put64(SHARED + of_11.shared_data, 0x2fcull << 32);
	CHECK(look(&of_11, 0x400000, 0));
	make(&of_11);
	put64(FP - 16, TAG(0x7fff00000000));
	CHECK(look(&of_11, 0x400000, 0));
}

/* Code that is no function's is known by the type of its frame, where it was made at run time. */
TEST(typed_frames)
{
	struct ebp_v8 o = of_11;
	uint64_t regexp;

	o.regexp_frame = 34;
	o.wasm_frame = 5;
	make(&o);
	put64(FP - 8, 34 << 1);
	CHECK_EQ(look(&o, 0x400000, 1), 0);
	CHECK_EQ(s.kind, EBP_V8_REGEXP);
	CHECK_EQ(s.place, EBP_PLACE_NONE);
	regexp = s.identity;
	CHECK(look(&o, 0x400000, 0));
	put64(FP - 8, 5 << 1);
	CHECK_EQ(look(&o, 0x400000, 1), 0);
	CHECK_EQ(s.kind, EBP_V8_WASM);
	CHECK(s.identity != regexp);
	CHECK(look(&of_11, 0x400000, 1));
	put64(FP - 8, 0);
	CHECK(look(&of_11, 0x400000, 1));
}

/* What is said of a function tells it from another at the same place. */
TEST(identity)
{
	uint64_t before;

	make(&of_11);
	look(&of_11, 0x400000, 0);
	before = s.identity;
	string(0, 8, "nome", 4, 4);
	CHECK_EQ(look(&of_11, 0x400000, 0), 0);
	CHECK(s.identity != before);
}

/* Behind the calls of C in Deoptimizer's builtins and those that enter baseline code. */
static enum v8_swap swap(const char *hex, __u32 *field)
{
	__u64 words[V8_SWAP_CODE / 8] = { 0 };
	uint8_t *to = (void *)words;
	unsigned byte;
	int n;

	for (size_t i = 0; i < sizeof(words) && sscanf(hex, "%2x%n", &byte, &n) == 1; hex += n)
		to[i++] = (uint8_t)byte;
	*field = 0;
	return v8_swap(words, field);
}

TEST(code_that_swaps_frames)
{
	static const struct {
		const char *code;
		enum v8_swap swap;
		__u32 field;
	} cases[] = {
		/* node 12, 14; 16, 20, 22; 18, 24; 26 */
		{ "4c8b15c9feffff49c70200000000488b242458488b60508b5040488b4048",
		  V8_SWAP_UNDONE, 0x50 },
		{ "49c7456800000000488b242458488b60608b5050488b4058488d14d0",
		  V8_SWAP_UNDONE, 0x60 },
		{ "49c785a800000000000000488b242458488b60688b5058488b4060",
		  V8_SWAP_UNDONE, 0x68 },
		{ "488b242449c785b00000000000000058488b60688b5058488b4060",
		  V8_SWAP_UNDONE, 0x68 },
		/* node 16; 18; 20, 22; 24; 26 */
		{ "49c745a000000000488b2424488be55d488d5c035f58ffe3cc4533c9", V8_SWAP_BASELINE, 0 },
		{ "49c7858000000000000000488b2424488be55d488d5c037f58ffe3", V8_SWAP_BASELINE, 0 },
		{ "49c7456800000000488b2424488be55d488b5b274803d858ffe3cc", V8_SWAP_BASELINE, 0 },
		{ "49c785a800000000000000488b2424488be55d488b5b274803d858", V8_SWAP_BASELINE, 0 },
		{ "488b242449c785b000000000000000488be55d488b5b274803d858", V8_SWAP_BASELINE, 0 },
		/* They return; the first call of Deoptimizer; nothing. */
		{ "49c785a800000000000000488b2424488be55dc34c8b43ff450fb7", V8_SWAP_NONE, 0 },
		{ "49c785f891000000000000488b2424488be55dc20800488975e049", V8_SWAP_NONE, 0 },
		{ "49c785a800000000000000488b2424488b58508f83880000008f83", V8_SWAP_NONE, 0 },
		{ "49c785a800000000000000488b242558488b60688b5058488b4060", V8_SWAP_NONE, 0 },
		{ "", V8_SWAP_NONE, 0 },
	};
	__u32 field;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		CHECK_EQ(swap(cases[i].code, &field), cases[i].swap);
		if (cases[i].swap == V8_SWAP_UNDONE)
			CHECK_EQ(field, cases[i].field);
	}
}

enum { UNDONE = BASE + 0x7000, FIELD = 0x68 };

/* The stack at FP that a call of Deoptimizer has, whose caller's begins @words above. */
static void make_undone(uint32_t words)
{
	make(&of_11);
	put64(FP, FP + words * 8 - 8);
	put64(FP + words * 8 - 8, UNDONE);
	put64(UNDONE + 8, TAG(FUNCTION));
	put64(UNDONE + FIELD, FP + words * 8);
	put64(UNDONE + FIELD + 8, FP + 0x200);
	put64(UNDONE + FIELD + 16, 0x1234);
}

static int undone(const struct ebp_v8 *o)
{
	return v8_undone(&memory, &s, o, FP, FIELD);
}

TEST(undone_frames)
{
	uint64_t function;

	for (uint32_t words = 2; words < 4; words++) {
		make_undone(words);
		CHECK_EQ(undone(&of_11), 0);
		CHECK_EQ(s.kind, EBP_V8_UNPLACED);
		CHECK_EQ(s.place, EBP_PLACE_NONE);
		CHECK_EQ(s.shared_at, TAG(SHARED));
		CHECK_EQ(s.words[V8_CALLER_SP], FP + words * 8);
		CHECK_EQ(s.words[V8_CALLER_FP], FP + 0x200);
		CHECK_EQ(s.words[V8_CALLER_PC], 0x1234);
	}
	/* The same code as that of its frame before it is popped. */
	function = s.identity;
	make(&of_11);
	put64(FP - 48 + of_11.slot_bytecode, 0);
	look(&of_11, 0x400000, 0);
	CHECK_EQ(s.identity, function);
}

TEST(undone_frames_that_are_none)
{
	struct ebp_v8 o = of_11;

	make_undone(4);
	CHECK(undone(&of_11));
	/* The caller is not known yet, or has no place. */
	make_undone(3);
	put64(UNDONE + FIELD, 0);
	CHECK(undone(&of_11));
	make_undone(3);
	put64(UNDONE + FIELD + 8, FP);
	CHECK(undone(&of_11));
	make_undone(3);
	put64(UNDONE + FIELD + 16, 0);
	CHECK(undone(&of_11));
	make_undone(3);
	put64(FP + 16, 0);
	CHECK(undone(&of_11));
	/* WebAssembly has no function, where V8 says what its frames are. */
	make_undone(3);
	put64(UNDONE + 8, 0);
	CHECK(undone(&of_11));
	o.wasm_frame = 5;
	CHECK_EQ(undone(&o), 0);
	CHECK_EQ(s.kind, EBP_V8_WASM);
}

static uint8_t out[1024];
static struct ebp_text text;

static int read_text(uint64_t at, uint32_t mask)
{
	memset(out, '#', sizeof(out));
	memset(&s, 0, sizeof(s));
	text = (struct ebp_text){ 0 };
	return v8_text(&memory, &s, &of_11, at, &text, out, mask);
}

TEST(strings)
{
	memset(&memory, 0, sizeof(memory));
	string(1, 8, "one", 3, 3);
	string(2, 40, ".two", 4, 4);
	CHECK_EQ(read_text(TAG(STRING(1)), 255), 0);
	CHECK_EQ(text.length, 3);
	CHECK_EQ(text.width, 1);
	CHECK(!memcmp(out, "one#", 4));
	/* Two bytes a character. */
	string(3, 0, "\x41\x00\x42\x26", 4, 2);
	CHECK_EQ(read_text(TAG(STRING(3)), 255), 0);
	CHECK_EQ(text.width, 2);
	CHECK(!memcmp(out, "\x41\x00\x42\x26#", 5));
	/* One after the other, in another, a part of another, elsewhere. */
	string_of(4, 41, 7, TAG(STRING(1)), TAG(STRING(2)));
	CHECK_EQ(read_text(TAG(STRING(4)), 255), 0);
	CHECK_EQ(text.length, 7);
	CHECK(!memcmp(out, "one.two#", 8));
	/* The longer one may be either; what leads to a string has no width of its own. */
	string_of(8, 41, 10, TAG(STRING(1)), TAG(STRING(4)));
	string_of(9, 37, 10, TAG(STRING(8)), 0);
	CHECK_EQ(read_text(TAG(STRING(9)), 255), 0);
	CHECK_EQ(text.length, 10);
	CHECK_EQ(text.width, 1);
	CHECK(!memcmp(out, "oneone.two#", 11));
	string_of(5, 45, 7, TAG(STRING(4)), 0);
	CHECK_EQ(read_text(TAG(STRING(5)), 255), 0);
	CHECK(!memcmp(out, "one.two#", 8));
	string_of(6, 43, 2, TAG(STRING(2)), 1ull << 32);
	CHECK_EQ(read_text(TAG(STRING(6)), 255), 0);
	CHECK_EQ(text.length, 2);
	CHECK(!memcmp(out, "tw#", 3));
	string_of(7, 42, 3, 0, STRING(2) + 17);
	CHECK_EQ(read_text(TAG(STRING(7)), 255), 0);
	CHECK(!memcmp(out, "two#", 4));
}

TEST(hostile_strings)
{
	char much[200];

	memset(&memory, 0, sizeof(memory));
	memset(much, 'x', sizeof(much));
	/* Longer than there is room for. */
	string(1, 8, much, sizeof(much), 0xffffffff);
	CHECK_EQ(read_text(TAG(STRING(1)), 63), 0);
	CHECK_EQ(text.length, 1u << 30);
	CHECK(out[62] == 'x' && out[63] == '#');
	/* Of itself, of nothing, of what is none. */
	string_of(2, 45, 7, TAG(STRING(2)), 0);
	CHECK(read_text(TAG(STRING(2)), 255));
	string_of(3, 41, 7, TAG(STRING(3)), TAG(STRING(3)));
	CHECK(read_text(TAG(STRING(3)), 255));
	string_of(4, 41, 7, 0, 0);
	CHECK(read_text(TAG(STRING(4)), 255));
	object(STRING(5), T_OTHER);
	CHECK(read_text(TAG(STRING(5)), 255));
	/* The second is longer than both. */
	string(6, 8, much, 9, 9);
	string_of(7, 41, 4, TAG(STRING(6)), TAG(STRING(6)));
	CHECK(read_text(TAG(STRING(7)), 255));
}

static struct ebp_v8_code code;

static uint64_t scope_name(void)
{
	return v8_scope(&memory, &s, &of_11, TAG(SCOPE), &code);
}

TEST(names_of_scopes)
{
	memset(&memory, 0, sizeof(memory));
	object(SCOPE, T_SCOPE);
	/* Two locals, their infos, the name, its slot, no other name, where it begins and ends. */
	put64(SCOPE + 24, 2ull << 32);
	put64(SCOPE + 32, string(1, 8, "local", 5, 5));
	put64(SCOPE + 40, TAG(STRING(1)));
	put64(SCOPE + 64, string(2, 8, "function", 8, 8));
	put64(SCOPE + 72, 0xffffffffull << 32);
	put64(SCOPE + 88, 100ull << 32);
	CHECK_EQ(scope_name(), TAG(STRING(2)));
	CHECK_EQ(code.scope[3], 100ull << 32);
	/* An empty name: the one that V8 made up. */
	string(2, 8, "", 0, 0);
	put64(SCOPE + 80, string(3, 41, "", 0, 9));
	CHECK_EQ(scope_name(), TAG(STRING(3)));
	string(3, 8, "", 0, 0);
	CHECK_EQ(scope_name(), 0);
	/* So many locals that they are in a table. */
	put64(SCOPE + 24, 80ull << 32);
	put64(SCOPE + 32 + 81 * 8, string(4, 8, "many", 4, 4));
	CHECK_EQ(scope_name(), TAG(STRING(4)));
	put64(SCOPE + 24, 0x7fffffffull << 32);
	CHECK_EQ(scope_name(), 0);
}

int main(void)
{
	RUN(interpreted);
	RUN(compiled);
	RUN(code_inside_and_by_handle);
	RUN(no_bytecode_in_the_frame);
	RUN(other_frames);
	RUN(typed_frames);
	RUN(identity);
	RUN(code_that_swaps_frames);
	RUN(undone_frames);
	RUN(undone_frames_that_are_none);
	RUN(strings);
	RUN(hostile_strings);
	RUN(names_of_scopes);
	return TEST_END();
}
