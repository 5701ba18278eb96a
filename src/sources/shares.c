/* SPDX-License-Identifier: MIT */
#include "sources/shares.h"

#include <stddef.h>

#include "base/hashmap.h"
#include "base/vec.h"

struct weight {
	uint32_t sample, next;		/* of the same group; NONE: the last */
	uint64_t weight, recent;	/* in all; since the group was divided */
};

struct group {
	uint32_t first, heaviest;	/* weights, or NONE */
	uint32_t fallback;
	uint64_t sum, recent;		/* of its weights */
	uint64_t n, ns;
};

#define NONE UINT32_MAX

struct shares {
	VEC(struct group) groups;
	VEC(struct weight) weights;
	struct hashmap group_ids;	/* key of the caller's -> group */
	struct hashmap weight_ids;	/* hash of (group, sample) -> weight */
};

struct shares *shares_new(void)
{
	return xcalloc(1, sizeof(struct shares));
}

static void release(struct shares *s)
{
	vec_free(&s->groups);
	vec_free(&s->weights);
	hashmap_free(&s->group_ids);
	hashmap_free(&s->weight_ids);
}

void shares_free(struct shares *s)
{
	if (!s)
		return;
	release(s);
	free(s);
}

static uint32_t group_of(struct shares *s, uint64_t key)
{
	uint32_t id = hashmap_put(&s->group_ids, key, (uint32_t)s->groups.n);

	if (id == s->groups.n)
		vec_push(&s->groups, (struct group){ .first = NONE, .heaviest = NONE,
						      .fallback = NONE });
	return id;
}

static void weigh(struct shares *s, uint64_t group, uint32_t sample, uint64_t weight,
		  uint64_t recent)
{
	uint32_t g = group_of(s, group);
	/* Exact: both are indexes of less than 32 bits. */
	uint32_t id = hashmap_put(&s->weight_ids, (uint64_t)g << 32 | sample,
				  (uint32_t)s->weights.n);

	if (id == s->weights.n) {
		vec_push(&s->weights,
			 (struct weight){ .sample = sample, .next = s->groups.v[g].first });
		s->groups.v[g].first = id;
	}
	s->weights.v[id].weight += weight;
	s->weights.v[id].recent += recent;
	if (s->groups.v[g].heaviest == NONE ||
	    s->weights.v[id].weight > s->weights.v[s->groups.v[g].heaviest].weight)
		s->groups.v[g].heaviest = id;
	s->groups.v[g].sum += weight;
	s->groups.v[g].recent += recent;
}

void shares_weigh(struct shares *s, uint64_t group, uint32_t sample, uint64_t weight)
{
	weigh(s, group, sample, weight, weight);
}

void shares_add(struct shares *s, uint64_t group, uint32_t fallback, uint64_t n, uint64_t ns)
{
	uint32_t id = group_of(s, group);
	struct group *g = &s->groups.v[id];

	g->fallback = fallback;
	g->n += n;
	g->ns += ns;
}

uint32_t shares_heaviest(const struct shares *s, uint64_t group)
{
	uint32_t g = hashmap_get(&s->group_ids, group),
		 heaviest = g == HASHMAP_NONE ? NONE : s->groups.v[g].heaviest;

	return heaviest == NONE ? SHARES_GONE : s->weights.v[heaviest].sample;
}

/* Adds the weights of a group of @old that is still there. */
static void keep_group(struct shares *s, const struct shares *old, uint64_t key, uint32_t group,
		       const uint32_t *now)
{
	for (uint32_t w = old->groups.v[group].first; w != NONE; w = old->weights.v[w].next) {
		const struct weight *x = &old->weights.v[w];

		if (now[x->sample] != SHARES_GONE)
			weigh(s, key, now[x->sample], x->weight, x->recent);
	}
}

void shares_renumber(struct shares *s, const uint32_t *now)
{
	struct shares old = *s;

	*s = (struct shares){ 0 };
	for (size_t i = 0; i < old.group_ids.cap; i++)
		if (old.group_ids.slots[i].used)
			keep_group(s, &old, old.group_ids.slots[i].key,
				   old.group_ids.slots[i].value, now);
	release(&old);
}

/* What of @total ends at @upto of @sum: differences of these add up to @total. */
static uint64_t part(uint64_t total, uint64_t upto, uint64_t sum)
{
	return (uint64_t)((unsigned __int128)total * upto / sum);
}

/* Divides what @g had among its samples: by what came since the last time, or else by all. */
static void divide(struct shares *s, const struct group *g,
		   void (*give)(void *ctx, uint32_t sample, uint64_t n, uint64_t ns), void *ctx)
{
	uint64_t sum = g->recent ? g->recent : g->sum, done = 0;

	for (uint32_t w = g->first; w != NONE; w = s->weights.v[w].next) {
		struct weight *x = &s->weights.v[w];
		uint64_t upto = done + (g->recent ? x->recent : x->weight);

		x->recent = 0;
		if (upto > done)
			give(ctx, x->sample, part(g->n, upto, sum) - part(g->n, done, sum),
			     part(g->ns, upto, sum) - part(g->ns, done, sum));
		done = upto;
	}
}

void shares_divide(struct shares *s,
		   void (*give)(void *ctx, uint32_t sample, uint64_t n, uint64_t ns), void *ctx)
{
	for (size_t i = 0; i < s->groups.n; i++) {
		struct group *at = &s->groups.v[i];
		const struct group g = *at;

		if (!g.n && !g.ns)
			continue;
		at->n = at->ns = at->recent = 0;
		if (g.sum)
			divide(s, &g, give, ctx);
		else
			give(ctx, g.fallback, g.n, g.ns);
	}
}
