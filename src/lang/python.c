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
#include "lang/python_code.h"
#include "lang/python_lines.h"
#include "lang/python_path.h"
#include "lang/python_walk.h"

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
	COROUTINE_TYPE,
	GENERATOR_TYPE,
	SYMBOLS,
};

static const char *const symbol_names[SYMBOLS] = {
	[RUNTIME] = "_PyRuntime",
	[CODE_TYPE] = "PyCode_Type",
	[FRAME_TYPE] = "PyFrame_Type",
	[UNICODE_TYPE] = "PyUnicode_Type",
	[VERSION] = "Py_Version",
	[KEY] = "autoTLSkey",
	[COROUTINE_TYPE] = "PyCoro_Type",
	[GENERATOR_TYPE] = "PyGen_Type",
};

#define INTERPRETER	 "_PyEval_EvalFrameDefault"
#define INTERPRETER_TAIL "_TAIL_CALL_"	/* a function for each instruction (3.14) */
#define STATE		 "PyGILState_GetThisThreadState"
/* What waits for the GIL; of these the first is exported. */
#define RESTORE		 "PyEval_RestoreThread"
#define TAKE_GIL	 "take_gil"

struct release {
	/* tp_basicsize of these types */
	uint16_t code_size, frame_size, unicode_size;
	/* offset of the key in _PyRuntime; 3.6 has it as a variable of its own */
	uint32_t key;
	/* that of aarch64, whose mutexes are bigger; 0: not known, or there is none */
	uint32_t key_arm64;
	struct ebp_python layout;
};

/* What 3.6 to 3.10 share: a PyFrameObject each, each run by a call of the interpreter. */
#define TO_3_10 .current = 24, .frame_back = 24, .frame_code = 32, .ascii = 48, .compact = 72
/* 3.11 and later: frames are in a stack of their own. */
#define SINCE_3_11                                                                     \
	.frame_place = 56, .code_bytes = 144, .code_file = 112, .code_name = 128, \
	.code_table = 136
/* 3.14 and later, but for the thread. */
#define SINCE_3_14                                                                       \
	SINCE_3_11, .current = 72, .frame_back = 8, .frame_entry = 74, .entry_value = 3, \
	.code_version = 92, \
	.frame_bytes = 80, .code_first_line = 68, .code_start = 208, .ascii = 40,        \
	.compact = 56, .code_words = 0x3fffc, .task_coroutine = 128, .task_awaiter = 96, \
	.task_awaiters = 109, .coroutine_frame = 72, .frame_stack = 64, \
	.coroutine_state = 67

