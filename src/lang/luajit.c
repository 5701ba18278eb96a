/* SPDX-License-Identifier: MIT */
/*
 * LuaJIT: which file has it, where that keeps what its frames are of, what its functions are called.
 *
 * It is in files that export its functions, as Lua is. Its releases have no numbers to go by, and
 * their structures differ: so the interpreter's own code says where they are, which nobody compiles
 * (it is assembled by src/vm_x64.dasc or vm_x86.dasc) and which is the same in all of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/load.h"
#include "bpf/luajit.h"
#include "elf/elf_lookup.h"
#include "lang/code_text.h"
#include "lang/luajit_text.h"

#define NAME_PREFIX	"luaJIT_version_"
#define REST_MAX	(4u << 20)

/* --- Layouts. ------------------------------------------------------------------- */

/* What is the same in all of 2.1: with references of 8 bytes, and of 4. */
static const struct ebp_luajit wide = {
	.wide = 1, .c_bytes = 80, .c_thread = 16, .c_pc = 24, .c_results = 8, .c_previous = 32,
	.type = 9, .global = 16, .base = 32, .stack = 56, .stack_end = 48, .c_frame = 80,
	.code = 32, .c_function = 40, .proto_bytes = 104, .ncode = 12, .constants = 32,
	.source = 64, .first_line = 72, .lines = 80, .all_bytes = 56, .text = 24,
};
static const struct ebp_luajit narrow = {
	.c_bytes = 80, .c_thread = 24, .c_pc = 28, .c_results = 16, .c_previous = 32,
	.type = 5, .global = 8, .base = 16, .stack = 36, .stack_end = 32, .c_frame = 48,
	.code = 16, .c_function = 24, .proto_bytes = 64, .ncode = 8, .constants = 16,
	.source = 40, .first_line = 44, .lines = 52, .all_bytes = 32,
};

#define ANY 0x100	/* a byte of a pattern that may be any */
#define NUMBER ANY, ANY, ANY, ANY
#define PATTERN_MAX 48

struct pattern {
	uint16_t bytes[PATTERN_MAX];
	size_t n;
};
#define PATTERN(...) { .bytes = { __VA_ARGS__ }, .n = sizeof((uint16_t[]){ __VA_ARGS__ }) / 2 }

/* Where it enters a trace: mov traces(%r14), %rcx; mov (%rcx,%rax,8), %rax; mov mcode(%rax), %rax;
 * mov 16(%rsp), %rbp; mov %rdx, jit_base(%r14); ...; jmp *%rax. */
static const struct pattern wide_enters =
	PATTERN(0x49, 0x8b, 0x8e, NUMBER, 0x48, 0x8b, 0x04, 0xc1, 0x48, 0x8b, 0x40, ANY, 0x48,
		0x8b, 0x6c, 0x24, 0x10, 0x49, 0x89, 0x96, NUMBER, 0x49, 0x89, 0xae, NUMBER, 0x48,
		0x83, 0xec, 0x10);
static const struct pattern narrow_enters =
	PATTERN(0x41, 0x8b, 0x8e, NUMBER, 0x8b, 0x04, 0x81, 0x48, 0x8b, 0x40, ANY, 0x8b, 0x6c,
		0x24, 0x18, 0x41, 0x89, 0x96, NUMBER, 0x41, 0x89, 0xae, NUMBER);
/* add $n, %r14; from the global state to the table of instructions, by which it addresses both */
static const struct pattern wide_adds = PATTERN(0x49, 0x81, 0xc6, NUMBER);
static const struct pattern narrow_adds = PATTERN(0x41, 0x81, 0xc6, NUMBER);
/* movl $-1, vmstate(%r14): it runs the interpreter */
static const struct pattern sets_state = PATTERN(0x41, 0xc7, 0x86, NUMBER, 0xff, 0xff, 0xff, 0xff);
/* string.byte: cmpl $1, length(%rbp); jb ...; movzbl text(%rbp), %ebp */
static const struct pattern takes_byte =
	PATTERN(0x83, 0x7d, ANY, 0x01, 0x0f, 0x82, NUMBER, 0x0f, 0xb6, 0x6d, ANY);
