/* SPDX-License-Identifier: MIT */
#include "unwind/shards/store.h"

#include <errno.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "unwind/shards/alloc.h"

/* of shard 0: refs below EBP_OBJECT_FIRST mean something else */
#define TAKEN_UNITS	4
#define RUN_BYTES	(256u << 10)	/* blocks that are placed together, at most */

/* A piece of the shards. */
struct piece {
	uint32_t ref, units;
};
typedef VEC(struct piece) pieces;

struct object {
	uint32_t ref;
	uint64_t emptied;		/* epoch in which it was last emptied, or 0 */
	pieces pieces;			/* of its tables */
	uint32_t next_unused;
};

struct unwind_store {
	unwind_grow *grow;
	void *ctx;
	uint32_t most;			/* shards */
	VEC(uint8_t *) shards;
	struct unwind_alloc *alloc;
	VEC(struct object) objects;
	uint32_t unused;		/* places of @objects */
	struct hashmap by_ref;		/* ref -> its place in @objects */
	uint64_t epoch;			/* number of calls of unwind_store_epoch(), plus 1 */
	pieces removed, waiting;	/* since the last epoch; before it */
	size_t used, leaving;		/* units; of them: in @removed and @waiting */
};

struct unwind_store *unwind_store_new(size_t limit, unwind_grow *grow, void *ctx)
{
	struct unwind_store *s = xcalloc(1, sizeof(*s));
	size_t most = limit / EBP_SHARD_BYTES;

	s->grow = grow;
	s->ctx = ctx;
	s->most = (uint32_t)(most < 1 ? 1 : most > EBP_SHARDS_MAX ? EBP_SHARDS_MAX : most);
	s->alloc = unwind_alloc_new();
	s->unused = HASHMAP_NONE;
	s->epoch = 1;
	return s;
}

void unwind_store_free(struct unwind_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->objects.n; i++)
		vec_free(&s->objects.v[i].pieces);
	vec_free(&s->objects);
	hashmap_free(&s->by_ref);
	vec_free(&s->shards);
	vec_free(&s->removed);
	vec_free(&s->waiting);
	unwind_alloc_free(s->alloc);
	free(s);
}

static void *at(const struct unwind_store *s, uint32_t ref)
{
	return s->shards.v[ref / UNWIND_SHARD_UNITS] +
	       (size_t)(ref % UNWIND_SHARD_UNITS << EBP_REF_SHIFT);
}

static uint32_t units_of(size_t bytes)
{
	return (uint32_t)((bytes + (1u << EBP_REF_SHIFT) - 1) >> EBP_REF_SHIFT);
}

/* One more shard. 0 or a negative errno. */
static int grow(struct unwind_store *s)
{
	uint32_t index = (uint32_t)s->shards.n, from = index ? 0 : TAKEN_UNITS;
	uint8_t *memory;

	if (index >= s->most)
		return -ENOSPC;
	errno = 0;
	memory = s->grow(s->ctx, index);
	if (!memory)
		return errno ? -errno : -ENOSPC;
	vec_push(&s->shards, memory);
	unwind_alloc_give(s->alloc, index * UNWIND_SHARD_UNITS + from, UNWIND_SHARD_UNITS - from);
	return 0;
}

/* Room for @bytes in one shard. Its ref, or 0 with errno. */
static uint32_t place(struct unwind_store *s, size_t bytes)
{
	uint32_t units = units_of(bytes ? bytes : 1), ref = 0;
	int err = units > UNWIND_SHARD_UNITS - TAKEN_UNITS ? -EFBIG : 0;

	while (!err && !(ref = unwind_alloc_take(s->alloc, units)))
		err = grow(s);
	if (!ref) {
		errno = -err;
		return 0;
	}
	s->used += units;
	return ref;
}

/* What no reader has seen. */
static void give_back(struct unwind_store *s, const pieces *p)
{
	for (size_t i = 0; i < p->n; i++) {
		unwind_alloc_give(s->alloc, p->v[i].ref, p->v[i].units);
		s->used -= p->v[i].units;
	}
}

