/* SPDX-License-Identifier: MIT */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "profile/profile_state.h"

static uint64_t pack(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

struct profile *profile_new(void)
{
	struct profile *p = xcalloc(1, sizeof(*p));

	p->strings = strtab_new();
	profile_module(p, "", "", "");
	vec_push(&p->label_sets, (struct label_set){ 0 });
	profile_add_type(p, "samples", "count");
	vec_push(&p->nodes, (struct node){ .parent = 0, .location = PROFILE_NONE });
	return p;
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	strtab_free(p->strings);
	vec_free(&p->functions);
	vec_free(&p->modules);
	vec_free(&p->locations);
	vec_free(&p->lines);
	vec_free(&p->nodes);
	vec_free(&p->processes);
	vec_free(&p->threads);
	vec_free(&p->samples);
	vec_free(&p->types);
	for (size_t i = 0; i < p->columns.n; i++)
		vec_free(&p->columns.v[i]);
	vec_free(&p->columns);
	vec_free(&p->labels);
	vec_free(&p->label_sets);
	vec_free(&p->ticks);
	vec_free(&p->comments);
	vec_free(&p->latencies);
	interned_free(&p->function_ids);
	interned_free(&p->module_ids);
	interned_free(&p->location_ids);
	interned_free(&p->node_ids);
	hashmap_free(&p->process_ids);
	interned_free(&p->thread_ids);
	interned_free(&p->sample_ids);
	interned_free(&p->label_set_ids);
	summary_free(&p->summary);
	vec_free(&p->folded.processes);
	vec_free(&p->folded.samples);
	free(p);
}

uint32_t profile_string(struct profile *p, const char *s)
{
	return strtab_add(p->strings, s);
}

static int same_function(const void *profile, uint32_t id, const void *function)
{
	const struct function *a = &((const struct profile *)profile)->functions.v[id];
	const struct function *b = function;

	return a->name == b->name && a->module == b->module && a->kind == b->kind;
}

uint32_t profile_function(struct profile *p, uint32_t name, uint32_t module, enum frame_kind kind)
{
	struct function f = { .name = name, .module = module,
			      .kind = frame_kind_in(kind, profile_text(p, module)) };
	uint32_t next = (uint32_t)p->functions.n;
	uint32_t id = intern(&p->function_ids, hash_pair(pack(name, module), f.kind), next,
			     same_function, p, &f);

	if (id == next)
		vec_push(&p->functions, f);
	return id;
}

static int same_module(const void *profile, uint32_t id, const void *module)
{
	const struct profile *p = profile;

	return !memcmp(&p->modules.v[id], module, sizeof(*p->modules.v));
}

uint32_t profile_module(struct profile *p, const char *name, const char *path, const char *build_id)
{
	struct module m = { profile_string(p, name), profile_string(p, path),
			    profile_string(p, build_id), !strcmp(name, PROFILE_MADE) };
	uint32_t next = (uint32_t)p->modules.n;
	uint32_t id = intern(&p->module_ids, hash_pair(pack(m.name, m.path), m.build_id), next,
			     same_module, p, &m);

	if (id == next)
		vec_push(&p->modules, m);
	return id;
}

static int same_location(const void *profile, uint32_t id, const void *location)
{
	const struct location *a = &((const struct profile *)profile)->locations.v[id];
	const struct location *b = location;

	return a->address == b->address && a->module == b->module && a->kind == b->kind;
}

uint32_t profile_location(struct profile *p, uint32_t module, enum frame_kind kind,
			  uint64_t address)
{
	struct location l = { .module = module, .kind = kind, .address = address };
	uint32_t next = (uint32_t)p->locations.n;
	uint32_t id = intern(&p->location_ids, hash_pair(pack(module, kind), address), next,
			     same_location, p, &l);

	if (id == next)
		vec_push(&p->locations, l);
	return id;
}

static int same_thread(const void *profile, uint32_t id, const void *thread)
{
	const struct thread *a = &((const struct profile *)profile)->threads.v[id], *b = thread;

	return a->process == b->process && a->tid == b->tid && a->comm == b->comm;
}

uint32_t profile_thread(struct profile *p, uint32_t process, pid_t tid, uint32_t comm)
{
	struct thread t = { .process = process, .comm = comm, .tid = tid };
	uint32_t next = (uint32_t)p->threads.n;
	uint32_t id = intern(&p->thread_ids, hash_pair(pack(process, (uint32_t)tid), comm), next,
			     same_thread, p, &t);

	if (id == next)
		vec_push(&p->threads, t);
	return id;
}

void profile_name_location(struct profile *p, uint32_t location, const struct line *lines, size_t n,
			   const char *why)
{
	uint32_t reason = profile_string(p, why);

	p->locations.v[location].why = reason;
	p->locations.v[location].first_line = (uint32_t)p->lines.n;
	p->locations.v[location].nlines = (uint32_t)n;
	for (size_t i = 0; i < n; i++)
		vec_push(&p->lines, lines[i]);
}

static int same_node(const void *profile, uint32_t id, const void *node)
{
	const struct node *a = &((const struct profile *)profile)->nodes.v[id], *b = node;

	return a->parent == b->parent && a->location == b->location;
}

uint32_t profile_node(struct profile *p, uint32_t parent, uint32_t location)
{
	const struct node n = { .parent = parent, .location = location };
	uint32_t next = (uint32_t)p->nodes.n;
	uint32_t id = intern(&p->node_ids, pack(parent, location), next, same_node, p, &n);

	if (id == next)
		vec_push(&p->nodes, n);
	return id;
}

uint32_t profile_process(struct profile *p, pid_t pid, uint32_t incarnation, uint32_t comm)
{
	uint32_t next = (uint32_t)p->processes.n;
	uint32_t id = hashmap_put(&p->process_ids, pack((uint32_t)pid, incarnation), next);

	if (id == next)
		vec_push(&p->processes, (struct process){
			.pid = pid, .comm = comm, .incarnation = incarnation });
	else if (comm)
		p->processes.v[id].comm = comm;
	return id;
}

void profile_set_parent(struct profile *p, uint32_t process, pid_t parent)
{
	p->processes.v[process].parent = parent;
}

void profile_set_type(struct profile *p, uint32_t type, const char *name, const char *unit)
{
	struct profile_type *t = &p->types.v[type];

	t->name = profile_string(p, name);
	t->unit = profile_string(p, unit);
	t->words = profile_type_words(name);
	t->measured_in = profile_unit_of(unit);
}

void profile_keep_types(struct profile *p, uint32_t n)
{
	for (size_t i = n; i < p->types.n; i++)
		vec_free(&p->columns.v[i]);
	p->types.n = p->columns.n = n;
	if (p->shown >= n)
		p->shown = n - 1;
}

uint32_t profile_add_type(struct profile *p, const char *name, const char *unit)
{
	uint32_t type = (uint32_t)p->types.n;

	vec_push(&p->types, (struct profile_type){ 0 });
	vec_push(&p->columns, (struct column){ 0 });
	profile_set_type(p, type, name, unit);
	return type;
}

void profile_show(struct profile *p, uint32_t type)
{
	p->shown = type;
}

static int by_label(const void *a, const void *b)
{
	const struct label *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->text != y->text)
		return x->text < y->text ? -1 : 1;
	if (x->unit != y->unit)
		return x->unit < y->unit ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

/* By their fields: what lies between them may be anything. */
static uint64_t hash_labels(const struct label *labels, size_t n)
{
	uint64_t hash = n;

	for (size_t i = 0; i < n; i++) {
		hash = hash_pair(hash, pack(labels[i].key, labels[i].text));
		hash = hash_pair(hash_pair(hash, labels[i].unit), (uint64_t)labels[i].number);
	}
	return hash;
}

static int same_labels(const void *profile, uint32_t id, const void *set)
{
	const struct profile *p = profile;
	const struct label_set *a = &p->label_sets.v[id], *b = set;
	size_t i = 0;

	if (a->n != b->n)
		return 0;
	while (i < a->n && !by_label(&p->labels.v[a->first + i], &p->labels.v[b->first + i]))
		i++;
	return i == a->n;
}

uint32_t profile_labels(struct profile *p, const struct label *labels, size_t n)
{
	struct label_set set = { (uint32_t)p->labels.n, (uint32_t)n };
	uint32_t next = (uint32_t)p->label_sets.n, id;
	struct label *own;

	if (!n)
		return 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&p->labels, labels[i]);
	own = &p->labels.v[set.first];
	qsort(own, n, sizeof(*own), by_label);
	id = intern(&p->label_set_ids, hash_labels(own, n), next, same_labels, p, &set);
	if (id == next)
		vec_push(&p->label_sets, set);
	else
		p->labels.n = set.first;
	return id;
}

