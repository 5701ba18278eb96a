/* SPDX-License-Identifier: MIT */
#include "output/firefox_tables.h"

#include <string.h>

#include "base/vec.h"
#include "output/wait_place.h"

#define SECOND 1000000000u

static void rows_init(struct firefox_rows *r, size_t n)
{
	r->of = xcalloc(n, sizeof(*r->of));
	memset(r->of, 0xff, n * sizeof(*r->of));
}

static void rows_set(struct firefox_rows *r, uint32_t thing, uint32_t row)
{
	r->of[thing] = row;
	vec_push(&r->used, thing);
}

/* The row of @thing; the next one where it had none. */
static uint32_t rows_add(struct firefox_rows *r, uint32_t thing)
{
	if (r->of[thing] == PROFILE_NONE)
		rows_set(r, thing, (uint32_t)r->used.n);
	return r->of[thing];
}

static void rows_clear(struct firefox_rows *r)
{
	for (size_t i = 0; i < r->used.n; i++)
		r->of[r->used.v[i]] = PROFILE_NONE;
	r->used.n = 0;
}

static void rows_free(struct firefox_rows *r)
{
	free(r->of);
	vec_free(&r->used);
}

struct firefox_tables *firefox_tables_new(const struct firefox *x)
{
	struct firefox_tables *t = xcalloc(1, sizeof(*t));

	rows_init(&t->nodes, x->v.nnodes);
	rows_init(&t->locations, x->v.nlocations);
	rows_init(&t->functions, x->v.nfunctions + 2);	/* "[unknown]", "[no stack]" */
	rows_init(&t->modules, x->v.nmodules);
	rows_init(&t->symbols, x->nsymbols);
	return t;
}

void firefox_tables_free(struct firefox_tables *t)
{
	if (!t)
		return;
	rows_free(&t->nodes);
	rows_free(&t->locations);
	rows_free(&t->functions);
	rows_free(&t->modules);
	rows_free(&t->symbols);
	vec_free(&t->stacks);
	vec_free(&t->frames);
	vec_free(&t->moments);
	vec_free(&t->markers);
	vec_free(&t->path);
	vec_free(&t->resources);
	free(t);
}

static void clear(struct firefox_tables *t)
{
	rows_clear(&t->nodes);
	rows_clear(&t->locations);
	rows_clear(&t->functions);
	rows_clear(&t->modules);
	rows_clear(&t->symbols);
	t->stacks.n = t->frames.n = t->moments.n = t->markers.n = t->resources.n = 0;
}

/* --- From the profile's stacks to rows. ------------------------------------ */
static enum firefox_category category(const struct firefox *x, uint32_t function,
				      enum frame_kind kind)
{
	/* What was inlined is of the code that it was inlined into. */
	static const enum firefox_category categories[FAMILIES] = {
		[FAMILY_USER] = FIREFOX_USER,	  [FAMILY_INLINED] = FIREFOX_USER,
		[FAMILY_JIT] = FIREFOX_JIT,	  [FAMILY_KERNEL] = FIREFOX_KERNEL,
		[FAMILY_MARK] = FIREFOX_OTHER,	  [FAMILY_SCRIPT] = FIREFOX_SCRIPT,
	};

	if (kind == FRAME_USER && function < x->v.nfunctions)
		kind = x->v.functions[function].kind;
	return categories[frame_kinds[kind].family];
}

/* A function's row, with the library in which it was met first. */
static uint32_t add_function(struct firefox *x, uint32_t function, uint32_t module)
{
	struct firefox_tables *t = x->tables;
	uint32_t row = rows_add(&t->functions, function);

	if (row == t->resources.n)
		vec_push(&t->resources, x->library_of[module] == PROFILE_NONE
						? PROFILE_NONE
						: rows_add(&t->modules, module));
	return row;
}

static void add_frame(struct firefox *x, uint32_t location, const struct line *line, uint32_t depth)
{
	const struct location *l = &x->v.locations[location];
	uint32_t function = line ? line->function : (uint32_t)x->v.nfunctions,
		 symbol = x->symbol_of[location];

	vec_push(
		&x->tables->frames,
		(struct firefox_frame){
			.address = firefox_address(x, l),
			.depth = depth,
			.category = category(x, function, l->kind),
			.function = add_function(x, function, l->module),
			.symbol = symbol == PROFILE_NONE ? PROFILE_NONE
							 : rows_add(&x->tables->symbols, symbol),
			/* A line of another file than the function's would be a wrong place. */
			.line = line && line->file == x->sources[function].file ? line->line : 0 });
}

/*
 * The row of the first of @location's frames: what was inlined there lies after what it went into.
 */