/* What readers may have seen. */
static void retire(struct unwind_store *s, uint32_t ref, uint32_t units)
{
	vec_push(&s->removed, (struct piece){ ref, units });
	s->leaving += units;
}

void unwind_store_epoch(struct unwind_store *s)
{
	pieces empty = s->waiting;

	for (size_t i = 0; i < s->waiting.n; i++)
		s->leaving -= s->waiting.v[i].units;
	give_back(s, &s->waiting);
	s->waiting = s->removed;
	empty.n = 0;
	s->removed = empty;
	s->epoch++;
}

static struct object *object_at(const struct unwind_store *s, uint32_t ref)
{
	uint32_t i = hashmap_get(&s->by_ref, ref);

	return i == HASHMAP_NONE ? NULL : &s->objects.v[i];
}

uint32_t unwind_store_add_object(struct unwind_store *s)
{
	uint32_t ref = place(s, sizeof(struct ebp_object)), i = s->unused;

	if (!ref)
		return 0;
	if (i == HASHMAP_NONE) {
		i = (uint32_t)s->objects.n;
		vec_push(&s->objects, (struct object){ 0 });
	} else {
		s->unused = s->objects.v[i].next_unused;
	}
	s->objects.v[i] = (struct object){ .ref = ref };
	hashmap_set(&s->by_ref, ref, i);
	memset(at(s, ref), 0, sizeof(struct ebp_object));
	return ref;
}

/* place(), noted in @p. */
static uint32_t place_piece(struct unwind_store *s, pieces *p, size_t bytes)
{
	uint32_t ref = place(s, bytes);

	if (ref)
		vec_push(p, (struct piece){ ref, units_of(bytes ? bytes : 1) });
	return ref;
}

/*
 * Places blocks from @first on, as many as make a run, and notes their refs. How
 * many, or a negative errno. Where only small gaps are left, runs get shorter.
 */
static long place_run(struct unwind_store *s, pieces *p, const struct unwind_table *t,
		      uint32_t first, uint32_t *refs)
{
	uint32_t n = 1, ref;
	size_t from = t->block[first], size;

	while (first + n < t->nblocks && t->block[first + n + 1] - from <= RUN_BYTES)
		n++;
	for (;; n = (n + 1) / 2) {
		size = t->block[first + n] - from;
		ref = place_piece(s, p, size);
		if (ref)
			break;
		if (n == 1 || errno != ENOSPC)
			return -errno;
	}
	memcpy(at(s, ref), t->bytes + from, size);
	for (uint32_t i = 0; i < n; i++)
		refs[i] = ref + (uint32_t)((t->block[first + i] - from) >> EBP_REF_SHIFT);
	return n;
}

static int place_blocks(struct unwind_store *s, pieces *p, const struct unwind_table *t,
			uint32_t *refs)
{
	for (uint32_t i = 0; i < t->nblocks; ) {
		long n = place_run(s, p, t, i, refs + i);

		if (n < 0)
			return (int)n;
		i += (uint32_t)n;
	}
	return 0;
}

/*
 * All of the table but the object itself, of which @out is what it will be. 0 or a negative errno.
 */
static int place_table(struct unwind_store *s, pieces *p, const struct unwind_table *t,
		       struct ebp_object *out)
{
	uint32_t *refs = xcalloc((size_t)t->nblocks + 1, sizeof(*refs)), *dir;
	int err = place_blocks(s, p, t, refs);

	if (!err) {
		out->dir = place_piece(s, p, (size_t)t->npages * sizeof(*dir));
		err = out->dir ? 0 : -errno;
	}
	if (!err && t->nexotic) {
		out->exotic = place_piece(s, p, t->nexotic * sizeof(*t->exotic));
		err = out->exotic ? 0 : -errno;
	}
	if (!err) {
		dir = at(s, out->dir);
		for (uint32_t i = 0; i < t->npages; i++)
			dir[i] = t->page[i] < t->nblocks ? refs[t->page[i]] : EBP_REF_GAP;
		if (t->nexotic)
			memcpy(at(s, out->exotic), t->exotic, t->nexotic * sizeof(*t->exotic));
	}
	free(refs);
	return err;
}

