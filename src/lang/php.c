/* SPDX-License-Identifier: MIT */
/*
 * PHP: which file is an interpreter, and where it keeps its frames.
 *
 * The symbols that are needed are exported for extensions, so a stripped file has them, too. The
 * layout goes by the number of the API for extensions, which is fixed for all releases of a
 * version, and which stands in the file, with the kind of its build: "API20220829,NTS".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/php.h"
#include "elf/elf_code.h"
#include "elf/elf_lookup.h"
#include "lang/lang.h"
#include "lang/php_jump.h"

#define RANGES_MAX	64
#define TEXTS_MAX	(16u << 20)	/* bytes of .rodata that are searched */
#define API		"API20"		/* how its number begins, in this century */
#define API_DIGITS	8
#define API_ROOM	32		/* of number and build, with a zero */

#define INTERPRETER	"execute_ex"
#define GLOBALS		"executor_globals"
/* of thread-safe builds (ZTS): where in a thread's globals those are, and who knows these */
#define GLOBALS_PLACE	"executor_globals_offset"
#define THREAD_GLOBALS	"tsrm_get_ls_cache"

struct release {
	uint32_t api;
	uint16_t current;	/* of zend_executor_globals */
	struct ebp_php layout;
};

/* zend_generator, to 7.4 and later. */
#define GENERATOR_7 .generator_data = 64, .generator_parent = 160, .generator_fake = 200
#define GENERATOR_8 .generator_data = 56, .generator_parent = 152, .generator_fake = 184

/* @first: where the file's name is; behind it is the first line. */
#define USER(first) .file = (first), .lines = (first) + 8, .user_bytes = (first) + 16
#define INTERNAL(at) .handler = (at), .internal_bytes = (at) + 8

static const struct release releases[] = {
	{ 20180731, 488, { .version = 703, USER(128), .last = 60, .opcodes = 64, INTERNAL(48),
			   GENERATOR_7 } },
	{ 20190902, 488, { .version = 704, USER(136), .last = 60, .opcodes = 64, INTERNAL(48),
			   GENERATOR_7 } },
	{ 20200930, 488, { .version = 800, USER(144), .last = 68, .opcodes = 72, INTERNAL(56),
			   GENERATOR_8 } },
	{ 20210902, 488, { .version = 801, USER(144), .last = 68, .opcodes = 72, INTERNAL(56),
			   GENERATOR_8 } },
	{ 20220829, 488, { .version = 802, USER(152), .last = 80, .opcodes = 88, INTERNAL(72),
			   GENERATOR_8 } },
	{ 20230831, 488, { .version = 803, USER(144), .last = 76, .opcodes = 80, INTERNAL(72),
			   GENERATOR_8 } },
	{ 20240924, 488, { .version = 804, USER(168), .last = 96, .opcodes = 104, INTERNAL(88),
			   GENERATOR_8 } },
	{ 20250925, 512, { .version = 805, USER(168), .last = 96, .opcodes = 104, INTERNAL(88),
			   GENERATOR_8 } },
};

struct reading {
	struct elf_code code;
	/* addresses; 0: not found */
	uint64_t globals, globals_place, thread_globals;
	uint64_t skew;		/* of the interpreter's code: address less offset */
	int found;		/* ... whose main part is there */
	struct lang_image *out;
};

static void take_code(struct reading *r, const Elf64_Sym *sym, const char *rest)
{
	const struct elf_segment *s = elf_code_at(&r->code, sym->st_value);
	uint64_t start;

	if (!s || !sym->st_size || sym->st_size > s->filesz || r->out->code.n >= RANGES_MAX)
		return;
	start = s->offset + (sym->st_value - s->vaddr);
	if (!*rest) {
		r->skew = s->vaddr - s->offset;
		r->out->layout.text = s->offset;
		r->out->layout.text_bytes = s->filesz;
		r->out->layout.loop = start;
		r->out->layout.loop_bytes = (uint32_t)sym->st_size;
		r->found = 1;
	}
	vec_push(&r->out->code,
		 (struct lang_range){ .start = start, .end = start + sym->st_size });
}

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	const char *rest = name + strlen(INTERPRETER);
	struct reading *r = ctx;

	/* The function itself, and what a compiler moved out of it. */
	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC &&
	    !strncmp(name, INTERPRETER, strlen(INTERPRETER)) && (!*rest || *rest == '.'))
		take_code(r, sym, rest);
	if (ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && !strcmp(name, GLOBALS))
		r->globals = sym->st_value;
	if (ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && !strcmp(name, GLOBALS_PLACE))
		r->globals_place = sym->st_value;
	if (ELF64_ST_TYPE(sym->st_info) == STT_FUNC && !strcmp(name, THREAD_GLOBALS))
		r->thread_globals = sym->st_value;
}

/*
 * The address of the number of the key that tsrm_get_ls_cache() asks for, `mov KEY(%rip), %edi`;
 * 0: it does something else.
 */
