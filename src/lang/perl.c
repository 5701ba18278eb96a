/* SPDX-License-Identifier: MIT */
/*
 * Perl: which file is an interpreter, and where it keeps its frames.
 *
 * The symbols that are needed are exported for extensions, so a stripped file has them, too. The
 * layout goes by the version, which the file says; bpf/perl_step.h checks it in each sample.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/perl.h"
#include "elf/elf_lookup.h"
#include "lang/perl_find.h"

enum symbol { KEY, CURRENT, REVISION, VERSION, LOOP, LOOP_OF_DEBUGGER, SYMBOLS };
static const char *const symbol_names[SYMBOLS] = {
	[KEY] = "PL_thr_key",		/* threaded */
	[CURRENT] = "PL_curcop",	/* not threaded */
	[REVISION] = "PL_revision",
	[VERSION] = "PL_version",
	[LOOP] = "Perl_runops_standard",
	[LOOP_OF_DEBUGGER] = "Perl_runops_debug",
};

/* What was moved: the interpreter in 5.34, contexts in 5.32, names of packages in 5.36, ops. */
#define INTERPRETER_28 .cop = 224
#define INTERPRETER_34 .cop = 208
#define PACKAGES_28 .aux_behind = 1
#define CONTEXTS_28 .context_bytes = 96, .context_cv = 64, .stack_type = 40
#define CONTEXTS_32 .context_bytes = 104, .context_cv = 72, .stack_type = 44
#define OPS_28 .op_state = 195, .op_require = 342
#define OPS_38 .op_state = 198, .op_require = 345
#define OPS_42 .op_state = 202, .op_require = 349

static const struct ebp_perl releases[] = {
	{ .version = 528, INTERPRETER_28, CONTEXTS_28, PACKAGES_28, OPS_28 },
	{ .version = 530, INTERPRETER_28, CONTEXTS_28, PACKAGES_28, OPS_28 },
	{ .version = 532, INTERPRETER_28, CONTEXTS_32, PACKAGES_28, OPS_28 },
	{ .version = 534, INTERPRETER_34, CONTEXTS_32, PACKAGES_28, OPS_28 },
	{ .version = 536, INTERPRETER_34, CONTEXTS_32, OPS_28 },
	{ .version = 538, INTERPRETER_34, CONTEXTS_32, OPS_38 },
	{ .version = 540, INTERPRETER_34, CONTEXTS_32, OPS_38 },
	{ .version = 542, INTERPRETER_34, CONTEXTS_32, OPS_42 },
};

struct reading {
	const struct elf_file *f;
	Elf64_Sym symbols[SYMBOLS];	/* st_value 0: not found */
};

static void take_symbol(void *ctx, const Elf64_Sym *sym, const char *name)
{
	struct reading *r = ctx;

	if (strncmp(name, "PL_", 3) && strncmp(name, "Perl_", 5))
		return;
	for (int i = 0; i < SYMBOLS; i++)
		if (!r->symbols[i].st_value && !strcmp(symbol_names[i], name))
			r->symbols[i] = *sym;
}

/* The number that is at @symbol in the file, of a byte; 0: there is none. */
static uint32_t number_at(const struct reading *r, enum symbol symbol)
{
	const struct elf_segment *s;
	uint64_t at = r->symbols[symbol].st_value;
	size_t n = elf_file_segments(r->f, &s);
	uint8_t number;

	for (size_t i = 0; at && i < n; i++)
		if (s[i].type == PT_LOAD && at >= s[i].vaddr && at - s[i].vaddr < s[i].filesz &&
		    !elf_file_read(r->f, s[i].offset + (at - s[i].vaddr), &number, 1))
			return number;
	return 0;
}

static const struct ebp_perl *release_of(uint32_t version)
{
	for (size_t i = 0; i < sizeof(releases) / sizeof(*releases); i++)
		if (releases[i].version == version)
			return &releases[i];
	return NULL;
}

static void take_loop(const struct reading *r, const struct code_text *t, enum symbol symbol,
		      struct lang_image *out)
{
	const Elf64_Sym *sym = &r->symbols[symbol];
	uint64_t at = sym->st_value - t->address;

	if (sym->st_value && at < t->n && sym->st_size <= t->n - at)
		vec_push(&out->code, (struct lang_range){
					     .start = t->offset + at,
					     .end = t->offset + at + sym->st_size,
				     });
}

static void fill(const struct reading *r, const struct ebp_perl *release,
		 const struct code_text *t, struct lang_image *out)
{
	struct ebp_perl layout = *release;

	layout.key = r->symbols[KEY].st_value - (t->address - t->offset);
	layout.keys = LANG_KEYS_X86_64;
	take_loop(r, t, LOOP, out);
	take_loop(r, t, LOOP_OF_DEBUGGER, out);
	perl_find_again(t, out);
	lang_image_sort(out);
	out->ops = &lang_perl;
	memcpy(out->layout.words, &layout, sizeof(layout));
}

static void recognise(const struct elf_file *f, const char *name, struct lang_image *out)
{
	struct reading r = { .f = f };
	const struct ebp_perl *release;
	struct code_text text;
	uint32_t version;

	/* Nothing else is worth to be searched; a program that has Perl in it uses libperl. */
	if (!strstr(name, "perl"))
		return;
	elf_lookup_each(f, take_symbol, &r);
	version = number_at(&r, REVISION) * 100 + number_at(&r, VERSION);
	if (!r.symbols[LOOP].st_value || !version)
		return;
	release = release_of(version);
	if (!release)
		snprintf(out->why, sizeof(out->why), "Perl %u.%u is not known", version / 100,
			 version % 100);
	else if (r.symbols[CURRENT].st_value)
		snprintf(out->why, sizeof(out->why),
			 "built without threads, whose frames are not found yet");
	else if (!r.symbols[KEY].st_value || elf_file_machine(f) != EM_X86_64 ||
		 lang_needs_musl(f) || code_text_read(f, &text))
		snprintf(out->why, sizeof(out->why), "this build of Perl %u.%u is not known",
			 version / 100, version % 100);
	else {
		fill(&r, release, &text, out);
		code_text_free(&text);
	}
}

/* What is no sub's is an eval, or named by its file: "<index.pl>". */
static void complete(struct lang_code *code, const struct ebp_code *record,
		     const struct lang_reader *r)
{
	const char *slash = strrchr(code->file, '/');

	(void)r;
	if (record->name.width != EBP_TEXT_UTF8 || *code->name)
		return;
	free(code->name);
	code->name = record->table != EBP_PERL_FILE
			     ? xstrdup("(eval)")
			     : xasprintf("<%s>", slash && slash[1] ? slash + 1 : code->file);
}

/* A place is the line itself. */
static uint32_t line(const struct lang_code *code, uint32_t place)
{
	(void)code;
	return place == EBP_PLACE_NONE ? 0 : place;
}

const struct lang_ops lang_perl = {
	.name = "Perl",
	.reads = "5.28 to 5.42 (x86-64, glibc), built with threads",
	.language = EBP_LANGUAGE_PERL,
	.files = { "perl" },
	.joint = "::",
	.prepares = 1,
	.recognise = recognise,
	.line = line,
	.complete = complete,
};