size_t unwind_store_need(const struct unwind_table *t)
{
	size_t blocks = t->nblocks ? t->block[t->nblocks] - t->block[0] : 0;

	return (units_of(blocks) + units_of((size_t)t->npages * sizeof(*t->page) + 1) +
		units_of(t->nexotic * sizeof(*t->exotic))) * (size_t)(1u << EBP_REF_SHIFT);
}

/*
 * A reader takes `dir` first, and where it is not 0 the other fields and what
 * they lead to. An object that has no table yet is therefore safe: all is
 * in place before the store-release of `dir`. One that was emptied is not: a
 * reader may have taken the old `dir` just before, and would join it with the
 * new fields. So an emptied object rests, its fields untouched, for as long as
 * its memory does: two epochs.
 */
int unwind_store_fill(struct unwind_store *s, uint32_t object, const struct unwind_table *t)
{
	struct object *o = object_at(s, object);
	struct ebp_object *to, new = { 0 };
	pieces p = { 0 };
	int err;

	if (!o || t->nexotic > EBP_EXOTIC_MAX)
		return -EINVAL;
	to = at(s, object);
	if (to->dir || (o->emptied && s->epoch < o->emptied + 2))
		return -EBUSY;
	err = place_table(s, &p, t, &new);
	if (err) {
		give_back(s, &p);
		vec_free(&p);
		return err;
	}
	to->npages = t->npages;
	to->first_page = t->first_page;
	to->exotic = new.exotic;
	to->nexotic = t->nexotic;
	to->flags = t->flags;
	to->generation++;
	__atomic_store_n(&to->dir, new.dir, __ATOMIC_RELEASE);
	vec_free(&o->pieces);
	o->pieces = p;
	o->emptied = 0;
	return 0;
}

void unwind_store_empty(struct unwind_store *s, uint32_t object)
{
	struct object *o = object_at(s, object);
	struct ebp_object *to;

	if (!o)
		return;
	to = at(s, object);
	if (!to->dir)
		return;
	__atomic_store_n(&to->dir, 0, __ATOMIC_RELEASE);
	for (size_t i = 0; i < o->pieces.n; i++)
		retire(s, o->pieces.v[i].ref, o->pieces.v[i].units);
	vec_free(&o->pieces);
	o->emptied = s->epoch;
}

void unwind_store_remove(struct unwind_store *s, uint32_t object)
{
	struct object *o = object_at(s, object);

	if (!o)
		return;
	unwind_store_empty(s, object);
	retire(s, object, units_of(sizeof(struct ebp_object)));
	o->next_unused = s->unused;
	s->unused = (uint32_t)(o - s->objects.v);
	hashmap_del(&s->by_ref, object);
}

uint32_t unwind_store_add_rows(struct unwind_store *s, const struct ebp_mapping *rows, uint32_t n)
{
	uint32_t ref;

	if (!n || n > EBP_ROWS_MAX) {
		errno = EINVAL;
		return 0;
	}
	ref = place(s, n * sizeof(*rows));
	if (ref)
		memcpy(at(s, ref), rows, n * sizeof(*rows));
	return ref;
}

void unwind_store_remove_rows(struct unwind_store *s, uint32_t ref, uint32_t n)
{
	if (ref && n)
		retire(s, ref, units_of(n * sizeof(struct ebp_mapping)));
}

uint8_t *const *unwind_store_shards(const struct unwind_store *s, uint32_t *n)
{
	*n = (uint32_t)s->shards.n;
	return s->shards.v;
}

size_t unwind_store_used(const struct unwind_store *s)
{
	return s->used << EBP_REF_SHIFT;
}

size_t unwind_store_leaving(const struct unwind_store *s)
{
	return s->leaving << EBP_REF_SHIFT;
}

size_t unwind_store_size(const struct unwind_store *s)
{
	return s->shards.n * (size_t)EBP_SHARD_BYTES;
}

size_t unwind_store_limit(const struct unwind_store *s)
{
	return s->most * (size_t)EBP_SHARD_BYTES;
}
