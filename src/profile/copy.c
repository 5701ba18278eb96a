/* SPDX-License-Identifier: MIT */
#include "profile/copy.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "profile/profile_fold.h"
#include "profile/profile_state.h"

struct copy {
	struct profile *to;
	const struct profile *from;
	struct profile_view view;	/* of from */
	enum copy_identity identity;
	unsigned int left_out;		/* kinds of frames, a bit each */
	/* By index in from: the index in to, plus 1; 0: not copied yet. */
	uint32_t *functions, *modules, *locations, *nodes, *processes, *threads, *label_sets;
	VEC(uint32_t) path;		/* nodes still to be copied */
	VEC(struct line) lines;		/* of one location, with functions of to */
	VEC(struct label) labels;	/* of one set, with strings of to */
	struct label own;		/* of every set; of to; key 0: none */
};

static uint32_t *index_new(size_t n)
{
	return xcalloc(n, sizeof(uint32_t));
}

struct copy *copy_new(struct profile *to, const struct profile *from, enum copy_identity identity)
{
	struct copy *c = xcalloc(1, sizeof(*c));

	c->to = to;
	c->from = from;
	c->view = profile_view(from);
	c->identity = identity;
	c->functions = index_new(c->view.nfunctions);
	c->modules = index_new(c->view.nmodules);
	c->locations = index_new(c->view.nlocations);
	c->nodes = index_new(c->view.nnodes);
	c->processes = index_new(c->view.nprocesses);
	c->threads = index_new(c->view.nthreads);
	c->label_sets = index_new(c->view.nlabel_sets);
	return c;
}

void copy_free(struct copy *c)
{
	free(c->functions);
	free(c->modules);
	free(c->locations);
	free(c->nodes);
	free(c->processes);
	free(c->threads);
	free(c->label_sets);
	vec_free(&c->path);
	vec_free(&c->lines);
	vec_free(&c->labels);
	free(c);
}

void copy_leave_out(struct copy *c, unsigned int kinds)
{
	c->left_out = kinds;
}

uint32_t copy_string(const struct copy *c, uint32_t string)
{
	return string ? profile_string(c->to, profile_text(c->from, string)) : 0;
}

/* --- Frames. ----------------------------------------------------------------- */

/*
 * Where the "+0x1234" of a "[name+0x1234]" or "[name+0x1234: why]" begins; NULL: @name is another.
 */
static const char *find_address(const char *name)
{
	const char *plus = NULL, *end;

	if (*name != '[' || name[strlen(name) - 1] != ']')
		return NULL;
	for (const char *s = name; (s = strstr(s, "+0x")); s++)
		plus = s;
	end = plus ? plus + 3 + strspn(plus + 3, "0123456789abcdef") : NULL;
	return end && (*end == ']' || *end == ':') ? plus : NULL;
}

static uint32_t function_name(const struct copy *c, uint32_t name)
{
	const char *text = profile_text(c->from, name);
	const char *address = c->identity == COPY_NAMES ? find_address(text) : NULL;
	char *bare;
	uint32_t id;

	if (!address)
		return profile_string(c->to, text);
	bare = xasprintf("%.*s]", (int)(address - text), text);
	id = profile_string(c->to, bare);
	free(bare);
	return id;
}

uint32_t copy_function(struct copy *c, uint32_t function)
{
	const struct function *f = &c->view.functions[function];
	uint32_t *id = &c->functions[function];

	if (!*id)
		*id = 1 + profile_function(c->to, function_name(c, f->name),
					   copy_string(c, f->module), f->kind);
	return *id - 1;
}

uint32_t copy_module(struct copy *c, uint32_t module)
{
	const struct module *m = &c->view.modules[module];
	uint32_t *id = &c->modules[module];
	int names = c->identity == COPY_NAMES;

	if (!*id)
		*id = 1 + profile_module(c->to, profile_text(c->from, m->name),
					 names ? "" : profile_text(c->from, m->path),
					 names ? "" : profile_text(c->from, m->build_id));
	return *id - 1;
}

