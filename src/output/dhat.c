/* SPDX-License-Identifier: MIT */
/*
 * The JSON of DHAT, version 2 (valgrind, dhat/dh_main.c, "File format"), for dh_view.html and what
 * else reads it: points, each a stack, the innermost frame first, with the memory that it took, in
 * bytes (..b) and blocks (..bk):
 *
 *	tb tbk	in all; tl is the sum of the blocks' lifetimes
 *	mb mbk	when this point had the most
 *	gb gbk	when the program had the most, at the time tg
 *	eb ebk	at the end, te
 *
 * Whole stacks must be unique: readers refuse a second one. Points know no threads, so those of all
 * threads are one; their maxima are added up, a bound that keeps mb above gb and eb.
 *
 * Any other profile is written with totals alone ("bklt" false), in words of its own for bytes and
 * blocks: what is shown, in the counts that the type before it has of it. Reads and writes
 * ("bkacc") are not known.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/json.h"
#include "base/text_vec.h"
#include "base/vec.h"
#include "output/formats.h"
#include "output/rollup.h"

#define UNKNOWN "???"		/* as valgrind calls files that it does not know */
#define US 1000			/* ns; rates are per million units of time, so per second */
#define SHORT_LIVED 10		/* us: what the view calls so */

static const struct column {
	const char *key;
	enum profile_role role;
	enum profile_unit unit;
	uint64_t divisor;
} columns[] = {
	{ "tb", PROFILE_BLOCKS, PROFILE_BYTES, 1 },
	{ "tbk", PROFILE_BLOCKS, PROFILE_COUNT, 1 },
	{ "tl", PROFILE_BLOCKS_LIFETIME, PROFILE_NANOSECONDS, US },
	{ "mb", PROFILE_BLOCKS_MAX, PROFILE_BYTES, 1 },
	{ "mbk", PROFILE_BLOCKS_MAX, PROFILE_COUNT, 1 },
	{ "gb", PROFILE_BLOCKS_PEAK, PROFILE_BYTES, 1 },
	{ "gbk", PROFILE_BLOCKS_PEAK, PROFILE_COUNT, 1 },
	{ "eb", PROFILE_BLOCKS_NOW, PROFILE_BYTES, 1 },
	{ "ebk", PROFILE_BLOCKS_NOW, PROFILE_COUNT, 1 },
};
#define COLUMNS (sizeof(columns) / sizeof(*columns))
#define TOTALS 2		/* the first columns, which every file has */

/* A place in the tree of frames, the outermost first; 0 is the root. */
struct place {
	uint32_t parent, frame;
	uint32_t point;		/* that is here; 0: none */
};

/* What a frame's text is made of: kept as such, because there may be a text for each location. */
struct frame {
	uint32_t location;		/* PROFILE_NONE: the stack has no frames */
	uint32_t line;			/* in the view's lines; PROFILE_NONE: it has none */
};

struct writer {
	const struct profile *p;
	struct profile_view v;
	struct json json;
	int heap;			/* the totals are of blocks */
	size_t ncolumns;
	uint32_t types[COLUMNS];
	VEC(struct frame) frames;	/* the first one stands for the root */
	struct hashmap by_text;		/* hash of a frame's text -> frame */
	struct text_vec text;		/* scratch */
	uint32_t *line_frames;		/* by line; 0: not yet */
	uint32_t *bare_frames;		/* by location, of those without lines */
	uint32_t *node_places;		/* by node; 0: not yet */
	VEC(struct place) places;
	VEC(uint32_t) points;		/* places; the first is none */
	VEC(uint64_t) sums;		/* a point's are those from point * ncolumns on */
	struct hashmap children;	/* (place, frame) -> place */
	VEC(uint32_t) path;		/* nodes still to be placed */
};

/* --- Which types go where. ------------------------------------------------- */
static uint32_t find_type(const struct writer *w, const struct column *c)
{
	for (uint32_t i = 0; i < w->v.ntypes; i++)
		if (w->v.types[i].words->role == c->role && w->v.types[i].measured_in == c->unit)
			return i;
	return PROFILE_NONE;
}

static int is_count(const struct writer *w, uint32_t type)
{
	return w->v.types[type].measured_in == PROFILE_COUNT;
}

static void choose_types(struct writer *w)
{
	uint32_t shown = w->v.shown;
	size_t found = 0;

	while (found < COLUMNS && (w->types[found] = find_type(w, &columns[found])) != PROFILE_NONE)
		found++;
	w->heap = found >= TOTALS;
	w->ncolumns = found == COLUMNS ? COLUMNS : TOTALS;
	if (w->heap)
		return;
	w->types[0] = shown;
	w->types[1] = shown && !is_count(w, shown) && is_count(w, shown - 1) ? shown - 1 : shown;
}

