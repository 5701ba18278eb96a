/* SPDX-License-Identifier: MIT */
#include "proc/lives.h"

#include <stdlib.h>

struct life *lives_newest(const struct lives *all, pid_t pid)
{
	uint32_t slot = hashmap_get(&all->newest, (uint64_t)pid);

	return slot == HASHMAP_NONE ? NULL : all->slots.v[slot];
}

struct life *lives_find(const struct lives *all, pid_t pid, uint64_t time)
{
	struct life *l = lives_newest(all, pid), *younger = NULL;

	for (; l && l->begin > time; l = l->older)
		younger = l;
	/* An exec is exact, but a fork a little later than the sample must be its fork. */
	if (younger && younger->begin - time <= LIFE_SKEW && (!l || l->exited))
		return younger;
	return l;
}

static struct life *new_life(struct lives *all, pid_t pid, uint64_t begin)
{
	struct life *l = xcalloc(1, sizeof(*l));

	l->pid = pid;
	l->begin = begin;
	l->seen = begin;
	l->end = LIFE_OPEN;
	l->incarnation = LIFE_UNASKED;
	if (all->unused.n) {
		l->slot = all->unused.v[--all->unused.n];
	} else {
		l->slot = (uint32_t)all->slots.n;
		vec_push(&all->slots, NULL);
	}
	all->slots.v[l->slot] = l;
	return l;
}

struct life *lives_add(struct lives *all, pid_t pid, uint64_t begin)
{
	struct life *older = lives_newest(all, pid), *l = new_life(all, pid, begin);

	l->older = older;
	hashmap_set(&all->newest, (uint64_t)pid, l->slot);
	return l;
}

struct life *lives_add_unknown(struct lives *all, pid_t pid, uint64_t end)
{
	struct life *oldest = lives_newest(all, pid), *l;

	if (oldest) {
		while (oldest->older)
			oldest = oldest->older;
		l = oldest->older = new_life(all, pid, 0);
		end = oldest->begin;
	} else {
		l = lives_add(all, pid, 0);
	}
	l->complete = 1;
	l->exited = 1;
	lives_end(all, l, end);
	return l;
}

void lives_end(struct lives *all, struct life *l, uint64_t time)
{
	l->end = time < l->begin ? l->begin : time;
	vec_push(&all->ended, l);
}

static void unlink_life(struct lives *all, struct life *l)
{
	struct life *at = lives_newest(all, l->pid);

	if (at == l) {
		if (l->older)
			hashmap_set(&all->newest, (uint64_t)l->pid, l->older->slot);
		else
			hashmap_del(&all->newest, (uint64_t)l->pid);
		return;
	}
	while (at->older != l)
		at = at->older;
	at->older = l->older;
}

static void free_life(struct lives *all, struct life *l)
{
	all->slots.v[l->slot] = NULL;
	mappings_unref(l->maps);
	free(l);
}

void lives_forget(struct lives *all, uint64_t time, int (*drop)(struct life *l, void *ctx),
		  void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->ended.n; i++) {
		struct life *l = all->ended.v[i];

		if (l->end >= time || !drop(l, ctx)) {
			all->ended.v[kept++] = l;
			continue;
		}
		unlink_life(all, l);
		vec_push(&all->unused, l->slot);
		free_life(all, l);
	}
	all->ended.n = kept;
}

void lives_free(struct lives *all)
{
	for (size_t i = 0; i < all->slots.n; i++)
		if (all->slots.v[i])
			free_life(all, all->slots.v[i]);
	vec_free(&all->slots);
	vec_free(&all->unused);
	vec_free(&all->ended);
	hashmap_free(&all->newest);
}
