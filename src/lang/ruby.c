/* SPDX-License-Identifier: MIT */
/*
 * CRuby: which file is an interpreter, and where it keeps its frames.
 *
 * Structures go by the version, which the library exports; what it does not export is found by the
 * code of functions that it does (ruby_find). What has changed in either gives no layout.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/ruby.h"
#include "elf/elf_lookup.h"
#include "lang/lang.h"
#include "lang/ruby_find.h"
#include "lang/ruby_lines.h"

/* What has to be found in the file. */
enum symbol {
	VERSION, OBJECT, RECEIVER, THREAD_P, ID2STR, EXEC, DURING_GC, COLLECTORS,
	SYMBOLS = COLLECTORS + 9,
};

static const struct {
	const char *name;
	unsigned char type;
} symbol_rows[SYMBOLS] = {
	[VERSION] = { "ruby_api_version", STT_OBJECT },
	[OBJECT] = { "rb_cObject", STT_OBJECT },
	[RECEIVER] = { "rb_current_receiver", STT_FUNC },
	[THREAD_P] = { "ruby_native_thread_p", STT_FUNC },
	[ID2STR] = { "rb_id2str", STT_FUNC },
	[EXEC] = { "rb_vm_exec", STT_FUNC },
	[DURING_GC] = { "rb_during_gc", STT_FUNC },
	/* what else is compiled with that: from the first to the last is the collector */
	[COLLECTORS] = { "rb_objspace_data_type_memsize", STT_FUNC },
	{ "rb_wb_protected_newobj_of", STT_FUNC },
	{ "rb_define_finalizer", STT_FUNC },
	{ "rb_gc_mark", STT_FUNC },
	{ "rb_gc_writebarrier", STT_FUNC },
	{ "rb_gc_register_address", STT_FUNC },
	{ "rb_gc_start", STT_FUNC },
	{ "rb_gc_latest_gc_info", STT_FUNC },
	{ "rb_gc_adjust_memory_usage", STT_FUNC },
};

#define SINGLETON_FIRST	0x1000
#define SINGLETON_SECOND 0x2000		/* since 3.4 */

/*
 * By the headers of each (vm_core.h, iseq.h, internal/class.h). Since 3.2 a class has no table of
 * variables, and until 3.3 no place for its name: its methods are shown without.
 */
static const struct ebp_ruby releases[] = {
	{ .version = 26, .flags = EBP_RUBY_KEY | EBP_RUBY_SHORT | EBP_RUBY_VARIABLES,
	  .thread_id = 72, .thread_ec = 32, .frame_bytes = 56, .insns = 120, .entry_bytes = 8,
	  .singleton = SINGLETON_FIRST },
	{ .version = 27, .flags = EBP_RUBY_KEY | EBP_RUBY_SHORT | EBP_RUBY_VARIABLES,
	  .thread_id = 72, .thread_ec = 32, .frame_bytes = 56, .insns = 120, .entry_bytes = 8,
	  .singleton = SINGLETON_FIRST },
	{ .version = 30, .flags = EBP_RUBY_SHORT | EBP_RUBY_VARIABLES, .frame_bytes = 56,
	  .insns = 120, .entry_bytes = 8, .singleton = SINGLETON_FIRST },
	{ .version = 31, .flags = EBP_RUBY_SHORT | EBP_RUBY_VARIABLES, .frame_bytes = 64,
	  .insns = 120, .entry_bytes = 12, .singleton = SINGLETON_FIRST },
	{ .version = 32, .frame_bytes = 64, .insns = 112, .entry_bytes = 12,
	  .singleton = SINGLETON_FIRST },
	{ .version = 33, .frame_bytes = 56, .insns = 112, .entry_bytes = 12, .class_name = 152,
	  .class_attached = 128, .singleton = SINGLETON_FIRST },
	{ .version = 34, .frame_bytes = 56, .insns = 112, .entry_bytes = 12, .class_name = 152,
	  .class_attached = 128, .singleton = SINGLETON_SECOND },
	{ .version = 40, .frame_bytes = 56, .insns = 112, .entry_bytes = 12, .class_name = 152,
	  .class_attached = 136, .singleton = SINGLETON_SECOND },
};

