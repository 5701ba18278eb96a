/* SPDX-License-Identifier: MIT */
/* Lines of V8's functions and calls that were inlined, out of memory that is laid out here. */
#include "unit/test.h"

#include <stdlib.h>
#include <string.h>

#include "lang/v8_code.h"
#include "lang/v8_memory.h"
#include "lang/v8_positions.h"
#include "lang/v8_scripts.h"

#define BASE	0x100000u
#define SIZE	0x10000u
#define TAG(at)	((uint64_t)(at) | 1)

enum {
	SCRIPT = BASE + 0x100,
	SOURCE = BASE + 0x200,
	SHARED = BASE + 0x400,
	NAME = BASE + 0x500,
	CODE = BASE + 0x600,
	DATA = BASE + 0x700,
	LITERALS = BASE + 0x800,
	CALLS = BASE + 0x900,
	POSITIONS = BASE + 0xa00,
	MAPS = BASE + 0x4000,
};
enum { T_SHARED = 262, T_SCRIPT = 167, T_BYTES = 190, T_OTHER = 300 };

static const char source[] = "one\ntwo\r\nthree\nfour\n";	/* they begin at 0, 4, 9, 15 */

static const struct ebp_v8 layout = {
	.version = 11, .shared_type = T_SHARED, .script_type = T_SCRIPT, .bytes_type = T_BYTES,
	.nonstring_type = 128, .shared_data = 8, .shared_name = 16, .shared_script = 32,
	.script_source = 8, .script_name = 16, .script_id = 64, .code_table = 24, .code_deopt = 16,
	.deopt_literals = 2, .deopt_inlined = 7,
};

static uint8_t memory[SIZE];

static int read_memory(void *ctx, pid_t pid, uint64_t address, void *to, size_t size)
{
	(void)ctx;
	(void)pid;
	if (address < BASE || address - BASE > SIZE - size || size > SIZE)
		return -1;
	memcpy(to, memory + (address - BASE), size);
	return 0;
}

static void put64(uint32_t address, uint64_t value)
{
	memcpy(memory + (address - BASE), &value, sizeof(value));
}

static void object(uint32_t address, uint32_t type)
{
	put64(address, TAG(MAPS + type * 16));
	put64(MAPS + type * 16 + 8, (uint64_t)type << 32);
}

static void string(uint32_t address, const char *text)
{
	object(address, 40);
	put64(address + 8, (uint64_t)strlen(text) << 32);
	memcpy(memory + (address + 16 - BASE), text, strlen(text));
}

/* A script of four lines, and a function of it that another has inlined in its second line. */
static void make(void)
{
	memset(memory, 0, sizeof(memory));
	string(SOURCE, source);
	object(SCRIPT, T_SCRIPT);
	put64(SCRIPT + 8, TAG(SOURCE));
	put64(SCRIPT + 64, 7ull << 32);
	string(NAME, "inner");
	object(SHARED, T_SHARED);
	put64(SHARED + 16, TAG(NAME));
	put64(SHARED + 32, TAG(SCRIPT));
	object(CODE, T_OTHER);
	put64(CODE + 16, TAG(DATA));
	put64(DATA + 8, 8ull << 32);
	put64(DATA + 16 + 8, 1ull << 32);
	put64(DATA + 16 + 2 * 8, TAG(LITERALS));
	put64(DATA + 16 + 7 * 8, TAG(CALLS));
	put64(LITERALS + 8, 1ull << 32);
	put64(LITERALS + 16, TAG(SHARED) | 2);
	put64(CALLS + 8, 16ull << 32);
	put64(CALLS + 16, (5 + 1) << 1);
}

static const uint8_t table[] = {
	0, (4 + 1) << 2, 			/* 0: at 4 */
	32, 0x98, 0x80, 0x80, 0x80, 0x10,	/* 16: at 10, in the call */
};

static struct lang_code complete(const struct lang_reader *r, uint32_t kind)
{
	union v8_record record = { .code = { .language = EBP_LANGUAGE_V8 } };
	struct ebp_v8_code c = { .layout = layout, .script = TAG(SCRIPT), .source = TAG(SOURCE),
				 .script_id = 7, .kind = (uint16_t)kind, .code = TAG(CODE) };
	struct lang_code code;

