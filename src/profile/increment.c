/* SPDX-License-Identifier: MIT */
#include "profile/increment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "profile/copy.h"
#include "profile/profile_fold.h"

#define TRUNCATED "[truncated: "
#define LATE "name not found in time"	/* why there is none */

/* Values of one type, by sample. */
struct column {
	VEC(uint64_t) before;		/* at the last increment_take() */
	VEC(uint64_t) more;		/* that came since the one before that */
	uint64_t whole;			/* the type's total, then */
};

struct increment {
	VEC(struct column) columns;	/* by type */
	uint64_t folded;		/* how often the profile was, then */
	uint64_t begin, end;		/* ns of sampling */
	uint64_t frequency;		/* Hz a CPU, then */
	uint64_t total;			/* of what came */
	size_t locations;		/* that there were */
};

struct increment *increment_new(void)
{
	return xcalloc(1, sizeof(struct increment));
}

void increment_free(struct increment *i)
{
	if (!i)
		return;
	for (size_t t = 0; t < i->columns.n; t++) {
		vec_free(&i->columns.v[t].before);
		vec_free(&i->columns.v[t].more);
	}
	vec_free(&i->columns);
	free(i);
}

/* Returns the sum of what came; of a @level, of what there is. */
static uint64_t take_column(struct column *c, const uint64_t *values, size_t n, int level)
{
	uint64_t sum = 0;

	c->more.n = 0;
	for (size_t s = 0; s < n; s++) {
		if (s == c->before.n)
			vec_push(&c->before, 0);
		vec_push(&c->more, level ? values[s] : values[s] - c->before.v[s]);
		c->before.v[s] = values[s];
		sum += c->more.v[s];
	}
	return sum;
}

void increment_take(struct increment *i, const struct profile *p)
{
	const struct profile_folded f = profile_folded(p);
	const struct profile_view v = profile_view(p);

	while (i->columns.n < v.ntypes)
		vec_push(&i->columns, (struct column){ 0 });
	/* Types that the profile has no more. */
	for (size_t t = v.ntypes; t < i->columns.n; t++)
		i->columns.v[t].more.n = 0;
	i->total = 0;
	for (uint32_t t = 0; t < v.ntypes; t++) {
		struct column *c = &i->columns.v[t];

		if (f.times != i->folded)
			c->before.n = profile_fold_sums(&f, c->before.v, c->before.n);
		i->total += take_column(c, profile_values(p, t), v.nsamples,
					v.types[t].words->measure == PROFILE_LEVEL);
		c->whole = v.types[t].total;
	}
	i->folded = f.times;
	i->begin = i->end;
	i->end = v.meta->duration;
	i->frequency = v.meta->frequency;
	i->locations = v.nlocations;
}

int increment_has_all(const struct increment *i, const struct profile *p)
{
	const struct profile_view v = profile_view(p);
	size_t t = 0;

	while (t < i->columns.n && t < v.ntypes && v.types[t].total == i->columns.v[t].whole)
		t++;
	return t == v.ntypes;
}

void increment_renew(struct increment *i)
{
	for (size_t t = 0; t < i->columns.n; t++) {
		i->columns.v[t].before.n = 0;
		i->columns.v[t].whole = 0;
	}
	i->folded = 0;
}

uint64_t increment_total(const struct increment *i)
{
	return i->total;
}

int increment_is_named(const struct increment *i, const struct profile *p)
{
	const struct profile_view v = profile_view(p);
	size_t n = 0;

	while (n < i->locations && v.locations[n].nlines)
		n++;
	return n == i->locations;
}

/* Why the stack of @node is not whole, as its outermost frame says; NULL where it is. */
static const char *why_truncated(const struct profile *p, const struct profile_view *v,
				 uint32_t node)
{
	const struct location *l;
	const char *name;

	while (node && v->nodes[node].parent)
		node = v->nodes[node].parent;
	if (!node)
		return NULL;
	l = &v->locations[v->nodes[node].location];
	if (l->kind != FRAME_MARK || !l->nlines)
		return NULL;
	name = profile_text(p, v->functions[v->lines[l->first_line].function].name);
	return strncmp(name, TRUNCATED, strlen(TRUNCATED)) ? NULL : name + strlen(TRUNCATED);
}

