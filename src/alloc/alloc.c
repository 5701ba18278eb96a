/* SPDX-License-Identifier: MIT */
#include "alloc/alloc.h"

#include <math.h>
#include <string.h>

#include "base/intern.h"
#include "base/vec.h"

#define LIVE_MAX	(32u << 20)	/* blocks that are followed at one time: 1.8 GiB of ours */
#define NONE		UINT32_MAX

const struct alloc_type_name alloc_types[ALLOC_TYPES] = {
	[ALLOC_OBJECTS] = { "alloc_objects", "count" }, [ALLOC_SPACE] = { "alloc_space", "bytes" },
	[INUSE_OBJECTS] = { "inuse_objects", "count" }, [INUSE_SPACE] = { "inuse_space", "bytes" },
	[PEAK_OBJECTS] = { "peak_objects", "count" }, [PEAK_SPACE] = { "peak_space", "bytes" },
	[MAX_OBJECTS] = { "max_objects", "count" }, [MAX_SPACE] = { "max_space", "bytes" },
	[LIFETIME] = { "lifetime", "nanoseconds" },
};

/* Blocks and their bytes, by weight. */
struct amount {
	double objects, bytes;
};

struct site {
	uint32_t number;	/* the caller's */
	struct amount allocated, live, left, peak, max;
	double lifetime;
	/*
	 * which of the peaks @peak is of; of a later one @live is, because that has not changed
	 * since
	 */
	uint64_t peak_number;
};

struct block {
	uint64_t id, time;
	double size, weight;
	uint32_t site, process;
	uint32_t next, before;	/* of the same process; NONE: the last, the first */
};

struct process {
	struct ebp_process key;
	uint32_t first;		/* block, or NONE */
};

struct alloc {
	struct alloc_options o;
	VEC(struct site) sites;
	struct hashmap site_ids;	/* hash of a key -> index */
	struct hashmap site_numbers;	/* the caller's number -> index */
	VEC(struct process) processes;
	struct interned process_ids;
	struct hashmap pids;		/* tgid -> index of its last program */
	VEC(struct block) blocks;
	VEC(uint32_t) unused;		/* of blocks */
	struct hashmap block_ids;	/* (process, id) -> index */
	double live, most;		/* bytes: now, at the peak */
	uint64_t peak, peak_number;
	uint64_t untracked;
	double scale;		/* of a block */
	double all;		/* of all sums, at the end */
	int endless;
};

struct alloc *alloc_new(const struct alloc_options *o)
{
	struct alloc *a = xcalloc(1, sizeof(*a));

	a->o = *o;
	a->scale = a->all = 1;
	return a;
}

void alloc_free(struct alloc *a)
{
	if (!a)
		return;
	vec_free(&a->sites);
	hashmap_free(&a->site_ids);
	hashmap_free(&a->site_numbers);
	vec_free(&a->processes);
	interned_free(&a->process_ids);
	hashmap_free(&a->pids);
	vec_free(&a->blocks);
	vec_free(&a->unused);
	hashmap_free(&a->block_ids);
	free(a);
}

static double weight_of(const struct alloc *a, uint64_t size)
{
	return a->o.interval ? -a->scale / expm1(-(double)(size + !size) / (double)a->o.interval)
			     : a->scale;
}

/* By a seeded hash of 64 bits alone: two keys do not share one. */
static uint32_t find_site(struct alloc *a, const struct ebp_key *raw, uint64_t time)
{
	struct ebp_key key = *raw;
	struct site s = { 0 };
	uint64_t hash;
	uint32_t i;

	if (!a->o.per_thread)
		key.tid = 0;
	hash = hash_bytes(&key, sizeof(key));
	i = hashmap_get(&a->site_ids, hash);
	if (i != HASHMAP_NONE)
		return i;
	s.number = a->o.site(a->o.ctx, &key, time);
	i = hashmap_put(&a->site_numbers, s.number, (uint32_t)a->sites.n);
	if (i == a->sites.n)
		vec_push(&a->sites, s);
	hashmap_set(&a->site_ids, hash, i);
	return i;
}

static int same_process(const void *alloc, uint32_t i, const void *key)
{
	const struct alloc *a = alloc;

	return !memcmp(&a->processes.v[i].key, key, sizeof(struct ebp_process));
}

/* The index of @key, or HASHMAP_NONE. */
static uint32_t known_process(const struct alloc *a, const struct ebp_process *key)
{
	return intern_find(&a->process_ids, hash_bytes(key, sizeof(*key)), same_process, a, key);
}

/* Before @s changes: what it had at the last peak is what it has now. */
static void keep_peak(const struct alloc *a, struct site *s)
{
	if (s->peak_number == a->peak_number)
		return;
	s->peak = s->live;
	s->peak_number = a->peak_number;
}

static void add(struct amount *to, double objects, double size)
{
	to->objects += objects;
	to->bytes += objects * size;
}

/* Block @i is no more. */
static void end_block(struct alloc *a, uint32_t i, uint64_t time)
{
	const struct block *b = &a->blocks.v[i];
	struct process *p = &a->processes.v[b->process];
	struct site *s = &a->sites.v[b->site];

	keep_peak(a, s);
	add(&s->live, -b->weight, b->size);
	a->live -= b->weight * b->size;
	s->lifetime += b->weight * (time > b->time ? (double)(time - b->time) : 0);
	if (b->next != NONE)
		a->blocks.v[b->next].before = b->before;
	if (b->before != NONE)
		a->blocks.v[b->before].next = b->next;
	else
		p->first = b->next;
	hashmap_del(&a->block_ids, hash_pair(b->process, b->id));
	vec_push(&a->unused, i);
}

