/* SPDX-License-Identifier: MIT */
/*
 * Lua: which file has an interpreter, where that keeps its calls, what its functions are called.
 *
 * Lua is a library that programs have in them: any file that exports its functions, for extensions
 * need them, so that a stripped one has them, too. The layout goes by the version, which the file
 * says (lua_ident); bpf/lua_step.h checks it in each sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lua.h"
#include "elf/elf_lookup.h"
#include "lang/lua_find.h"
#include "lang/lua_text.h"

#define IDENT_ROOM	48	/* of "$LuaVersion: Lua 5.4.4 ..." */
#define LINES_MAX	(4u << 20)

enum symbol { IDENT, CALL, CALL_K, LOOP, SYMBOLS };
static const char *const symbol_names[SYMBOLS] = {
	[IDENT] = "lua_ident",	   [CALL] = "lua_call",	     [CALL_K] = "lua_callk",
	[LOOP] = "luaV_execute",
};

/* --- Layouts. ------------------------------------------------------------------- */

#define NO_OP 255
/* The operands of instructions, to 5.3 and later. */
#define OPERANDS_51 .op_bits = 6, .b_at = 23, .b_bits = 9, .c_at = 14, .c_bits = 9, .bx_at = 14, \
	.j_at = 14, .j_zero = 131071
#define OPERANDS_54 .op_bits = 7, .b_at = 16, .b_bits = 8, .c_at = 24, .c_bits = 8, .bx_at = 15, \
	.j_at = 7, .j_zero = (1 << 24) - 1

/* Of lists of calls: lua_State and CallInfo. */
#define STATE_52 .status = 10, .global = 24, .ci = 32, .stack = 56, .stack_end = 48
#define STATE_53 .status = 12, .global = 24, .ci = 32, .stack = 56, .stack_end = 48
#define STATE_54 .status = 10, .stack = 48, .stack_end = 40
#define CLOSURE_52 .proto = 24, .upvalue = 32

#define PROTO_52 .constants = 16, .code = 24, .lines = 40, .locals = 48, .upvalues = 56, \
	.source = 72, .ncode = 88, .nlines = 92, .nlocals = 100, .first_line = 104
#define PROTO_53 .constants = 48, .code = 56, .lines = 72, .locals = 80, .upvalues = 88, \
	.source = 104, .ncode = 24, .nlines = 28, .nlocals = 36, .first_line = 40
#define PROTO_54 .constants = 56, .code = 64, .lines = 88, .locals = 104, .upvalues = 80, \
	.source = 112, .ncode = 24, .nlines = 28, .nlocals = 36, .first_line = 44, \
	.far_lines = 96, .nfar_lines = 40

/* What 5.4 has whichever its release. */
#define REST_54 .global = 24, .ci = 32, .function = 0, .saved = 32, .flags = 62, CLOSURE_52, \
	PROTO_54, .upvalue_bytes = 16, OPERANDS_54, .line_bytes = 1, \
	.ops = { 0, 9, NO_OP, 14, 12, 13, 20, 11, 56, 68, 76, NO_OP }, \
	.sets = { 0x3e3ffffff87bff, 0x3a638 }