/* push %rbp; push %rbx; push %r15; push %r14; sub $40, %rsp: its frame on the C stack */
static const struct pattern makes_frame =
	PATTERN(0x55, 0x53, 0x41, 0x57, 0x41, 0x56, 0x48, 0x83, 0xec, 0x28);

/* The first place in @n bytes at @p that is so; NULL: none. */
static const uint8_t *find(const uint8_t *p, size_t n, const struct pattern *wanted)
{
	for (size_t i = 0; i + wanted->n <= n; i++) {
		size_t k = 0;

		while (k < wanted->n && (wanted->bytes[k] == ANY || wanted->bytes[k] == p[i + k]))
			k++;
		if (k == wanted->n)
			return p + i;
	}
	return NULL;
}

/* What the code in @n bytes at @p says. 0, or negative: it is not what we know. */
static int read_layout(const uint8_t *p, size_t n, struct ebp_luajit *out)
{
	const uint8_t *enters = find(p, n, &wide_enters), *adds, *state, *byte;
	int is_wide = !!enters;
	uint32_t to_table;

	if (!enters)
		enters = find(p, n, &narrow_enters);
	adds = find(p, n, is_wide ? &wide_adds : &narrow_adds);
	state = find(p, n, &sets_state);
	byte = find(p, n, &takes_byte);
	if (!enters || !adds || !state || !byte || !find(p, n, &makes_frame))
		return -1;
	*out = is_wide ? wide : narrow;
	to_table = load32(adds + 3);
	out->traces = load32(enters + 3) + to_table;
	out->mcode = enters[is_wide ? 14 : 13];
	out->jit_base = load32(enters + (is_wide ? 23 : 21)) + to_table;
	out->vmstate = load32(state + 3) + to_table;
	if (!is_wide)
		out->text = byte[13];
	else if (byte[13] != out->text)
		return -1;
	/* All are in one block, the first two in its beginning. */
	return out->vmstate < out->jit_base && out->jit_base < 4096 && out->traces < 8192 &&
			       out->traces > out->jit_base && out->mcode >= 40
		       ? 0
		       : -1;
}

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

/* The function that enters traces is the interpreter. 0, or negative: there is none. */
static int fill(const struct code_text *t, struct lang_image *out)
{
	const uint8_t *enters = find(t->bytes, t->n, &wide_enters);
	struct ebp_luajit layout;
	uint64_t start, end;
	size_t i;

	if (!enters)
		enters = find(t->bytes, t->n, &narrow_enters);
	if (!enters)
		return -1;
	i = code_text_function(t, t->address + (uint64_t)(enters - t->bytes));
	start = t->starts[i] - t->address;
	end = t->starts[i + 1] - t->address;
	if (end - start > UINT32_MAX ||
	    read_layout(t->bytes + start, (size_t)(end - start), &layout))
		return -1;
	out->ops = &lang_luajit;
	out->layout.loop = start + t->offset;
	out->layout.loop_bytes = (uint32_t)(end - start);
	memcpy(out->layout.words, &layout, sizeof(layout));
	return 0;
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { 0 };
	struct code_text text;

	(void)name;
	if (!elf_may_export(f, "luaJIT_setmode"))
		return;
	elf_lookup_each(f, take_symbol, &r);
	if (!r.is_jit)
		return;
	if (r.major && (r.major != 2 || r.minor != 1)) {
		snprintf(out->why, sizeof(out->why), "LuaJIT %u.%u is not known", r.major, r.minor);
		return;
	}
	if (elf_file_machine(f) != EM_X86_64 || code_text_read(f, &text)) {
		snprintf(out->why, sizeof(out->why), "this build of LuaJIT is not known");
		return;
	}
	if (fill(&text, out))
		snprintf(out->why, sizeof(out->why), "LuaJIT, whose interpreter is not found");
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
	.name = "Lua",
	.reads = "LuaJIT 2.1 (x86-64), in any program that exports its functions",
	.language = EBP_LANGUAGE_LUAJIT,
	.joint = ".",
	.recognise = recognise,
	.line = luajit_line,
	.complete = complete,
};
