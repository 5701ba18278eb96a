/* SPDX-License-Identifier: MIT */
/* The part of the assembler that gives names to locations. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "profile/copy.h"
#include "session/assembler.h"
#include "session/assembler_state.h"
#include "symbols/jit.h"
#include "symbols/no_name.h"

/* ns until names of code made at run time are looked for again */
#define NAMES_AGAIN 500000000ull
#define NAME_MAX_SHOWN 512	/* bytes of "[image+0xoffset]" */

struct dump {
	const struct images *images;
	const char *path;
};

/* A process maps its jitdump, so that profilers find it. */
static void take_dump(void *ctx, const struct mapping *m)
{
	struct dump *d = ctx;
	const struct image *image = m->image == IMAGE_NONE ? NULL : images_at(d->images, m->image);
	size_t n = image ? strlen(image->name) : 0;

	if (n > 9 && !strncmp(image->name, "jit-", 4) && !strcmp(image->name + n - 5, ".dump"))
		d->path = image->path;
}

static const char *dump_of(struct assembler *a, uint32_t incarnation, uint64_t now)
{
	struct dump d = { .images = a->images };

	procs_each_mapping(a->procs, incarnation, now, take_dump, &d);
	return d.path;
}

/*
 * While the process is there. Programs begin to tell when they begin to make code, or when asked
 * to.
 */
static void look_for_names(struct assembler *a, struct made *m, uint64_t now)
{
	const char *dump = dump_of(a, m->incarnation, now);

	m->looked = now;
	if (m->names) {
		jit_look(m->names, dump);
		return;
	}
	m->names = jit_open(procs_info(a->procs, m->incarnation).pid, dump);
	if (m->names)
		namer_runtime_source(a->namer, m->runtime, m->names);
}

void assembler_find_names(struct assembler *a, struct made *m)
{
	uint64_t now = clock_ns();

	if (!m->over && (!m->looked || now - m->looked >= NAMES_AGAIN))
		look_for_names(a, m, now);
}

/* A line of one function, and of no source. */
static struct line plain_line(struct assembler *a, const char *name, const char *module,
			      enum frame_kind kind)
{
	return (struct line){ .function = profile_function(
				      a->profile, profile_string(a->profile, name),
				      profile_string(a->profile, module), kind) };
}

/* What stands for a name: where it is and, if asked for, why there is none. */
static struct line no_name(struct assembler *a, const char *where, const char *why,
			   const char *module, enum frame_kind kind)
{
	char text[NAME_MAX_SHOWN];

	snprintf(text, sizeof(text), a->why ? "[%s: %s]" : "[%s]", where, why);
	return plain_line(a, text, module, kind);
}

uint32_t assembler_no_place(struct assembler *a, enum frame_kind kind, uint32_t image)
{
	static const char why[] = "file not known";
	uint32_t location = profile_location(a->profile, 0, kind, image);
	struct line line = no_name(a, "unknown", why, "", kind);

	profile_name_location(a->profile, location, &line, 1, why);
	return location;
}

/* @frames as lines of @module. */
static int take_frames(struct assembler *a, const struct symbol_frame *frames, int n,
		       const char *module, enum frame_kind kind, struct line *lines)
{
	uint32_t id = profile_string(a->profile, module);

	for (int i = 0; i < n; i++)
		lines[i] = (struct line){
			.function = profile_function(
				a->profile, profile_string(a->profile, frames[i].name), id, kind),
			.file = profile_string(a->profile, frames[i].file),
			.line = frames[i].line,
		};
	return n;
}

/* What stands for the name that @answer did not have, of a place in @file where there is one. */
static struct line no_symbol(struct assembler *a, const struct namer_answer *answer,
			     const struct image *file, enum frame_kind kind, const char **why)
{
	char where[NAME_MAX_SHOWN];

	if (file) {
		snprintf(where, sizeof(where), "%.400s+0x%llx", file->name,
			 (unsigned long long)answer->start);
		*why = no_name_reason(answer->n, file->fd >= 0 || file->kind != IMAGE_FILE);
		return no_name(a, where, *why, file->name, kind);
	}
	if (kind == FRAME_KERNEL) {
		*why = no_name_reason(answer->n, 1);
		return no_name(a, "unknown", *why, frame_kinds[kind].module, kind);
	}
	*why = answer->n == -ENOENT ? "not in the perf map" : "made at run time";
	return no_name(a, "unknown", *why, "", kind);
}

/* Where @l is, NULL for the kernel and for code that was made at run time. */
static const struct image *image_of(const struct assembler *a, const struct location *l)
{
	uint32_t image = l->kind == FRAME_KERNEL ? IMAGE_NONE : a->module_images.v[l->module];

	return image == IMAGE_NONE ? NULL : images_at(a->images, image);
}

