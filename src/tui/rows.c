/* SPDX-License-Identifier: MIT */
#include "tui/rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "output/across.h"
#include "output/callers.h"
#include "output/rollup.h"
#include "output/tree.h"
#include "tui/nest.h"
#include "tui/pair.h"

#define TREE_LEAST 0.05		/* %: what is less is not in the tree */

static uint64_t text_key(const char *text)
{
	return hash_bytes(text, strlen(text));
}

static void add_heading(row_vec *rows, const char *text)
{
	vec_push(rows, (struct row){ .key = text_key(text),
				     .name = text,
				     .module = "",
				     .file = "",
				     .owner = "",
				     .asker = "",
				     .heading = 1 });
}

/*
 * The innermost function of a sample; nfunctions where it has none, PROFILE_NONE without a stack.
 */
static uint32_t leaf_of(const struct profile_view *v, const struct sample *s)
{
	return s->node ? (uint32_t)rollup_leaf(v, s->node) : PROFILE_NONE;
}

/*
 * Whose samples a function's own are: the process with most of them, and how many others there are.
 */
struct owner {
	uint32_t process, others;
	uint64_t most;
};

static struct owner *find_owners(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	struct owner *owners = xcalloc(v.nfunctions + 1, sizeof(*owners));
	VEC(uint64_t) counts = { 0 };
	struct hashmap ids = { 0 };

	for (size_t i = 0; i < v.nsamples; i++) {
		uint32_t leaf = leaf_of(&v, &v.samples[i]),
			 process = v.threads[v.samples[i].thread].process, id;
		struct owner *o = leaf == PROFILE_NONE ? NULL : &owners[leaf];

		if (!o || !v.values[i])
			continue;
		id = hashmap_put(&ids, (uint64_t)leaf << 32 | process, (uint32_t)counts.n);
		if (id == counts.n) {
			vec_push(&counts, 0);
			o->others++;
		}
		counts.v[id] += v.values[i];
		if (counts.v[id] > o->most)
			*o = (struct owner){ process, o->others, counts.v[id] };
	}
	hashmap_free(&ids);
	vec_free(&counts);
	return owners;
}

static row_vec rows_functions(const struct profile *p, const struct rows_choice *c)
{
	struct profile_view v = profile_view(p);
	struct owner *owners = find_owners(p);
	size_t n;
	struct rollup_function *all = rollup_functions(p, &n);
	row_vec rows = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct row row = row_of_code(&all[i]);
		const struct owner *o = all[i].function <= v.nfunctions ? &owners[all[i].function]
									: NULL;

		if (o && o->others) {
			row.owner = rollup_comm(p, v.processes[o->process].comm);
			row.pid = v.processes[o->process].pid;
			row.others = o->others - 1;
		}
		vec_push(&rows, row);
	}
	across_fill(c->across, rollup_functions, 0, &rows);
	free(all);
	free(owners);
	return rows;
}

static row_vec rows_modules(const struct profile *p, const struct rows_choice *c)
{
	size_t n;
	struct rollup_function *all = rollup_modules(p, &n);
	row_vec rows = { 0 };

	for (size_t i = 0; i < n; i++)
		vec_push(&rows, row_of_code(&all[i]));
	across_fill(c->across, rollup_modules, 0, &rows);
	free(all);
	return rows;
}

static row_vec rows_of_tasks(const struct rollup_process *all, size_t n)
{
	row_vec rows = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct row row = row_of_task(&all[i]);

		row.key = hash_pair((uint64_t)all[i].pid << 32 | (uint32_t)all[i].tid,
				    text_key(all[i].comm));
		vec_push(&rows, row);
	}
	return rows;
}

static row_vec rows_tasks(const struct profile *p, const struct rows_choice *c)
{
	size_t n;
	struct rollup_process *all = c->tasks == TASKS_THREADS ? rollup_threads(p, &n)
							       : rollup_processes(p, &n);
	row_vec rows = rows_of_tasks(all, n);

	if (c->tasks == TASKS_TREE)
		nest_tasks(&rows, all);
	free(all);
	return rows;
}

