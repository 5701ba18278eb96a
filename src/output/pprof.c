/* SPDX-License-Identifier: MIT */
/*
 * pprof's profiles (profile.proto), and the form that a profile is saved in: all that
 * the profile knows is in it (profile/pprof.h says how), so that reading it back gives
 * the same again. The parts of the file are written as they are made: samples, then
 * mappings, locations and functions, then the texts that all of them named.
 *
 * Addresses are what they are in the profile, offsets in files mostly: a mapping
 * begins at the offset that it maps, so that readers which take its bias away find
 * the same offset.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/formats.h"
#include "profile/pprof.h"
#include "profile/timeline.h"

#define PAGE 4096u
#define SECOND 1000000000u
#define NO_STACK UINT64_MAX	/* in place of a function and its file */

/*
 * The labels of a thread, or of a label set: encoded when the first sample has them, so that texts
 * come in that order.
 */
struct pieces {
	struct protobuf bytes;
	struct piece { size_t first, n; int made; } *v;
};

struct writer {
	const struct profile *p;
	struct profile_view v;
	struct outfile *f;
	struct protobuf b;		/* the message that grows */
	struct strtab *strings;		/* the file's own table */
	char *ambiguous;		/* by process: another one has its pid */
	int no_stack;			/* a sample has no frame */
	uint32_t *mappings;		/* module -> id */
	VEC(uint64_t) functions;	/* (function, file): pprof's functions have their file */
	struct hashmap function_ids;
};

/* --- Texts and labels. -------------------------------------------------------- */

static uint32_t literal(struct writer *w, const char *text)
{
	return strtab_add(w->strings, text);
}

static uint32_t string(struct writer *w, uint32_t id)
{
	return literal(w, profile_text(w->p, id));
}

static void text_label(struct writer *w, struct protobuf *b, const char *key, uint32_t text)
{
	size_t label = protobuf_open(b, PPROF_SAMPLE_LABEL);

	protobuf_uint(b, PPROF_LABEL_KEY, literal(w, key));
	protobuf_uint(b, PPROF_LABEL_TEXT, string(w, text));
	protobuf_close(b, label);
}

static void number_label(struct writer *w, struct protobuf *b, const char *key, int64_t number,
			 uint32_t unit)
{
	size_t label = protobuf_open(b, PPROF_SAMPLE_LABEL);

	protobuf_uint(b, PPROF_LABEL_KEY, literal(w, key));
	protobuf_uint(b, PPROF_LABEL_NUMBER, (uint64_t)number);
	if (unit)
		protobuf_uint(b, PPROF_LABEL_UNIT, string(w, unit));
	protobuf_close(b, label);
}

static char *ambiguous_pids(const struct profile_view *v)
{
	char *ambiguous = xcalloc(v->nprocesses + 1, 1);
	struct hashmap first = { 0 };

	for (uint32_t i = 0; i < v->nprocesses; i++) {
		uint32_t other = hashmap_put(&first, (uint32_t)v->processes[i].pid, i);

		ambiguous[i] |= other != i;
		ambiguous[other] |= other != i;
	}
	hashmap_free(&first);
	return ambiguous;
}

/* What is 0 or "" is left out: that is what a reader takes what is missing for. */
static void thread_labels(struct writer *w, struct protobuf *b, uint32_t thread)
{
	const struct thread *t = &w->v.threads[thread];
	const struct process *proc = &w->v.processes[t->process];

	if (t->comm)
		text_label(w, b, PPROF_THREAD, t->comm);
	if (t->tid)
		number_label(w, b, PPROF_TID, t->tid, 0);
	if (proc->comm)
		text_label(w, b, PPROF_PROCESS, proc->comm);
	if (proc->pid)
		number_label(w, b, PPROF_PID, proc->pid, 0);
	if (w->ambiguous[t->process])
		number_label(w, b, PPROF_INCARNATION, proc->incarnation, 0);
}

