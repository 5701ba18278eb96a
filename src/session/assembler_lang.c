/* SPDX-License-Identifier: MIT */
/* The part of the assembler that knows the frames of interpreters. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "lang/lang_merge.h"
#include "lang/langs.h"
#include "session/assembler.h"
#include "session/assembler_state.h"

#define LOCK_FRAMES 8	/* of the leaf: the C library's, and who takes a lock by it */
#define TEXT_MAX 2048	/* bytes of a name or a path, cleaned */
#define LOCATION_MIX 0x9e3779b97f4a7c15ull

void assembler_languages(struct assembler *a, struct langs *langs, int native)
{
	a->langs = langs;
	a->native = native;
}

void assembler_lang_free(struct assembler *a)
{
	vec_free(&a->lang_functions);
	hashmap_free(&a->lang_function_ids);
	vec_free(&a->lang_words);
	vec_free(&a->lang_stacks);
	hashmap_free(&a->lang_stack_ids);
	vec_free(&a->words);
	vec_free(&a->merged);
}

void assembler_lang_stack(struct assembler *a, const struct ebp_stack *stack)
{
	struct lang_stack s = { .first = a->lang_words.n };
	uint32_t n = stack->head.n;
	int has_machine = 0;

	if (hashmap_get(&a->lang_stack_ids, stack->id) != HASHMAP_NONE)
		return;
	for (uint32_t i = 0; i < n; i++)
		has_machine |= EBP_FRAME_IS_OF_CODE(stack->frames[i]) &&
			       !EBP_FRAME_IS_LISTED(stack->frames[i]);
	for (uint32_t i = 0; i < n; i++) {
		int listed = EBP_FRAME_IS_LISTED(stack->frames[i]);

		if (has_machine || listed)
			vec_push(&a->lang_words, stack->frames[i]);
		s.machine += has_machine && !listed;
	}
	s.n = a->lang_words.n - s.first;
	hashmap_set(&a->lang_stack_ids, stack->id, (uint32_t)a->lang_stacks.n);
	vec_push(&a->lang_stacks, s);
}

static void push_words(struct assembler *a, const __u64 *words, size_t n)
{
	vec_reserve(&a->words, n);
	for (size_t k = 0; k < n; k++)
		vec_push(&a->words, words[k]);
}

size_t assembler_join_lang(struct assembler *a, const __u64 *words, size_t n, uint64_t lang_id,
			   uint32_t stop)
{
	uint32_t i = lang_id ? hashmap_get(&a->lang_stack_ids, lang_id) : HASHMAP_NONE;
	const struct lang_stack none = { 0 };
	const struct lang_stack *s = i == HASHMAP_NONE ? &none : &a->lang_stacks.v[i];
	const __u64 *known = a->lang_words.v ? a->lang_words.v + s->first : NULL;

	a->words.n = 0;
	push_words(a, known, stop < s->machine ? stop : s->machine);
	push_words(a, words, n);
	push_words(a, known ? known + s->machine : NULL, s->n - s->machine);
	return a->words.n;
}

static enum lang_runs runs(void *ctx, uint64_t frame)
{
	const struct assembler *a = ctx;

	struct frame_word f;

	frame_word_read(frame, &f);
	return f.where == FRAME_IN_FILE ? langs_runs(a->langs, f.image, f.address)
					: LANG_RUNS_NOT;
}

size_t assembler_merge(struct assembler *a, const __u64 *words, size_t n, int complete)
{
	const struct lang_merge m = {
		.runs = runs, .ctx = a, .complete = complete, .keep_native = a->native
	};

	vec_reserve(&a->merged, n + 1);
	a->merged.n = lang_merge(&m, (const uint64_t *)words, n, (uint64_t *)a->merged.v);
	return a->merged.n;
}