uint32_t profile_labels_and(struct profile *p, uint32_t labels, const struct label *more)
{
	const struct label_set set = p->label_sets.v[labels];
	struct label *all = xcalloc(set.n + 1, sizeof(*all));
	uint32_t id;

	for (uint32_t i = 0; i < set.n; i++)
		all[i] = p->labels.v[set.first + i];
	all[set.n] = *more;
	id = profile_labels(p, all, set.n + 1);
	free(all);
	return id;
}

static int same_sample(const void *profile, uint32_t id, const void *sample)
{
	const struct sample *a = &((const struct profile *)profile)->samples.v[id], *b = sample;

	return a->thread == b->thread && a->node == b->node && a->labels == b->labels;
}

uint32_t profile_sample(struct profile *p, uint32_t thread, uint32_t node, uint32_t labels)
{
	struct sample s = { .thread = thread, .node = node, .labels = labels };
	uint64_t hash = labels ? hash_pair(pack(thread, node), labels) : pack(thread, node);
	uint32_t next = (uint32_t)p->samples.n;
	uint32_t id = intern(&p->sample_ids, hash, next, same_sample, p, &s);

	if (id != next)
		return id;
	vec_push(&p->samples, s);
	for (size_t i = 0; i < p->columns.n; i++)
		vec_push(&p->columns.v[i], 0);
	return id;
}

