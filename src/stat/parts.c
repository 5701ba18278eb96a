/* SPDX-License-Identifier: MIT */
#include "stat/parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/xalloc.h"
#include "proc/cgroup_names.h"

#define NAME_MAX_BYTES 4096

/* The clean text of @format, malloc'd. */
static char *clean(char *raw)
{
	char text[NAME_MAX_BYTES];

	text_clean(text, sizeof(text), raw);
	free(raw);
	return xstrdup(text);
}

static char *name_of(const struct stat_part *p, enum tally_by by, const char *comm)
{
	switch (by) {
	case TALLY_BY_THREAD:
		return p->tid ? xasprintf("%.16s %d", comm, p->tid) : xstrdup("[idle]");
	case TALLY_BY_PROCESS:
		return p->pid ? xasprintf("%.16s %d", comm, p->pid) : xstrdup("[idle]");
	case TALLY_BY_CPU:
		return xasprintf("CPU %llu", (unsigned long long)p->key.id);
	default:
		return xasprintf("cgroup %llu, gone", (unsigned long long)p->key.id);
	}
}

static int by_key(const void *a, const void *b)
{
	const struct stat_part *x = a, *y = b;

	if (x->key.id != y->key.id)
		return x->key.id < y->key.id ? -1 : 1;
	return x->key.start < y->key.start ? -1 : x->key.start > y->key.start;
}

/* What has most of the first event first. */
static int by_count(const void *a, const void *b)
{
	const struct stat_part *x = a, *y = b;

	if (x->counts->value > y->counts->value || x->counts->value < y->counts->value)
		return x->counts->value > y->counts->value ? -1 : 1;
	return by_key(a, b);
}

static void name_cgroup(void *ctx, uint64_t id, const char *path)
{
	struct stat_parts *p = ctx;
	struct stat_part like = { .key = { .id = id } };
	struct stat_part *found = bsearch(&like, p->v, p->n, sizeof(*p->v), by_key);

	if (!found)
		return;
	free(found->name);
	found->name = clean(xstrdup(path));
}

struct stat_parts stat_parts_new(const struct counters *c, enum tally_by by, size_t events,
				 const char *controller)
{
	size_t n = counters_parts(c);
	struct stat_parts p = { .by = by, .v = xcalloc(n ? n : 1, sizeof(*p.v)), .n = n };

	for (size_t i = 0; i < n; i++) {
		const struct tally_part *from = counters_part(c, i);
		struct stat_part *to = &p.v[i];

		to->key = from->key;
		if (by == TALLY_BY_THREAD || by == TALLY_BY_PROCESS) {
			to->pid = (pid_t)(from->key.id >> 32);
			to->tid = (pid_t)(from->key.id & UINT32_MAX);
		}
		to->name = clean(name_of(to, by, from->entry.comm));
		to->counts = xcalloc(events ? events : 1, sizeof(*to->counts));
		for (size_t k = 0; k < events; k++)
			to->counts[k] = counters_part_read(c, i, k);
	}
	qsort(p.v, n, sizeof(*p.v), by_key);
	if (by == TALLY_BY_CGROUP)
		cgroup_names(controller, name_cgroup, &p);
	if (by != TALLY_BY_CPU)
		qsort(p.v, n, sizeof(*p.v), by_count);
	return p;
}

void stat_parts_free(struct stat_parts *p)
{
	for (size_t i = 0; i < p->n; i++) {
		free(p->v[i].name);
		free(p->v[i].counts);
	}
	free(p->v);
	*p = (struct stat_parts){ 0 };
}

const struct stat_part *stat_parts_find(const struct stat_parts *p, const struct stat_part *like)
{
	for (size_t i = 0; i < p->n; i++)
		if (!by_key(&p->v[i], like))
			return &p->v[i];
	return NULL;
}
