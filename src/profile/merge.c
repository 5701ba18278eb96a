/* SPDX-License-Identifier: MIT */
#include "profile/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"

struct merger {
	struct profile *dst;
	const struct profile *src;
	struct profile_view view;	/* of src */
	enum merge_identity identity;
	/* By index in src, the index in dst. */
	uint32_t *functions, *modules, *locations, *nodes, *threads, *label_sets;
	VEC(struct line) lines;		/* of one location */
};

static uint32_t *index_new(size_t n)
{
	return xcalloc(n, sizeof(uint32_t));
}

static uint32_t string(const struct merger *m, uint32_t s)
{
	return profile_string(m->dst, profile_text(m->src, s));
}

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

static uint32_t function_name(const struct merger *m, uint32_t name)
{
	const char *text = profile_text(m->src, name);
	const char *address = m->identity == MERGE_NAMES ? find_address(text) : NULL;
	char *bare;
	uint32_t id;

	if (!address)
		return profile_string(m->dst, text);
	bare = xasprintf("%.*s]", (int)(address - text), text);
	id = profile_string(m->dst, bare);
	free(bare);
	return id;
}

static void merge_functions(struct merger *m)
{
	m->functions = index_new(m->view.nfunctions);
	for (size_t i = 0; i < m->view.nfunctions; i++) {
		const struct function *f = &m->view.functions[i];

		m->functions[i] = profile_function(m->dst, function_name(m, f->name),
						   string(m, f->module), f->kind);
	}
}

static void merge_modules(struct merger *m)
{
	int names = m->identity == MERGE_NAMES;

	m->modules = index_new(m->view.nmodules);
	for (size_t i = 0; i < m->view.nmodules; i++) {
		const struct module *x = &m->view.modules[i];

		m->modules[i] = profile_module(m->dst, profile_text(m->src, x->name),
					       names ? "" : profile_text(m->src, x->path),
					       names ? "" : profile_text(m->src, x->build_id));
	}
}

/* The lines of @l as those of dst, in m->lines. */
static void take_lines(struct merger *m, const struct location *l)
{
	m->lines.n = 0;
	for (size_t i = 0; i < l->nlines; i++) {
		const struct line *x = &m->view.lines[l->first_line + i];
		struct line line = { .function = m->functions[x->function] };

		if (m->identity == MERGE_PLACES) {
			line.file = string(m, x->file);
			line.line = x->line;
		}
		vec_push(&m->lines, line);
	}
}

static uint64_t hash_lines(const struct merger *m)
{
	return hash_bytes(m->lines.v, m->lines.n * sizeof(*m->lines.v));
}

static int has_lines(const struct merger *m, uint32_t location)
{
	struct profile_view v = profile_view(m->dst);
	const struct location *l = &v.locations[location];

	return l->nlines == m->lines.n &&
	       (!l->nlines ||
		!memcmp(&v.lines[l->first_line], m->lines.v, m->lines.n * sizeof(*m->lines.v)));
}

/*
 * The location with these lines at @l's address. Where that one has other lines, as it may where
 * addresses are made up or are those of code that was made at run time, or where only lines count,
 * another address stands for it.
 */
static uint32_t merge_location(struct merger *m, const struct location *l)
{
	uint64_t address = l->address;

	take_lines(m, l);
	if (m->identity == MERGE_NAMES)
		address = hash_lines(m);
	for (int tries = 0;; tries++) {
		size_t known = profile_view(m->dst).nlocations;
		uint32_t id = profile_location(m->dst, m->modules[l->module], l->kind, address);

		if (id == known)
			profile_name_location(m->dst, id, m->lines.v, m->lines.n,
					      profile_text(m->src, l->why));
		if (id == known || has_lines(m, id))
			return id;
		address = tries ? address + 1 : hash_pair(address, hash_lines(m));
	}
}