#define COLLECTOR_MAX (512u << 10)	/* bytes of code: 90 to 130 KiB were seen */
#define TABLE_MAX (1u << 20)	/* bytes of an index, and of lines */

struct reading {
	const struct elf_file *f;
	uint64_t symbols[SYMBOLS];	/* addresses; 0: not found */
};

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;

	for (int i = 0; i < SYMBOLS; i++)
		if (!r->symbols[i] && ELF64_ST_TYPE(sym->st_info) == symbol_rows[i].type &&
		    !strcmp(symbol_rows[i].name, name))
			r->symbols[i] = sym->st_value;
}

/* 10 * major + minor; 0: not known. */
static uint32_t version_of(const struct reading *r)
{
	const struct elf_segment *s;
	uint64_t at = r->symbols[VERSION];
	size_t n = elf_file_segments(r->f, &s);
	uint32_t numbers[2];

	for (size_t i = 0; at && i < n; i++)
		if (s[i].type == PT_LOAD && at >= s[i].vaddr && at - s[i].vaddr < s[i].filesz &&
		    !elf_file_read(r->f, s[i].offset + (at - s[i].vaddr), numbers,
				   sizeof(numbers)) &&
		    numbers[0] < 100 && numbers[1] < 10)
			return numbers[0] * 10 + numbers[1];
	return 0;
}

static const struct ebp_ruby *release_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (releases[i].version == version)
			return &releases[i];
	return NULL;
}

/* That the collector runs, and which code is its own. Without it that is not shown. */
static void fill_collector(const struct reading *r, const struct code_text *t,
			   struct ebp_ruby *layout, struct lang_image *out)
{
	struct lang_range own = { .start = UINT64_MAX, .runs = LANG_RUNS_COLLECTS };
	struct ruby_collector c;

	if (ruby_find_collector(t, r->symbols[DURING_GC], &c))
		return;
	for (int i = DURING_GC; i < SYMBOLS; i++) {
		uint64_t at = r->symbols[i] - t->address, end;

		if (at >= t->n)
			return;
		end = t->starts[code_text_function(t, r->symbols[i]) + 1] - t->address;
		own.start = at < own.start ? at : own.start;
		own.end = end > own.end ? end : own.end;
	}
	if (own.end - own.start > COLLECTOR_MAX)
		return;
	own.start += t->offset;
	own.end += t->offset;
	vec_push(&out->code, own);
	lang_image_sort(out);
	layout->vm = c.vm - (t->address - t->offset);
	layout->flags |= c.flags;
	layout->space = c.space;
	layout->collects = c.mask;
	layout->collects_at = c.at;
}

/* 0; else something is not there, or not as it is known. */
static int fill(const struct reading *r, const struct code_text *t,
		const struct ebp_ruby *release, struct lang_image *out)
{
	struct ebp_ruby layout = *release;
	uint64_t skew = t->address - t->offset;
	struct ruby_symbols symbols;
	struct ruby_context context;

	if (release->flags & EBP_RUBY_KEY ? ruby_find_key(t, r->symbols[THREAD_P], &context)
					  : ruby_find_context(t, r->symbols[RECEIVER], &context))
		return -1;
	if (ruby_find_symbols(t, r->symbols[ID2STR], &symbols) || !r->symbols[OBJECT] ||
	    ruby_find_interpreter(t, r->symbols[EXEC], out))
		return -1;
	layout.flags |= context.flags;
	layout.slot = context.slot - skew;
	layout.distance = context.distance;
	layout.ids = symbols.ids - skew;
	layout.last_operator = (uint16_t)symbols.last_operator;
	layout.object = r->symbols[OBJECT] - skew;
	/* What YJIT compiles is called from its parts, which lie together. */
	out->layout.loop = out->code.v[0].start;
	out->layout.loop_bytes = (uint32_t)(out->code.v[out->code.n - 1].end - out->layout.loop);
	fill_collector(r, t, &layout, out);
	out->ops = &lang_ruby;
	memcpy(out->layout.words, &layout, sizeof(layout));
	return 0;
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f };
	const struct ebp_ruby *release;
	struct code_text text;
	uint32_t version;

	/* Nothing else is worth to be searched: it would be every file of the machine. */
	if (!strstr(name, "ruby"))
		return;
	elf_lookup_each(f, take_symbol, &r);
	if (!r.symbols[VERSION] || !r.symbols[RECEIVER])
		return;
	version = version_of(&r);
	release = release_of(version);
	if (!release) {
		snprintf(out->why, sizeof(out->why), "Ruby %u.%u is not known", version / 10,
			 version % 10);
		return;
	}
	if (elf_file_machine(f) != EM_X86_64 || code_text_read(f, &text)) {
		snprintf(out->why, sizeof(out->why), "this build of Ruby %u.%u is not known",
			 version / 10, version % 10);
		return;
	}
	if (fill(&r, &text, release, out))
		snprintf(out->why, sizeof(out->why), "this build of Ruby %u.%u is not known",
			 version / 10, version % 10);
	code_text_free(&text);
}

