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

struct increment {
	VEC(uint64_t) before;		/* by sample: the value at the last increment_take() */
	VEC(uint64_t) more;		/* by sample: what came since the one before that */
	uint64_t folded;		/* how often the profile was, then */
	uint64_t begin, end;		/* ns of sampling */
	uint64_t frequency;		/* Hz a CPU, then */
	uint64_t total;			/* of what came */
	uint64_t whole;			/* of all of the profile, then */
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
	vec_free(&i->before);
	vec_free(&i->more);
	free(i);
}

void increment_take(struct increment *i, const struct profile *p)
{
	const struct profile_folded f = profile_folded(p);
	const struct profile_view v = profile_view(p);

	if (f.times != i->folded)
		i->before.n = profile_fold_sums(&f, i->before.v, i->before.n);
	i->folded = f.times;
	i->begin = i->end;
	i->end = v.meta->duration;
	i->frequency = v.meta->frequency;
	i->total = 0;
	i->whole = v.total;
	i->locations = v.nlocations;
	i->more.n = 0;
	for (size_t s = 0; s < v.nsamples; s++) {
		if (s == i->before.n)
			vec_push(&i->before, 0);
		vec_push(&i->more, v.values[s] - i->before.v[s]);
		i->before.v[s] = v.values[s];
		i->total += i->more.v[s];
	}
}

int increment_has_all(const struct increment *i, const struct profile *p)
{
	return profile_view(p).total == i->whole;
}

void increment_renew(struct increment *i)
{
	i->before.n = 0;
	i->whole = i->folded = 0;
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

	for (size_t s = 0; s < i->more.n; s++)
		if (i->more.v[s])
			ran[v.threads[v.samples[s].thread].process] = 1;
}

/* @values are by sample; NULL @groups: of all processes. */
static struct profile *part_of(const uint64_t *values, size_t n, const struct profile *p,
			       const uint32_t *groups, uint32_t group)
{
	const struct profile_view v = profile_view(p);
	struct profile *part = NULL;
	struct copy *c = NULL;

	for (uint32_t s = 0; s < n; s++) {
		const char *why;

		if (!values[s] ||
		    (groups && groups[v.threads[v.samples[s].thread].process] != group))
			continue;
		if (!part) {
			part = profile_new();
			c = copy_new(part, p, COPY_PLACES);
			copy_type(c, v.shown, 0);
			*profile_meta(part) = copy_meta(c);
		}
		profile_count(part, copy_sample(c, s), 0, values[s]);
		why = why_truncated(p, &v, v.samples[s].node);
		if (why)
			add_truncated(part, why, values[s]);
	}
	if (!part)
		return NULL;
	copy_free(c);
	name_rest(part);
	profile_account(part)->taken = profile_account(part)->kept = profile_view(part).total;
	return part;
}

struct profile *increment_part(const struct increment *i, const struct profile *p,
			       const uint32_t *groups, uint32_t group)
{
	struct profile *part = part_of(i->more.v, i->more.n, p, groups, group);

	if (!part)
		return NULL;
	profile_meta(part)->start = profile_view(p).meta->start + i->begin;
	profile_meta(part)->duration = i->end - i->begin;
	profile_meta(part)->frequency = i->frequency;
	return part;
}

struct profile *increment_so_far(const struct increment *i, const struct profile *p)
{
	struct profile *all = part_of(i->before.v, i->before.n, p, NULL, 0);

	if (all)
		profile_meta(all)->duration = i->end;
	return all;
}

void increment_clear(struct increment *i)
{
	i->more.n = 0;
	i->total = 0;
	i->locations = 0;
}