static int by_text(const void *a, const void *b, void *profile)
{
	const struct label *x = a, *y = b;
	int c = strcmp(profile_text(profile, x->key), profile_text(profile, y->key));

	if (!c)
		c = strcmp(profile_text(profile, x->text), profile_text(profile, y->text));
	if (!c)
		c = strcmp(profile_text(profile, x->unit), profile_text(profile, y->unit));
	return c ? c : (x->number > y->number) - (x->number < y->number);
}

/* In an order that does not depend on how strings are numbered. */
static void own_labels(struct writer *w, struct protobuf *b, uint32_t set)
{
	const struct label_set *s = &w->v.label_sets[set];
	struct label *labels = xcalloc(s->n, sizeof(*labels));

	for (uint32_t i = 0; i < s->n; i++)
		labels[i] = w->v.labels[s->first + i];
	qsort_r(labels, s->n, sizeof(*labels), by_text, (void *)w->p);
	for (uint32_t i = 0; i < s->n; i++) {
		const struct label *l = &labels[i];

		if (l->text)
			text_label(w, b, profile_text(w->p, l->key), l->text);
		else
			number_label(w, b, profile_text(w->p, l->key), l->number, l->unit);
	}
	free(labels);
}

static void add_piece(struct writer *w, struct pieces *pieces, uint32_t i,
		      void (*make)(struct writer *w, struct protobuf *b, uint32_t i))
{
	struct piece *piece = &pieces->v[i];

	if (!piece->made) {
		piece->first = pieces->bytes.n;
		make(w, &pieces->bytes, i);
		piece->n = pieces->bytes.n - piece->first;
		piece->made = 1;
	}
	if (piece->n)
		protobuf_raw(&w->b, pieces->bytes.v + piece->first, piece->n);
}

static void pieces_free(struct pieces *pieces)
{
	protobuf_free(&pieces->bytes);
	free(pieces->v);
}

/* --- Samples. ------------------------------------------------------------------- */

static void write_type(struct writer *w, uint32_t field, const char *name, const char *unit)
{
	size_t type = protobuf_open(&w->b, field);

	protobuf_uint(&w->b, PPROF_TYPE_NAME, literal(w, name));
	protobuf_uint(&w->b, PPROF_TYPE_UNIT, literal(w, unit));
	protobuf_close(&w->b, type);
	protobuf_flush(&w->b, w->f);
}

/*
 * The leaf first. A stack without any frame has one that says it: readers leave out samples that
 * have none.
 */
static void add_stack(struct writer *w, uint32_t node)
{
	size_t packed = protobuf_open(&w->b, PPROF_SAMPLE_LOCATION);

	if (!node) {
		protobuf_varint(&w->b, w->v.nlocations + 1);
		w->no_stack = 1;
	}
	for (; node; node = w->v.nodes[node].parent)
		protobuf_varint(&w->b, (uint64_t)w->v.nodes[node].location + 1);
	protobuf_close(&w->b, packed);
}

/* pprof's values and their sums are signed: what is beyond is cut, as in profile_count(). */
static void add_values(struct writer *w, const uint64_t *const *values, uint64_t *left,
		       size_t sample)
{
	size_t packed = protobuf_open(&w->b, PPROF_SAMPLE_VALUE);

	for (size_t i = 0; i < w->v.ntypes; i++) {
		uint64_t value = values[i][sample] < left[i] ? values[i][sample] : left[i];

		left[i] -= value;
		protobuf_varint(&w->b, value);
	}
	protobuf_close(&w->b, packed);
}

/* ns that all times are multiples of, as far as that makes them shorter. */
static uint64_t unit_of_ticks(const struct profile_view *v)
{
	for (size_t i = 0; i < v->nticks; i++)
		if (v->ticks[i].time % TIMELINE_UNIT || v->ticks[i].span % TIMELINE_UNIT)
			return 1;
	return TIMELINE_UNIT;
}

static void add_timeline(struct writer *w)
{
	struct timeline *t;
	size_t field;

	if (!w->v.nticks)
		return;
	t = timeline_new(unit_of_ticks(&w->v), w->v.nticks);
	timeline_expect(t, w->v.meta->frequency);
	for (size_t i = 0; i < w->v.nticks; i++)
		timeline_add(t, &w->v.ticks[i]);
	field = protobuf_open(&w->b, PPROF_SAMPLE_TIMELINE);
	timeline_write(t, &w->b);
	protobuf_close(&w->b, field);
	timeline_free(t);
}