static row_vec rows_tree(const struct profile *p, const struct rows_choice *c)
{
	size_t n;
	struct tree_row *all = tree_rows(p, TREE_LEAST, &n);
	VEC(uint64_t) path = { 0 };		/* keys of what is above */
	row_vec rows = { 0 };

	(void)c;
	for (size_t i = 0; i < n; i++) {
		struct row row = row_of_tree(&all[i]);

		row.key = hash_pair(row.depth ? path.v[row.depth - 1] : 0,
				    hash_pair(text_key(row.name), text_key(row.module)));
		row.parent = i + 1 < n && all[i + 1].depth > row.depth;
		path.n = row.depth;
		vec_push(&path, row.key);
		vec_push(&rows, row);
	}
	vec_free(&path);
	free(all);
	return rows;
}

/* Behind the functions: what has none, and what has no stack. */
static size_t change_index(const struct profile_view *v, const struct diff_row *d)
{
	return d->function == PROFILE_NONE ? v->nfunctions + 1 : d->function;
}

static struct row change_row(const struct profile *p, const struct diff_row *own,
			     const struct diff_row *all)
{
	uint32_t function = own ? own->function : all->function;
	struct profile_view v = profile_view(p);
	struct row row = { .name = function == PROFILE_NONE ? ROLLUP_NO_STACK
							    : rollup_name(p, function),
			   .module = "",
			   .file = "",
			   .owner = "",
			   .asker = "",
			   .kind = FRAME_MARK,
			   .own = own,
			   .all = all };

	if (function < v.nfunctions) {
		row.module = profile_text(p, v.functions[function].module);
		row.kind = v.functions[function].kind;
	}
	row.key = hash_pair(text_key(row.name), text_key(row.module));
	return row;
}

static void add_way(row_vec *rows, const char *title, const struct rollup_function *all, size_t n)
{
	uint64_t side = text_key(title);

	add_heading(rows, title);
	for (size_t i = 0; i < n; i++) {
		struct row row = row_of_code(&all[i]);

		row.key = hash_pair(row.key, side);
		vec_push(rows, row);
	}
}

/* In place of the rows of a function: @why it has none, or that none was chosen. */
static void add_none(row_vec *rows, const struct rows_choice *c, const char *why)
{
	add_heading(rows, c->name ? why : "choose a function with Enter, in the functions view");
}

static row_vec rows_callers(const struct profile *p, const struct rows_choice *c)
{
	unsigned char *focus = c->name ? callers_focus_on(p, c->name, c->module) : NULL;
	struct callers *found = focus ? callers_new(p, focus) : NULL;
	row_vec rows = { 0 };

	if (found) {
		add_way(&rows, "callers:", found->callers, found->ncallers);
		add_heading(&rows, "the function:");
		vec_push(&rows, (struct row){ .key = 1,
					      .name = c->name,
					      .module = c->module,
					      .file = "",
					      .owner = "",
					      .asker = "",
					      .self = found->self,
					      .total = found->total });
		add_way(&rows, "callees:", found->callees, found->ncallees);
	} else {
		add_none(&rows, c, "the function has no samples now");
	}
	callers_free(found);
	free(focus);
	return rows;
}

static row_vec rows_lines(const struct profile *p, const struct rows_choice *c)
{
	unsigned char *focus = c->name ? callers_focus_on(p, c->name, c->module) : NULL;
	size_t n = 0;
	struct rollup_function *all = focus ? rollup_lines_of(p, focus, &n) : NULL;
	row_vec rows = { 0 };

	for (size_t i = 0; i < n; i++)
		if (all[i].line || all[i].address)
			vec_push(&rows, row_of_code(&all[i]));
	if (!rows.n)
		add_none(
			&rows, c,
			"no lines are known: the function has no debug information, or no samples");
	free(all);
	free(focus);
	return rows;
}

/*
 * What changed by itself, the most certain and largest first, then what did so by what it calls.
 * Their texts are the diff's.
 */
static row_vec rows_changes(const struct profile *p, const struct rows_choice *c)
{
	const struct diff_list *own = diff_self(c->diff), *all = diff_total(c->diff);
	const struct profile *merged = diff_profile(c->diff);
	struct profile_view v = profile_view(merged);
	const struct diff_row **totals = xcalloc(v.nfunctions + 2, sizeof(*totals));
	row_vec rows = { 0 };

	(void)p;
	for (size_t i = 0; i < all->n; i++)
		totals[change_index(&v, &all->rows[i])] = &all->rows[i];
	for (size_t i = 0; i < own->n; i++) {
		const struct diff_row **total = &totals[change_index(&v, &own->rows[i])];

		vec_push(&rows, change_row(merged, &own->rows[i], *total));
		*total = NULL;
	}
	for (size_t i = 0; i < all->n; i++)
		if (totals[change_index(&v, &all->rows[i])])
			vec_push(&rows, change_row(merged, NULL, &all->rows[i]));
	free(totals);
	return rows;
}