const char *assembler_lock(void *ctx, uint64_t id)
{
	struct assembler *a = ctx;
	const struct stack *s = a->langs ? stacks_find(&a->stacks, id) : NULL;
	uint32_t node = s ? s->leaf : 0;
	const char *lock = NULL;

	for (int i = 0; node && !lock && i < LOCK_FRAMES; i++) {
		uint32_t location = stacks_location(&a->stacks, node);
		const struct location *l = &profile_view(a->profile).locations[location];
		uint32_t image = l->module < a->module_images.n ? a->module_images.v[l->module]
								 : IMAGE_NONE;

		if (l->kind != FRAME_USER)
			break;
		if (image != IMAGE_NONE)
			lock = langs_lock(a->langs, image, l->address);
		node = stacks_caller(&a->stacks, node);
	}
	return lock;
}

/* One for each name, file and first line. */
static uint32_t function_of(struct assembler *a, const struct lang_ops *ops,
			    const struct lang_frame *frame)
{
	char name[TEXT_MAX], file[TEXT_MAX];
	struct lang_function f = { .first_line = frame->first_line };
	const char *shown;
	uint64_t hash;
	uint32_t i;

	text_clean(name, sizeof(name), *frame->name ? frame->name : "[unknown]");
	text_clean(file, sizeof(file), frame->file);
	shown = ops->module ? ops->module(file) : file;
	f.module = *file ? profile_module(a->profile, shown, file, "") : 0;
	while (f.module && a->module_images.n <= f.module)
		vec_push(&a->module_images, IMAGE_NONE);
	f.name = profile_string(a->profile, name);
	hash = hash_bytes(&f, sizeof(f));
	for (; (i = hashmap_get(&a->lang_function_ids, hash)) != HASHMAP_NONE; hash++)
		if (!memcmp(&a->lang_functions.v[i], &f, sizeof(f)))
			return i;
	hashmap_set(&a->lang_function_ids, hash, (uint32_t)a->lang_functions.n);
	vec_push(&a->lang_functions, f);
	return (uint32_t)a->lang_functions.n - 1;
}

/* A frame of which only its language is known. */
static uint32_t unnamed(struct assembler *a, enum frame_kind kind)
{
	uint32_t location = profile_location(a->profile, 0, kind, UINT64_MAX);
	struct line line = { 0 };
	char name[64];

	snprintf(name, sizeof(name), "[unknown %s]", frame_kinds[kind].text);
	line.function = profile_function(a->profile, profile_string(a->profile, name), 0, kind);
	if (!profile_view(a->profile).locations[location].nlines)
		profile_name_location(a->profile, location, &line, 1, "not in memory");
	return location;
}

/* What is at @place of @code, the innermost first. Returns how many. */
static size_t frames_at(const struct lang_code *code, uint32_t place, struct lang_frame *out)
{
	if (code->ops->frames)
		return code->ops->frames(code, place, out, LANG_FRAMES);
	out[0] = (struct lang_frame){
		.name = code->name,
		.file = code->file,
		.first_line = code->first_line,
		.line = code->ops->line(code, place),
	};
	return 1;
}

uint32_t assembler_lang_location(struct assembler *a, const struct frame_word *frame)
{
	const struct lang_code *code = langs_find(a->langs, frame->code);
	struct lang_frame frames[LANG_FRAMES];
	struct line lines[LANG_FRAMES];
	const struct lang_function *f = NULL;
	struct module module;
	uint64_t address = 0;
	uint32_t location;
	size_t n;

	if (!code)
		return unnamed(a, frame->kind);
	n = frames_at(code, frame->place, frames);
	/* The last is the code's own: a location is of one such line and what was inlined there. */
	for (size_t i = 0; i < n; i++) {
		uint32_t number = function_of(a, code->ops, &frames[i]);

		f = &a->lang_functions.v[number];
		address = (address * LOCATION_MIX) ^ ((uint64_t)number << 32 | frames[i].line);
		module = profile_view(a->profile).modules[f->module];
		lines[i].file = module.path;
		lines[i].function = profile_function(a->profile, f->name, module.name, frame->kind);
		lines[i].line = frames[i].line;
	}
	location = profile_location(a->profile, f->module, frame->kind, address);
	if (!profile_view(a->profile).locations[location].nlines)
		profile_name_location(a->profile, location, lines, n, "");
	return location;
}