static void end_process(struct alloc *a, uint32_t process, uint64_t time)
{
	uint32_t i;

	while ((i = a->processes.v[process].first) != NONE) {
		const struct block *b = &a->blocks.v[i];

		if (!a->o.alive && (time - b->time >= a->o.min_age || time < b->time))
			add(&a->sites.v[b->site].left, b->weight, b->size);
		end_block(a, i, time);
	}
}

/* A program that took the place of another one ended that. */
static uint32_t find_process(struct alloc *a, const struct ebp_process *key, uint64_t time)
{
	uint32_t i = known_process(a, key), last;

	if (i != HASHMAP_NONE)
		return i;
	last = hashmap_get(&a->pids, key->tgid);
	if (last != HASHMAP_NONE)
		end_process(a, last, time);
	i = (uint32_t)a->processes.n;
	intern_add(&a->process_ids, hash_bytes(key, sizeof(*key)), i);
	hashmap_set(&a->pids, key->tgid, i);
	vec_push(&a->processes, (struct process){ .key = *key, .first = NONE });
	return i;
}

static void follow(struct alloc *a, const struct block *block)
{
	struct process *p = &a->processes.v[block->process];
	uint32_t i = (uint32_t)a->blocks.n;

	if (a->unused.n)
		i = a->unused.v[--a->unused.n];
	else
		vec_push(&a->blocks, (struct block){ 0 });
	a->blocks.v[i] = *block;
	a->blocks.v[i].before = NONE;
	a->blocks.v[i].next = p->first;
	if (p->first != NONE)
		a->blocks.v[p->first].before = i;
	p->first = i;
	hashmap_set(&a->block_ids, hash_pair(block->process, block->id), i);
}

void alloc_scale(struct alloc *a, double times)
{
	a->scale = times;
}

void alloc_scale_all(struct alloc *a, double times)
{
	a->all = times;
}

void alloc_endless(struct alloc *a)
{
	a->endless = 1;
}

void alloc_block(struct alloc *a, const struct ebp_allocation *block)
{
	struct block b = {
		.id = block->id,
		.time = block->time,
		.size = (double)block->size,
		.weight = weight_of(a, block->size),
		.process = find_process(a, &block->key.process, block->time),
		.site = find_site(a, &block->key, block->time),
	};
	struct site *s = &a->sites.v[b.site];

	add(&s->allocated, b.weight, b.size);
	if (a->endless)
		return;
	if (a->blocks.n - a->unused.n >= LIVE_MAX ||
	    hashmap_get(&a->block_ids, hash_pair(b.process, b.id)) != HASHMAP_NONE) {
		a->untracked++;
		return;
	}
	follow(a, &b);
	keep_peak(a, s);
	add(&s->live, b.weight, b.size);
	if (s->live.bytes > s->max.bytes)
		s->max = s->live;
	a->live += b.weight * b.size;
	if (a->live <= a->most)
		return;
	a->most = a->live;
	a->peak = b.time;
	a->peak_number++;
}

void alloc_freed(struct alloc *a, const struct ebp_allocation_end *end)
{
	uint32_t process = known_process(a, &end->process);
	uint32_t i = process == HASHMAP_NONE
			     ? HASHMAP_NONE
			     : hashmap_get(&a->block_ids, hash_pair(process, end->id));

	if (i != HASHMAP_NONE)
		end_block(a, i, end->time);
}

void alloc_gone(struct alloc *a, const struct ebp_allocation_end *end)
{
	uint32_t process = known_process(a, &end->process);

	if (process != HASHMAP_NONE)
		end_process(a, process, end->time);
}

/* Differences of doubles leave some dust. */
static uint64_t rounded(double x)
{
	return x < 0.5 ? 0 : x >= 0x1p64 ? UINT64_MAX : (uint64_t)(x + 0.5);
}

void alloc_values(const struct alloc *a, alloc_site *fn, void *ctx)
{
	for (size_t i = 0; i < a->sites.n; i++) {
		const struct site *s = &a->sites.v[i];
		const struct amount peak = s->peak_number == a->peak_number ? s->peak : s->live;

		const double values[ALLOC_TYPES] = {
			s->allocated.objects, s->allocated.bytes,
			s->left.objects + s->live.objects, s->left.bytes + s->live.bytes,
			peak.objects, peak.bytes, s->max.objects, s->max.bytes, s->lifetime,
		};
		uint64_t whole[ALLOC_TYPES];

		for (size_t k = 0; k < ALLOC_TYPES; k++)
			whole[k] = rounded(a->all * values[k]);
		fn(ctx, s->number, whole);
	}
}

void alloc_finish(struct alloc *a, uint64_t end, alloc_site *fn, void *ctx)
{
	for (uint32_t i = 0; i < a->processes.n; i++)
		end_process(a, i, end);
	alloc_values(a, fn, ctx);
}

uint64_t alloc_peak(const struct alloc *a)
{
	return a->peak;
}

uint64_t alloc_untracked(const struct alloc *a)
{
	return a->untracked;
}
