/* SPDX-License-Identifier: MIT */
#include "output/rollup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "base/xalloc.h"
#include "output/calltree.h"

const char *rollup_name(const struct profile *p, size_t function)
{
	struct profile_view v = profile_view(p);
	const char *name = function < v.nfunctions ? profile_text(p, v.functions[function].name)
						   : "";

	return *name ? name : ROLLUP_UNKNOWN;
}

size_t rollup_leaf(const struct profile_view *v, uint32_t node)
{
	const struct location *l = node ? &v->locations[v->nodes[node].location] : NULL;

	return l && l->nlines ? v->lines[l->first_line].function : v->nfunctions;
}

const char *rollup_comm(const struct profile *p, uint32_t comm)
{
	const char *name = profile_text(p, comm);

	return *name ? name : ROLLUP_NO_COMM;
}

const char *rollup_thread_ids(const struct profile *p, const struct thread *t,
			      char ids[ROLLUP_IDS_MAX])
{
	struct profile_view v = profile_view(p);

	ids[0] = '\0';
	if (v.meta->per_thread)
		snprintf(ids, ROLLUP_IDS_MAX, "-%d/%d", v.processes[t->process].pid, t->tid);
	return ids;
}

struct totals {
	const struct calltree *tree;
	struct rollup_function *rows;	/* by label */
	uint32_t *depth;		/* how often each is on the path from the root to here */
	struct owner {
		uint32_t label;		/* of the row that a node's own samples count for */
		int settled;		/* and those of all nodes below it */
	} *owners;			/* by node */
};

/*
 * What a function waited for, and who ended that, is told by frames behind a mark; the time is the
 * function's own. Marks at the root tell of the whole stack, and stand for themselves.
 */
static void find_owners(struct totals *t)
{
	for (size_t i = 1; i < t->tree->n; i++) {
		const struct calltree_node *n = &t->tree->nodes[i];
		const struct owner *above = &t->owners[n->parent];
		int waits = n->parent && (above->settled || !frame_is_code(t->rows[n->label].kind));

		t->owners[i] = waits ? (struct owner){ above->label, 1 }
				     : (struct owner){ n->label, 0 };
	}
}

static void enter(void *ctx, const struct calltree_node *n)
{
	struct totals *t = ctx;
	struct rollup_function *row = &t->rows[n->label];

	t->rows[t->owners[n - t->tree->nodes].label].self += n->self;
	/* The outermost one has all samples of the inner ones below it already. */
	if (!t->depth[n->label]++)
		row->total += n->total;
}

static void leave(void *ctx, const struct calltree_node *n)
{
	struct totals *t = ctx;

	t->depth[n->label]--;
}