/* Each from release 5.@minor.@first on. */
static const struct release {
	unsigned minor, first;
	struct ebp_lua layout;
} releases[] = {
	{ 1, 0,
	  { .version = 501, .status = 10, .global = 32, .ci = 40, .stack = 64, .stack_end = 56,
	    .global_behind = 184, .array = 40, .first_ci = 80, .running = 48,
	    .function = 8, .saved = 24, .flags = 36, .proto = 32, .upvalue = 40,
	    .constants = 16, .code = 24, .lines = 40, .locals = 48, .upvalues = 56, .source = 64,
	    .ncode = 80, .nlines = 84, .nlocals = 92, .first_line = 96, .upvalue_bytes = 8,
	    OPERANDS_51, .line_bytes = 4,
	    .ops = { 0, 4, 5, NO_OP, 6, NO_OP, 11, NO_OP, 22, 28, 33, 36 },
	    .sets = { 0x31bc3ffc7f } } },
	{ 2, 0,
	  { .version = 502, STATE_52, .global_behind = 208, .function = 0, .saved = 56,
	    .flags = 34, .inner = 1 << 2, .tail = 1 << 6, CLOSURE_52, PROTO_52,
	    .upvalue_bytes = 16, OPERANDS_51, .line_bytes = 4,
	    .ops = { 0, 5, NO_OP, NO_OP, 7, NO_OP, 12, 6, 23, 29, 34, NO_OP },
	    .sets = { 0x6b787ff8ff } } },
	{ 3, 3,
	  { .version = 503, STATE_53, .global_behind = 208, .function = 0, .saved = 40,
	    .flags = 66, .fresh = 1 << 3, .tail = 1 << 5, CLOSURE_52, PROTO_53,
	    .upvalue_bytes = 16, OPERANDS_51, .line_bytes = 4,
	    .ops = { 0, 5, NO_OP, NO_OP, 7, NO_OP, 12, 6, 30, 36, 41, NO_OP },
	    .sets = { 0x35b83ffff8ff } } },
	/* Each call of Lua's begins a loop: one of the bits that none has. */
	{ 4, 0,
	  { .version = 504, .status = 10, .stack = 56, .stack_end = 48, .global_behind = 200,
	    .inner = 1 << 15, .tail = 1 << 4, REST_54 } },
	{ 4, 1,
	  { .version = 504, STATE_54, .global_behind = 192, .inner = 1 << 15, .tail = 1 << 4,
	    REST_54 } },
	{ 4, 2,
	  { .version = 504, STATE_54, .global_behind = 192, .fresh = 1 << 2, .tail = 1 << 5,
	    REST_54 } },
	/* lua_State has got tbclist. */
	{ 4, 3,
	  { .version = 504, STATE_54, .global_behind = 200, .fresh = 1 << 2, .tail = 1 << 5,
	    REST_54 } },
};

/* --- The file. ------------------------------------------------------------------ */

struct reading {
	const struct elf_file *f;
	Elf64_Sym symbols[SYMBOLS];	/* st_value 0: not found */
};

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;

	if (name[0] != 'l' || name[1] != 'u' || name[2] != 'a')
		return;
	for (int i = 0; i < SYMBOLS; i++)
		if (!r->symbols[i].st_value && !strcmp(symbol_names[i], name))
			r->symbols[i] = *sym;
}

/* "Lua 5.4.4" in lua_ident: its numbers. 0, or negative: it is not there. */
static int read_version(const struct reading *r, unsigned *minor, unsigned *release)
{
	const struct elf_segment *s;
	uint64_t at = r->symbols[IDENT].st_value;
	size_t n = elf_file_segments(r->f, &s);
	char text[IDENT_ROOM + 1] = { 0 };
	const char *found;

	for (size_t i = 0; at && i < n; i++)
		if (s[i].type == PT_LOAD && at >= s[i].vaddr && at - s[i].vaddr < s[i].filesz &&
		    s[i].filesz - (at - s[i].vaddr) >= IDENT_ROOM)
			elf_file_read(r->f, s[i].offset + (at - s[i].vaddr), text, IDENT_ROOM);
	found = strstr(text, ": Lua 5.");
	return found && sscanf(found, ": Lua 5.%2u.%3u", minor, release) == 2 ? 0 : -1;
}

static const struct ebp_lua *release_of(unsigned minor, unsigned release)
{
	const struct ebp_lua *found = NULL;

	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (releases[i].minor == minor && releases[i].first <= release)
			found = &releases[i].layout;
	return found;
}

/* 0; negative where the loop is not found. */
static int fill(const struct reading *r, const struct code_text *t, const struct ebp_lua *release,
		struct lang_image *out)
{
	const Elf64_Sym *call = &r->symbols[r->symbols[CALL_K].st_value ? CALL_K : CALL];
	const Elf64_Sym *named = &r->symbols[LOOP];
	struct lang_range loop = { 0 };