/* The lines of @l as those of @to, in c->lines. */
static void take_lines(struct copy *c, const struct location *l)
{
	c->lines.n = 0;
	for (size_t i = 0; i < l->nlines; i++) {
		const struct line *x = &c->view.lines[l->first_line + i];
		struct line line = { .function = copy_function(c, x->function) };

		if (c->identity == COPY_PLACES) {
			line.file = copy_string(c, x->file);
			line.line = x->line;
		}
		vec_push(&c->lines, line);
	}
}

static uint64_t hash_lines(const struct copy *c)
{
	return hash_bytes(c->lines.v, c->lines.n * sizeof(*c->lines.v));
}

static int has_lines(const struct copy *c, uint32_t location)
{
	struct profile_view v = profile_view(c->to);
	const struct location *l = &v.locations[location];

	return l->nlines == c->lines.n &&
	       (!l->nlines ||
		!memcmp(&v.lines[l->first_line], c->lines.v, c->lines.n * sizeof(*c->lines.v)));
}

static uint32_t place_location(struct copy *c, const struct location *l)
{
	uint64_t address = l->address;

	take_lines(c, l);
	if (c->identity == COPY_NAMES)
		address = hash_lines(c);
	else if (c->identity == COPY_FUNCTIONS && c->lines.n)
		address = hash_lines(c) >> 2 | LOCATION_PLACELESS;
	for (int tries = 0;; tries++) {
		size_t known = c->to->locations.n;
		uint32_t id = profile_location(c->to, copy_module(c, l->module), l->kind, address);

		if (id == known)
			profile_name_location(c->to, id, c->lines.v, c->lines.n,
					      profile_text(c->from, l->why));
		if (id == known || has_lines(c, id))
			return id;
		address = tries ? address + 1 : hash_pair(address, hash_lines(c));
	}
}

uint32_t copy_location(struct copy *c, uint32_t location)
{
	uint32_t *id = &c->locations[location];

	if (!*id)
		*id = 1 + place_location(c, &c->view.locations[location]);
	return *id - 1;
}

/* Back to what is known, then forth. */
uint32_t copy_node(struct copy *c, uint32_t node)
{
	uint32_t at;

	for (; node && !c->nodes[node]; node = c->view.nodes[node].parent)
		vec_push(&c->path, node);
	at = node ? c->nodes[node] - 1 : 0;
	while (c->path.n) {
		uint32_t location;

		node = c->path.v[--c->path.n];
		location = c->view.nodes[node].location;
		if (!(c->left_out & 1u << c->view.locations[location].kind))
			at = profile_node(c->to, at, copy_location(c, location));
		c->nodes[node] = at + 1;
	}
	return at;
}

void copy_label(struct copy *c, const char *key, const char *text)
{
	c->own = (struct label){ .key = profile_string(c->to, key),
				 .text = profile_string(c->to, text) };
}

/* --- Processes, labels, samples. ---------------------------------------------- */

static uint32_t place_process(const struct copy *c, const struct process *x)
{
	uint32_t comm = copy_string(c, x->comm), incarnation = x->incarnation;

	if (c->identity == COPY_NAMES)
		return profile_process(c->to, 0, comm, comm);
	if (process_is_ended(x))
		return profile_ended_process(c->to, comm, "");
	for (int tries = 0;; tries++) {
		uint32_t id = profile_process(c->to, x->pid, incarnation, 0);
		uint32_t known = c->to->processes.v[id].comm;

		/* Without a comm one is new, or knows none: it is free to take ours. */
		if (!known)
			return profile_process(c->to, x->pid, incarnation, comm);
		if (known == comm)
			return id;
		incarnation = tries ? incarnation + 1 : (uint32_t)hash_pair(incarnation, comm);
	}
}

uint32_t copy_process(struct copy *c, uint32_t process)
{
	const struct process *x = &c->view.processes[process];
	uint32_t *id = &c->processes[process];

	if (!*id) {
		*id = 1 + place_process(c, x);
		if (x->parent && c->identity != COPY_NAMES)
			profile_set_parent(c->to, *id - 1, x->parent);
	}
	return *id - 1;
}

uint32_t copy_thread(struct copy *c, uint32_t thread)
{
	const struct thread *t = &c->view.threads[thread];
	uint32_t *id = &c->threads[thread];

	if (!*id) {
		uint32_t process = copy_process(c, t->process);

		*id = 1 + profile_thread(c->to, process, c->identity == COPY_NAMES ? 0 : t->tid,
					 copy_string(c, t->comm));
	}
	return *id - 1;
}

