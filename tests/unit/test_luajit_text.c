/* SPDX-License-Identifier: MIT */
/* Texts, names and lines of LuaJIT, and its layout in code that is made here. */
#include "lang/luajit_text.h"

#include <errno.h>
#include <string.h>

#include "lang/luajit_find.h"
#include "test.h"

static int is_source(const char *source, int builtin, const char *expected)
{
	char *name = luajit_source_name(source, builtin);
	int same = !strcmp(name, expected);

	free(name);
	return same;
}

TEST(sources)
{
	CHECK(is_source("@script.lua", 0, "script.lua"));
	CHECK(is_source("=stdin", 0, "stdin"));
	CHECK(is_source("return 1", 0, "[string \"return 1\"]"));
	CHECK(is_source("return 1\nreturn 2", 0, "[string \"return 1...\"]"));
	CHECK(is_source("@/a/path/that/is/longer/than/sixty/characters/as/some/are/main.lua", 0,
			"...hat/is/longer/than/sixty/characters/as/some/are/main.lua"));
	CHECK(is_source("forty-eight characters are the most of a text...", 0,
			"[string \"forty-eight characters are the most of a text...\"]"));
	CHECK(is_source("of a longer text forty-five characters are there.", 0,
			"[string \"of a longer text forty-five characters are th...\"]"));
	CHECK(is_source("table", 1, "[builtin:table]"));
	CHECK(is_source("", 0, "[string \"\"]"));
}

/* A caller whose last instruction calls, and what its variables are called. */
struct record {
	struct ebp_luajit_table t;
	uint32_t code[EBP_LUAJIT_BEFORE];
	uint8_t names[EBP_LUAJIT_NAMES];
	uint8_t lines[16];
};

/* Upvalues "up", "other"; then locals "a", from 0 on, "(for generator)" and "late", from 4 on. */
static const char names[] = "up\0other\0a\0\0\x63\x04\x04\x63late\0\0\x63";

static struct record made(uint32_t call, const uint32_t *code, uint32_t n)
{
	struct record r = { .t = { .call = call, .first = call + 1 - n, .nbefore = n,
				   .names_sent = sizeof(names), .names = sizeof(names),
				   .variables = 9 } };

	memcpy(r.code, code, n * sizeof(*code));
	memcpy(r.names, names, sizeof(names));
	return r;
}

static int is_name(const struct record *r, const char *fetched, const char *expected)
{
	char *name = luajit_name((const uint8_t *)r, &r->t, r->names, fetched);
	int same = name && expected ? !strcmp(name, expected) : name == expected;

	free(name);
	return same;
}

#define OP(op, a, d) ((op) | (uint32_t)(a) << 8 | (uint32_t)(d) << 16)
#define CALL(a) OP(66, a, 0)

TEST(names_of_functions)
{
	struct record r;

	/* Locals that live there, by their number; those of loops have none of their own. */
	r = made(5, (const uint32_t[]){ CALL(0) }, 1);
	CHECK(is_name(&r, "", "a"));
	r = made(5, (const uint32_t[]){ CALL(2) }, 1);
	CHECK(is_name(&r, "", "late"));
	r = made(5, (const uint32_t[]){ OP(69, 4, 0) }, 1);
	CHECK(is_name(&r, "", "(for generator)"));
	/* What fetched it; a local that is copied there. */
	r = made(5, (const uint32_t[]){ OP(54, 3, 1), CALL(3) }, 2);
	CHECK(is_name(&r, "global", "global"));
	CHECK(is_name(&r, "", NULL));
	r = made(5, (const uint32_t[]){ OP(57, 3, 1), OP(41, 2, 0), CALL(3) }, 3);
	CHECK(is_name(&r, "field", "field"));
	r = made(5, (const uint32_t[]){ OP(45, 3, 1), CALL(3) }, 2);
	CHECK(is_name(&r, "", "other"));
	r = made(5, (const uint32_t[]){ OP(45, 3, 7), CALL(3) }, 2);
	CHECK(is_name(&r, "", NULL));
	r = made(5, (const uint32_t[]){ OP(18, 3, 0), CALL(3) }, 2);
	CHECK(is_name(&r, "x", "a"));
	/* It is what something else gave: another call, nil, a function that was made. */
	r = made(5, (const uint32_t[]){ OP(54, 3, 1), CALL(3), CALL(3) }, 3);
	CHECK(is_name(&r, "global", NULL));
	r = made(5, (const uint32_t[]){ OP(54, 3, 1), OP(44, 2, 3), CALL(3) }, 3);
	CHECK(is_name(&r, "global", NULL));
	r = made(5, (const uint32_t[]){ OP(54, 3, 1), OP(44, 4, 6), CALL(3) }, 3);
	CHECK(is_name(&r, "global", "global"));
	r = made(5, (const uint32_t[]){ OP(51, 3, 1), CALL(3) }, 2);
	CHECK(is_name(&r, "global", NULL));
	/* No call: a metamethod. */
	r = made(5, (const uint32_t[]){ OP(22, 3, 1) }, 1);
	CHECK(is_name(&r, "", "__add"));
	r = made(5, (const uint32_t[]){ OP(56, 3, 1) }, 1);
	CHECK(is_name(&r, "", "__index"));
	r = made(5, (const uint32_t[]){ OP(96, 3, 1) }, 1);
	CHECK(is_name(&r, "", NULL));
}

/* Of names that were not all sent nothing is said. */
TEST(names_that_are_cut)
{
	struct record r = made(5, (const uint32_t[]){ OP(54, 3, 1), CALL(3) }, 2);

	r.t.names_sent = sizeof(names) - 6;
	CHECK(is_name(&r, "global", NULL));
	r.t.names_sent = 4;
	r.code[0] = OP(45, 3, 1);
	CHECK(is_name(&r, "", NULL));
	r.t.call = EBP_LUAJIT_NONE;
	CHECK(is_name(&r, "global", NULL));
}