static uint32_t frames_of(struct firefox *x, uint32_t location)
{
	const struct location *l = &x->v.locations[location];
	const struct line *lines = &x->v.lines[l->first_line];
	struct firefox_rows *r = &x->tables->locations;

	if (r->of[location] == PROFILE_NONE) {
		rows_set(r, location, (uint32_t)x->tables->frames.n);
		if (!l->nlines)
			add_frame(x, location, NULL, 0);
		for (uint32_t i = l->nlines; i-- > 0;)
			add_frame(x, location, &lines[i], l->nlines - 1 - i);
	}
	return r->of[location];
}

static uint32_t add_stack(struct firefox_tables *t, uint32_t frame, uint32_t prefix)
{
	vec_push(&t->stacks, (struct firefox_stack){ frame, prefix });
	return (uint32_t)t->stacks.n - 1;
}

static void add_no_stack(struct firefox *x)
{
	struct firefox_tables *t = x->tables;

	vec_push(&t->frames, (struct firefox_frame){
		.address = -1, .category = FIREFOX_OTHER, .symbol = PROFILE_NONE,
		.function = add_function(x, (uint32_t)x->v.nfunctions + 1, 0) });
	rows_set(&t->nodes, 0, add_stack(t, (uint32_t)t->frames.n - 1, PROFILE_NONE));
}

/* The row of @node's whole stack: back to what is known, then forth. */
static uint32_t stack_of(struct firefox *x, uint32_t node)
{
	struct firefox_tables *t = x->tables;
	uint32_t at = node, row;

	if (!node && t->nodes.of[0] == PROFILE_NONE)
		add_no_stack(x);
	for (; at && t->nodes.of[at] == PROFILE_NONE; at = x->v.nodes[at].parent)
		vec_push(&t->path, at);
	row = node && !at ? PROFILE_NONE : t->nodes.of[at];
	while (t->path.n) {
		uint32_t next = t->path.v[--t->path.n], location = x->v.nodes[next].location;
		uint32_t frame = frames_of(x, location), n = x->v.locations[location].nlines;

		for (uint32_t i = 0; i < (n ? n : 1); i++)
			row = add_stack(t, frame + i, row);
		rows_set(&t->nodes, next, row);
	}
	return row;
}

/* --- When. ----------------------------------------------------------------- */
static void add_marker(struct firefox *x, const struct tick *tick)
{
	struct wait_words words;

	wait_words(x->p, tick->sample, &words);
	vec_push(&x->tables->markers, (struct firefox_marker){
		.name = strtab_add(x->strings, words.state),
		.place = strtab_add(x->strings, words.place),
		.stack = stack_of(x, x->v.samples[tick->sample].node),
		.begin = tick->time, .end = tick->time + tick->span });
}

static void add_ticks(struct firefox *x, const uint32_t *ticks, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct tick *tick = &x->v.ticks[ticks[i]];
		uint64_t worth = worth_tick(&x->worth, tick);

		if (worth)
			vec_push(&x->tables->moments, (struct firefox_moment){
				stack_of(x, x->v.samples[tick->sample].node), tick->time, worth });
		if (tick->span)
			add_marker(x, tick);
	}
}

/*
 * Nobody knows when: each sample gets its share of the recording, and stands in the
 * share's middle. So the thread is seen to use the CPU evenly, as much as it did on average.
 */
static void make_up_times(struct firefox *x, const struct thread_row *row)
{
	double duration = (double)(x->v.meta->duration ? x->v.meta->duration : SECOND);
	uint64_t passed = 0;

	for (size_t i = 0; i < row->nsamples; i++) {
		uint64_t value = x->v.values[row->samples[i]],
			 untimed = worth_untimed(&x->worth, row->samples[i]);
		uint32_t stack;
		double middle = (double)passed + (double)value / 2;

		passed += value;
		if (!untimed)
			continue;
		stack = stack_of(x, x->v.samples[row->samples[i]].node);
		vec_push(&x->tables->moments, (struct firefox_moment){
			stack, (uint64_t)(duration * (middle / (double)row->total)), untimed });
	}
}

static int by_time(const void *a, const void *b)
{
	const struct firefox_moment *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? -1 : 1)
				  : (x->stack > y->stack) - (x->stack < y->stack);
}

void firefox_tables_fill(struct firefox *x, const struct thread_row *row, const uint32_t *ticks,
			 size_t nticks)
{
	struct firefox_tables *t = x->tables;
	size_t timed;

	clear(t);
	add_ticks(x, ticks, nticks);
	timed = t->moments.n;
	make_up_times(x, row);
	if (timed && t->moments.n > timed)
		qsort(t->moments.v, t->moments.n, sizeof(*t->moments.v), by_time);
}