	c.scope[0] = c.scope[1] = TAG(NAME);
	c.scope[2] = 15ull << 32;
	c.scope[3] = 20ull << 32;
	memcpy(record.code.name_bytes, "outer", 5);
	record.code.name = (struct ebp_text){ .length = 5, .width = 1 };
	memcpy(record.code.table_data, &c, sizeof(c));
	memcpy(record.code.table_data + sizeof(c), table, sizeof(table));
	record.code.head.n = sizeof(c) + sizeof(table);
	CHECK_EQ(lang_code_decode(&record.code, sizeof(record), &code), 0);
	v8_complete(&code, &record.code, r);
	return code;
}

TEST(inlined_calls)
{
	struct lang_reader r = { read_memory, NULL, v8_scripts_new() };
	struct lang_frame frames[LANG_FRAMES];
	struct lang_code code;

	make();
	code = complete(&r, EBP_V8_COMPILED);
	CHECK_EQ(code.first_line, 4);
	CHECK_EQ(v8_frames(&code, 3, frames, LANG_FRAMES), 1);
	CHECK_STR(frames[0].name, "outer");
	CHECK_EQ(frames[0].line, 2);
	CHECK_EQ(v8_frames(&code, 16, frames, LANG_FRAMES), 2);
	CHECK_STR(frames[0].name, "inner");
	CHECK_EQ(frames[0].line, 3);
	CHECK_STR(frames[1].name, "outer");
	CHECK_EQ(frames[1].line, 2);
	CHECK_EQ(v8_frames(&code, 16, frames, 1), 1);
	/* No place: where it begins. */
	CHECK_EQ(v8_frames(&code, EBP_PLACE_NONE, frames, LANG_FRAMES), 1);
	CHECK_EQ(frames[0].line, 4);
	lang_code_free(&code);
	v8_scripts_free(r.state);
}

TEST(what_cannot_be_read)
{
	struct lang_reader r = { read_memory, NULL, v8_scripts_new() };
	struct lang_frame frames[LANG_FRAMES];
	struct lang_code code;

	/* The script is another by now. */
	make();
	put64(SCRIPT + 64, 8ull << 32);
	code = complete(&r, EBP_V8_COMPILED);
	CHECK_EQ(code.first_line, 0);
	CHECK_EQ(v8_line(&code, 3), 0);
	lang_code_free(&code);
	v8_scripts_free(r.state);
	/* What was inlined is no function; calls that are in one another. */
	r.state = v8_scripts_new();
	make();
	object(SHARED, T_OTHER);
	put64(CALLS + 16, 1ull << 31 | 12);
	code = complete(&r, EBP_V8_COMPILED);
	CHECK_EQ(v8_frames(&code, 16, frames, LANG_FRAMES), 2);
	CHECK_STR(frames[0].name, "");
	lang_code_free(&code);
	/* Nobody reads. */
	r.read = NULL;
	code = complete(&r, EBP_V8_UNPLACED);
	CHECK_EQ(v8_frames(&code, 16, frames, LANG_FRAMES), 1);
	lang_code_free(&code);
	v8_scripts_free(r.state);
}

TEST(positions)
{
	static const uint8_t endless[] = { 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
					   0xff, 0xff };
	struct v8_position p[2];

	CHECK_EQ(v8_positions_decode(table, sizeof(table), p, 2), 2);
	CHECK_EQ(p[0].place, 0);
	CHECK_EQ(p[0].position, 4);
	CHECK_EQ(p[0].inlined, -1);
	CHECK_EQ(p[1].place, 16);
	CHECK_EQ(p[1].position, 10);
	CHECK_EQ(p[1].inlined, 0);
	CHECK_EQ(v8_positions_decode(table, sizeof(table), p, 1), 1);
	CHECK_EQ(v8_positions_decode(table, 3, p, 2), 1);
	CHECK_EQ(v8_positions_decode(endless, sizeof(endless), p, 2), 0);
}

int main(void)
{
	RUN(inlined_calls);
	RUN(what_cannot_be_read);
	RUN(positions);
	return TEST_END();
}
