/* SPDX-License-Identifier: MIT */
#include "tui/shown.h"

#include <string.h>

#include "base/vec.h"

/* Where things of the profile went; 0: not yet, or nowhere. */
struct maker {
	struct profile *to;
	const struct profile *from;
	struct profile_view view;
	const struct shown_choice *choice;
	uint32_t *nodes, *locations, *functions, *modules, *threads;	/* index in @to, plus 1 */
	VEC(uint32_t) path;		/* nodes still to be placed */
	VEC(struct line) lines;		/* of one location */
};

static uint32_t string_of(const struct maker *m, uint32_t string)
{
	return string ? profile_string(m->to, profile_text(m->from, string)) : 0;
}

static uint32_t function_of(const struct maker *m, uint32_t function)
{
	const struct function *f = &m->view.functions[function];

	if (!m->functions[function])
		m->functions[function] = profile_function(m->to, string_of(m, f->name),
							  string_of(m, f->module), f->kind) +
					 1;
	return m->functions[function] - 1;
}

static uint32_t module_of(const struct maker *m, uint32_t module)
{
	const struct module *x = &m->view.modules[module];

	if (!m->modules[module])
		m->modules[module] = profile_module(m->to, profile_text(m->from, x->name),
						    profile_text(m->from, x->path),
						    profile_text(m->from, x->build_id)) +
				     1;
	return m->modules[module] - 1;
}

static uint32_t location_of(struct maker *m, uint32_t location)
{
	const struct location *l = &m->view.locations[location];
	uint32_t id = m->locations[location];

	if (id)
		return id - 1;
	id = profile_location(m->to, module_of(m, l->module), l->kind, l->address);
	m->lines.n = 0;
	for (uint32_t i = 0; i < l->nlines; i++) {
		const struct line *line = &m->view.lines[l->first_line + i];

		vec_push(&m->lines, (struct line){ function_of(m, line->function),
						   string_of(m, line->file), line->line });
	}
	/* One that has no name yet, or marks of one address, which are their names. */
	if (m->lines.n && !profile_view(m->to).locations[id].nlines)
		profile_name_location(m->to, id, m->lines.v, m->lines.n,
				      profile_text(m->from, l->why));
	m->locations[location] = id + 1;
	return id;
}

static int left_out(const struct maker *m, const struct location *l)
{
	return (m->choice->no_kernel && l->kind == FRAME_KERNEL) ||
	       (m->choice->no_user && l->kind == FRAME_USER);
}

/* Back to what is known, then forth. */
static uint32_t node_of(struct maker *m, uint32_t node)
{
	uint32_t at;

	for (; node && !m->nodes[node]; node = m->view.nodes[node].parent)
		vec_push(&m->path, node);
	at = node ? m->nodes[node] - 1 : 0;
	while (m->path.n) {
		uint32_t location;

		node = m->path.v[--m->path.n];
		location = m->view.nodes[node].location;
		if (!left_out(m, &m->view.locations[location]))
			at = profile_node(m->to, at, location_of(m, location));
		m->nodes[node] = at + 1;
	}
	return at;
}

static uint32_t thread_of(const struct maker *m, uint32_t thread)
{
	const struct thread *t = &m->view.threads[thread];
	const struct process *p = &m->view.processes[t->process];

	if (!m->threads[thread]) {
		uint32_t process = profile_process(m->to, p->pid, p->incarnation,
						   string_of(m, p->comm));

		profile_set_parent(m->to, process, p->parent);
		m->threads[thread] = profile_thread(m->to, process, t->tid, string_of(m, t->comm)) +
				     1;
	}
	return m->threads[thread] - 1;
}

static uint32_t labels_of(const struct maker *m, uint32_t set)
{
	const struct label_set *s = &m->view.label_sets[set];
	struct label labels[8];
	size_t n = 0;

	for (; n < s->n && n < sizeof(labels) / sizeof(*labels); n++) {
		const struct label *l = &m->view.labels[s->first + n];

		labels[n] = (struct label){ string_of(m, l->key), string_of(m, l->text),
					    string_of(m, l->unit), l->number };
	}
	return profile_labels(m->to, labels, n);
}

static void describe(const struct maker *m)
{
	const struct sample_type *type = &m->view.types[shown_type(m->from, m->choice)];
	struct profile_meta *meta = profile_meta(m->to);

	profile_set_type(m->to, 0, profile_text(m->from, type->name),
			 profile_text(m->from, type->unit));
	*meta = *m->view.meta;
	meta->host = string_of(m, meta->host);
	meta->command = string_of(m, meta->command);
	meta->title = string_of(m, meta->title);
}

uint32_t shown_type(const struct profile *p, const struct shown_choice *c)
{
	struct profile_view v = profile_view(p);

	return c->type && c->type <= v.ntypes ? c->type - 1 : v.shown;
}

struct profile *shown_new(const struct profile *p, const uint64_t *values,
			  const struct shown_choice *c)
{
	struct maker m = { .to = profile_new(), .from = p, .view = profile_view(p), .choice = c };
	const struct profile_view *v = &m.view;

	m.nodes = xcalloc(v->nnodes, sizeof(*m.nodes));
	m.locations = xcalloc(v->nlocations, sizeof(*m.locations));
	m.functions = xcalloc(v->nfunctions, sizeof(*m.functions));
	m.modules = xcalloc(v->nmodules, sizeof(*m.modules));
	m.threads = xcalloc(v->nthreads, sizeof(*m.threads));
	describe(&m);
	if (!values)
		values = profile_values(p, shown_type(p, c));
	for (size_t i = 0; i < v->nsamples; i++) {
		const struct sample *s = &v->samples[i];
		uint32_t node = values[i] ? node_of(&m, s->node) : 0;

		if (values[i] && (node || !(c->no_kernel || c->no_user)))
			profile_count(m.to,
				      profile_sample(m.to, thread_of(&m, s->thread), node,
						     labels_of(&m, s->labels)),
				      0, values[i]);
	}
	free(m.nodes);
	free(m.locations);
	free(m.functions);
	free(m.modules);
	free(m.threads);
	vec_free(&m.path);
	vec_free(&m.lines);
	return m.to;
}