/* By minor version. */
static const struct release releases[] = {
	[6] = { 144, 384, 80, 0, 0,
		{ TO_3_10, .thread_id = 152, .minor = 6, .frame_place = 120, .frame_bytes = 124,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY | EBP_PYTHON_BARE_KEY,
		  .code_bytes = 120, .code_first_line = 36, .code_file = 96, .code_name = 104,
		  .code_table = 112, .code_words = 0x7ffc } },
	[7] = { 144, 368, 80, 1504, 0,
		{ TO_3_10, .thread_id = 176, .minor = 7, .frame_place = 104, .frame_bytes = 108,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 120,
		  .code_first_line = 36, .code_file = 96, .code_name = 104, .code_table = 112,
		  .code_words = 0x7ffc } },
	[8] = { 176, 368, 80, 1392, 0,
		{ TO_3_10, .thread_id = 176, .minor = 8, .frame_place = 104, .frame_bytes = 108,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128,
		  .code_first_line = 40, .code_file = 104, .code_name = 112, .code_table = 120,
		  .code_words = 0xfffc } },
	[9] = { 176, 368, 80, 584, 600,
		{ TO_3_10, .thread_id = 176, .minor = 9, .frame_place = 104, .frame_bytes = 108,
		  .flags = EBP_PYTHON_BYTES | EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128,
		  .code_first_line = 40, .code_file = 104, .code_name = 112, .code_table = 120,
		  .code_words = 0xfffc } },
	[10] = { 176, 360, 80, 584, 0,
		 { TO_3_10, .thread_id = 176, .minor = 10, .frame_place = 96, .frame_bytes = 100,
		   .flags = EBP_PYTHON_ALWAYS_ENTRY, .code_bytes = 128, .code_first_line = 40,
		   .code_file = 104, .code_name = 112, .code_table = 120, .code_words = 0xfffc } },
	/* Of the word at 48 one half counts how often the code ran. */
	[11] = { 184, 120, 80, 592, 608,
		 { SINCE_3_11, .minor = 11, .thread_id = 152, .current = 56, .cframe_current = 8,
		   .cframe_previous = 16, .frame_bytes = 72, .frame_code = 32, .frame_back = 48,
		   .frame_entry = 68, .entry_value = 1,
		   .flags = EBP_PYTHON_CFRAME | EBP_PYTHON_POINTER,
		   .code_first_line = 72, .code_start = 184, .ascii = 48, .compact = 72,
		   .code_words = 0x3ffbc } },
	[12] = { 192, 120, 64, 1544, 0,
		 { SINCE_3_11, .minor = 12, .thread_interp = 16, .interp_id = 8,
		   .thread_id = 136, .current = 56, .cframe_previous = 8,
		   .frame_bytes = 72, .frame_back = 8, .frame_entry = 70, .entry_value = 3,
		   .code_version = 92,
		   .flags = EBP_PYTHON_CFRAME | EBP_PYTHON_POINTER | EBP_PYTHON_OWNER,
		   .code_first_line = 68, .code_start = 192, .ascii = 40, .compact = 56,
		   .code_words = 0x3fffc } },
	[13] = { 200, 136, 64, 2160, 2160,
		 { SINCE_3_11, .minor = 13, .thread_id = 152, .current = 72, .frame_back = 8,
		   .frame_bytes = 72, .frame_entry = 70, .entry_value = 3, .code_version = 92,
		   .flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER, .code_first_line = 68,
		   .code_start = 200, .ascii = 40, .compact = 56, .code_words = 0x3fffc } },
	[14] = { 208, 152, 64, 2336, 2336,
		 { SINCE_3_14, .minor = 14, .thread_id = 152, .running_task = 872,
		   .awaits = 255,
		   .flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER } },
	/* There is no key any more. */
	[15] = { 208, 152, 64, 0, 0,
		 { SINCE_3_14, .minor = 15, .thread_id = 176, .running_task = 1032,
		   .awaits = 2,
		   .flags = EBP_PYTHON_POINTER | EBP_PYTHON_OWNER | EBP_PYTHON_BASE |
			    EBP_PYTHON_TLS } },
};

struct reading {
	const struct elf_file *f;
	struct elf_code code;
	uint64_t symbols[SYMBOLS];	/* addresses; 0: not found */
	uint64_t skew;			/* of the interpreter's code: address less offset */
	struct python_function main;	/* of that code; size 0: it is not there */
	struct python_function state;	/* a function that returns the thread's state */
	struct lang_image *out;
};

static int begins(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

/* @name is @function's, or that of a part or a copy of it that a compiler made. */
static int is_part_of(const char *name, const char *function)
{
	size_t n = strlen(function);

	return begins(name, function) && (!name[n] || name[n] == '.');
}

/* The interpreter itself, and the parts of it that a compiler moved elsewhere. */
static int is_interpreter(const char *name)
{
	return is_part_of(name, INTERPRETER) || begins(name, INTERPRETER_TAIL);
}

static void take_code(struct reading *r, const struct python_function *function, int is_main)
{
	const struct elf_segment *s = elf_code_at(&r->code, function->address);
	uint64_t start;

	if (!s || !function->size || function->size > s->filesz || r->out->code.n >= RANGES_MAX)
		return;
	start = s->offset + (function->address - s->vaddr);
	if (is_main) {
		r->skew = s->vaddr - s->offset;
		r->main = *function;
	}
	vec_push(&r->out->code, (struct lang_range){ .start = start,
						      .end = start + function->size });
}

static void take_lock(struct reading *r, const struct python_function *function)
{
	const struct elf_segment *s = elf_code_at(&r->code, function->address);
	uint64_t start = s ? s->offset + (function->address - s->vaddr) : 0;

	if (s && function->size <= s->filesz && r->out->lock.n < RANGES_MAX)
		vec_push(&r->out->lock, (struct lang_range){ .start = start,
							     .end = start + function->size });
}

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct python_function function = { sym->st_value, sym->st_size };
	struct reading *r = ctx;

	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && is_interpreter(name))
		take_code(r, &function, !strcmp(name, INTERPRETER));
	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && !strcmp(name, STATE))
		r->state = function;
	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC &&
	    (is_part_of(name, RESTORE) || is_part_of(name, TAKE_GIL)))
		take_lock(r, &function);
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

/*
 * A file's name as CPython gives it, from behind "python" on, as "3.11" of libpython3.11.so.1.0;
 * NULL: it has another.
 */
static const char *behind_python(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	name += begins(name, "lib") ? 3 : 0;
	return begins(name, "python") ? name + 6 : NULL;
}

