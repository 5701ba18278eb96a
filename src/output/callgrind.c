/* SPDX-License-Identifier: MIT */
/*
 * Callgrind's profile format (valgrind, docs/html/cl-format.html), for
 * callgrind_annotate and kcachegrind: what each function costs itself, by line,
 * and what each of its calls costs inclusively.
 *
 * Readers add up what is written, so nothing may be there twice: a function that
 * is on the stack already is another one, f'2, f'3, ..., as callgrind's own
 * --separate-recs writes it. Each edge is then at most once on a stack, and no sum
 * passes 100 %. A name that ends in '2 itself becomes NAME'2'1.
 *
 * callgrind_annotate takes what called a function for its inclusive cost, so each
 * stack begins with its thread's name as a function. It also tells functions apart
 * by file and name alone; where the file is not known, the module stands there.
 * Functions that were inlined are functions: kcachegrind loses what fi= and fe= say.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "output/calltree.h"
#include "output/formats.h"
#include "output/rollup.h"

#define UNKNOWN "???"		/* as callgrind calls files and objects */
#define THREAD "[thread]"	/* file and object of the functions that stand for threads */

/* A function as readers tell them apart. */
struct identity {
	uint32_t name, object;	/* texts */
	uint32_t source;	/* string of the profile: its file, "" where unknown */
	uint32_t file;		/* text: what stands for it */
};

/* A label of the tree: at which line a function is. */
struct site { uint32_t identity, line; };

/* An identity at a level of recursion, from 1: a function of the file. */
struct level { uint32_t identity, level; };

/* What a function costs at a line: itself, or by calling @callee. */
struct row {
	uint32_t function, line;
	uint32_t callee;	/* function; 0: itself */
	uint32_t id;		/* its costs are those from id * ntypes on */
};

/* A step of the path to here. */
struct place { uint32_t function, line; };

struct callgrind {
	const struct profile *p;
	struct profile_view v;
	struct outfile *f;
	/* as they are written: the one that is shown comes first */
	uint32_t *types;
	struct strtab *texts;
	VEC(struct identity) identities;
	VEC(struct site) sites;			/* by label */
	VEC(struct level) functions;		/* the first is none */
	VEC(struct row) rows;
	VEC(uint64_t) costs;
	struct hashmap identity_ids, site_ids, function_ids, place_ids, row_ids;
	size_t type;				/* in types: the one that is being summed up */
	/* by identity: how often it is on the path to here */
	uint32_t *levels;
	VEC(struct place) path;
};

/* --- What functions are called, and labels for the tree. ------------------- */
/* @before, @s and @behind as one text. Readers take blanks around a name away. */
static uint32_t add_text(struct callgrind *c, const char *before, const char *s, const char *behind)
{
	size_t size = strlen(before) + strlen(s) + strlen(behind) + 1;
	char *text = xcalloc(size, 1);
	uint32_t id;

	snprintf(text, size, "%s%s%s", before, s, behind);
	for (char *b = text; *b == ' '; b++)
		*b = '_';
	for (char *e = text + size - 1; e > text && e[-1] == ' '; e--)
		e[-1] = '_';
	id = strtab_add(c->texts, text);
	free(text);
	return id;
}

static uint32_t add_identity(struct callgrind *c, uint32_t name, uint32_t object)
{
	uint32_t next = (uint32_t)c->identities.n;
	uint32_t id = hashmap_put(&c->identity_ids, (uint64_t)name << 32 | object, next);

	if (id == next)
		vec_push(&c->identities, (struct identity){ .name = name, .object = object });
	return id;
}

static uint32_t add_site(struct callgrind *c, uint32_t identity, uint32_t line)
{
	uint32_t next = (uint32_t)c->sites.n;
	uint32_t id = hashmap_put(&c->site_ids, (uint64_t)identity << 32 | line, next);

	if (id == next)
		vec_push(&c->sites, (struct site){ .identity = identity, .line = line });
	return id;
}

