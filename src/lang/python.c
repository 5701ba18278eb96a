/* SPDX-License-Identifier: MIT */
/*
 * CPython: which file is an interpreter, and where it keeps its frames.
 *
 * All symbols that are needed are exported, so a stripped file has them, too. A
 * layout goes by the version, and counts only where the sizes of the types that it
 * is about are those of the release's own build.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/python.h"
#include "elf/elf_code.h"
#include "elf/elf_lookup.h"
#include "lang/lang.h"
#include "lang/python_lines.h"

#define TYPE_BASICSIZE	32	/* of PyTypeObject, as far back as it goes */
#define TYPE_SIZE	40	/* bytes of a type that are read */
#define RANGES_MAX	4096

/* What has to be found in the file. */
enum symbol {
	RUNTIME,
	CODE_TYPE,
	FRAME_TYPE,
	UNICODE_TYPE,
	VERSION,
	KEY,			/* of 3.6, whose name is not exported */
	SYMBOLS,
};

static const char *const symbol_names[SYMBOLS] = {
	[RUNTIME] = "_PyRuntime",
	[CODE_TYPE] = "PyCode_Type",
	[FRAME_TYPE] = "PyFrame_Type",
	[UNICODE_TYPE] = "PyUnicode_Type",
	[VERSION] = "Py_Version",
	[KEY] = "autoTLSkey",
};

#define INTERPRETER	 "_PyEval_EvalFrameDefault"
#define INTERPRETER_TAIL "_TAIL_CALL_"	/* a function for each instruction (3.14) */

struct release {
	/* tp_basicsize of these types */
	uint16_t code_size, frame_size, unicode_size;
	/* offset of the key in _PyRuntime; 3.6 has it as a variable of its own */
	uint32_t key;
	struct ebp_python layout;
};

/* What 3.6 to 3.10 share: a PyFrameObject each, each run by a call of the interpreter. */
#define TO_3_10 .current = 24, .frame_back = 24, .frame_code = 32, .ascii = 48, .compact = 72
/* 3.11 and later: frames are in a stack of their own. */
#define SINCE_3_11                                                                     \
	.frame_place = 56, .frame_bytes = 72, .code_bytes = 144, .code_file = 112, \
	.code_name = 128, .code_table = 136

/* By minor version. */
static const struct release releases[] = {
	[6] = { 144, 384, 80, 0,
		{ TO_3_10, .thread_id = 152, .minor = 6, .frame_place = 120, .frame_bytes = 124,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY | EBP_PYTHON_BARE_KEY,
		  .code_bytes = 120, .code_first_line = 36, .code_file = 96, .code_name = 104,
		  .code_table = 112, .code_words = 0x7ffc } },
	[7] = { 144, 368, 80, 1504,
		{ TO_3_10, .thread_id = 176, .minor = 7, .frame_place = 104, .frame_bytes = 108,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 120,
		  .code_first_line = 36, .code_file = 96, .code_name = 104, .code_table = 112,
		  .code_words = 0x7ffc } },
	[8] = { 176, 368, 80, 1392,
		{ TO_3_10, .thread_id = 176, .minor = 8, .frame_place = 104, .frame_bytes = 108,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128,
		  .code_first_line = 40, .code_file = 104, .code_name = 112, .code_table = 120,
		  .code_words = 0xfffc } },
	[9] = { 176, 368, 80, 584,
		{ TO_3_10, .thread_id = 176, .minor = 9, .frame_place = 104, .frame_bytes = 108,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128,
		  .code_first_line = 40, .code_file = 104, .code_name = 112, .code_table = 120,
		  .code_words = 0xfffc } },
	[10] = { 176, 360, 80, 584,
		 { TO_3_10, .thread_id = 176, .minor = 10, .frame_place = 96, .frame_bytes = 100,
		   .flags = EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128, .code_first_line = 40,
		   .code_file = 104, .code_name = 112, .code_table = 120, .code_words = 0xfffc } },
	/* Of the word at 48 one half counts how often the code ran. */
	[11] = { 184, 120, 80, 592,
		 { SINCE_3_11, .minor = 11, .thread_id = 152, .current = 56, .cframe_current = 8,
		   .cframe_previous = 16, .frame_code = 32, .frame_back = 48, .frame_entry = 68,
		   .entry_value = 1, .flags = EBP_PYTHON_CFRAME | EBP_PYTHON_POINTER,
		   .code_first_line = 72, .code_start = 184, .ascii = 48, .compact = 72,
		   .code_words = 0x3ffbc } },
	[12] = { 192, 120, 64, 1544,
		 { SINCE_3_11, .minor = 12, .thread_id = 136, .current = 56, .cframe_previous = 8,
		   .frame_back = 8,
		   .frame_entry = 70, .entry_value = 3,
		   .flags = EBP_PYTHON_CFRAME | EBP_PYTHON_POINTER | EBP_PYTHON_OWNER,
		   .code_first_line = 68, .code_start = 192, .ascii = 40, .compact = 56,
		   .code_words = 0x3fffc } },
	[13] = { 200, 136, 64, 2160,
		 { SINCE_3_11, .minor = 13, .thread_id = 152, .current = 72, .frame_back = 8,
		   .frame_entry = 70, .entry_value = 3,
		   .flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER, .code_first_line = 68,
		   .code_start = 200, .ascii = 40, .compact = 56, .code_words = 0x3fffc } },
};

struct reading {
	const struct elf_file *f;
	struct elf_code code;
	uint64_t symbols[SYMBOLS];	/* addresses; 0: not found */
	uint64_t skew;			/* of the interpreter's code: address less offset */
	int found;			/* ... whose main part is there */
	struct lang_image *out;
};