static void merge_stacks(struct merger *m)
{
	m->locations = index_new(m->view.nlocations);
	m->nodes = index_new(m->view.nnodes);
	for (size_t i = 0; i < m->view.nlocations; i++)
		m->locations[i] = merge_location(m, &m->view.locations[i]);
	for (size_t i = 1; i < m->view.nnodes; i++)
		m->nodes[i] = profile_node(m->dst, m->nodes[m->view.nodes[i].parent],
					   m->locations[m->view.nodes[i].location]);
}

/* As in merge_location(), two of one number and different names stay two. */
static uint32_t merge_process(const struct merger *m, const struct process *x)
{
	uint32_t comm = string(m, x->comm), incarnation = x->incarnation;

	if (m->identity == MERGE_NAMES)
		return profile_process(m->dst, 0, comm, comm);
	for (int tries = 0;; tries++) {
		uint32_t id = profile_process(m->dst, x->pid, incarnation, 0);
		struct profile_view v = profile_view(m->dst);

		/* Without a comm one is new, or knows none: it is free to take ours. */
		if (!v.processes[id].comm)
			return profile_process(m->dst, x->pid, incarnation, comm);
		if (v.processes[id].comm == comm)
			return id;
		incarnation = tries ? incarnation + 1 : (uint32_t)hash_pair(incarnation, comm);
	}
}

static void merge_threads(struct merger *m)
{
	uint32_t *processes = index_new(m->view.nprocesses);

	m->threads = index_new(m->view.nthreads);
	for (size_t i = 0; i < m->view.nprocesses; i++)
		processes[i] = merge_process(m, &m->view.processes[i]);
	for (size_t i = 0; i < m->view.nthreads; i++) {
		const struct thread *t = &m->view.threads[i];

		m->threads[i] = profile_thread(m->dst, processes[t->process],
					       m->identity == MERGE_NAMES ? 0 : t->tid,
					       string(m, t->comm));
	}
	free(processes);
}

/* All to the empty set where only names count. */
static void merge_labels(struct merger *m)
{
	VEC(struct label) labels = { 0 };

	m->label_sets = index_new(m->view.nlabel_sets);
	for (size_t i = 0; m->identity == MERGE_PLACES && i < m->view.nlabel_sets; i++) {
		const struct label_set *set = &m->view.label_sets[i];

		labels.n = 0;
		for (size_t k = 0; k < set->n; k++) {
			const struct label *x = &m->view.labels[set->first + k];

			vec_push(&labels, (struct label){ string(m, x->key), string(m, x->text),
							  string(m, x->unit), x->number });
		}
		m->label_sets[i] = profile_labels(m->dst, labels.v, labels.n);
	}
	vec_free(&labels);
}

static void merge_samples(struct merger *m, const uint32_t *types)
{
	const uint64_t **values = xcalloc(m->view.ntypes, sizeof(*values));

	for (size_t t = 0; t < m->view.ntypes; t++)
		values[t] = profile_values(m->src, (uint32_t)t);
	for (size_t i = 0; i < m->view.nsamples; i++) {
		const struct sample *s = &m->view.samples[i];
		uint32_t id = PROFILE_NONE;

		for (size_t t = 0; t < m->view.ntypes; t++) {
			if (types[t] == PROFILE_NONE || !values[t][i])
				continue;
			if (id == PROFILE_NONE)
				id = profile_sample(m->dst, m->threads[s->thread],
						    m->nodes[s->node], m->label_sets[s->labels]);
			profile_count(m->dst, id, types[t], values[t][i]);
		}
	}
	free(values);
}

static void add_reasons(struct merger *m, struct profile_reason *to, size_t *n,
			const struct profile_reason *from, size_t nfrom)
{
	for (size_t i = 0; i < nfrom; i++) {
		/* The texts of @src may go with it. */
		const char *name = profile_text(m->dst, profile_string(m->dst, from[i].name));
		size_t k = 0;

		while (k < *n && strcmp(to[k].name, name))
			k++;
		if (k == PROFILE_REASONS_MAX)
			k--;
		else if (k == *n)
			to[(*n)++] = (struct profile_reason){ .name = name };
		to[k].count += from[i].count;
	}
}

