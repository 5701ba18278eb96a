/* SPDX-License-Identifier: MIT */
#include "lang/luajit_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define NAME_ROOM	59	/* LUA_IDSIZE, less its zero */
#define STRING_ROOM	48	/* of a text's beginning within that */
#define STRING_CUT	45	/* ... where it is cut */

int luajit_table(const struct lang_code *code, struct ebp_luajit_table *t)
{
	if (code->table_bytes < EBP_LUAJIT_LINES_AT)
		return -EBADMSG;
	memcpy(t, code->table, sizeof(*t));
	if (t->nbefore > EBP_LUAJIT_BEFORE || t->names_sent > EBP_LUAJIT_NAMES ||
	    t->names_sent > t->names || t->variables > t->names ||
	    t->lines_sent > code->table_bytes - EBP_LUAJIT_LINES_AT)
		return -EBADMSG;
	return 0;
}

/* --- Names of variables. -------------------------------------------------------- */

/* What a local variable has instead of a name, from 1 on: the compiler made it. */
static const char *const made[] = {
	NULL, "(for index)", "(for limit)", "(for step)", "(for generator)", "(for state)",
	"(for control)",
};
#define MADE (sizeof(made) / sizeof(*made))

struct bytes {
	const uint8_t *p;
	size_t n, at;
	int short_of;	/* there were not as many */
};

static uint8_t next_byte(struct bytes *b)
{
	if (b->at < b->n)
		return b->p[b->at++];
	b->short_of = 1;
	return 0;
}

/* A number of 7 bits a byte, the low ones first. */
static uint32_t next_number(struct bytes *b)
{
	uint32_t number = 0;
	uint8_t byte;

	for (unsigned shift = 0; shift < 32; shift += 7) {
		byte = next_byte(b);
		number |= (uint32_t)(byte & 127) << shift;
		if (!(byte & 128))
			break;
	}
	return number;
}

/* Text up to a zero, malloc'd. */
static char *text_at(const struct bytes *b, size_t at)
{
	return xasprintf("%.*s", (int)(b->n - at), (const char *)b->p + at);
}

enum found { NO_NAME, NAMED, UNKNOWN };

/* The local variable in register @reg before instruction @pc, into *@name. */
static enum found local_name(struct bytes b, uint32_t pc, uint32_t reg, char **name)
{
	uint32_t last = 0, end;

	while (!b.short_of) {
		size_t at = b.at;
		uint8_t kind = next_byte(&b);

		if (!kind)
			break;
		if (kind >= MADE)
			while (next_byte(&b))
				;
		last += next_number(&b);
		end = last + next_number(&b);
		if (b.short_of)
			break;
		if (last > pc)
			return NO_NAME;
		if (pc >= end || reg--)
			continue;
		*name = kind < MADE ? xstrdup(made[kind]) : text_at(&b, at);
		return NAMED;
	}
	return b.short_of ? UNKNOWN : NO_NAME;
}

static enum found upvalue_name(struct bytes b, uint32_t i, char **name)
{
	while (i && !b.short_of)
		i -= !next_byte(&b);
	if (b.short_of || b.at >= b.n)
		return UNKNOWN;
	*name = text_at(&b, b.at);
	return NAMED;
}

/* --- Names of functions. -------------------------------------------------------- */

/* Opcodes @first to @last call what is under that key of a metatable. */
static const struct event {
	uint8_t first, last;
	const char *name;
} events[] = {
	{ 0, 1, "__lt" },	 { 2, 3, "__le" },	 { 4, 11, "__eq" },   { 20, 20, "__unm" },
	{ 21, 21, "__len" },	 { 22, 22, "__add" },	 { 23, 23, "__sub" }, { 24, 24, "__mul" },
	{ 25, 25, "__div" },	 { 26, 26, "__mod" },	 { 27, 27, "__add" }, { 28, 28, "__sub" },
	{ 29, 29, "__mul" },	 { 30, 30, "__div" },	 { 31, 31, "__mod" }, { 32, 32, "__add" },
	{ 33, 33, "__sub" },	 { 34, 34, "__mul" },	 { 35, 35, "__div" }, { 36, 36, "__mod" },
	{ 37, 37, "__pow" },	 { 38, 38, "__concat" }, { 51, 53, "__gc" },  { 54, 54, "__index" },
	{ 55, 55, "__newindex" }, { 56, 59, "__index" }, { 60, 64, "__newindex" },
};
#define FIRST_CALL 65	/* opcodes */
#define LAST_CALL  70

struct caller {
	const uint8_t *code;
	const struct ebp_luajit_table *t;
	struct bytes upvalues, variables;
	const char *fetched;
};