uint32_t copy_labels(struct copy *c, uint32_t set)
{
	const struct label_set *s = &c->view.label_sets[set];
	uint32_t *id = &c->label_sets[set];

	if (c->identity == COPY_NAMES)
		return 0;
	if (*id)
		return *id - 1;
	c->labels.n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct label x = c->view.labels[s->first + i];

		x.key = copy_string(c, x.key);
		x.text = copy_string(c, x.text);
		x.unit = copy_string(c, x.unit);
		if (x.key != c->own.key)
			vec_push(&c->labels, x);
	}
	if (c->own.key)
		vec_push(&c->labels, c->own);
	*id = 1 + profile_labels(c->to, c->labels.v, c->labels.n);
	return *id - 1;
}

uint32_t copy_sample(struct copy *c, uint32_t sample)
{
	const struct sample *s = &c->view.samples[sample];
	uint32_t node = copy_node(c, s->node), thread = copy_thread(c, s->thread);

	return profile_sample(c->to, thread, node, copy_labels(c, s->labels));
}

/* --- What a profile says of itself. --------------------------------------------- */

void copy_type(const struct copy *c, uint32_t type, uint32_t as)
{
	const struct profile_type *t = &c->view.types[type];
	const char *name = profile_text(c->from, t->name), *unit = profile_text(c->from, t->unit);

	if (as == c->to->types.n)
		profile_add_type(c->to, name, unit);
	else
		profile_set_type(c->to, as, name, unit);
}

struct profile_meta copy_meta(const struct copy *c)
{
	struct profile_meta m = *c->view.meta;

	m.host = copy_string(c, m.host);
	m.command = copy_string(c, m.command);
	m.title = copy_string(c, m.title);
	return m;
}

/* --- A copy that grows with a profile. ------------------------------------------- */

/* What is new of an array that only grows. */
#define FOLLOW(dst, src) do { \
	vec_reserve(dst, (src)->n); \
	for (; (dst)->n < (src)->n; (dst)->n++) \
		(dst)->v[(dst)->n] = (src)->v[(dst)->n]; \
} while (0)
/* All of one whose elements change. */
#define COPY(dst, src) do { \
	(dst)->n = 0; \
	FOLLOW(dst, src); \
} while (0)

/* @src was folded: what has new indexes is copied anew. */
static void follow_fold(struct profile *dst, const struct profile *src)
{
	vec_free(&dst->processes);
	vec_free(&dst->threads);
	vec_free(&dst->samples);
	for (size_t i = 0; i < dst->columns.n; i++)
		vec_free(&dst->columns.v[i]);
	dst->folded.times = src->folded.times;
}

void profile_follow(struct profile *dst, const struct profile *src)
{
	if (dst->folded.times != src->folded.times)
		follow_fold(dst, src);
	for (uint32_t i = strtab_count(dst->strings); i < strtab_count(src->strings); i++)
		strtab_add(dst->strings, strtab_get(src->strings, i));
	FOLLOW(&dst->functions, &src->functions);
	FOLLOW(&dst->modules, &src->modules);
	FOLLOW(&dst->lines, &src->lines);
	FOLLOW(&dst->nodes, &src->nodes);
	FOLLOW(&dst->threads, &src->threads);
	FOLLOW(&dst->samples, &src->samples);
	FOLLOW(&dst->labels, &src->labels);
	FOLLOW(&dst->label_sets, &src->label_sets);
	FOLLOW(&dst->comments, &src->comments);
	COPY(&dst->locations, &src->locations);
	COPY(&dst->processes, &src->processes);
	COPY(&dst->types, &src->types);
	COPY(&dst->ticks, &src->ticks);
	while (dst->columns.n < src->columns.n)
		vec_push(&dst->columns, (struct column){ 0 });
	for (size_t i = 0; i < src->columns.n; i++)
		COPY(&dst->columns.v[i], &src->columns.v[i]);
	dst->shown = src->shown;
	dst->meta = src->meta;
	dst->account = src->account;
}
