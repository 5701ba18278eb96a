/* SPDX-License-Identifier: MIT */
#include "lang/lua_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "bpf/lua.h"

#define NAME_ROOM	59	/* LUA_IDSIZE, less its zero */
#define STRING_ROOM	45	/* of a text's beginning within that */

/* --- Events. -------------------------------------------------------------------- */

/* Opcodes @first to @last call metamethods: of @names each has one, or all have the first. */
struct event {
	uint16_t version;
	uint8_t first, last;
	uint8_t is_same;
	const char *const *names;
};

static const char *const index_name[] = { "__index" }, *const newindex_name[] = { "__newindex" };
static const char *const iterator_name[] = { "for iterator" };
static const char *const of_52[] = { "__add", "__sub", "__mul", "__div", "__mod", "__pow",
				     "__unm", NULL,    "__len", "__concat" };
static const char *const of_53[] = { "__add",  "__sub",	 "__mul", "__mod",  "__pow", "__div",
				     "__idiv", "__band", "__bor", "__bxor", "__shl", "__shr",
				     "__unm",  "__bnot", NULL,	  "__len",  "__concat" };
static const char *const compare[] = { "__eq", "__lt", "__le" };
static const char *const of_54[] = { "unm", "bnot", NULL, "len", "concat" };
static const char *const compare_54[] = { "eq", "lt", "le", NULL, NULL, "lt", "le", "lt", "le" };
static const char *const close_name[] = { "close" };

static const struct event events[] = {
	{ 502, 6, 7, 1, index_name },	 { 502, 12, 12, 1, index_name },
	{ 502, 8, 8, 1, newindex_name }, { 502, 10, 10, 1, newindex_name },
	{ 502, 13, 22, 0, of_52 },	 { 502, 24, 26, 0, compare },
	{ 502, 34, 34, 1, iterator_name },
	{ 503, 6, 7, 1, index_name },	 { 503, 12, 12, 1, index_name },
	{ 503, 8, 8, 1, newindex_name }, { 503, 10, 10, 1, newindex_name },
	{ 503, 13, 29, 0, of_53 },	 { 503, 31, 33, 0, compare },
	{ 503, 41, 41, 1, iterator_name },
	{ 504, 11, 14, 1, index_name },	 { 504, 20, 20, 1, index_name },
	{ 504, 15, 18, 1, newindex_name }, { 504, 49, 53, 0, of_54 },
	{ 504, 54, 54, 1, close_name },	 { 504, 57, 65, 0, compare_54 },
	{ 504, 70, 70, 1, close_name },	 { 504, 76, 76, 1, iterator_name },
};

/* Since 5.4 arithmetic is followed by an instruction that says which: its operand C. */
#define MMBIN_FIRST 46
#define MMBIN_LAST  48
#define MMBIN_C	    24
static const char *const arithmetic[] = {
	[6] = "add",  [7] = "sub",   [8] = "mul",   [9] = "mod",   [10] = "pow",  [11] = "div",
	[12] = "idiv", [13] = "band", [14] = "bor", [15] = "bxor", [16] = "shl", [17] = "shr",
};

static const char *name_in(const struct event *e, uint32_t op)
{
	const char *name = e->names[e->is_same ? 0 : op - e->first];

	/* Since 5.4 without the underscores. */
	return name && e->version >= 504 && name[0] == '_' ? name + 2 : name;
}

const char *lua_event(uint32_t version, uint32_t instruction)
{
	uint32_t op = instruction & (version >= 504 ? 127 : 63), c = instruction >> MMBIN_C;

	if (instruction == EBP_LUA_NO_CALL)
		return NULL;
	if (version >= 504 && op >= MMBIN_FIRST && op <= MMBIN_LAST)
		return c < sizeof(arithmetic) / sizeof(*arithmetic) ? arithmetic[c] : NULL;
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (events[i].version == version && op >= events[i].first && op <= events[i].last)
			return name_in(&events[i], op);
	return NULL;
}

/* --- Sources. ------------------------------------------------------------------- */

char *lua_source_name(const char *source)
{
	size_t n = strlen(source), first = strcspn(source, "\n");

	if (*source == '=')
		return xasprintf("%.*s", NAME_ROOM, source + 1);
	if (*source == '@')
		return n - 1 <= NAME_ROOM ? xstrdup(source + 1)
					  : xasprintf("...%s", source + n - (NAME_ROOM - 3));
	if (first == n && n < STRING_ROOM)
		return xasprintf("[string \"%s\"]", source);
	return xasprintf("[string \"%.*s...\"]", (int)(first < STRING_ROOM ? first : STRING_ROOM),
			 source);
}

/* --- Lines. --------------------------------------------------------------------- */

struct far_line {
	int32_t pc, line;
};

/* Since 5.4 a line is a distance from the one before, now and then a number of its own. */
static uint32_t count_lines(const struct lang_code *code, const struct ebp_lua_table *t,
			    const uint8_t *far, const int8_t *lines, uint32_t place)
{
	int64_t line = code->first_line, at = -1;

	for (uint32_t i = 0; i < t->far_sent / sizeof(struct far_line); i++) {
		struct far_line f;

		memcpy(&f, far + i * sizeof(f), sizeof(f));
		if (f.pc > (int64_t)place || f.pc < 0)
			break;
		line = f.line;
		at = f.pc;
	}
	while (at++ < place)
		line += lines[at];
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

uint32_t lua_line(const struct lang_code *code, uint32_t place)
{
	struct ebp_lua_table t;
	const uint8_t *far = code->table + sizeof(t), *lines = far + EBP_LUA_FAR_BYTES;
	uint32_t bytes = code->version >= 504 ? 1 : sizeof(int32_t), line;

	if (place == EBP_PLACE_NONE || code->table_bytes < sizeof(t) + EBP_LUA_FAR_BYTES)
		return 0;
	memcpy(&t, code->table, sizeof(t));
	if (t.far_sent > EBP_LUA_FAR_BYTES ||
	    t.sent > code->table_bytes - sizeof(t) - EBP_LUA_FAR_BYTES ||
	    place >= t.sent / bytes)
		return 0;
	if (bytes == 1)
		return count_lines(code, &t, far, (const int8_t *)lines, place);
	memcpy(&line, lines + place * sizeof(line), sizeof(line));
	return line <= INT32_MAX ? line : 0;
}
