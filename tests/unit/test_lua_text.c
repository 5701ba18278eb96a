/* SPDX-License-Identifier: MIT */
/* Texts and lines of Lua, and the loop in code that is made here. */
#include "lang/lua_text.h"

#include <string.h>

#include "bpf/lua.h"
#include "lang/lua_find.h"
#include "test.h"

static int is_source(const char *source, const char *expected)
{
	char *name = lua_source_name(source);
	int same = !strcmp(name, expected);

	free(name);
	return same;
}

TEST(sources)
{
	CHECK(is_source("@script.lua", "script.lua"));
	CHECK(is_source("=stdin", "stdin"));
	CHECK(is_source("return 1", "[string \"return 1\"]"));
	CHECK(is_source("return 1\nreturn 2", "[string \"return 1...\"]"));
	CHECK(is_source("@/a/path/that/is/longer/than/sixty/characters/as/some/are/main.lua",
			"...hat/is/longer/than/sixty/characters/as/some/are/main.lua"));
	CHECK(is_source("a text that goes on and on, for longer than those",
			"[string \"a text that goes on and on, for longer than t...\"]"));
	CHECK(is_source("", "[string \"\"]"));
}

TEST(event_names)
{
	CHECK_STR(lua_event(504, 46 | 6u << 24), "add");
	CHECK(!lua_event(504, 46 | 99u << 24));
	CHECK_STR(lua_event(504, 14), "index");
	CHECK_STR(lua_event(504, 62), "lt");
	CHECK_STR(lua_event(504, 76), "for iterator");
	CHECK_STR(lua_event(503, 24), "__shr");
	CHECK_STR(lua_event(502, 12), "__index");
	CHECK_STR(lua_event(502, 22), "__concat");
	CHECK(!lua_event(502, 20));
	CHECK(!lua_event(504, 68));
	CHECK(!lua_event(501, 12));
	CHECK(!lua_event(504, EBP_LUA_NO_CALL));
}

struct table {
	struct ebp_lua_table t;
	uint8_t far[EBP_LUA_FAR_BYTES];
	int8_t lines[16];
};

TEST(lines_of_5_4)
{
	struct table table = { .t = { .sent = 6, .far_sent = 8 },
			       .lines = { 1, 0, 2, -128, -1, 3 } };
	const int32_t far[2] = { 3, 1000 };
	struct lang_code code = { .first_line = 10, .version = 504, .table = (void *)&table,
				  .table_bytes = sizeof(table) };

	memcpy(table.far, far, sizeof(far));
	CHECK_EQ(lua_line(&code, 0), 11);
	CHECK_EQ(lua_line(&code, 2), 13);
	CHECK_EQ(lua_line(&code, 3), 1000);
	CHECK_EQ(lua_line(&code, 5), 1002);
	CHECK_EQ(lua_line(&code, 6), 0);
	CHECK_EQ(lua_line(&code, EBP_PLACE_NONE), 0);
	table.t.sent = 600;
	CHECK_EQ(lua_line(&code, 0), 0);
}

TEST(lines_of_5_1)
{
	struct table table = { .t = { .sent = 8 } };
	const int32_t lines[2] = { 7, -1 };
	struct lang_code code = { .version = 501, .table = (void *)&table,
				  .table_bytes = sizeof(table) };

	memcpy(table.lines, lines, sizeof(lines));
	CHECK_EQ(lua_line(&code, 0), 7);
	CHECK_EQ(lua_line(&code, 1), 0);
	CHECK_EQ(lua_line(&code, 2), 0);
	code.table_bytes = sizeof(table.t);
	CHECK_EQ(lua_line(&code, 0), 0);
}

/* Functions: lua_call, what it calls, the loop, a small one, and a big one that nobody calls. */
TEST(the_loop)
{
	static uint8_t bytes[0x4000];
	static uint64_t starts[] = { 0x10000, 0x10040, 0x10080, 0x11000, 0x11100, 0x14000 };
	const struct code_text t = { .bytes = bytes, .n = sizeof(bytes), .address = 0x10000,
				     .offset = 0x400, .starts = starts, .nstarts = 5 };
	const uint32_t calls[][2] = { { 0x8, 0x40 }, { 0x48, 0x80 }, { 0x50, 0x1000 } };
	struct lang_range loop;

	memset(bytes, 0x90, sizeof(bytes));
	CHECK(lua_find_loop(&t, 0x10000, &loop) < 0);
	for (int i = 0; i < 3; i++) {
		uint32_t distance = calls[i][1] - (calls[i][0] + 5);

		bytes[calls[i][0]] = i == 1 ? 0xe9 : 0xe8;
		memcpy(bytes + calls[i][0] + 1, &distance, sizeof(distance));
	}
	CHECK_EQ(lua_find_loop(&t, 0x10000, &loop), 0);
	CHECK_EQ(loop.start, 0x480);
	CHECK_EQ(loop.end, 0x1400);
	CHECK_EQ(loop.runs, LANG_RUNS_CALL);
	/* Two that are big. */
	starts[4] = 0x11f00;
	CHECK(lua_find_loop(&t, 0x10000, &loop) < 0);
	CHECK(lua_find_loop(&t, 0x14000, &loop) < 0);
}

int main(void)
{
	RUN(sources);
	RUN(event_names);
	RUN(lines_of_5_4);
	RUN(lines_of_5_1);
	RUN(the_loop);
	return TEST_END();
}