static int begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* The interpreter itself, and the parts of it that a compiler moved elsewhere. */
static int is_interpreter(const char *name)
{
	size_t n = strlen(INTERPRETER);

	return (begins(name, INTERPRETER) && (!name[n] || name[n] == '.')) ||
	       begins(name, INTERPRETER_TAIL);
}

static void take_code(struct reading *r, const Elf64_Sym *sym, const char *name)
{
	const struct elf_segment *s = elf_code_at(&r->code, sym->st_value);
	uint64_t start;

	if (!s || !sym->st_size || sym->st_size > s->filesz || r->out->code.n >= RANGES_MAX)
		return;
	start = s->offset + (sym->st_value - s->vaddr);
	if (!strcmp(name, INTERPRETER)) {
		r->skew = s->vaddr - s->offset;
		r->found = 1;
	}
	vec_push(&r->out->code, (struct lang_range){ start, start + sym->st_size, 0 });
}

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;

	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && is_interpreter(name))
		take_code(r, sym, name);
	if (ELF64_ST_TYPE(sym->st_info) != STT_OBJECT)
		return;
	for (int i = 0; i < SYMBOLS; i++)
		if (!r->symbols[i] && !strcmp(symbol_names[i], name))
			r->symbols[i] = sym->st_value;
}

/* What the file has for @size bytes at @address. 0, or negative where that is not in it. */
static int read_at(const struct elf_file *f, uint64_t address, void *to, size_t size)
{
	const struct elf_segment *s;
	size_t n = elf_file_segments(f, &s);

	for (size_t i = 0; i < n; i++)
		if (s[i].type == PT_LOAD && address >= s[i].vaddr &&
		    address - s[i].vaddr < s[i].filesz &&
		    size <= s[i].filesz - (address - s[i].vaddr))
			return elf_file_read(f, s[i].offset + (address - s[i].vaddr), to, size);
	return -EBADMSG;
}

/* The minor version; 0: not known. Py_Version is PY_VERSION_HEX, since 3.11. */
static uint32_t version_of(const struct reading *r, const char *name)
{
	const char *number = strstr(name, "python3.");
	uint64_t hex = 0;
	uint32_t minor = 0;

	if (r->symbols[VERSION])
		return !read_at(r->f, r->symbols[VERSION], &hex, sizeof(hex)) && hex >> 24 == 3
			       ? hex >> 16 & 0xff
			       : 0;
	for (number = number ? number + 8 : ""; *number >= '0' && *number <= '9' && minor < 100;
	     number++)
		minor = minor * 10 + (uint32_t)(*number - '0');
	return minor;
}

static uint64_t basicsize(const struct reading *r, enum symbol type)
{
	uint64_t words[TYPE_SIZE / 8] = { 0 };

	if (!r->symbols[type] || read_at(r->f, r->symbols[type], words, sizeof(words)))
		return 0;
	return words[TYPE_BASICSIZE / 8];
}

static int fits(const struct reading *r, const struct release *release)
{
	return basicsize(r, CODE_TYPE) == release->code_size &&
	       basicsize(r, FRAME_TYPE) == release->frame_size &&
	       basicsize(r, UNICODE_TYPE) == release->unicode_size;
}

static int by_start(const void *a, const void *b)
{
	const struct lang_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void fill(const struct reading *r, const struct release *release)
{
	uint64_t key = release->key ? r->symbols[RUNTIME] + release->key : r->symbols[KEY];
	struct ebp_python layout = release->layout;

	layout.key = key - r->skew;
	layout.code_type = r->symbols[CODE_TYPE] - r->skew;
	layout.unicode_type = r->symbols[UNICODE_TYPE] - r->skew;
	r->out->ops = &lang_python;
	memcpy(r->out->layout.words, &layout, sizeof(layout));
	qsort(r->out->code.v, r->out->code.n, sizeof(r->out->code.v[0]), by_start);
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f, .out = out };
	const struct release *release;
	uint32_t minor;

	/* Nothing else is worth to be searched: it would be every file of the machine. */
	if (!strstr(name, "python") && !elf_file_section(f, ".PyRuntime"))
		return;
	elf_code_collect(f, &r.code);
	elf_lookup_each(f, take_symbol, &r);
	elf_code_free(&r.code);
	if (!r.found || !r.symbols[CODE_TYPE])
		return;
	minor = version_of(&r, name);
	release = minor < sizeof(releases) / sizeof(*releases) && releases[minor].code_size
			  ? &releases[minor]
			  : NULL;
	if (!minor)
		snprintf(out->why, sizeof(out->why), "its version is not known");
	else if (!release)
		snprintf(out->why, sizeof(out->why), "Python 3.%u is not known", minor);
	else if (!fits(&r, release) || elf_file_machine(f) != EM_X86_64)
		snprintf(out->why, sizeof(out->why), "this build of Python 3.%u is not known",
			 minor);
	else if (!(release->key ? r.symbols[RUNTIME] : r.symbols[KEY]))
		snprintf(out->why, sizeof(out->why), "Python 3.%u without its symbols", minor);
	else
		fill(&r, release);
}

static uint32_t line(const struct lang_code *code, uint32_t place)
{
	return place == EBP_PLACE_NONE ? 0
				       : python_line(code->version, code->table, code->table_bytes,
						     code->first_line, place);
}

const struct lang_ops lang_python = {
	.name = "Python",
	.language = EBP_LANGUAGE_PYTHON,
	.joint = ".",
	.recognise = recognise,
	.line = line,
};