/* Where no source is known, the module tells functions apart. */
static uint32_t file_of(struct callgrind *c, const struct identity *i)
{
	const char *object = strtab_get(c->texts, i->object);

	if (i->source)
		return add_text(c, "", profile_text(c->p, i->source), "");
	if (!strcmp(object, UNKNOWN) || !strcmp(object, THREAD))
		return i->object;
	return add_text(c, UNKNOWN " (", object, ")");
}

static struct calltree_labels add_labels(struct callgrind *c)
{
	const struct profile_view *v = &c->v;
	uint32_t *functions = xcalloc(v->nfunctions + 1, sizeof(*functions));
	uint32_t *lines = xcalloc(v->nlines + 1, sizeof(*lines)),
		 *threads = xcalloc(v->nthreads, sizeof(*threads));
	char ids[ROLLUP_IDS_MAX];

	for (size_t i = 0; i <= v->nfunctions; i++) {
		const char *module = i < v->nfunctions ? profile_text(c->p, v->functions[i].module)
						       : "";
		uint32_t name = add_text(c, "", rollup_name(c->p, i), "");

		functions[i] = add_identity(c, name,
					    add_text(c, "", *module ? module : UNKNOWN, ""));
	}
	for (size_t i = 0; i < v->nlines; i++) {
		struct identity *identity = &c->identities.v[functions[v->lines[i].function]];

		if (!identity->source)
			identity->source = v->lines[i].file;
	}
	/* A function has one file; what was put into it from another one has no line there. */
	for (size_t i = 0; i < v->nlines; i++) {
		uint32_t identity = functions[v->lines[i].function];
		int same = c->identities.v[identity].source == v->lines[i].file;

		lines[i] = add_site(c, identity, same ? v->lines[i].line : 0);
	}
	lines[v->nlines] = add_site(c, functions[v->nfunctions], 0);
	for (size_t i = 0; i < v->nthreads; i++) {
		const char *comm = rollup_comm(c->p, v->threads[i].comm);
		uint32_t name = add_text(c, "", comm, rollup_thread_ids(c->p, &v->threads[i], ids));

		threads[i] = add_site(c, add_identity(c, name, add_text(c, "", THREAD, "")), 0);
	}
	for (size_t i = 0; i < c->identities.n; i++)
		c->identities.v[i].file = file_of(c, &c->identities.v[i]);
	free(functions);
	return (struct calltree_labels){ .lines = lines, .threads = threads };
}

/* --- The tree summed up: rows. --------------------------------------------- */
static uint32_t add_function(struct callgrind *c, uint32_t identity, uint32_t level)
{
	uint32_t next = (uint32_t)c->functions.n;
	uint32_t id = hashmap_put(&c->function_ids, (uint64_t)identity << 32 | level, next);

	if (id == next)
		vec_push(&c->functions, (struct level){ .identity = identity, .level = level });
	return id;
}

/* @value of the current type to the row of a place and a callee. */
static void add_cost(struct callgrind *c, struct place at, uint32_t callee, uint64_t value)
{
	/* A new place is one by its first row. */
	uint32_t next = (uint32_t)c->rows.n, id;
	uint32_t place = hashmap_put(&c->place_ids, (uint64_t)at.function << 32 | at.line, next);

	id = hashmap_put(&c->row_ids, (uint64_t)place << 32 | callee, next);
	if (id == next) {
		vec_push(&c->rows, (struct row){ .function = at.function,
						 .line = at.line,
						 .callee = callee,
						 .id = id });
		for (size_t i = 0; i < c->v.ntypes; i++)
			vec_push(&c->costs, 0);
	}
	c->costs.v[id * c->v.ntypes + c->type] += value;
}

static void enter(void *ctx, const struct calltree_node *n)
{
	struct callgrind *c = ctx;
	struct site s = c->sites.v[n->label];
	struct place here = { add_function(c, s.identity, ++c->levels[s.identity]), s.line };

	if (c->path.n)
		add_cost(c, c->path.v[c->path.n - 1], here.function, n->total);
	if (n->self)
		add_cost(c, here, 0, n->self);
	vec_push(&c->path, here);
}

