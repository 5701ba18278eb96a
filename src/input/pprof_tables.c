/* SPDX-License-Identifier: MIT */
#include "input/pprof_tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/protobuf.h"
#include "base/text.h"
#include "input/places.h"

/* of a location; of more the innermost are left out, as the symbolizer does */
#define LINES_MAX (PLACES_INLINED_MAX + 1)
#define GROWTH 4			/* of a text, at most, when it is cleaned */
/* Above all addresses of programs, below the kernel's, and a whole number in JavaScript. */
#define MADE_UP (1ull << 48)

void pprof_wrong(struct pprof_tables *t, int err, const char *what)
{
	if (t->wrong)
		return;
	t->wrong = what;
	t->err = err;
}

int pprof_room(struct pprof_tables *t, uint64_t n)
{
	if (!room_take(&t->room, n))
		pprof_wrong(t, -EFBIG, "too large");
	return !t->wrong;
}

static void damaged(struct pprof_tables *t, const char *what)
{
	pprof_wrong(t, -EBADMSG, what);
}

void pprof_each(struct pprof_tables *t, uint32_t field,
		void (*take)(struct pprof_tables *t, struct cursor message))
{
	struct cursor c = t->file;
	struct protobuf_field f;

	while (!t->wrong && protobuf_next(&c, &f))
		if (f.number == field && f.wire == PROTOBUF_BYTES)
			take(t, f.bytes);
	if (c.bad)
		damaged(t, "it is cut off, or damaged");
}

struct pprof_numbers pprof_numbers(struct pprof_tables *t, struct cursor message)
{
	struct pprof_numbers n = { 0 };
	struct protobuf_field f;

	while (protobuf_next(&message, &f)) {
		if (f.wire != PROTOBUF_VARINT || f.number >= PPROF_FIELDS)
			continue;
		n.v[f.number] = f.value;
		n.there |= 1u << f.number;
	}
	if (message.bad)
		damaged(t, "a message in it is damaged");
	return n;
}

/* 1 where a field of ours is there: in the profile of another, who knows what its number means. */
static int has_ours(const struct pprof_tables *t, const struct pprof_numbers *n, uint32_t field)
{
	return t->ours && (n->there >> field & 1);
}

/* --- Texts. -------------------------------------------------------------------- */

static void take_string(struct pprof_tables *t, struct cursor text)
{
	if (!pprof_room(t, 1))
		return;
	vec_push(&t->strings, text);
	vec_push(&t->string_ids, PROFILE_NONE);
}

static uint32_t clean_string(struct pprof_tables *t, struct cursor text)
{
	uint32_t string = slice_string(
		t->p, (struct slice){ (const char *)text.p, (size_t)(text.end - text.p) });

	return pprof_room(t, strlen(profile_text(t->p, string)) / ROOM_TEXT) ? string : 0;
}

uint32_t pprof_string(struct pprof_tables *t, uint64_t index)
{
	/* The first one is "" even where the table is missing. */
	if (!index)
		return 0;
	if (index >= t->strings.n) {
		damaged(t, "a text is not in its table");
		return 0;
	}
	if (t->string_ids.v[index] == PROFILE_NONE)
		t->string_ids.v[index] = clean_string(t, t->strings.v[index]);
	return t->string_ids.v[index];
}

/* --- Mappings and functions. ----------------------------------------------------- */