static void take_answer(void *ctx, const struct namer_answer *answer)
{
	struct assembler *a = ctx;
	const struct location l = profile_view(a->profile).locations[answer->id];
	const struct image *file = image_of(a, &l);
	const char *module = file			? file->name
			     : l.kind == FRAME_KERNEL ? answer->module
						      : frame_kinds[FRAME_JIT].module,
		   *why = "";
	struct line lines[SOURCE_FRAMES_MAX];
	int n = 1;

	if (answer->n > 0)
		n = take_frames(a, answer->frames, answer->n, module, l.kind, lines);
	else
		lines[0] = no_symbol(a, answer, file, l.kind, &why);
	profile_name_location(a->profile, answer->id, lines, (size_t)n, why);
}

static void ask_new(struct assembler *a)
{
	struct profile_view v = profile_view(a->profile);

	for (; a->asked < v.nlocations; a->asked++) {
		const struct location *l = &v.locations[a->asked];
		struct namer_place place = { .image = image_of(a, l), .address = l->address };

		/* Marks, and frames of interpreters. */
		if (l->nlines)
			continue;
		if (l->kind != FRAME_KERNEL && !place.image)
			place.runtime = a->made.v[a->module_made.v[l->module]].runtime;
		namer_ask(a->namer, (uint32_t)a->asked, &place);
	}
}

void assembler_take(struct assembler *a)
{
	namer_take(a->namer, take_answer, a);
}

int assembler_ask(struct assembler *a)
{
	int goes;

	ask_new(a);
	goes = namer_go(a->namer);
	assembler_take(a);
	return goes;
}

void assembler_name(struct assembler *a)
{
	uint64_t now = clock_ns();

	ask_new(a);
	for (size_t i = 0; i < a->made.n; i++)
		if (a->made.v[i].names)
			look_for_names(a, &a->made.v[i], now);
	namer_finish(a->namer, take_answer, a);
}

/* --- The names of the profile before. ------------------------------------------- */

/* A place that means the same in both profiles; @image is IMAGE_NONE in the kernel. */
struct lasting {
	uint32_t image;
	uint64_t address;
};

/* 0: @l lies in code that its process made. */
static int is_lasting(const struct assembler *a, const struct location *l, struct lasting *place)
{
	const struct image *image = l->kind != FRAME_KERNEL && l->module >= a->module_images.n
					    ? NULL
					    : image_of(a, l);

	*place = (struct lasting){ image ? image->id : IMAGE_NONE, l->address };
	return image || l->kind == FRAME_KERNEL;
}

static uint64_t hash_lasting(const struct lasting *place)
{
	return hash_pair(place->image, place->address);
}

/* What is loaded into the kernel may be something else by now. */
static int has_lasting_name(const struct profile *p, const struct location *l)
{
	const struct profile_view v = profile_view(p);

	if (!l->nlines || l->kind != FRAME_KERNEL)
		return l->nlines > 0;
	return !strcmp(profile_text(p, v.functions[v.lines[l->first_line].function].module),
		       frame_kinds[FRAME_KERNEL].module);
}

/* The names of @l, a location of @old, are those of @location. */
static void take_over(struct assembler *a, struct copy *c, const struct assembler *old,
		      const struct location *l, uint32_t location)
{
	const struct line *from = &profile_view(old->profile).lines[l->first_line];
	struct line lines[SOURCE_FRAMES_MAX];
	size_t n = l->nlines < SOURCE_FRAMES_MAX ? l->nlines : SOURCE_FRAMES_MAX;

	for (size_t i = 0; i < n; i++)
		lines[i] = (struct line){ .function = copy_function(c, from[i].function),
					  .file = copy_string(c, from[i].file),
					  .line = from[i].line };
	profile_name_location(a->profile, location, lines, n, profile_text(old->profile, l->why));
}

void assembler_inherit_names(struct assembler *a, const struct assembler *old)
{
	const struct profile_view from = profile_view(old->profile);
	struct copy *c = copy_new(a->profile, old->profile, COPY_PLACES);
	struct hashmap wanted = { 0 };	/* hash of a place -> location without a name */
	struct lasting place, other;

	for (uint32_t i = 0; i < profile_view(a->profile).nlocations; i++) {
		const struct location *l = &profile_view(a->profile).locations[i];

		if (!l->nlines && is_lasting(a, l, &place))
			hashmap_set(&wanted, hash_lasting(&place), i);
	}
	for (size_t i = 0; i < from.nlocations; i++) {
		const struct location *l = &from.locations[i];
		uint32_t to = is_lasting(old, l, &place) && has_lasting_name(old->profile, l)
				      ? hashmap_get(&wanted, hash_lasting(&place))
				      : HASHMAP_NONE;
		const struct location *mine =
			to == HASHMAP_NONE ? NULL : &profile_view(a->profile).locations[to];

		if (mine && !mine->nlines && mine->kind == l->kind &&
		    is_lasting(a, mine, &other) && other.image == place.image &&
		    other.address == place.address)
			take_over(a, c, old, l, to);
	}
	copy_free(c);
	hashmap_free(&wanted);
}