static void write_samples(struct writer *w)
{
	const uint64_t **values = xcalloc(w->v.ntypes, sizeof(*values));
	uint64_t *left = xcalloc(w->v.ntypes, sizeof(*left));
	struct pieces threads = { .v = xcalloc(w->v.nthreads, sizeof(*threads.v)) };
	struct pieces own = { .v = xcalloc(w->v.nlabel_sets, sizeof(*own.v)) };

	w->ambiguous = ambiguous_pids(&w->v);
	for (uint32_t i = 0; i < w->v.ntypes; i++) {
		values[i] = profile_values(w->p, i);
		left[i] = INT64_MAX;
	}
	for (size_t i = 0; i < w->v.nsamples; i++) {
		const struct sample *s = &w->v.samples[i];
		size_t sample = protobuf_open(&w->b, PPROF_SAMPLE);

		add_stack(w, s->node);
		add_values(w, values, left, i);
		add_piece(w, &threads, s->thread, thread_labels);
		add_piece(w, &own, s->labels, own_labels);
		if (!i)
			add_timeline(w);
		protobuf_close(&w->b, sample);
		protobuf_flush(&w->b, w->f);
	}
	pieces_free(&threads);
	pieces_free(&own);
	free(w->ambiguous);
	free(values);
	free(left);
}

/* --- Mappings. -------------------------------------------------------------------- */

/* A program, as far as names tell: a file, and no library. */
static int is_program(const struct profile *p, const struct module *m)
{
	const char *path = profile_text(p, m->path);

	return path[0] == '/' && path[1] != '/' && !strstr(profile_text(p, m->name), ".so");
}

/*
 * The program that most samples are of, 0 where there is none: readers take the first
 * mapping for it. A sample is of the outermost program on its stack.
 */
static uint32_t main_module(const struct writer *w)
{
	uint32_t *program = xcalloc(w->v.nnodes, sizeof(*program)), best = 0;
	uint64_t *weight = xcalloc(w->v.nmodules, sizeof(*weight));

	for (size_t i = 1; i < w->v.nnodes; i++) {
		uint32_t module = w->v.locations[w->v.nodes[i].location].module;

		program[i] = program[w->v.nodes[i].parent];
		if (!program[i] && is_program(w->p, &w->v.modules[module]))
			program[i] = module;
	}
	for (size_t i = 0; i < w->v.nsamples; i++)
		weight[program[w->v.samples[i].node]] += w->v.values[i];
	for (uint32_t i = 1; i < w->v.nmodules; i++)
		if (weight[i] > (best ? weight[best] : 0))
			best = i;
	free(program);
	free(weight);
	return best;
}

/* of the addresses in a module; empty where @low is above */
struct range { uint64_t low, high; };

static struct range *module_ranges(const struct profile_view *v)
{
	struct range *ranges = xcalloc(v->nmodules, sizeof(*ranges));

	for (size_t i = 0; i < v->nmodules; i++)
		ranges[i].low = UINT64_MAX;
	for (size_t i = 0; i < v->nlocations; i++) {
		struct range *r = &ranges[v->locations[i].module];
		uint64_t address = v->locations[i].address;

		r->low = address < r->low ? address : r->low;
		r->high = address > r->high ? address : r->high;
	}
	return ranges;
}

