/* SPDX-License-Identifier: MIT */
#include "output/rollup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/xalloc.h"
#include "output/calltree.h"

const char *rollup_name(const struct profile *p, size_t function)
{
	struct profile_view v = profile_view(p);
	const char *name = function < v.nfunctions ? profile_text(p, v.functions[function].name) : "";

	return *name ? name : ROLLUP_UNKNOWN;
}

const char *rollup_comm(const struct profile *p, uint32_t comm)
{
	const char *name = profile_text(p, comm);

	return *name ? name : ROLLUP_NO_COMM;
}

const char *rollup_thread_ids(const struct profile *p, const struct thread *t, char ids[ROLLUP_IDS_MAX])
{
	struct profile_view v = profile_view(p);

	ids[0] = '\0';
	if (v.meta->per_thread)
		snprintf(ids, ROLLUP_IDS_MAX, "-%d/%d", v.processes[t->process].pid, t->tid);
	return ids;
}

struct totals {
	struct rollup_function *rows;	/* by function */
	uint32_t *depth;		/* how often each is on the path from the root to here */
};

static void enter(void *ctx, const struct calltree_node *n)
{
	struct totals *t = ctx;
	struct rollup_function *row = &t->rows[n->label];

	row->self += n->self;
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

static int by_self(const void *a, const void *b)
{
	const struct rollup_function *x = a, *y = b;
	int c = more(x->self, y->self);

	if (!c)
		c = more(x->total, y->total);
	if (!c)
		c = strcmp(x->name, y->name);
	if (!c)
		c = strcmp(x->module, y->module);
	return c ? c : (int)x->kind - (int)y->kind;
}

struct rollup_function *rollup_functions(const struct profile *p, size_t *n)
{
	struct profile_view v = profile_view(p);
	struct calltree *tree = calltree_new(p, NULL);
	size_t rows = v.nfunctions + 1, used = 0;	/* and one for frames without a function */
	struct totals t = {
		.rows = xcalloc(rows + 1, sizeof(*t.rows)),
		.depth = xcalloc(rows, sizeof(*t.depth)),
	};
	uint64_t bare = tree->nodes[0].self;

	calltree_walk(tree, &(struct calltree_walker){ .enter = enter, .leave = leave, .ctx = &t });
	for (size_t i = 0; i < rows; i++) {
		struct rollup_function *row = &t.rows[i];

		if (!row->total)
			continue;
		row->name = rollup_name(p, i);
		row->module = i < v.nfunctions ? profile_text(p, v.functions[i].module) : "";
		row->kind = i < v.nfunctions ? v.functions[i].kind : FRAME_USER;
		t.rows[used++] = *row;
	}
	if (bare)
		t.rows[used++] = (struct rollup_function){
			.name = ROLLUP_NO_STACK, .module = "", .kind = FRAME_MARK,
			.self = bare, .total = bare };
	qsort(t.rows, used, sizeof(*t.rows), by_self);
	free(t.depth);
	calltree_free(tree);
	*n = used;
	return t.rows;
}

static int by_samples(const void *a, const void *b)
{
	const struct rollup_process *x = a, *y = b;
	int c = more(x->samples, y->samples);

	if (!c)
		c = (x->pid > y->pid) - (x->pid < y->pid);
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
		/* A pid that a reader cannot tell from another row's, with the same comm, is one row. */
		uint64_t key = (uint64_t)(uint32_t)proc->pid << 32 | proc->comm;
		uint32_t id = v.values[i] ? hashmap_put(&ids, key, used) : HASHMAP_NONE;

		if (id == HASHMAP_NONE)
			continue;
		if (id == used)
			rows[used++] = (struct rollup_process){
				.pid = proc->pid, .comm = rollup_comm(p, proc->comm) };
		rows[id].samples += v.values[i];
	}
	hashmap_free(&ids);
	qsort(rows, used, sizeof(*rows), by_samples);
	*n = used;
	return rows;
}