TEST(lines)
{
	struct record r = { .t = { .call = EBP_LUAJIT_NONE, .is_lua = 1, .ncode = 5, .nlines = 9,
				   .lines_sent = 4 }, .lines = { 1, 2, 9, 4 } };
	struct lang_code code = { .first_line = 10, .table = (void *)&r, .table_bytes = sizeof(r) };

	CHECK_EQ(luajit_line(&code, 0), 10);
	CHECK_EQ(luajit_line(&code, 1), 11);
	CHECK_EQ(luajit_line(&code, 3), 19);
	CHECK_EQ(luajit_line(&code, 5), 0);
	CHECK_EQ(luajit_line(&code, EBP_PLACE_NONE), 0);
	r.t.nlines = 300;
	CHECK_EQ(luajit_line(&code, 1), 10 + 0x201);
	CHECK_EQ(luajit_line(&code, 3), 0);
	r.t.nlines = 70000;
	CHECK_EQ(luajit_line(&code, 1), 10 + 0x04090201);
	r.t.lines_sent = sizeof(r.lines) + 1;
	CHECK_EQ(luajit_line(&code, 1), 0);
	r.t.lines_sent = 4;
	code.table_bytes = sizeof(r.t);
	CHECK_EQ(luajit_line(&code, 1), 0);
}

#define SPACE 64

static void put(uint8_t *to, const char *bytes, size_t n)
{
	memcpy(to, bytes, n);
}

/* An interpreter of references of 8 bytes, in the second of three functions. */
static void make_wide(uint8_t *p)
{
	memset(p, 0x90, 8 * SPACE);
	p += 2 * SPACE;
	put(p, "\x55\x53\x41\x57\x41\x56\x48\x83\xec\x28", 10);
	put(p + 16, "\x49\x81\xc6\x80\x0f\0\0", 7);
	put(p + SPACE, "\x41\xc7\x86\x38\xf1\xff\xff\xff\xff\xff\xff", 11);
	put(p + 2 * SPACE,
	    "\x49\x8b\x8e\xd8\xf4\xff\xff\x48\x8b\x04\xc1\x48\x8b\x40\x58\x48\x8b\x6c\x24\x10"
	    "\x49\x89\x96\xf8\xf1\xff\xff\x49\x89\xae\x60\xf1\xff\xff\x48\x83\xec\x10", 38);
	put(p + 3 * SPACE, "\x83\x7d\x14\x01\x0f\x82\0\0\0\0\x0f\xb6\x6d\x18", 14);
}

static void make_narrow(uint8_t *p)
{
	make_wide(p);
	p += 2 * SPACE;
	put(p + 16, "\x41", 1);
	put(p + 2 * SPACE,
	    "\x41\x8b\x8e\xe8\xf6\xff\xff\x8b\x04\x81\x48\x8b\x40\x40\x8b\x6c\x24\x18\x41\x89\x96"
	    "\xb4\xf4\xff\xff\x41\x89\xae\x38\xf4\xff\xff\x90\x90\x90\x90\x90\x90", 38);
	put(p + 3 * SPACE, "\x83\x7d\x10\x01\x0f\x82\0\0\0\0\x0f\xb6\x6d\x14", 14);
}

TEST(layouts_in_code)
{
	uint8_t code[8 * SPACE];
	uint64_t starts[] = { 0x1000, 0x1000 + 2 * SPACE, 0x1000 + 7 * SPACE, 0x1000 + 8 * SPACE };
	struct code_text t = { .bytes = code, .n = sizeof(code), .address = 0x1000, .offset = 0x400,
			       .starts = starts, .nstarts = 3 };
	struct lang_range loop;
	struct ebp_luajit o;

	make_wide(code);
	CHECK_EQ(luajit_find_layout(&t, &o, &loop), 0);
	CHECK_EQ(loop.start, 0x400 + 2 * SPACE);
	CHECK_EQ(loop.end, 0x400 + 7 * SPACE);
	CHECK_EQ(o.wide, 1);
	CHECK_EQ(o.vmstate, 0xb8);
	CHECK_EQ(o.jit_base, 0x178);
	CHECK_EQ(o.traces, 0x458);
	CHECK_EQ(o.mcode, 0x58);
	CHECK_EQ(o.text, 24);
	make_narrow(code);
	CHECK_EQ(luajit_find_layout(&t, &o, &loop), 0);
	CHECK_EQ(o.wide, 0);
	CHECK_EQ(o.jit_base, 0x434);
	CHECK_EQ(o.traces, 0x668);
	CHECK_EQ(o.mcode, 0x40);
	CHECK_EQ(o.text, 20);
	/* A part of it is in another function, or is not as it should be. */
	starts[2] = 0x1000 + 5 * SPACE;
	CHECK_EQ(luajit_find_layout(&t, &o, &loop), -ENOENT);
	starts[2] = 0x1000 + 7 * SPACE;
	code[2 * SPACE + 20] = 0x7f;
	CHECK_EQ(luajit_find_layout(&t, &o, &loop), -ENOENT);
	make_wide(code);
	code[5 * SPACE + 13] = 0x20;
	CHECK_EQ(luajit_find_layout(&t, &o, &loop), -ENOENT);
	memset(code, 0x90, sizeof(code));
	CHECK_EQ(luajit_find_layout(&t, &o, &loop), -ENOENT);
}

int main(void)
{
	RUN(sources);
	RUN(names_of_functions);
	RUN(names_that_are_cut);
	RUN(lines);
	RUN(layouts_in_code);
	return TEST_END();
}