/* --- The views. ----------------------------------------------------------------- */
#define SHARES COLUMN_SELF_SHARE, COLUMN_TOTAL_SHARE, COLUMN_SELF

static const enum row_column_id function_columns[] = {
	SHARES, COLUMN_IMAGE, COLUMN_OWNER, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id module_columns[] = { SHARES, COLUMN_MODULE, COLUMNS };
static const enum row_column_id process_columns[] = {
	COLUMN_SHARE, COLUMN_CPU, COLUMN_TAKEN, COLUMN_PID, COLUMN_COMM, COLUMNS
};
/* Each with what it and those below it took. */
static const enum row_column_id process_tree_columns[] = {
	COLUMN_TOTAL_SHARE, COLUMN_SELF_SHARE, COLUMN_CPU, COLUMN_TOTAL, COLUMN_PID,
	COLUMN_NESTED, COLUMNS
};
static const enum row_column_id thread_columns[] = {
	COLUMN_SHARE, COLUMN_CPU, COLUMN_TAKEN, COLUMN_PID, COLUMN_TID, COLUMN_COMM, COLUMNS
};
static const enum row_column_id tree_columns[] = {
	COLUMN_TOTAL_SHARE, COLUMN_SELF_SHARE, COLUMN_TOTAL, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id caller_columns[] = {
	COLUMN_SELF_SHARE, COLUMN_TOTAL_SHARE, COLUMN_TOTAL, COLUMN_IMAGE, COLUMN_FUNCTION,
	COLUMNS
};
static const enum row_column_id change_columns[] = {
	COLUMN_BEFORE, COLUMN_AFTER, COLUMN_CHANGE, COLUMN_INTERVAL, COLUMN_CHANGE_TOTAL,
	COLUMN_IMAGE, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id pair_columns[] = {
	COLUMN_FIRST_OF_TWO, COLUMN_SECOND_OF_TWO, COLUMN_IMAGE, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id line_columns[] = { SHARES, COLUMN_LINE, COLUMN_FILE, COLUMNS };

/* In place of the first ones, where values of a label are beside one another. */
static const enum row_column_id functions_across[] = {
	ACROSS_COLUMNS, COLUMN_IMAGE, COLUMN_OWNER, COLUMN_FUNCTION, COLUMNS
};
static const enum row_column_id modules_across[] = { ACROSS_COLUMNS, COLUMN_MODULE, COLUMNS };

const struct row_view row_views[VIEWS] = {
	[VIEW_FUNCTIONS] = { "functions", function_columns, rows_functions, 0, 1 },
	[VIEW_TASKS] = { "tasks", process_columns, rows_tasks, 0, 1 },
	[VIEW_TREE] = { "tree", tree_columns, rows_tree, 1, 0 },
	[VIEW_CALLERS] = { "callers", caller_columns, rows_callers, 0, 0 },
	[VIEW_LINES] = { "lines", line_columns, rows_lines, 0, 1 },
	[VIEW_FLAME] = { "flame", NULL, rows_tree, 1, 0 },
	[VIEW_MODULES] = { "modules", module_columns, rows_modules, 0, 1 },
	[VIEW_CHANGES] = { "changes", change_columns, rows_changes, 0, 1 },
	[VIEW_PAIR] = { "compare", pair_columns, pair_rows, 0, 0 },
};

static const enum row_column_id *const columns_across[VIEWS] = {
	[VIEW_FUNCTIONS] = functions_across, [VIEW_MODULES] = modules_across
};

static const struct {
	const char *title;
	const enum row_column_id *columns;
} tasks_as[TASKS] = {
	[TASKS_PROCESSES] = { "processes", process_columns },
	[TASKS_TREE] = { "processes", process_tree_columns },
	[TASKS_THREADS] = { "threads", thread_columns },
};

const enum row_column_id *rows_columns(enum view view, const struct rows_choice *c)
{
	if (c->across && columns_across[view])
		return columns_across[view];
	return view == VIEW_TASKS ? tasks_as[c->tasks].columns : row_views[view].columns;
}

const char *rows_title(enum view view, enum row_tasks tasks)
{
	return view == VIEW_TASKS ? tasks_as[tasks].title : row_views[view].title;
}