/* How values of a type are called: "nanoseconds", but "samples" where they are counts. */
static const char *unit(const struct writer *w, uint32_t type)
{
	const char *unit = profile_text(w->p, w->v.types[type].unit);

	return is_count(w, type) || !*unit ? profile_text(w->p, w->v.types[type].name) : unit;
}

/* --- Frames. --------------------------------------------------------------- */
/* Readers take what is behind the last " (" for the file. */
static void append_file(struct text_vec *t, const char *file)
{
	size_t n = t->n;

	text_vec_add(t, file);
	for (char *c = t->v + n; *c; c++)
		if (c[0] == ' ' && c[1] == '(')
			*c = '_';
}

/* Where the code of @l lies: the path of its file, of the kernel its module's name. */
static const char *object_of(const struct writer *w, const struct location *l, uint32_t function)
{
	const char *path = profile_text(w->p, w->v.modules[l->module].path);
	const char *name = function < w->v.nfunctions
				   ? profile_text(w->p, w->v.functions[function].module)
				   : "";

	if (*path && (!frame_is_kernel(l->kind) || !*name))
		return path;
	return *name ? name : UNKNOWN;
}

/*
 * "0xADDRESS: NAME (FILE:LINE)", "0xADDRESS: NAME (in MODULE)", or what stands in the place of
 * frames as it is.
 */
static const char *text_of(struct writer *w, const struct frame *f)
{
	const struct line *line = f->line == PROFILE_NONE ? NULL : &w->v.lines[f->line];
	uint32_t function = line ? line->function : (uint32_t)w->v.nfunctions;
	const char *file = line ? profile_text(w->p, line->file) : "";
	const struct location *l;
	char number[32];

	if (f->location == PROFILE_NONE)
		return ROLLUP_NO_STACK;
	l = &w->v.locations[f->location];
	if (!frame_is_code(l->kind))
		return rollup_name(w->p, function);
	w->text.n = 0;
	snprintf(number, sizeof(number), "0x%" PRIX64 ": ", l->address);
	text_vec_add(&w->text, number);
	text_vec_add(&w->text, rollup_name(w->p, function));
	text_vec_add(&w->text, *file ? " (" : " (in ");
	append_file(&w->text, *file ? file : object_of(w, l, function));
	snprintf(number, sizeof(number), *file && line->line ? ":%" PRIu32 ")" : ")",
		 line ? line->line : 0);
	text_vec_add(&w->text, number);
	return w->text.v;
}

/* The frame of this text. */
static uint32_t add_frame(struct writer *w, uint32_t location, uint32_t line)
{
	struct frame frame = { location, line };
	const char *text = text_of(w, &frame);
	uint32_t next = (uint32_t)w->frames.n,
		 id = hashmap_put(&w->by_text, hash_bytes(text, strlen(text)), next);

	if (id == next)
		vec_push(&w->frames, frame);
	return id;
}

/* --- Stacks to points. ----------------------------------------------------- */
static uint32_t child(struct writer *w, uint32_t parent, uint32_t frame)
{
	uint32_t next = (uint32_t)w->places.n;
	uint32_t id = hashmap_put(&w->children, (uint64_t)parent << 32 | frame, next);

	if (id == next)
		vec_push(&w->places, (struct place){ .parent = parent, .frame = frame });
	return id;
}

/* The place of @location's frames below @parent: what was inlined there comes last. */
static uint32_t descend(struct writer *w, uint32_t parent, uint32_t location)
{
	const struct location *l = &w->v.locations[location];

	if (!l->nlines) {
		uint32_t *frame = &w->bare_frames[location];

		*frame = *frame ? *frame : add_frame(w, location, PROFILE_NONE);
		return child(w, parent, *frame);
	}
	for (uint32_t i = l->first_line + l->nlines; i-- > l->first_line;) {
		uint32_t *frame = &w->line_frames[i];

		*frame = *frame ? *frame : add_frame(w, location, i);
		parent = child(w, parent, *frame);
	}
	return parent;
}

static uint32_t place_of(struct writer *w, uint32_t node)
{
	uint32_t at;

	if (!node)
		return child(w, 0, add_frame(w, PROFILE_NONE, PROFILE_NONE));
	for (; node && !w->node_places[node]; node = w->v.nodes[node].parent)
		vec_push(&w->path, node);
	at = w->node_places[node];
	while (w->path.n) {
		node = w->path.v[--w->path.n];
		at = descend(w, at, w->v.nodes[node].location);
		w->node_places[node] = at;
	}
	return at;
}

