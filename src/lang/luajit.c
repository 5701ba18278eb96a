/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT: which file has it, what its functions are called. As Lua it is in files that export its
 * functions.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/luajit.h"
#include "elf/elf_lookup.h"
#include "lang/luajit_find.h"
#include "lang/luajit_text.h"

#define NAME_PREFIX	"luaJIT_version_"
#define REST_MAX	(4u << 20)

/* --- The file. ------------------------------------------------------------------ */

struct reading {
	int is_jit;
	unsigned major, minor;
};

/* "luaJIT_version_2_1_1736781742" */
static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;

	(void)sym;
	if (strncmp(name, "luaJIT_", 7))
		return;
	r->is_jit = 1;
	if (!strncmp(name, NAME_PREFIX, strlen(NAME_PREFIX)))
		sscanf(name + strlen(NAME_PREFIX), "%2u_%2u", &r->major, &r->minor);
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { 0 };
	struct ebp_luajit layout;
	struct lang_range loop;
	struct code_text text;

	(void)name;
	if (!elf_may_export(f, "luaJIT_setmode"))
		return;
	elf_lookup_each(f, take_symbol, &r);
	if (!r.is_jit)
		return;
	if (r.major && (r.major != 2 || r.minor != 1)) {
		snprintf(out->why, sizeof(out->why), "%u.%u is not known", r.major, r.minor);
		return;
	}
	if (elf_file_machine(f) != EM_X86_64 || code_text_read(f, &text)) {
		snprintf(out->why, sizeof(out->why), "this build is not known");
		return;
	}
	if (luajit_find_layout(&text, &layout, &loop)) {
		snprintf(out->why, sizeof(out->why), "its interpreter is not found");
	} else {
		out->ops = &lang_luajit;
		out->layout.loop = loop.start;
		out->layout.loop_bytes = (uint32_t)(loop.end - loop.start);
		memcpy(out->layout.words, &layout, sizeof(layout));
	}
	code_text_free(&text);
}

/* --- Code. ---------------------------------------------------------------------- */

/* @all bytes of a part of which the record has @sent; malloc'd, NULL: they cannot be read. */
static uint8_t *read_all(const struct lang_reader *reader, pid_t pid, uint64_t address, size_t all,
			 size_t sent)
{
	uint8_t *p;

	if (!reader || !reader->read || all <= sent || all > REST_MAX)
		return NULL;
	p = xmalloc(all);
	if (!reader->read(reader->ctx, pid, address, p, all))
		return p;
	free(p);
	return NULL;
}

/* The lines of a function of which only a part was sent, while its process is there. */
static void read_lines(struct lang_code *code, pid_t pid, struct ebp_luajit_table *t,
		       const struct lang_reader *reader)
{
	size_t all = t->ncode ? (t->ncode - 1) * luajit_line_bytes(t->nlines) : 0;
	uint8_t *lines = read_all(reader, pid, t->lines, all, t->lines_sent);

	if (!lines)
		return;
	code->table = xrealloc(code->table, EBP_LUAJIT_LINES_AT + all);
	memcpy(code->table + EBP_LUAJIT_LINES_AT, lines, all);
	code->table_bytes = EBP_LUAJIT_LINES_AT + all;
	t->lines_sent = (uint32_t)all;
	memcpy(code->table, t, sizeof(*t));
	free(lines);
}

/* As debug.traceback() has it, but for a file's own code, which has the file's name. */
static char *name_of(const struct lang_code *code, const struct ebp_luajit_table *t,
		     const uint8_t *names, const char *source)
{
	char *name = luajit_name(code->table, t, names, code->name);
	const char *slash = strrchr(source, '/');

	if (name)
		return name;
	if (!t->is_lua)
		return xstrdup("?");
	if (!code->first_line)
		return xasprintf("<%s>", slash && slash[1] && *source != '[' ? slash + 1 : source);
	return xasprintf("function <%s:%u>", source, code->first_line);
}

static void complete(struct lang_code *code, const struct ebp_code *record,
		     const struct lang_reader *reader)
{
	pid_t pid = (pid_t)record->process.tgid;
	uint8_t *names;
	struct ebp_luajit_table t;
	char *source, *name;

	if (luajit_table(code, &t))
		return;
	source = luajit_source_name(code->file, record->first_line == EBP_LUAJIT_NONE);
	names = read_all(reader, pid, t.names_at, t.names, t.names_sent);
	if (names)
		t.names_sent = t.names;
	name = name_of(code, &t, names ? names : code->table + EBP_LUAJIT_NAMES_AT, source);
	free(names);
	free(code->name);
	code->name = name;
	if (*code->file == '@') {
		memmove(code->file, code->file + 1, strlen(code->file));
		free(source);
	} else {
		free(code->file);
		code->file = source;
	}
	memcpy(&t, code->table, sizeof(t));
	read_lines(code, pid, &t, reader);
}

const struct lang_ops lang_luajit = {
	.name = "LuaJIT",
	.reads = "2.1 (x86-64), in any program that exports its functions",
	.language = EBP_LANGUAGE_LUAJIT,
	.files = { "lua" },
	.joint = ".",
	.recognise = recognise,
	.line = luajit_line,
	.complete = complete,
};