	if (named->st_value - t->address < t->n && named->st_size) {
		loop.start = named->st_value - t->address + t->offset;
		loop.end = loop.start + named->st_size;
	} else if (lua_find_loop(t, call->st_value, &loop)) {
		return -1;
	}
	vec_push(&out->code, loop);
	out->ops = &lang_lua;
	out->layout.loop = loop.start;
	out->layout.loop_bytes = (uint32_t)(loop.end - loop.start);
	memcpy(out->layout.words, release, sizeof(*release));
	return 0;
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f };
	const struct ebp_lua *release;
	struct code_text text;
	unsigned minor = 0, number = 0;

	(void)name;
	if (!elf_may_export(f, "lua_newstate"))
		return;
	elf_lookup_each(f, take_symbol, &r);
	if ((!r.symbols[CALL].st_value && !r.symbols[CALL_K].st_value) ||
	    read_version(&r, &minor, &number))
		return;
	release = release_of(minor, number);
	if (!release) {
		snprintf(out->why, sizeof(out->why), "Lua 5.%u.%u is not known", minor, number);
		return;
	}
	if (elf_file_machine(f) != EM_X86_64 || code_text_read(f, &text)) {
		snprintf(out->why, sizeof(out->why), "this build of Lua 5.%u.%u is not known",
			 minor, number);
		return;
	}
	if (fill(&r, &text, release, out))
		snprintf(out->why, sizeof(out->why),
			 "Lua 5.%u.%u, whose loop is not found", minor, number);
	code_text_free(&text);
}

/* --- Code. ---------------------------------------------------------------------- */

/* The lines of a function of which only a part was sent, while its process is there. */
static void read_rest(struct lang_code *code, const struct ebp_code *record,
		      struct ebp_lua_table t, const struct lang_reader *reader)
{
	size_t all = (size_t)t.nlines * (code->version >= 504 ? 1 : sizeof(int32_t));
	size_t head = sizeof(t) + EBP_LUA_FAR_BYTES;

	if (!reader || !reader->read || all <= t.sent || all > LINES_MAX ||
	    code->table_bytes < head)
		return;
	code->table = xrealloc(code->table, head + all);
	if (reader->read(reader->ctx, (pid_t)record->process.tgid, t.lines, code->table + head,
			 all))
		return;
	t.sent = (uint32_t)all;
	memcpy(code->table, &t, sizeof(t));
	code->table_bytes = head + all;
}

/* As debug.traceback() has it, but for a file's own code, which has the file's name. */
static char *name_of(const struct lang_code *code, const struct ebp_lua_table *t,
		     const char *source)
{
	const char *event = lua_event(code->version, t->call), *slash = strrchr(source, '/');

	if (t->name == EBP_LUA_SOME_FIELD)
		return xstrdup("?");
	if (t->name == EBP_LUA_SOME_INTEGER)
		return xstrdup("integer index");
	if (event)
		return xstrdup(event);
	if (!t->is_lua)
		return xstrdup("?");
	if (!code->first_line)
		return xasprintf("<%s>", slash && slash[1] && *source != '[' ? slash + 1 : source);
	return xasprintf("function <%s:%u>", source, code->first_line);
}

static void complete(struct lang_code *code, const struct ebp_code *record,
		     const struct lang_reader *reader)
{
	struct ebp_lua_table t;
	char *source;

	if (record->head.n < sizeof(t) || code->table_bytes < sizeof(t))
		return;
	memcpy(&t, record->table_data, sizeof(t));
	source = lua_source_name(code->file);
	if (t.name != EBP_LUA_NAMED || !*code->name) {
		free(code->name);
		code->name = name_of(code, &t, source);
	}
	if (*code->file == '@') {
		memmove(code->file, code->file + 1, strlen(code->file));
		free(source);
	} else {
		free(code->file);
		code->file = source;
	}
	read_rest(code, record, t, reader);
}

const struct lang_ops lang_lua = {
	.name = "Lua",
	.reads = "5.1 to 5.4 (x86-64), in any program that exports its functions",
	.language = EBP_LANGUAGE_LUA,
	.files = { "lua" },
	.joint = ".",
	.recognise = recognise,
	.line = lua_line,
	.complete = complete,
};