void profile_count(struct profile *p, uint32_t sample, uint32_t type, uint64_t value)
{
	struct profile_type *t = &p->types.v[type];

	/* Clamped here once, so that no sum over samples can overflow anywhere. */
	if (value > UINT64_MAX - t->total)
		value = UINT64_MAX - t->total;
	t->total += value;
	p->columns.v[type].v[sample] += value;
}

void profile_set(struct profile *p, uint32_t sample, uint32_t type, uint64_t value)
{
	p->types.v[type].total -= p->columns.v[type].v[sample];
	p->columns.v[type].v[sample] = 0;
	profile_count(p, sample, type, value);
}

/* @value times @factor, with what was @carried, and what is now. */
static uint64_t scaled(uint64_t value, double factor, double *carried)
{
	double exact = factor * (double)value + *carried;
	uint64_t whole = exact < 0x1p64 ? (uint64_t)exact : UINT64_MAX;

	*carried = exact - (double)whole;
	return whole;
}

void profile_scale(struct profile *p, uint32_t type, double factor)
{
	const uint64_t *values = p->columns.v[type].v;
	double rest = 0;

	for (uint32_t i = 0; i < p->samples.n; i++)
		profile_set(p, i, type, scaled(values[i], factor, &rest));
}

void profile_drop(struct profile *p, uint32_t sample)
{
	for (uint32_t i = 0; i < p->types.n; i++)
		profile_set(p, sample, i, 0);
}

void profile_add(struct profile *p, uint32_t thread, uint32_t node, uint64_t count)
{
	if (count && p->types.v[0].total != UINT64_MAX)
		profile_count(p, profile_sample(p, thread, node, 0), 0, count);
}