static void add_truncated(struct profile *part, const char *why, uint64_t n)
{
	struct profile_account *a = profile_account(part);
	char name[64];
	size_t length = strcspn(why, "]"), i = 0;

	if (length >= sizeof(name))
		length = sizeof(name) - 1;
	memcpy(name, why, length);
	name[length] = '\0';
	while (i < a->ntruncated && strcmp(a->truncated[i].name, name))
		i++;
	if (i == PROFILE_REASONS_MAX)
		return;
	if (i == a->ntruncated)
		a->truncated[a->ntruncated++].name =
			profile_text(part, profile_string(part, name));
	a->truncated[i].count += n;
}

/* What stands for the names that did not come in time. */
static void name_rest(struct profile *part)
{
	size_t n = profile_view(part).nlocations;
	char text[512];

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_view v = profile_view(part);
		const struct location l = v.locations[i];
		const struct module *m = &v.modules[l.module];
		int is_file = l.module && !m->made && l.kind != FRAME_KERNEL;
		const char *module = m->made ? "" : profile_text(part, m->name);
		struct line line = { 0 };

		if (l.nlines)
			continue;
		if (is_file)
			snprintf(text, sizeof(text), "[%.400s+0x%llx]", module,
				 (unsigned long long)l.address);
		else
			snprintf(text, sizeof(text), "[unknown]");
		line.function = profile_function(part, profile_string(part, text),
						 profile_string(part, module), l.kind);
		profile_name_location(part, i, &line, 1, LATE);
	}
}

void increment_processes(const struct increment *i, const struct profile *p, unsigned char *ran)
{
	const struct profile_view v = profile_view(p);

	for (size_t t = 0; t < i->columns.n; t++)
		for (size_t s = 0; s < i->columns.v[t].more.n; s++)
			if (i->columns.v[t].more.v[s])
				ran[v.threads[v.samples[s].thread].process] = 1;
}

/* What a part is made of: of each column what came, or all. */
struct making {
	const struct increment *i;
	const struct profile *p;
	struct increment_choice choice;
	int all;
};

static uint64_t value_of(const struct making *m, uint32_t type, size_t s)
{
	const struct column *c = &m->i->columns.v[type];

	return m->all ? c->before.v[s] : c->more.v[s];
}

/* 1 where sample @s is wanted, and has anything. */
static int takes(const struct making *m, const struct profile_view *v, size_t s)
{
	const struct increment_choice *c = &m->choice;
	uint32_t t = c->type;

	if (c->groups && c->groups[v->threads[v->samples[s].thread].process] != c->group)
		return 0;
	while (t < c->type + c->ntypes && !value_of(m, t, s))
		t++;
	return t < c->type + c->ntypes;
}

/*
 * An empty one, with the types that are wanted. Where they are not of the event that the profile
 * is of, as waits beside samples, it has neither rate nor period.
 */
static struct profile *begin_part(const struct making *m, struct copy **c)
{
	const struct increment_choice *choice = &m->choice;
	struct profile *part = profile_new();
	struct profile_meta *meta = profile_meta(part);
	const char *event;
	uint32_t shown;

	*c = copy_new(part, m->p, COPY_PLACES);
	for (uint32_t t = 0; t < choice->ntypes; t++)
		copy_type(*c, choice->type + t, t);
	shown = profile_view(m->p).shown;
	if (shown < choice->type || shown >= choice->type + choice->ntypes)
		shown = choice->type + choice->ntypes - 1;
	profile_show(part, shown - choice->type);
	*meta = copy_meta(*c);
	event = profile_view(part).types[0].words->event;
	if (event && strcmp(event, meta->event)) {
		snprintf(meta->event, sizeof(meta->event), "%s", event);
		meta->frequency = meta->period = 0;
	}
	return part;
}