static void add_point(struct writer *w, uint32_t place)
{
	w->places.v[place].point = (uint32_t)w->points.n;
	vec_push(&w->points, place);
	for (size_t i = 0; i < w->ncolumns; i++)
		vec_push(&w->sums, 0);
}

static void sum_up(struct writer *w)
{
	const uint64_t *types[COLUMNS];
	const size_t n = w->ncolumns;

	w->line_frames = xcalloc(w->v.nlines, sizeof(*w->line_frames));
	w->bare_frames = xcalloc(w->v.nlocations, sizeof(*w->bare_frames));
	w->node_places = xcalloc(w->v.nnodes, sizeof(*w->node_places));
	vec_push(&w->places, (struct place){ 0 });
	vec_push(&w->frames, (struct frame){ 0 });
	add_point(w, 0);
	for (size_t i = 0; i < n; i++)
		types[i] = profile_values(w->p, w->types[i]);
	for (size_t s = 0; s < w->v.nsamples; s++) {
		uint64_t any = 0;
		uint32_t place;

		for (size_t i = 0; i < n; i++)
			any |= types[i][s];
		if (!any)
			continue;
		place = place_of(w, w->v.samples[s].node);
		if (!w->places.v[place].point)
			add_point(w, place);
		for (size_t i = 0; i < n; i++)
			w->sums.v[w->places.v[place].point * n + i] += types[i][s];
	}
}

/* --- What is written. ------------------------------------------------------ */
/* Of the only process; 0: there are several, or none. */
static pid_t only_pid(const struct profile_view *v)
{
	for (size_t i = 1; i < v->nprocesses; i++)
		if (v->processes[i].pid != v->processes[0].pid)
			return 0;
	return v->nprocesses ? v->processes[0].pid : 0;
}

static const char *verb(const struct writer *w)
{
	return w->v.types[w->heap ? w->types[0] : w->v.shown].words->verb;
}

static void write_header(struct writer *w)
{
	const struct profile_meta *m = w->v.meta;
	const char *command = profile_text(w->p, m->command);
	struct json *j = &w->json;
	int lifetimes = w->ncolumns == COLUMNS;

	json_uint(j, "dhatFileVersion", 2);
	json_string(j, "mode", w->heap ? "heap" : profile_text(w->p, w->v.types[w->v.shown].name));
	json_string(j, "verb", verb(w));
	json_bool(j, "bklt", lifetimes);
	json_bool(j, "bkacc", 0);
	if (!w->heap) {
		json_string(j, "bsu", unit(w, w->types[0]));
		json_string(j, "bksu", unit(w, w->types[1]));
	}
	json_string(j, "tu", "µs");
	json_string(j, "Mtu", "s");
	if (lifetimes)
		json_uint(j, "tuth", SHORT_LIVED);
	json_string(j, "cmd", *command ? command : "ebprof");
	json_int(j, "pid", only_pid(&w->v));
	json_uint(j, "te", m->duration / US);
	if (lifetimes)
		json_uint(j, "tg", m->peak / US);
}

static void write_points(struct writer *w)
{
	struct json *j = &w->json;

	json_array(j, "pps");
	for (size_t i = 1; i < w->points.n; i++) {
		json_object(j, NULL);
		for (size_t c = 0; c < w->ncolumns; c++)
			json_uint(j, columns[c].key,
				  w->sums.v[i * w->ncolumns + c] / columns[c].divisor);
		json_array(j, "fs");
		for (uint32_t at = w->points.v[i]; at; at = w->places.v[at].parent)
			json_uint(j, NULL, w->places.v[at].frame);
		json_end(j);
		json_end(j);
	}
	json_end(j);
}

static void write_frames(struct writer *w)
{
	struct json *j = &w->json;

	json_array(j, "ftbl");
	json_string(j, NULL, "[root]");
	for (size_t i = 1; i < w->frames.n; i++)
		json_string(j, NULL, text_of(w, &w->frames.v[i]));
	json_end(j);
}

void dhat_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct writer w = { .p = p, .v = profile_view(p), .json = { .f = f } };

	(void)o;
	choose_types(&w);
	sum_up(&w);
	json_object(&w.json, NULL);
	write_header(&w);
	write_points(&w);
	write_frames(&w);
	json_end(&w.json);
	json_newline(&w.json);
	hashmap_free(&w.children);
	vec_free(&w.places);
	vec_free(&w.points);
	vec_free(&w.sums);
	vec_free(&w.path);
	free(w.line_frames);
	free(w.bare_frames);
	free(w.node_places);
	hashmap_free(&w.by_text);
	vec_free(&w.frames);
	vec_free(&w.text);
}