uint32_t profile_derive(struct profile *p, uint32_t from, const char *name, const char *unit,
			uint64_t factor)
{
	uint32_t type = profile_add_type(p, name, unit);

	vec_reserve(&p->columns.v[type], p->samples.n);
	for (size_t i = 0; i < p->samples.n; i++) {
		uint64_t value;

		vec_push(&p->columns.v[type], 0);
		if (__builtin_mul_overflow(p->columns.v[from].v[i], factor, &value))
			value = UINT64_MAX;
		profile_count(p, (uint32_t)i, type, value);
	}
	return type;
}

void profile_tick(struct profile *p, const struct tick *t)
{
	vec_push(&p->ticks, *t);
}

static int by_time(const void *a, const void *b)
{
	const struct tick *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return x->span < y->span ? -1 : x->span > y->span;
}

void profile_finish_ticks(struct profile *p)
{
	size_t i = 1;

	/* As they mostly come. */
	while (i < p->ticks.n && by_time(&p->ticks.v[i - 1], &p->ticks.v[i]) <= 0)
		i++;
	if (i < p->ticks.n)
		qsort(p->ticks.v, p->ticks.n, sizeof(*p->ticks.v), by_time);
}

void profile_comment(struct profile *p, const char *text)
{
	vec_push(&p->comments, profile_string(p, text));
}

#define VEC_BYTES(vec) ((vec).cap * sizeof(*(vec).v))

size_t profile_bytes(const struct profile *p)
{
	const struct interned *indexes[] = {
		&p->function_ids, &p->module_ids, &p->location_ids, &p->node_ids, &p->thread_ids,
		&p->sample_ids, &p->label_set_ids,
	};
	size_t bytes = strtab_bytes(p->strings) + VEC_BYTES(p->functions) + VEC_BYTES(p->modules) +
		       VEC_BYTES(p->locations) + VEC_BYTES(p->lines) + VEC_BYTES(p->nodes) +
		       VEC_BYTES(p->processes) + VEC_BYTES(p->threads) + VEC_BYTES(p->samples) +
		       VEC_BYTES(p->labels) + VEC_BYTES(p->label_sets) + VEC_BYTES(p->ticks) +
		       VEC_BYTES(p->folded.processes) + VEC_BYTES(p->folded.samples) +
		       hashmap_bytes(&p->process_ids);

	for (size_t i = 0; i < p->columns.n; i++)
		bytes += VEC_BYTES(p->columns.v[i]);
	for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++)
		bytes += interned_bytes(indexes[i]);
	return bytes;
}

struct profile_meta *profile_meta(struct profile *p)
{
	return &p->meta;
}

struct summary *profile_summary(struct profile *p)
{
	return &p->summary;
}

struct profile_account *profile_account(struct profile *p)
{
	return &p->account;
}

struct profile_view profile_view(const struct profile *p)
{
	return (struct profile_view){
		.functions = p->functions.v, .nfunctions = p->functions.n,
		.modules = p->modules.v, .nmodules = p->modules.n,
		.locations = p->locations.v, .nlocations = p->locations.n,
		.lines = p->lines.v, .nlines = p->lines.n,
		.nodes = p->nodes.v, .nnodes = p->nodes.n,
		.processes = p->processes.v, .nprocesses = p->processes.n,
		.threads = p->threads.v, .nthreads = p->threads.n,
		.samples = p->samples.v, .nsamples = p->samples.n,
		.label_sets = p->label_sets.v, .nlabel_sets = p->label_sets.n,
		.labels = p->labels.v, .nlabels = p->labels.n,
		.ticks = p->ticks.v, .nticks = p->ticks.n,
		.comments = p->comments.v, .ncomments = p->comments.n,
		.types = p->types.v, .ntypes = p->types.n,
		.shown = p->shown, .values = p->columns.v[p->shown].v,
		.total = p->types.v[p->shown].total,
		.meta = &p->meta, .account = &p->account, .summary = &p->summary,
	};
}

const uint64_t *profile_values(const struct profile *p, uint32_t type)
{
	return p->columns.v[type].v;
}

const char *profile_text(const struct profile *p, uint32_t string)
{
	return strtab_get(p->strings, string);
}