static int more(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int by_name(const struct rollup_function *x, const struct rollup_function *y)
{
	int c = strcmp(x->name, y->name);

	if (!c)
		c = strcmp(x->module, y->module);
	if (!c)
		c = strcmp(x->file, y->file);
	if (!c)
		c = (x->line > y->line) - (x->line < y->line);
	if (!c)
		c = (x->address > y->address) - (x->address < y->address);
	return c ? c : (int)x->kind - (int)y->kind;
}

static int by_self(const void *a, const void *b)
{
	const struct rollup_function *x = a, *y = b;
	int c = more(x->self, y->self);

	if (!c)
		c = more(x->total, y->total);
	return c ? c : by_name(x, y);
}

static int by_total(const void *a, const void *b)
{
	const struct rollup_function *x = a, *y = b;
	int c = more(x->total, y->total);

	if (!c)
		c = more(x->self, y->self);
	return c ? c : by_name(x, y);
}

void rollup_sort_by_total(struct rollup_function *rows, size_t n)
{
	qsort(rows, n, sizeof(*rows), by_total);
}

/*
 * The rows that were sampled, of @n labelled ones in @rows, and one for what has no stack. Takes
 * @rows.
 */
static struct rollup_function *sum_up(const struct profile *p, const struct calltree_labels *labels,
				      struct rollup_function *rows, size_t n, size_t *used)
{
	struct calltree *tree = calltree_new(p, labels);
	struct totals t = { .tree = tree, .rows = rows, .depth = xcalloc(n, sizeof(*t.depth)),
			    .owners = xcalloc(tree->n, sizeof(*t.owners)) };
	uint64_t bare = tree->nodes[0].self;

	find_owners(&t);
	calltree_walk(tree, &(struct calltree_walker){ .enter = enter, .leave = leave, .ctx = &t });
	*used = 0;
	for (size_t i = 0; i < n; i++)
		if (rows[i].total)
			rows[(*used)++] = rows[i];
	if (bare)
		rows[(*used)++] = (struct rollup_function){ .name = ROLLUP_NO_STACK,
							    .function = PROFILE_NONE,
							    .module = "",
							    .kind = FRAME_MARK,
							    .file = "",
							    .self = bare,
							    .total = bare };
	qsort(rows, *used, sizeof(*rows), by_self);
	free(t.depth);
	free(t.owners);
	calltree_free(tree);
	return rows;
}

/* The row of a function, nfunctions: of frames without one. */
static struct rollup_function function_row(const struct profile *p, size_t function)
{
	struct profile_view v = profile_view(p);
	int known = function < v.nfunctions;

	return (struct rollup_function){
		.name = rollup_name(p, function), .function = (uint32_t)function, .file = "",
		.module = known ? profile_text(p, v.functions[function].module) : "",
		.kind = known ? v.functions[function].kind : FRAME_USER };
}

struct rollup_function *rollup_functions(const struct profile *p, size_t *n)
{
	size_t rows = profile_view(p).nfunctions + 1;
	struct rollup_function *all = xcalloc(rows + 1, sizeof(*all));

	for (size_t i = 0; i < rows; i++)
		all[i] = function_row(p, i);
	return sum_up(p, NULL, all, rows, n);
}

struct rollup_function *rollup_modules(const struct profile *p, size_t *n)
{
	size_t functions = profile_view(p).nfunctions + 1;
	struct rollup_function *all = xcalloc(functions + 1, sizeof(*all)), *rows;
	uint32_t *labels = xcalloc(functions, sizeof(*labels)), used = 0;
	struct hashmap ids = { 0 };

	for (size_t i = 0; i < functions; i++) {
		struct rollup_function row = function_row(p, i);
		uint64_t key = i + 1 < functions ? profile_view(p).functions[i].module : 0;

		/* Marks are in no module, and neither is what is not known. */
		labels[i] = hashmap_put(&ids, key << 1 | !frame_is_code(row.kind), used);
		if (labels[i] != used)
			continue;
		row.name = *row.module		     ? row.module
			   : frame_is_code(row.kind) ? ROLLUP_UNKNOWN
						     : ROLLUP_NO_MODULE;
		all[used++] = row;
	}
	rows = sum_up(p, &(struct calltree_labels){ .functions = labels }, all, used, n);
	hashmap_free(&ids);
	free(labels);
	return rows;
}

/* A line, and of one that only stands for a name where in its module it is; 0 elsewhere. */
struct place {
	const struct line *line;
	uint64_t address;
};

/* Of the row of each place that is not like one before it. */
static int same_place(const void *rows, uint32_t id, const void *place)
{
	const struct place *a = &((const struct place *)rows)[id], *b = place;

	return a->line->function == b->line->function && a->line->file == b->line->file &&
	       a->line->line == b->line->line && a->address == b->address;
}

/* By line; the caller frees it. */
static uint64_t *addresses_without_names(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	uint64_t *addresses = xcalloc(v.nlines + 1, sizeof(*addresses));

	for (size_t i = 0; i < v.nlocations; i++)
		if (v.locations[i].nlines && *profile_text(p, v.locations[i].why))
			addresses[v.locations[i].first_line] = v.locations[i].address;
	return addresses;
}

struct rollup_function *rollup_lines_of(const struct profile *p, const unsigned char *functions,
					size_t *n)
{
	struct profile_view v = profile_view(p);
	struct rollup_function *all = xcalloc(v.nlines + 2, sizeof(*all)), *rows;
	uint32_t *labels = xcalloc(v.nlines + 1, sizeof(*labels)),
		 used = 0;
	struct place *places = xcalloc(v.nlines + 1, sizeof(*places));
	uint64_t *addresses = addresses_without_names(p);
	struct interned ids = { 0 };

	for (size_t i = 0; i < v.nlines; i++) {
		const struct line *l = &v.lines[i];
		const struct place place = { l, addresses[i] };
		uint64_t hash = hash_pair((uint64_t)l->function << 32 | l->file,
					  l->line + addresses[i]);

		labels[i] = !functions || functions[l->function]
				    ? intern(&ids, hash, used, same_place, places, &place)
				    : PROFILE_NONE;
		if (labels[i] != used)
			continue;
		places[used] = place;
		all[used] = function_row(p, l->function);
		all[used].file = profile_text(p, l->file);
		all[used].address = addresses[i];
		all[used++].line = l->line;
	}
	labels[v.nlines] = used;
	for (size_t i = 0; functions && i < v.nlines; i++)
		labels[i] = labels[i] == PROFILE_NONE ? used : labels[i];
	all[used++] = function_row(p, v.nfunctions);
	rows = sum_up(p, &(struct calltree_labels){ .lines = labels }, all, used, n);
	interned_free(&ids);
	free(labels);
	free(places);
	free(addresses);
	return rows;
}

struct rollup_function *rollup_lines(const struct profile *p, size_t *n)
{
	return rollup_lines_of(p, NULL, n);
}

static int by_samples(const void *a, const void *b)
{
	const struct rollup_process *x = a, *y = b;
	int c = more(x->samples, y->samples);

	if (!c)
		c = (x->pid > y->pid) - (x->pid < y->pid);
	if (!c)
		c = (x->tid > y->tid) - (x->tid < y->tid);
	return c ? c : strcmp(x->comm, y->comm);
}

struct rollup_process *rollup_processes(const struct profile *p, size_t *n)
{
	struct profile_view v = profile_view(p);
	struct rollup_process *rows = xcalloc(v.nprocesses, sizeof(*rows));
	struct hashmap ids = { 0 };
	uint32_t used = 0;

	for (size_t i = 0; i < v.nsamples; i++) {
		const struct process *proc = &v.processes[v.threads[v.samples[i].thread].process];
		/*
		 * A pid that a reader cannot tell from another row's, with the same comm, is one
		 * row.
		 */
		uint64_t key = (uint64_t)(uint32_t)proc->pid << 32 | proc->comm;
		uint32_t id = v.values[i] ? hashmap_put(&ids, key, used) : HASHMAP_NONE;

		if (id == HASHMAP_NONE)
			continue;
		if (id == used)
			rows[used++] = (struct rollup_process){ .pid = proc->pid,
								.parent = proc->parent,
								.comm = rollup_comm(p,
										    proc->comm) };
		rows[id].samples += v.values[i];
	}
	hashmap_free(&ids);
	qsort(rows, used, sizeof(*rows), by_samples);
	*n = used;
	return rows;
}

static int same_thread(const void *rows, uint32_t id, const void *row)
{
	const struct rollup_process *a = (const struct rollup_process *)rows + id, *b = row;

	return a->pid == b->pid && a->tid == b->tid && a->comm == b->comm;
}

struct rollup_process *rollup_threads(const struct profile *p, size_t *n)
{
	struct profile_view v = profile_view(p);
	struct rollup_process *rows = xcalloc(v.nthreads, sizeof(*rows));
	struct interned ids = { 0 };
	uint32_t used = 0;

	for (size_t i = 0; i < v.nsamples; i++) {
		const struct thread *t = &v.threads[v.samples[i].thread];
		const struct rollup_process row = { .pid = v.processes[t->process].pid,
						    .tid = t->tid,
						    .comm = rollup_comm(p, t->comm) };
		uint64_t hash = hash_pair((uint64_t)(uint32_t)row.pid << 32 | (uint32_t)row.tid,
					  t->comm);
		uint32_t id;

		if (!v.values[i])
			continue;
		id = intern(&ids, hash, used, same_thread, rows, &row);
		if (id == used)
			rows[used++] = row;
		rows[id].samples += v.values[i];
	}
	interned_free(&ids);
	qsort(rows, used, sizeof(*rows), by_samples);
	*n = used;
	return rows;
}