static uint32_t instruction(const struct caller *c, uint32_t i)
{
	uint32_t x;

	memcpy(&x, c->code + i * sizeof(x), sizeof(x));
	return x;
}

/* Of what instruction @x fetched from, or NULL. */
static char *fetched_name(const struct caller *c, uint32_t x)
{
	uint32_t op = EBP_LUAJIT_OP(x);
	char *name = NULL;

	if (op == EBP_LUAJIT_UGET)
		upvalue_name(c->upvalues, EBP_LUAJIT_D(x), &name);
	else if ((op == EBP_LUAJIT_GGET || op == EBP_LUAJIT_TGETS) && *c->fetched)
		name = xstrdup(c->fetched);
	return name;
}

/* What is in register @reg where the caller is, or NULL. */
static char *register_name(const struct caller *c, uint32_t reg)
{
	const struct ebp_luajit_table *t = c->t;
	char *name = NULL;

	if (local_name(c->variables, t->call, reg, &name) != NO_NAME)
		return name;
	/* The first instruction is the function's head. */
	for (uint32_t i = t->nbefore - 1; i-- > !t->first;) {
		uint32_t x = instruction(c, i), op = EBP_LUAJIT_OP(x), a = EBP_LUAJIT_A(x);

		if (EBP_LUAJIT_SETS_ALL(op) && reg >= a &&
		    (op != EBP_LUAJIT_KNIL || reg <= EBP_LUAJIT_D(x)))
			return NULL;
		if (!EBP_LUAJIT_SETS(op) || a != reg)
			continue;
		if (op != EBP_LUAJIT_MOV)
			return fetched_name(c, x);
		reg = EBP_LUAJIT_D(x);
		if (local_name(c->variables, t->first + i, reg, &name) != NO_NAME)
			return name;
	}
	return NULL;
}

char *luajit_name(const uint8_t *table, const struct ebp_luajit_table *t, const uint8_t *names,
		  const char *fetched)
{
	uint32_t variables = t->variables < t->names_sent ? t->variables : t->names_sent;
	struct caller c = {
		.code = table + sizeof(*t), .t = t, .fetched = fetched,
		.upvalues = { .p = names, .n = variables },
		.variables = { .p = names + variables, .n = t->names_sent - variables },
	};
	uint32_t x, op, reg;

	if (t->call == EBP_LUAJIT_NONE || !t->nbefore)
		return NULL;
	x = instruction(&c, t->nbefore - 1);
	op = EBP_LUAJIT_OP(x);
	reg = EBP_LUAJIT_A(x);
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		if (op >= events[i].first && op <= events[i].last)
			return xstrdup(events[i].name);
	if (op < FIRST_CALL || op > LAST_CALL)
		return NULL;
	return register_name(&c, op == EBP_LUAJIT_ITERC ? reg - 3 : reg);
}

/* --- Sources. ------------------------------------------------------------------- */

char *luajit_source_name(const char *source, int builtin)
{
	const char *before = builtin ? "[builtin:" : "[string \"", *behind = builtin ? "]" : "\"]";
	size_t n = strlen(source), line = 0;

	if (*source == '=')
		return xasprintf("%.*s", NAME_ROOM, source + 1);
	if (*source == '@')
		return n - 1 <= NAME_ROOM ? xstrdup(source + 1)
					  : xasprintf("...%s", source + n - (NAME_ROOM - 3));
	while (line < STRING_ROOM && (uint8_t)source[line] >= ' ')
		line++;
	if (!source[line])
		return xasprintf("%s%s%s", before, source, behind);
	return xasprintf("%s%.*s...%s", before,
			 (int)(line < STRING_CUT ? line : STRING_CUT), source, behind);
}

/* --- Lines. --------------------------------------------------------------------- */

size_t luajit_line_bytes(uint32_t nlines)
{
	return nlines < 256 ? 1 : nlines < 65536 ? 2 : 4;
}

uint32_t luajit_line(const struct lang_code *code, uint32_t place)
{
	const uint8_t *lines = code->table + EBP_LUAJIT_LINES_AT;
	struct ebp_luajit_table t;
	size_t bytes, at;
	uint64_t line = 0;

	if (place == EBP_PLACE_NONE || luajit_table(code, &t) || !t.is_lua || place >= t.ncode)
		return 0;
	if (!place)
		return code->first_line;
	bytes = luajit_line_bytes(t.nlines);
	at = (place - 1) * bytes;
	if (at + bytes > t.lines_sent)
		return 0;
	for (size_t i = 0; i < bytes; i++)
		line |= (uint64_t)lines[at + i] << 8 * i;
	line += code->first_line;
	return line <= INT32_MAX ? (uint32_t)line : 0;
}