/* The minor version; 0: not known. Py_Version is PY_VERSION_HEX, since 3.11. */
static uint32_t version_of(const struct reading *r, const char *path)
{
	const char *number = behind_python(path);
	uint64_t hex = 0;
	uint32_t minor = 0;

	if (r->symbols[VERSION])
		return !read_at(r->f, r->symbols[VERSION], &hex, sizeof(hex)) && hex >> 24 == 3
			       ? hex >> 16 & 0xff
			       : 0;
	number = number && begins(number, "3.") ? number + 2 : "";
	for (; *number >= '0' && *number <= '9' && minor < 100; number++)
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

/* --- What 3.13 and later say of themselves (pycore_debug_offsets.h). ---------- */

#define COOKIE "xdebugpy"

/* The beginning of _PyRuntime. */
struct debug_head {
	char cookie[8];
	uint64_t version, free_threaded;
};
#define INTERPRETER_ID 56	/* where it says where an interpreter has its number */

/* Where parts of it begin, by minor version, and where the thread's id is in its part. */
static const struct {
	uint16_t thread, id, frame, code, strings;
} debug_parts[] = {
	[13] = { 152, 40, 224, 272, 560 },
	[14] = { 176, 40, 248, 312, 640 },
	[15] = { 176, 64, 312, 376, 736 },
};

/* A number at @at of the part; 0: it is not below @below. */
static uint16_t told(const struct reading *r, uint32_t at, uint16_t below)
{
	uint64_t x = 0;

	if (read_at(r->f, r->symbols[RUNTIME] + at, &x, sizeof(x)) || x >= below)
		return 0;
	return (uint16_t)x;
}

/* Takes offsets from there. 0; negative: it has none, or none that this version has. */
static int take_told(const struct reading *r, struct ebp_python *o)
{
	uint32_t thread = debug_parts[o->minor].thread, frame = debug_parts[o->minor].frame;
	uint32_t code = debug_parts[o->minor].code, strings = debug_parts[o->minor].strings;
	uint16_t in_frame = o->frame_bytes - 7, in_code = o->code_bytes - 7;

	o->current = told(r, thread + 32, UINT16_MAX);
	o->thread_id = told(r, thread + debug_parts[o->minor].id, UINT16_MAX);
	o->thread_interp = told(r, thread + 24, UINT16_MAX);
	o->interp_id = told(r, INTERPRETER_ID, UINT16_MAX);
	o->frame_back = told(r, frame + 8, in_frame);
	o->frame_code = told(r, frame + 16, in_frame);
	o->frame_place = told(r, frame + 24, in_frame);
	o->frame_entry = told(r, frame + 40, o->frame_bytes);
	o->code_file = told(r, code + 8, in_code);
	o->code_name = told(r, code + 24, in_code);
	o->code_table = told(r, code + 32, in_code);
	o->code_first_line = told(r, code + 40, in_code);
	o->code_start = told(r, code + 72, UINT16_MAX);
	o->ascii = told(r, strings, UINT16_MAX);
	/* The code is a frame's first. */
	return o->current && o->thread_id && o->thread_interp && o->interp_id && o->frame_back &&
	       o->frame_place && o->frame_entry && o->code_file && o->code_name && o->code_table &&
	       o->code_first_line && o->code_start && o->ascii ? 0 : -1;
}

static int is_free_threaded(const struct reading *r)
{
	struct debug_head head;

	return r->symbols[RUNTIME] && !read_at(r->f, r->symbols[RUNTIME], &head, sizeof(head)) &&
	       !memcmp(head.cookie, COOKIE, sizeof(head.cookie)) && head.free_threaded;
}

/* --- The layout. -------------------------------------------------------------- */

/* glibc's struct pthread: specific_1stblock, and where it begins (EBP_PYTHON_SELF). */
#define KEYS_ARM64	0x110
#define SELF_ARM64	0x6f0	/* bytes to 2.22; 0x700 in 2.31, 0x740 in 2.36, 0x720 in 2.41 */
/* musl's of 1.2: tsd, and where it begins. */
#define MUSL_X86_64	128
#define MUSL_ARM64	112
#define MUSL_SELF_ARM64	200

static void take_threads(const struct reading *r, struct ebp_python *o)
{
	int arm64 = elf_file_machine(r->f) == EM_AARCH64;

	if (lang_needs_musl(r->f)) {
		o->flags |= EBP_PYTHON_MUSL;
		o->keys = arm64 ? MUSL_ARM64 : MUSL_X86_64;
		o->self = arm64 ? MUSL_SELF_ARM64 : 0;
		return;
	}
	o->keys = arm64 ? KEYS_ARM64 : LANG_KEYS_X86_64;
	o->self = arm64 ? SELF_ARM64 : 0;
	o->selves = arm64 ? EBP_PYTHON_SELVES - 1 : 0;
}

/* Where a thread has its state. 0; negative: it is not known. */
static int take_state(const struct reading *r, const struct release *release, struct ebp_python *o)
{
	int arm64 = elf_file_machine(r->f) == EM_AARCH64;
	uint32_t key = arm64 ? release->key_arm64 : release->key;
	struct python_tls tls;

	take_threads(r, o);
	if (!(o->flags & EBP_PYTHON_TLS)) {
		o->key = (key ? r->symbols[RUNTIME] + key : r->symbols[KEY]) - r->skew;
		return r->symbols[key ? RUNTIME : KEY] ? 0 : -1;
	}
	if (python_returned_tls(r->f, &r->code, &r->state, &tls) || tls.offset >= UINT16_MAX)
		return -1;
	o->key = tls.at;
	if (tls.module) {
		/* musl's vector of blocks has another form. */
		if (o->flags & EBP_PYTHON_MUSL)
			return -1;
		o->flags ^= EBP_PYTHON_TLS | EBP_PYTHON_MODULE;
		o->key -= r->skew;
		o->slot = (uint16_t)tls.offset;
	}
	return 0;
}

static void fill(struct reading *r, const struct ebp_python *layout)
{
	struct ebp_python o = *layout;
	struct python_function part;

	o.code_type = r->symbols[CODE_TYPE] - r->skew;
	o.unicode_type = r->symbols[UNICODE_TYPE] - r->skew;
	o.coroutine_type = r->symbols[COROUTINE_TYPE] - r->skew;
	o.generator_type = r->symbols[GENERATOR_TYPE] - r->skew;
	r->out->ops = &lang_python;
	memcpy(r->out->layout.words, &o, sizeof(o));
	if (r->out->code.n == 1 && !python_moved_part(r->f, &r->code, &r->main, &part))
		take_code(r, &part, 0);
	lang_image_sort(r->out);
}

/* Whether the file is of a machine that the release is known on. */
static int is_known_machine(const struct reading *r, const struct release *release)
{
	uint16_t machine = elf_file_machine(r->f);

	return machine == EM_X86_64 ||
	       (machine == EM_AARCH64 &&
		(release->key_arm64 || release->layout.flags & EBP_PYTHON_TLS));
}

/* Fills what is found, or says why not. */
static void take_release(struct reading *r, uint32_t minor)
{
	const struct release *release = minor < sizeof(releases) / sizeof(*releases) &&
						releases[minor].code_size
						? &releases[minor]
						: NULL;
	struct ebp_python layout = { 0 };
	char *why = r->out->why;
	size_t size = sizeof(r->out->why);

	if (release)
		layout = release->layout;
	if (!minor)
		snprintf(why, size, "its version is not known");
	else if (!release)
		snprintf(why, size, "Python 3.%u is not known", minor);
	else if (is_free_threaded(r))
		snprintf(why, size, "Python 3.%u without the GIL is not known", minor);
	else if (!fits(r, release) || !is_known_machine(r, release) ||
		 (minor >= 13 && take_told(r, &layout)))
		snprintf(why, size, "this build of Python 3.%u is not known", minor);
	else if (take_state(r, release, &layout))
		snprintf(why, size, "Python 3.%u without its symbols", minor);
	else
		fill(r, &layout);
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f, .out = out };

	/*
	 * Nothing else is worth to be searched: it would be every file of the machine. A program
	 * that has CPython in it exports it for extensions, or says so by a section (since 3.10).
	 */
	if (!behind_python(name) && !elf_file_section(f, ".PyRuntime") &&
	    !elf_may_export(f, INTERPRETER))
		return;
	elf_code_collect(f, &r.code);
	elf_lookup_each(f, take_symbol, &r);
	if (r.main.size && r.symbols[CODE_TYPE])
		take_release(&r, version_of(&r, name));
	elf_code_free(&r.code);
}

static uint32_t line(const struct lang_code *code, uint32_t place)
{
	return place == EBP_PLACE_NONE ? 0
				       : python_line(code->version, code->table, code->table_bytes,
						     code->first_line, place);
}

const struct lang_ops lang_python = {
	.name = "Python",
	.reads = "CPython 3.6 to 3.15; before 3.7 with symbols",
	.language = EBP_LANGUAGE_PYTHON,
	.files = { "python" },
	.joint = ".",
	.lock = "GIL",
	.module = python_module_path,
	.recognise = recognise,
	.line = line,
	.walk = python_walk,
};