static uint64_t find_key(const struct elf_file *f, const struct reading *r)
{
	const struct elf_segment *s = elf_code_at(&r->code, r->thread_globals);
	uint64_t at = r->thread_globals;
	uint8_t code[16];
	int32_t relative;

	if (!s || elf_file_read(f, s->offset + (at - s->vaddr), code, sizeof(code)))
		return 0;
	at = !memcmp(code, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;
	if (code[at] != 0x8b || code[at + 1] != 0x3d)
		return 0;
	memcpy(&relative, code + at + 2, sizeof(relative));
	return r->thread_globals + at + 6 + (uint64_t)(int64_t)relative;
}

/* The number and the build behind it, as "20220829,NTS"; 0, or negative where there is none. */
static int find_api(const struct elf_file *f, char out[API_ROOM])
{
	const struct elf_section *s = elf_file_section(f, ".rodata");
	size_t size = 0, left, n;
	char *texts = s ? elf_file_section_data(f, s, TEXTS_MAX, &size) : NULL;
	int err = -ENOENT;

	for (const char *at = texts; texts && err; at++) {
		left = size - (size_t)(at - texts);
		at = memmem(at, left, API, strlen(API));
		if (!at)
			break;
		left = size - (size_t)(at - texts) - 3;
		n = strspn(at + 3, "0123456789");
		if (n != API_DIGITS || left <= n || at[3 + n] != ',')
			continue;
		snprintf(out, API_ROOM, "%.*s", left < API_ROOM ? (int)left : API_ROOM, at + 3);
		err = 0;
	}
	free(texts);
	return err;
}

static const struct release *find_release(uint32_t api)
{
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (releases[i].api == api)
			return &releases[i];
	return NULL;
}

/* @key: of a thread-safe build, address; else 0. */
static void fill(const struct elf_file *f, const struct reading *r, const struct release *release,
		 uint64_t key)
{
	struct ebp_php layout = release->layout;

	layout.current = r->globals + release->current - r->skew;
	if (key) {
		layout.current = key - r->skew;
		layout.keys = LANG_KEYS_X86_64;
		layout.globals = r->globals_place - r->skew;
		layout.in_globals = release->current;
	}
	php_find_jump(f, r->skew, &r->out->layout);
	r->out->ops = &lang_php;
	memcpy(r->out->layout.words, &layout, sizeof(layout));
	lang_image_sort(r->out);
}

/* Why the build, as ",NTS", is not known; NULL: it is. */
static const char *unknown_build(const struct elf_file *f, const struct reading *r,
				 const char *build, uint64_t key)
{
	if (elf_file_machine(f) != EM_X86_64 || (strcmp(build, ",NTS") && strcmp(build, ",TS")))
		return "this build is not known";
	if (build[1] != 'T')
		return r->globals ? NULL : "it is without its symbols";
	return key && r->globals_place
		       ? NULL
		       : "a thread-safe build (ZTS) whose threads' globals are not found";
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	const char *slash = strrchr(name, '/'), *why;
	struct reading r = { .out = out };
	const struct release *release;
	char api[API_ROOM];
	uint64_t key;

	/* Nothing else is worth to be searched: it would be every file of the machine. */
	if (!strstr(slash ? slash : name, "php"))
		return;
	elf_code_collect(f, &r.code);
	elf_lookup_each(f, take_symbol, &r);
	key = r.thread_globals ? find_key(f, &r) : 0;
	elf_code_free(&r.code);
	if (!r.found)
		return;
	if (find_api(f, api)) {
		snprintf(out->why, sizeof(out->why), "its version is not known");
		return;
	}
	release = find_release((uint32_t)strtoul(api, NULL, 10));
	why = unknown_build(f, &r, api + API_DIGITS, key);
	if (why)
		snprintf(out->why, sizeof(out->why), "%s", why);
	else if (!release)
		snprintf(out->why, sizeof(out->why), "PHP with API %.*s is not known", API_DIGITS,
			 api);
	else
		fill(f, &r, release, api[API_DIGITS + 1] == 'T' ? key : 0);
}

/* What is no function's is named by its file: "<index.php>". */
static void complete(struct lang_code *code, const struct ebp_code *record,
		     const struct lang_reader *r)
{
	const char *slash = strrchr(code->file, '/');

	(void)r;
	if (record->name.width && !*code->name && *code->file) {
		free(code->name);
		code->name = xasprintf("<%s>", slash && slash[1] ? slash + 1 : code->file);
	}
}

/* A place is the line itself. */
static uint32_t line(const struct lang_code *code, uint32_t place)
{
	(void)code;
	return place == EBP_PLACE_NONE ? 0 : place;
}

const struct lang_ops lang_php = {
	.name = "PHP",
	.reads = "7.3 to 8.5, thread-safe builds (ZTS) since 7.4 (x86-64)",
	.language = EBP_LANGUAGE_PHP,
	.files = { "php" },
	.joint = "::",
	.of_process = 1,
	.compiles = 1,
	.recognise = recognise,
	.line = line,
	.complete = complete,
};