static void merge_account(struct merger *m)
{
	const struct profile_account *from = m->view.account;
	struct profile_account *to = profile_account(m->dst);

	to->taken += from->taken;
	to->kept += from->kept;
	add_reasons(m, to->truncated, &to->ntruncated, from->truncated, from->ntruncated);
	add_reasons(m, to->lost, &to->nlost, from->lost, from->nlost);
}

static void merge_meta(struct merger *m)
{
	static const struct profile_meta none;
	struct profile_meta from = *m->view.meta, *to = profile_meta(m->dst);

	from.host = string(m, from.host);
	from.command = string(m, from.command);
	from.title = string(m, from.title);
	if (!memcmp(to, &none, sizeof(none))) {
		*to = from;
		return;
	}
	if (strcmp(to->event, from.event))
		to->event[0] = '\0';
	if (!to->start || (from.start && from.start < to->start))
		to->start = from.start;
	to->duration = to->duration && from.duration ? to->duration + from.duration : 0;
	to->frequency = to->frequency == from.frequency ? to->frequency : 0;
	to->period = to->period == from.period ? to->period : 0;
	to->cpus = to->cpus == from.cpus ? to->cpus : 0;
	to->per_thread |= from.per_thread;
	to->host = to->host == from.host ? to->host : 0;
	to->command = to->command == from.command ? to->command : 0;
	to->title = to->title == from.title ? to->title : 0;
}

void profile_merge(struct profile *dst, const struct profile *src, const uint32_t *types,
		   enum merge_identity identity)
{
	struct merger m = {
		.dst = dst, .src = src, .view = profile_view(src), .identity = identity
	};

	merge_functions(&m);
	merge_modules(&m);
	merge_stacks(&m);
	merge_threads(&m);
	merge_labels(&m);
	merge_samples(&m, types);
	merge_account(&m);
	if (identity == MERGE_PLACES) {
		merge_meta(&m);
		for (size_t i = 0; i < m.view.ncomments; i++)
			profile_comment(dst, profile_text(src, m.view.comments[i]));
	}
	vec_free(&m.lines);
	free(m.functions);
	free(m.modules);
	free(m.locations);
	free(m.nodes);
	free(m.threads);
	free(m.label_sets);
}

/* The type of @dst that is called as @type of @src. */
static uint32_t same_type(const struct profile *dst, const struct profile *src,
			  const struct sample_type *type)
{
	struct profile_view v = profile_view(dst);

	for (size_t i = 0; i < v.ntypes; i++)
		if (!strcmp(profile_text(dst, v.types[i].name), profile_text(src, type->name)) &&
		    !strcmp(profile_text(dst, v.types[i].unit), profile_text(src, type->unit)))
			return (uint32_t)i;
	return PROFILE_NONE;
}

static void take_types(struct profile *dst, const struct profile *src)
{
	struct profile_view from = profile_view(src);

	for (size_t i = 0; i < from.ntypes; i++) {
		const char *name = profile_text(src, from.types[i].name),
			   *unit = profile_text(src, from.types[i].unit);

		if (i)
			profile_add_type(dst, name, unit);
		else
			profile_set_type(dst, 0, name, unit);
	}
	profile_show(dst, from.shown);
}

void profile_merge_run(struct profile *dst, const struct profile *src)
{
	struct profile_view to = profile_view(dst), from = profile_view(src);
	uint32_t *types = index_new(from.ntypes);

	if (!to.nsamples && to.ntypes == 1)
		take_types(dst, src);
	for (size_t i = 0; i < from.ntypes; i++)
		types[i] = same_type(dst, src, &from.types[i]);
	profile_merge(dst, src, types, MERGE_PLACES);
	free(types);
}