static void leave(void *ctx, const struct calltree_node *n)
{
	struct callgrind *c = ctx;

	c->levels[c->sites.v[n->label].identity]--;
	c->path.n--;
}

static void sum_up(struct callgrind *c)
{
	struct calltree_labels labels = add_labels(c);

	c->levels = xcalloc(c->identities.n, sizeof(*c->levels));
	vec_push(&c->functions, (struct level){ 0 });
	for (c->type = 0; c->type < c->v.ntypes; c->type++) {
		struct calltree *tree;

		labels.values = profile_values(c->p, c->types[c->type]);
		tree = calltree_new(c->p, &labels);
		calltree_walk(tree, &(struct calltree_walker){
					    .enter = enter, .leave = leave, .ctx = c });
		calltree_free(tree);
	}
	free((uint32_t *)labels.lines);
	free((uint32_t *)labels.threads);
}

/* --- What is written. ------------------------------------------------------ */
static void put(const struct callgrind *c, const char *text)
{
	outfile_write(c->f, text, strlen(text));
}

/* The numbers that names have got in the file; 0: none yet. */
struct numbers { uint32_t *v, n; };

/* @key=(NUMBER), and the name behind it the first time: then 1. */
static int write_name(struct callgrind *c, const char *key, uint32_t id, struct numbers *numbers,
		      const char *name)
{
	int first = !numbers->v[id];

	if (first)
		numbers->v[id] = ++numbers->n;
	outfile_printf(c->f, "%s=(%" PRIu32 ")", key, numbers->v[id]);
	if (first) {
		put(c, " ");
		put(c, name);
	}
	return first;
}

/* 1: @name looks like one at a level of recursion. */
static int has_level(const char *name)
{
	size_t n = strlen(name), digits = n;

	while (digits && name[digits - 1] >= '0' && name[digits - 1] <= '9')
		digits--;
	return digits && digits < n && name[digits - 1] == '\'';
}

struct written { struct numbers objects, files, functions; };

/* @keys: of the object, the file and the name. */
static void write_function(struct callgrind *c, const char *const keys[3], uint32_t function,
			   struct written *w)
{
	struct level l = c->functions.v[function];
	const struct identity *i = &c->identities.v[l.identity];
	const char *name = strtab_get(c->texts, i->name);

	write_name(c, keys[0], i->object, &w->objects, strtab_get(c->texts, i->object));
	put(c, "\n");
	write_name(c, keys[1], i->file, &w->files, strtab_get(c->texts, i->file));
	put(c, "\n");
	if (write_name(c, keys[2], function, &w->functions, name) &&
	    (l.level > 1 || has_level(name)))
		outfile_printf(c->f, "'%" PRIu32, l.level);
	put(c, "\n");
}

static int by_place(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->function != y->function)
		return x->function < y->function ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	return (x->callee > y->callee) - (x->callee < y->callee);
}

static void write_rows(struct callgrind *c)
{
	static const char *const own[] = { "ob", "fl", "fn" }, *const called[] = { "cob", "cfi",
										   "cfn" };
	size_t ntexts = strtab_count(c->texts);
	struct written w = {
		.objects.v = xcalloc(ntexts, sizeof(uint32_t)),
		.files.v = xcalloc(ntexts, sizeof(uint32_t)),
		.functions.v = xcalloc(c->functions.n, sizeof(uint32_t)),
	};

	if (c->rows.n)
		qsort(c->rows.v, c->rows.n, sizeof(*c->rows.v), by_place);
	for (size_t i = 0; i < c->rows.n; i++) {
		const struct row *r = &c->rows.v[i];

		if (!i || r[-1].function != r->function) {
			put(c, "\n");
			write_function(c, own, r->function, &w);
		}
		if (r->callee) {
			write_function(c, called, r->callee, &w);
			/*
			 * How many calls a sample does not tell; readers leave out what was called
			 * 0 times.
			 */
			put(c, "calls=1 0\n");
		}
		outfile_printf(c->f, "%" PRIu32, r->line);
		for (size_t type = 0; type < c->v.ntypes; type++)
			outfile_printf(c->f, " %" PRIu64, c->costs.v[r->id * c->v.ntypes + type]);
		put(c, "\n");
	}
	free(w.objects.v);
	free(w.files.v);
	free(w.functions.v);
}