/*
 * How many samples (in the profile's words) @value of the first type is. Time alone does not tell,
 * nor do blocks of memory, which count by their size: each stack is one then.
 */
static uint64_t samples_of(const struct profile *part, uint64_t value)
{
	const struct profile_view v = profile_view(part);

	if (v.types[0].measured_in != PROFILE_COUNT || v.types[0].words->role == PROFILE_BLOCKS)
		return value != 0;
	return v.types[0].words->role == PROFILE_SAMPLES || !v.meta->period
		       ? value
		       : value / v.meta->period;
}

/* Where ticks go. */
struct ticking {
	struct profile *part;
	struct copy *c;
	size_t nsamples;	/* of the profile */
};

static int add_tick(void *ctx, const struct tick *tick)
{
	struct ticking *t = ctx;
	struct tick copied = *tick;

	if (tick->sample < t->nsamples) {
		copied.sample = copy_sample(t->c, tick->sample);
		profile_tick(t->part, &copied);
	}
	return 1;
}

static void add_ticks(const struct making *m, struct profile *part, struct copy *c)
{
	struct ticking t = { part, c, profile_view(m->p).nsamples };

	for (size_t i = 0; i < 2; i++)
		if (m->choice.ticks[i])
			timeline_each(m->choice.ticks[i], add_tick, &t);
	profile_finish_ticks(part);
}

static struct profile *part_of(const struct making *m)
{
	const struct profile_view v = profile_view(m->p);
	struct profile *part = NULL;
	struct copy *c = NULL;
	uint64_t kept = 0;

	for (uint32_t s = 0; s < m->i->columns.v[m->choice.type].more.n; s++) {
		uint32_t sample;
		const char *why;
		uint64_t n;

		if (!takes(m, &v, s))
			continue;
		part = part ? part : begin_part(m, &c);
		sample = copy_sample(c, s);
		for (uint32_t t = 0; t < m->choice.ntypes; t++)
			profile_count(part, sample, t, value_of(m, m->choice.type + t, s));
		n = samples_of(part, value_of(m, m->choice.type, s));
		kept += n;
		why = why_truncated(m->p, &v, v.samples[s].node);
		if (why)
			add_truncated(part, why, n);
	}
	if (!part)
		return NULL;
	add_ticks(m, part, c);
	copy_free(c);
	name_rest(part);
	profile_account(part)->taken = profile_account(part)->kept = kept;
	return part;
}

static struct making making_of(const struct increment *i, const struct profile *p,
			       const struct increment_choice *choice)
{
	struct making m = { i, p, *choice, 0 };

	if (!m.choice.ntypes) {
		m.choice.type = profile_view(p).shown;
		m.choice.ntypes = 1;
	}
	return m;
}

struct profile *increment_part(const struct increment *i, const struct profile *p,
			       const struct increment_choice *choice)
{
	const struct making m = making_of(i, p, choice);
	struct profile *part = part_of(&m);

	if (!part)
		return NULL;
	profile_meta(part)->start = profile_view(p).meta->start + i->begin;
	profile_meta(part)->duration = i->end - i->begin;
	if (profile_meta(part)->frequency)
		profile_meta(part)->frequency = i->frequency;
	return part;
}

struct profile *increment_so_far(const struct increment *i, const struct profile *p,
				 const struct increment_choice *choice)
{
	struct making m = making_of(i, p, choice);
	struct profile *all;

	m.all = 1;
	all = part_of(&m);
	if (all)
		profile_meta(all)->duration = i->end;
	return all;
}

void increment_clear(struct increment *i)
{
	for (size_t t = 0; t < i->columns.n; t++)
		i->columns.v[t].more.n = 0;
	i->total = 0;
	i->locations = 0;
}