/* Enters @id, which must be new, into a table as its element @next. */
static int new_id(struct pprof_tables *t, struct hashmap *ids, uint64_t id, size_t next)
{
	if (!pprof_room(t, 1))
		return 0;
	if (!id || hashmap_put(ids, id, (uint32_t)next) != next)
		damaged(t, id ? "two things have one id" : "an id is 0");
	return !t->wrong;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void take_mapping(struct pprof_tables *t, struct cursor message)
{
	struct pprof_numbers n = pprof_numbers(t, message);
	const char *path = profile_text(t->p, pprof_string(t, n.v[PPROF_MAPPING_FILE]));
	const char *build_id = profile_text(t->p, pprof_string(t, n.v[PPROF_MAPPING_BUILD_ID]));
	int kernel = !strncmp(path, "[kernel", 7);
	const char *name = kernel ? frame_kinds[FRAME_KERNEL].module : base_name(path);

	if (has_ours(t, &n, PPROF_MAPPING_NAME))
		name = profile_text(t->p, pprof_string(t, n.v[PPROF_MAPPING_NAME]));
	if (!new_id(t, &t->mapping_ids, n.v[PPROF_MAPPING_ID], t->mappings.n))
		return;
	vec_push(&t->mappings,
		 (struct pprof_mapping){ .module = profile_module(t->p, name, path, build_id),
					 .kind = kernel ? FRAME_KERNEL : FRAME_USER,
					 .start = n.v[PPROF_MAPPING_START],
					 .offset = n.v[PPROF_MAPPING_OFFSET] });
}

static uint32_t kind_of(const struct pprof_tables *t, const struct pprof_numbers *n, uint32_t field)
{
	enum frame_kind kind = frame_kind_saved(n->v[field]);

	return has_ours(t, n, field) && kind != FRAME_KINDS ? (uint32_t)kind : PROFILE_NONE;
}

static void take_function(struct pprof_tables *t, struct cursor message)
{
	struct pprof_numbers n = pprof_numbers(t, message);
	struct pprof_function f = {
		.name = pprof_string(t, n.v[n.v[PPROF_FUNCTION_NAME] ? PPROF_FUNCTION_NAME
								     : PPROF_FUNCTION_SYSTEM_NAME]),
		.file = pprof_string(t, n.v[PPROF_FUNCTION_FILE]),
		.module = PROFILE_NONE,
		.kind = kind_of(t, &n, PPROF_FUNCTION_KIND),
	};

	if (has_ours(t, &n, PPROF_FUNCTION_MODULE))
		f.module = pprof_string(t, n.v[PPROF_FUNCTION_MODULE]);
	if (new_id(t, &t->function_ids, n.v[PPROF_FUNCTION_ID], t->functions.n))
		vec_push(&t->functions, f);
}

/* --- Locations. -------------------------------------------------------------------- */

/*
 * A location as it is read; its lines are in t->lines, without what their functions take from it.
 */
struct place {
	uint32_t module;
	enum frame_kind kind;
	uint64_t address;
	const char *why;
};

static const struct pprof_function *function_of(struct pprof_tables *t,
						const struct pprof_numbers *line)
{
	uint32_t i = hashmap_get(&t->function_ids, line->v[PPROF_LINE_FUNCTION]);

	if (i == HASHMAP_NONE)
		damaged(t, "a function is not in its table");
	return i == HASHMAP_NONE ? NULL : &t->functions.v[i];
}

static int is_line(const struct protobuf_field *f)
{
	return f->number == PPROF_LOCATION_LINE && f->wire == PROTOBUF_BYTES;
}

static size_t count_lines(struct cursor message)
{
	struct protobuf_field f;
	size_t n = 0;

	while (protobuf_next(&message, &f))
		n += is_line(&f);
	return n;
}

/* Fills t->lines; functions know by then where they are. */
static void take_lines(struct pprof_tables *t, struct cursor message, const struct place *place)
{
	uint32_t module = profile_view(t->p).modules[place->module].name;
	struct protobuf_field field;
	size_t left = count_lines(message);

	t->lines.n = 0;
	while (!t->wrong && protobuf_next(&message, &field)) {
		const struct pprof_function *f;
		struct pprof_numbers n;
		uint64_t line;

		if (!is_line(&field) || left-- > LINES_MAX || !pprof_room(t, 1))
			continue;
		n = pprof_numbers(t, field.bytes);
		f = function_of(t, &n);
		line = n.v[PPROF_LINE_LINE] <= INT32_MAX ? n.v[PPROF_LINE_LINE] : 0;
		if (!f)
			continue;
		vec_push(&t->lines,
			 (struct line){ .function = profile_function(
						t->p, f->name,
						f->module == PROFILE_NONE ? module : f->module,
						f->kind == PROFILE_NONE ? place->kind
									: (enum frame_kind)f->kind),
					.file = f->file,
					.line = (uint32_t)line });
	}
}

/* The name of the first function at a location, "" where there is none. */
static const char *first_name(struct pprof_tables *t, struct cursor message)
{
	const struct pprof_function *f = NULL;
	struct protobuf_field field;

	while (!f && !t->wrong && protobuf_next(&message, &field)) {
		struct pprof_numbers n;

		if (!is_line(&field))
			continue;
		n = pprof_numbers(t, field.bytes);
		f = function_of(t, &n);
	}
	return f ? profile_text(t->p, f->name) : "";
}

static struct place place_of(struct pprof_tables *t, const struct pprof_numbers *n,
			     const char *name)
{
	struct place place = { .address = n->v[PPROF_LOCATION_ADDRESS] };
	uint32_t kind = kind_of(t, n, PPROF_LOCATION_KIND), i;

	if (n->v[PPROF_LOCATION_MAPPING]) {
		i = hashmap_get(&t->mapping_ids, n->v[PPROF_LOCATION_MAPPING]);
		if (i == HASHMAP_NONE) {
			damaged(t, "a mapping is not in its table");
			return place;
		}
		place.module = t->mappings.v[i].module;
		place.kind = t->mappings.v[i].kind;
		if (place.kind == FRAME_USER && place.address >= t->mappings.v[i].start)
			place.address = place.address - t->mappings.v[i].start +
					t->mappings.v[i].offset;
	} else if (!strncmp(name, "[truncated: ", 12)) {
		place.kind = FRAME_MARK;
	}
	if (kind != PROFILE_NONE)
		place.kind = (enum frame_kind)kind;
	place.why = profile_text(t->p, has_ours(t, n, PPROF_LOCATION_WHY)
					       ? pprof_string(t, n->v[PPROF_LOCATION_WHY])
					       : 0);
	return place;
}

/*
 * Interpreters have no addresses, and other tools drop them: what is another location must stay
 * one.
 */
static uint32_t new_location(struct pprof_tables *t, const struct place *place)
{
	size_t before = profile_view(t->p).nlocations;
	uint32_t location = profile_location(t->p, place->module, place->kind, place->address);

	while (profile_view(t->p).nlocations == before)
		location = profile_location(t->p, place->module, place->kind, t->made_up++);
	return location;
}

/* Where another tool knew only a place in a file, what our own recordings say then. */
static void name_by_address(struct pprof_tables *t, struct place *place)
{
	uint32_t module = profile_view(t->p).modules[place->module].name;
	char text[512], clean[GROWTH * sizeof(text)];

	snprintf(text, sizeof(text), "[%.400s+0x%llx]", profile_text(t->p, module),
		 (unsigned long long)place->address);
	text_clean(clean, sizeof(clean), text);		/* it may be cut inside of a character */
	place->why = "no name in the profile";
	vec_push(&t->lines,
		 (struct line){ .function = profile_function(t->p, profile_string(t->p, clean),
							     module, place->kind) });
}

static void take_location(struct pprof_tables *t, struct cursor message)
{
	struct pprof_numbers n = pprof_numbers(t, message);
	const char *name = first_name(t, message);
	struct place place = place_of(t, &n, name);
	uint32_t location;

	if (!new_id(t, &t->location_ids, n.v[PPROF_LOCATION_ID], t->locations.n))
		return;
	if (!n.v[PPROF_LOCATION_MAPPING] && !n.v[PPROF_LOCATION_ADDRESS] &&
	    !strcmp(name, PPROF_NO_STACK)) {
		vec_push(&t->locations, PROFILE_NONE);
		return;
	}
	take_lines(t, message, &place);
	if (t->wrong)
		return;
	location = new_location(t, &place);
	vec_push(&t->locations, location);
	if (!t->lines.n && !t->ours && place.module && place.kind == FRAME_USER)
		name_by_address(t, &place);
	profile_name_location(t->p, location, t->lines.v, t->lines.n, place.why);
}

uint32_t pprof_location(struct pprof_tables *t, uint64_t id)
{
	uint32_t i = hashmap_get(&t->location_ids, id);

	if (i != HASHMAP_NONE)
		return t->locations.v[i];
	damaged(t, "a location is not in its table");
	return PROFILE_NONE;
}

/* --- All. ---------------------------------------------------------------------------- */

void pprof_tables_open(struct pprof_tables *t, struct profile *p, const char *bytes, size_t n)
{
	t->p = p;
	t->file.p = (const uint8_t *)bytes;
	t->file.end = t->file.p + n;
	t->room.profile = p;
	t->made_up = MADE_UP;
}

void pprof_tables_read_strings(struct pprof_tables *t)
{
	pprof_each(t, PPROF_STRING, take_string);
}

void pprof_tables_read(struct pprof_tables *t)
{
	pprof_each(t, PPROF_MAPPING, take_mapping);
	pprof_each(t, PPROF_FUNCTION, take_function);
	pprof_each(t, PPROF_LOCATION, take_location);
}

void pprof_tables_free(struct pprof_tables *t)
{
	vec_free(&t->strings);
	vec_free(&t->string_ids);
	vec_free(&t->mappings);
	vec_free(&t->functions);
	vec_free(&t->locations);
	hashmap_free(&t->mapping_ids);
	hashmap_free(&t->function_ids);
	hashmap_free(&t->location_ids);
	vec_free(&t->lines);
}