/* A type's name as an event's: a word, with a number where there is another of that name. */
static void event_name(const struct callgrind *c, uint32_t type, char *dst, size_t size)
{
	int again = 0;

	for (uint32_t i = 0; i < c->v.ntypes; i++)
		again |= i != type && c->v.types[i].name == c->v.types[type].name;
	snprintf(dst, size, "%s", profile_text(c->p, c->v.types[type].name));
	for (char *d = dst; *d; d++)
		if (!((*d >= 'a' && *d <= 'z') || (*d >= 'A' && *d <= 'Z') ||
		      (d > dst && *d >= '0' && *d <= '9')))
			*d = '_';
	if (again || !*dst)
		snprintf(dst + strlen(dst), size - strlen(dst), "_%" PRIu32, type);
}

static void write_totals(const struct callgrind *c, const char *key)
{
	outfile_printf(c->f, "%s:", key);
	for (size_t i = 0; i < c->v.ntypes; i++)
		outfile_printf(c->f, " %" PRIu64, c->v.types[c->types[i]].total);
	put(c, "\n");
}

static void write_text(const struct callgrind *c, const char *key, uint32_t string)
{
	const char *text = profile_text(c->p, string);

	if (!*text)
		return;
	put(c, key);
	put(c, text);
	put(c, "\n");
}

static void write_header(const struct callgrind *c)
{
	const struct profile_meta *m = c->v.meta;
	char name[64];

	put(c, "# callgrind format\nversion: 1\ncreator: ebprof " EBPROF_VERSION "\n");
	write_text(c, "cmd: ", m->command);
	put(c, "part: 1\n");
	write_text(c, "desc: Title: ", m->title);
	write_text(c, "desc: Host: ", m->host);
	if (*m->event && m->frequency)
		outfile_printf(c->f, "desc: Event: %s at %" PRIu64 " Hz\n", m->event, m->frequency);
	else if (*m->event)
		outfile_printf(c->f, "desc: Event: %s\n", m->event);
	if (m->duration)
		outfile_printf(c->f, "desc: Duration: %.1f s\n", (double)m->duration / 1e9);
	put(c, "positions: line\n");
	for (size_t i = 0; i < c->v.ntypes; i++) {
		const struct profile_type *t = &c->v.types[c->types[i]];

		event_name(c, c->types[i], name, sizeof(name));
		outfile_printf(c->f, "event: %s : ", name);
		put(c, profile_text(c->p, t->name));
		put(c, " (");
		put(c, profile_text(c->p, t->unit));
		put(c, ")\n");
	}
	put(c, "events:");
	for (size_t i = 0; i < c->v.ntypes; i++) {
		event_name(c, c->types[i], name, sizeof(name));
		outfile_printf(c->f, " %s", name);
	}
	put(c, "\n");
	write_totals(c, "summary");
}

void callgrind_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct callgrind c = { .p = p, .v = profile_view(p), .f = f, .texts = strtab_new() };

	(void)o;
	c.types = xcalloc(c.v.ntypes, sizeof(*c.types));
	c.types[0] = c.v.shown;
	for (uint32_t i = 0, n = 1; i < c.v.ntypes; i++)
		if (i != c.v.shown)
			c.types[n++] = i;
	sum_up(&c);
	write_header(&c);
	write_rows(&c);
	outfile_write(f, "\n", 1);
	write_totals(&c, "totals");
	hashmap_free(&c.identity_ids);
	hashmap_free(&c.site_ids);
	hashmap_free(&c.function_ids);
	hashmap_free(&c.place_ids);
	hashmap_free(&c.row_ids);
	vec_free(&c.identities);
	vec_free(&c.sites);
	vec_free(&c.functions);
	vec_free(&c.rows);
	vec_free(&c.costs);
	vec_free(&c.path);
	free(c.levels);
	free(c.types);
	strtab_free(c.texts);
}