static uint32_t line(const struct lang_code *code, uint32_t place)
{
	return place == EBP_PLACE_NONE ? 0 : ruby_line(code->table, code->table_bytes, place);
}

/* The whole table of a long method, of which only a part was sent, while its process is there. */
static void read_rest(struct lang_code *code, const struct ebp_code *record,
		      struct ebp_ruby_table t, const struct lang_reader *reader)
{
	pid_t pid = (pid_t)record->process.tgid;
	size_t lines = (size_t)t.entries * t.entry_bytes, room = t.index_all;
	uint8_t *table;

	if (!reader->read || !lines || room > TABLE_MAX || lines > TABLE_MAX ||
	    sizeof(t) + t.index_room + lines <= code->table_bytes)
		return;
	table = xmalloc(sizeof(t) + room + lines);
	t.index_bytes = t.index_room = t.index_all;
	memcpy(table, &t, sizeof(t));
	if (reader->read(reader->ctx, pid, t.index_at, table + sizeof(t), room) ||
	    reader->read(reader->ctx, pid, t.lines_at, table + sizeof(t) + room, lines)) {
		free(table);
		return;
	}
	free(code->table);
	code->table = table;
	code->table_bytes = sizeof(t) + room + lines;
}

/* "<main>", "<top (required)>", "<class:A>": not "<", "<=>", "<<". */
static int is_no_method(const char *base)
{
	return base[0] == '<' && base[1] >= 'a' && base[1] <= 'z';
}

/*
 * "Class#block in method" as "block in Class#method", as Ruby 3.4 does; a method of the class
 * itself with a point. What is no method ("<main>", "<class:A>") has no scope.
 */
static void join(struct lang_code *code, const struct ebp_code *record,
		 const struct ebp_ruby_table *t)
{
	size_t scope = record->scope.length, label = strlen(code->name);
	const char *name, *base;
	char *joined;

	if (!record->scope.width || !scope || label <= scope + 1)
		return;
	name = code->name + scope + 1;
	label -= scope + 1;
	/* What was cut, or has a zero, stays as it is. */
	if (label != record->name.length || t->base > label || code->name[scope] != '#')
		return;
	base = name + label - (t->base ? t->base : label);
	joined = is_no_method(base) ? xstrdup(name)
			      : xasprintf("%.*s%.*s%s%s", (int)(base - name), name, (int)scope,
					  code->name, t->singleton ? "." : "#", base);
	free(code->name);
	code->name = joined;
}

static void complete(struct lang_code *code, const struct ebp_code *record,
		     const struct lang_reader *reader)
{
	struct ebp_ruby_table t;

	if (record->head.n < sizeof(t))
		return;
	memcpy(&t, record->table_data, sizeof(t));
	join(code, record, &t);
	read_rest(code, record, t, reader);
}

const struct lang_ops lang_ruby = {
	.name = "Ruby",
	.reads = "CRuby 2.6 to 4.0 (x86-64, glibc)",
	.language = EBP_LANGUAGE_RUBY,
	.files = { "ruby" },
	.joint = "#",
	.compiles = 1,
	.recognise = recognise,
	.line = line,
	.complete = complete,
};