static void write_mapping(struct writer *w, uint32_t module, const struct range *r)
{
	const struct module *m = &w->v.modules[module];
	uint64_t start = r->low > r->high ? 0 : r->low - r->low % PAGE;
	uint64_t limit = r->high > UINT64_MAX - PAGE ? UINT64_MAX : r->high - r->high % PAGE + PAGE;
	size_t mapping = protobuf_open(&w->b, PPROF_MAPPING);

	protobuf_uint(&w->b, PPROF_MAPPING_ID, w->mappings[module]);
	protobuf_uint(&w->b, PPROF_MAPPING_START, start);
	protobuf_uint(&w->b, PPROF_MAPPING_LIMIT, limit);
	protobuf_uint(&w->b, PPROF_MAPPING_OFFSET, start);
	protobuf_uint(&w->b, PPROF_MAPPING_FILE, string(w, m->path));
	protobuf_uint(&w->b, PPROF_MAPPING_BUILD_ID, string(w, m->build_id));
	/*
	 * Functions, files, lines, inlined frames: else a reader looks for them itself, on its own
	 * machine.
	 */
	for (uint32_t has = PPROF_MAPPING_HAS; has <= PPROF_MAPPING_HAS_LAST; has++)
		protobuf_uint(&w->b, has, 1);
	protobuf_uint(&w->b, PPROF_MAPPING_NAME, string(w, m->name));
	protobuf_close(&w->b, mapping);
	protobuf_flush(&w->b, w->f);
}

/* All modules but "none", the main one first. */
static void write_mappings(struct writer *w)
{
	struct range *ranges = module_ranges(&w->v);
	uint32_t first = main_module(w), id = 0;

	if (first) {
		w->mappings[first] = ++id;
		write_mapping(w, first, &ranges[first]);
	}
	for (uint32_t i = 1; i < w->v.nmodules; i++) {
		if (i == first)
			continue;
		w->mappings[i] = ++id;
		write_mapping(w, i, &ranges[i]);
	}
	free(ranges);
}

/* --- Locations and functions. --------------------------------------------------------- */

static void add_line(struct writer *w, const struct line *l)
{
	uint64_t function = (uint64_t)l->function << 32 | l->file;
	uint32_t id = hashmap_put(&w->function_ids, function, (uint32_t)w->functions.n);
	size_t line = protobuf_open(&w->b, PPROF_LOCATION_LINE);

	if (id == w->functions.n)
		vec_push(&w->functions, function);
	protobuf_uint(&w->b, PPROF_LINE_FUNCTION, (uint64_t)id + 1);
	if (l->line)
		protobuf_uint(&w->b, PPROF_LINE_LINE, l->line);
	protobuf_close(&w->b, line);
}

static void write_locations(struct writer *w)
{
	for (size_t i = 0; i < w->v.nlocations; i++) {
		const struct location *l = &w->v.locations[i];
		size_t location = protobuf_open(&w->b, PPROF_LOCATION);

		protobuf_uint(&w->b, PPROF_LOCATION_ID, i + 1);
		if (l->module)
			protobuf_uint(&w->b, PPROF_LOCATION_MAPPING, w->mappings[l->module]);
		protobuf_uint(&w->b, PPROF_LOCATION_ADDRESS, l->address);
		for (uint32_t k = 0; k < l->nlines; k++)
			add_line(w, &w->v.lines[l->first_line + k]);
		protobuf_uint(&w->b, PPROF_LOCATION_KIND, frame_kinds[l->kind].saved);
		if (l->why)
			protobuf_uint(&w->b, PPROF_LOCATION_WHY, string(w, l->why));
		protobuf_close(&w->b, location);
		protobuf_flush(&w->b, w->f);
	}
}

/* The one that stands for no stack, after all others. */
static void write_no_stack(struct writer *w)
{
	size_t location = protobuf_open(&w->b, PPROF_LOCATION), line;

	vec_push(&w->functions, NO_STACK);
	protobuf_uint(&w->b, PPROF_LOCATION_ID, w->v.nlocations + 1);
	line = protobuf_open(&w->b, PPROF_LOCATION_LINE);
	protobuf_uint(&w->b, PPROF_LINE_FUNCTION, w->functions.n);
	protobuf_close(&w->b, line);
	protobuf_close(&w->b, location);
	protobuf_flush(&w->b, w->f);
}

static void add_function(struct writer *w, uint64_t pair)
{
	const struct function *f = &w->v.functions[pair >> 32];

	/* No system_name: readers make a name of it themselves, and cut that of Rust. */
	protobuf_uint(&w->b, PPROF_FUNCTION_NAME, string(w, f->name));
	protobuf_uint(&w->b, PPROF_FUNCTION_FILE, string(w, (uint32_t)pair));
	protobuf_uint(&w->b, PPROF_FUNCTION_KIND, frame_kinds[f->kind].saved);
	protobuf_uint(&w->b, PPROF_FUNCTION_MODULE, string(w, f->module));
}

static void write_functions(struct writer *w)
{
	for (size_t i = 0; i < w->functions.n; i++) {
		size_t function = protobuf_open(&w->b, PPROF_FUNCTION);

		protobuf_uint(&w->b, PPROF_FUNCTION_ID, i + 1);
		if (w->functions.v[i] == NO_STACK)
			protobuf_uint(&w->b, PPROF_FUNCTION_NAME, literal(w, PPROF_NO_STACK));
		else
			add_function(w, w->functions.v[i]);
		protobuf_close(&w->b, function);
		protobuf_flush(&w->b, w->f);
	}
}

/* --- The rest. ---------------------------------------------------------------------------- */

static void write_strings(struct writer *w)
{
	for (uint32_t i = 0; i < strtab_count(w->strings); i++) {
		const char *text = strtab_get(w->strings, i);

		protobuf_bytes(&w->b, PPROF_STRING, text, strlen(text));
		protobuf_flush(&w->b, w->f);
	}
}

/* What lies between two samples: time where a type of values is time, else events. */
static void write_period(struct writer *w)
{
	const struct profile_meta *m = w->v.meta;
	const struct profile_event_words *words = profile_event_words(m->event);

	for (size_t i = 0; m->frequency && i < w->v.ntypes; i++) {
		const struct profile_type *t = &w->v.types[i];

		if (t->measured_in != PROFILE_NANOSECONDS)
			continue;
		write_type(w, PPROF_PERIOD_TYPE, profile_text(w->p, t->name),
			   profile_text(w->p, t->unit));
		protobuf_uint(&w->b, PPROF_PERIOD, SECOND / m->frequency);
		return;
	}
	if (*m->event)
		write_type(w, PPROF_PERIOD_TYPE, words->period ? words->period : m->event,
			   words->period_unit ? words->period_unit : "count");
	if (m->period)
		protobuf_uint(&w->b, PPROF_PERIOD, m->period);
}

static void add_comment(void *ctx, const char *text)
{
	struct writer *w = ctx;

	protobuf_varint(&w->b, literal(w, text));
}

/* Their texts are in the table by then, or come into it here, so the table follows. */
static void write_rest(struct writer *w)
{
	const struct profile_meta *m = w->v.meta;
	size_t comments;

	if (m->start)
		protobuf_uint(&w->b, PPROF_TIME, m->start);
	if (m->duration)
		protobuf_uint(&w->b, PPROF_DURATION, m->duration);
	write_period(w);
	comments = protobuf_open(&w->b, PPROF_COMMENT);
	pprof_describe(w->p, add_comment, w);
	protobuf_close(&w->b, comments);
	protobuf_uint(&w->b, PPROF_DEFAULT_TYPE, string(w, w->v.types[w->v.shown].name));
	protobuf_flush(&w->b, w->f);
	write_strings(w);
}

void pprof_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct writer w = { .p = p, .v = profile_view(p), .f = f, .strings = strtab_new() };

	(void)o;
	w.mappings = xcalloc(w.v.nmodules, sizeof(*w.mappings));
	for (size_t i = 0; i < w.v.ntypes; i++)
		write_type(&w, PPROF_SAMPLE_TYPE, profile_text(p, w.v.types[i].name),
			   profile_text(p, w.v.types[i].unit));
	write_samples(&w);
	write_mappings(&w);
	write_locations(&w);
	if (w.no_stack)
		write_no_stack(&w);
	write_functions(&w);
	write_rest(&w);
	free(w.mappings);
	vec_free(&w.functions);
	hashmap_free(&w.function_ids);
	strtab_free(w.strings);
	protobuf_free(&w.b);
}
