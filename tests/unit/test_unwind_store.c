/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <errno.h>
#include <pthread.h>

#include "base/vec.h"
#include "unwind/shards/alloc.h"
#include "unwind/shards/store.h"

#define MAX_SHARDS 8

/* The memory that a kernel would give. */
struct shards {
	uint8_t *memory[MAX_SHARDS];
	uint32_t n, most;
	int err;
};

static uint8_t *grow(void *ctx, uint32_t index)
{
	struct shards *s = ctx;

	if (s->n == s->most) {
		errno = s->err;
		return NULL;
	}
	CHECK_EQ(index, s->n);
	s->memory[s->n] = calloc(1, EBP_SHARD_BYTES + EBP_SHARD_SLACK);
	return s->memory[s->n++];
}

static void shards_free(struct shards *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->memory[i]);
}

static void *at(const struct shards *s, uint32_t ref)
{
	return s->memory[ref / UNWIND_SHARD_UNITS] + (size_t)(ref % UNWIND_SHARD_UNITS) * 16;
}

static const struct ebp_object *object_at(const struct shards *s, uint32_t ref)
{
	return at(s, ref);
}

/*
 * A table of @nblocks blocks of about @size bytes, all of which hold @seed and their number; every
 * third page is a gap.
 */
static struct unwind_table make_table(uint32_t nblocks, uint32_t size, uint8_t seed)
{
	struct unwind_table t = {
		.first_page = seed, .nblocks = nblocks, .nexotic = nblocks % 5, .flags = seed & 1
	};
	uint32_t at = 0;

	t.npages = nblocks + nblocks / 2;
	t.page = xcalloc(t.npages + 1, sizeof(*t.page));
	t.block = xcalloc(nblocks + 1, sizeof(*t.block));
	t.exotic = xcalloc(t.nexotic + 1, sizeof(*t.exotic));
	for (uint32_t i = 0, b = 0; i < t.npages; i++)
		t.page[i] = i % 3 == 2 ? UNWIND_PAGE_NONE : b++;
	for (uint32_t b = 0; b < nblocks; b++) {
		t.block[b] = at;
		at += (size + 16 * (b % 7) + 15) & ~15u;
	}
	t.block[nblocks] = at;
	t.bytes = xmalloc(at ? at : 1);
	for (uint32_t b = 0; b < nblocks; b++)
		memset(t.bytes + t.block[b], seed ^ (uint8_t)b, t.block[b + 1] - t.block[b]);
	for (uint32_t i = 0; i < t.nexotic; i++)
		t.exotic[i].cfa_offset = seed;
	return t;
}

static void free_table(struct unwind_table *t)
{
	free(t->page);
	free(t->block);
	free(t->exotic);
	free(t->bytes);
}

/* All of @t is where object @ref says, and nothing crosses a shard's edge. */
static int holds(const struct shards *s, uint32_t ref, const struct unwind_table *t)
{
	const struct ebp_object *o = object_at(s, ref);
	const uint32_t *dir = at(s, o->dir);

	if (!o->dir || o->npages != t->npages || o->first_page != t->first_page ||
	    o->flags != t->flags || o->nexotic != t->nexotic ||
	    (o->nexotic && memcmp(at(s, o->exotic), t->exotic, 24 * t->nexotic)))
		return 0;
	for (uint32_t i = 0; i < t->npages; i++) {
		uint32_t b = t->page[i], size;

		if (b == UNWIND_PAGE_NONE) {
			if (dir[i] != EBP_REF_GAP)
				return 0;
			continue;
		}
		size = t->block[b + 1] - t->block[b];
		if (dir[i] < EBP_OBJECT_FIRST ||
		    dir[i] % UNWIND_SHARD_UNITS * 16 + size > EBP_SHARD_BYTES ||
		    memcmp(at(s, dir[i]), t->bytes + t->block[b], size))
			return 0;
	}
	return 1;
}

struct piece {
	uint32_t ref, units;
};

/* Random use of three shards against a map of units. */
TEST(gives_out_each_unit_once)
{
	enum { UNITS = 3 * UNWIND_SHARD_UNITS };
	struct unwind_alloc *a = unwind_alloc_new();
	VEC(struct piece) taken = { 0 };
	uint8_t *used = calloc(1, UNITS);
	size_t left = 0;

	for (uint32_t i = 0; i < 3; i++)
		unwind_alloc_give(a, i * UNWIND_SHARD_UNITS + (i ? 0 : 4),
				  UNWIND_SHARD_UNITS - (i ? 0 : 4));
	left = UNITS - 4;
	srand(1);
	for (int round = 0; round < 20000; round++) {
		if (taken.n && rand() % 100 < (round / 10000 % 2 ? 60 : 40)) {
			size_t i = (size_t)rand() % taken.n;

			memset(used + taken.v[i].ref, 0, taken.v[i].units);
			unwind_alloc_give(a, taken.v[i].ref, taken.v[i].units);
			left += taken.v[i].units;
			taken.v[i] = taken.v[--taken.n];
		} else {
			uint32_t units = 1 + (uint32_t)rand() % (rand() % 20 ? 60 : 20000),
				 ref = unwind_alloc_take(a, units);

			if (!ref)
				continue;
			CHECK(ref >= 4 && ref + units <= UNITS);
			CHECK_EQ(ref / UNWIND_SHARD_UNITS, (ref + units - 1) / UNWIND_SHARD_UNITS);
			if (memchr(used + ref, 1, units))
				CHECK(!"given out twice");
			memset(used + ref, 1, units);
			left -= units;
			vec_push(&taken, (struct piece){ ref, units });
		}
		if (unwind_alloc_left(a) != left)
			CHECK_EQ(unwind_alloc_left(a), left);
	}
	for (size_t i = 0; i < taken.n; i++)
		unwind_alloc_give(a, taken.v[i].ref, taken.v[i].units);
	/* All has joined again: each shard is one piece. */
	CHECK(unwind_alloc_take(a, UNWIND_SHARD_UNITS));
	CHECK(unwind_alloc_take(a, UNWIND_SHARD_UNITS));
	CHECK_EQ(unwind_alloc_take(a, UNWIND_SHARD_UNITS - 4), 4);
	CHECK_EQ(unwind_alloc_take(a, 1), 0);
	vec_free(&taken);
	free(used);
	unwind_alloc_free(a);
}

TEST(fills_an_object)
{
	static const struct {
		uint32_t blocks, size;
	} cases[] = {
		{ 0, 0 },	{ 1, 600 },    { 3, 20000 },  { 50, 12000 },
		{ 300, 20000 }, { 4, 299000 }, { 1000, 530 },
	};
	struct shards mem = { .most = MAX_SHARDS };
	struct unwind_store *s = unwind_store_new(MAX_SHARDS * (size_t)EBP_SHARD_BYTES, grow, &mem);
	uint32_t refs[sizeof(cases) / sizeof(cases[0])];
	uint32_t n;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_table t = make_table(cases[i].blocks, cases[i].size,
						   (uint8_t)(i + 7));
		size_t before;

		refs[i] = unwind_store_add_object(s);
		CHECK(refs[i] >= EBP_OBJECT_FIRST);
		CHECK_EQ(object_at(&mem, refs[i])->dir, 0);
		before = unwind_store_used(s);
		CHECK_EQ(unwind_store_fill(s, refs[i], &t), 0);
		CHECK(holds(&mem, refs[i], &t));
		CHECK_EQ(object_at(&mem, refs[i])->generation, 1);
		CHECK_EQ(unwind_store_fill(s, refs[i], &t), -EBUSY);
		CHECK(unwind_store_used(s) - before <= unwind_store_need(&t) + 16);
		free_table(&t);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct unwind_table t = make_table(cases[i].blocks, cases[i].size,
						   (uint8_t)(i + 7));

		CHECK(holds(&mem, refs[i], &t));
		free_table(&t);
	}
	CHECK(unwind_store_shards(s, &n)[0] == mem.memory[0]);
	CHECK_EQ(n, mem.n);
	CHECK_EQ(unwind_store_size(s), mem.n * (size_t)EBP_SHARD_BYTES);
	unwind_store_free(s);
	shards_free(&mem);
}

TEST(says_when_it_is_full)
{
	struct shards mem = { .most = 1, .err = EPERM };
	struct unwind_store *s = unwind_store_new(1, grow, &mem);
	struct unwind_table t = make_table(90, 20000, 1), big = make_table(200, 20000, 2);
	uint32_t a = unwind_store_add_object(s), b = unwind_store_add_object(s);
	size_t used;

	CHECK_EQ(unwind_store_limit(s), EBP_SHARD_BYTES);
	CHECK_EQ(unwind_store_fill(s, a, &t), 0);
	used = unwind_store_used(s);
	CHECK_EQ(unwind_store_fill(s, b, &big), -ENOSPC);
	CHECK_EQ(unwind_store_used(s), used);
	CHECK_EQ(object_at(&mem, b)->dir, 0);
	CHECK(holds(&mem, a, &t));
	unwind_store_free(s);
	/* The reason of whoever makes shards is passed on. */
	s = unwind_store_new(2 * EBP_SHARD_BYTES, grow, &mem);
	CHECK_EQ(unwind_store_add_object(s), 0);
	CHECK_EQ(errno, EPERM);
	CHECK_EQ(unwind_store_add_rows(s, &(struct ebp_mapping){ .end = 1 }, 0), 0);
	CHECK_EQ(errno, EINVAL);
	unwind_store_free(s);
	free_table(&t);
	free_table(&big);
	shards_free(&mem);
}

/* Free memory in small pieces alone still takes a table of small blocks. */
TEST(uses_small_gaps)
{
	struct shards mem = { .most = 1 };
	struct unwind_store *s = unwind_store_new(1, grow, &mem);
	struct unwind_table t = make_table(30, 16000, 3);
	static const struct ebp_mapping rows[1200];
	VEC(uint32_t) refs = { 0 };
	uint32_t ref, object = unwind_store_add_object(s);

	while ((ref = unwind_store_add_rows(s, rows, 1200)))
		vec_push(&refs, ref);
	CHECK_EQ(unwind_store_fill(s, object, &t), -ENOSPC);
	for (size_t i = 0; i < refs.n; i += 2)
		unwind_store_remove_rows(s, refs.v[i], 1200);
	for (int i = 0; i < 2; i++) {
		CHECK_EQ(unwind_store_fill(s, object, &t), -ENOSPC);
		CHECK(unwind_store_leaving(s) > 0);
		unwind_store_epoch(s);
	}
	CHECK_EQ(unwind_store_leaving(s), 0);
	CHECK_EQ(unwind_store_fill(s, object, &t), 0);
	CHECK(holds(&mem, object, &t));
	vec_free(&refs);
	free_table(&t);
	unwind_store_free(s);
	shards_free(&mem);
}

TEST(lets_an_emptied_object_rest)
{
	struct shards mem = { .most = 2 };
	struct unwind_store *s = unwind_store_new(2 * EBP_SHARD_BYTES, grow, &mem);
	struct unwind_table t = make_table(9, 5000, 4), u = make_table(4, 9000, 5);
	uint32_t object = unwind_store_add_object(s);

	CHECK_EQ(unwind_store_fill(s, object, &t), 0);
	unwind_store_epoch(s);
	unwind_store_empty(s, object);
	CHECK_EQ(object_at(&mem, object)->dir, 0);
	/* What a reader of the old directory still goes by. */
	CHECK_EQ(object_at(&mem, object)->npages, t.npages);
	CHECK_EQ(unwind_store_fill(s, object, &u), -EBUSY);
	unwind_store_epoch(s);
	CHECK_EQ(unwind_store_fill(s, object, &u), -EBUSY);
	unwind_store_epoch(s);
	CHECK_EQ(unwind_store_fill(s, object, &u), 0);
	CHECK(holds(&mem, object, &u));
	CHECK_EQ(object_at(&mem, object)->generation, 2);
	free_table(&t);
	free_table(&u);
	unwind_store_free(s);
	shards_free(&mem);
}

/* What a reader that began before a removal may still look at, until two epochs have passed. */
struct seen {
	uint32_t ref, size;
	uint8_t *bytes;
	uint64_t until;		/* epoch at which it may change; UINT64_MAX: it is published */
	uint32_t id;
};

typedef VEC(struct seen) seen_vec;

static void see(seen_vec *v, const struct shards *mem, uint32_t ref, uint32_t size, uint32_t id)
{
	struct seen e = { ref, size, xmalloc(size), UINT64_MAX, id };

	memcpy(e.bytes, at(mem, ref), size);
	vec_push(v, e);
}

#define THINGS 40

/* Rows (odd ones) or objects that come and go. */
struct things {
	struct shards mem;
	struct unwind_store *s;
	seen_vec seen;
	uint32_t refs[THINGS], sizes[THINGS], refused;
};

static void add_thing(struct things *t, uint32_t i)
{
	struct unwind_table table = make_table(1 + (uint32_t)rand() % 60, 12000, (uint8_t)rand());
	struct ebp_mapping rows[300];
	const struct ebp_object *o;
	const uint32_t *dir;

	memset(rows, rand(), sizeof(rows));
	t->sizes[i] = 1 + (uint32_t)rand() % 300;
	t->refs[i] = i % 2 ? unwind_store_add_rows(t->s, rows, t->sizes[i])
			   : unwind_store_add_object(t->s);
	if (t->refs[i] && i % 2) {
		see(&t->seen, &t->mem, t->refs[i], t->sizes[i] * 32, i);
	} else if (t->refs[i] && unwind_store_fill(t->s, t->refs[i], &table)) {
		unwind_store_remove(t->s, t->refs[i]);
		t->refs[i] = 0;
	} else if (t->refs[i]) {
		/* All but `dir`, which goes to 0 at once. */
		o = object_at(&t->mem, t->refs[i]);
		dir = at(&t->mem, o->dir);
		see(&t->seen, &t->mem, o->dir, 4 * o->npages, i);
		for (uint32_t p = 0; p < o->npages; p++)
			if (table.page[p] != UNWIND_PAGE_NONE)
				see(&t->seen, &t->mem, dir[p],
				    table.block[table.page[p] + 1] - table.block[table.page[p]], i);
	}
	t->refused += !t->refs[i];
	free_table(&table);
}

static void remove_thing(struct things *t, uint32_t i, uint64_t until)
{
	if (i % 2)
		unwind_store_remove_rows(t->s, t->refs[i], t->sizes[i]);
	else
		unwind_store_remove(t->s, t->refs[i]);
	t->refs[i] = 0;
	for (size_t k = 0; k < t->seen.n; k++)
		if (t->seen.v[k].id == i && t->seen.v[k].until == UINT64_MAX)
			t->seen.v[k].until = until;
}

static void check_seen(struct things *t, uint64_t epoch)
{
	size_t kept = 0;

	for (size_t k = 0; k < t->seen.n; k++) {
		struct seen e = t->seen.v[k];

		if (e.until <= epoch) {
			free(e.bytes);
			continue;
		}
		t->seen.v[kept++] = e;
		if (memcmp(at(&t->mem, e.ref), e.bytes, e.size))
			CHECK(!"what a reader sees has changed");
	}
	t->seen.n = kept;
}

/* Random adding and removing; nothing seen changes too early. */
TEST(keeps_what_readers_may_see)
{
	struct things t = { .mem = { .most = 2 } };
	uint64_t epoch = 0;
	size_t peak = 0;

	srand(2);
	t.s = unwind_store_new(2 * EBP_SHARD_BYTES, grow, &t.mem);
	for (int round = 0; round < 2000; round++) {
		uint32_t i = (uint32_t)rand() % THINGS;

		if (t.refs[i])
			remove_thing(&t, i, epoch + 2);
		else
			add_thing(&t, i);
		if (rand() % 5 == 0) {
			unwind_store_epoch(t.s);
			epoch++;
		}
		check_seen(&t, epoch);
		peak = unwind_store_used(t.s) > peak ? unwind_store_used(t.s) : peak;
	}
	/* The test is worth something only if memory was short now and then. */
	CHECK(t.refused > 10);
	CHECK(peak > EBP_SHARD_BYTES);
	for (uint32_t i = 0; i < THINGS; i++)
		if (t.refs[i])
			remove_thing(&t, i, epoch + 2);
	unwind_store_epoch(t.s);
	unwind_store_epoch(t.s);
	check_seen(&t, epoch + 2);
	CHECK_EQ(t.seen.n, 0);
	CHECK_EQ(unwind_store_used(t.s), 0);
	vec_free(&t.seen);
	unwind_store_free(t.s);
	shards_free(&t.mem);
}

/* A reader in another thread, as the kernel's are: it takes `dir` and then the rest. */
struct reader {
	struct shards *mem;
	uint32_t object;
	/* atomic: a reader that began after a look at it has ended two later */
	uint64_t passes;
	int stop;		/* atomic */
	uint64_t found, wrong;
};

static void *read_on(void *arg)
{
	struct reader *r = arg;

	while (!__atomic_load_n(&r->stop, __ATOMIC_ACQUIRE)) {
		const struct ebp_object *o = object_at(r->mem, r->object);
		uint32_t dir = __atomic_load_n(&o->dir, __ATOMIC_ACQUIRE);

		if (dir) {
			const uint32_t *pages = at(r->mem, dir);
			uint8_t seed = (uint8_t)o->first_page;

			for (uint32_t i = 0; i < o->npages; i++)
				if (pages[i] != EBP_REF_GAP)
					r->wrong += *(uint8_t *)at(r->mem, pages[i]) !=
						    (seed ^ (uint8_t)(i - i / 3));
			for (uint32_t i = 0; i < o->nexotic; i++)
				r->wrong += ((struct ebp_exotic *)at(r->mem, o->exotic))[i]
						    .cfa_offset != seed;
			r->found++;
		}
		__atomic_fetch_add(&r->passes, 1, __ATOMIC_ACQ_REL);
	}
	return NULL;
}

static void grace_period(struct reader *r)
{
	uint64_t passes = __atomic_load_n(&r->passes, __ATOMIC_ACQUIRE);

	while (__atomic_load_n(&r->passes, __ATOMIC_ACQUIRE) < passes + 2)
		sched_yield();
}

TEST(shows_no_half_table)
{
	struct shards mem = { .most = 1 };
	struct unwind_store *s = unwind_store_new(1, grow, &mem);
	struct reader r = { .mem = &mem, .object = unwind_store_add_object(s) };
	pthread_t thread;

	pthread_create(&thread, NULL, read_on, &r);
	for (int i = 0; i < 300; i++) {
		struct unwind_table t = make_table(10 + (uint32_t)i % 40, 2000, (uint8_t)i);

		CHECK_EQ(unwind_store_fill(s, r.object, &t), 0);
		grace_period(&r);
		unwind_store_empty(s, r.object);
		for (int e = 0; e < 2; e++) {
			grace_period(&r);
			unwind_store_epoch(s);
		}
		free_table(&t);
	}
	__atomic_store_n(&r.stop, 1, __ATOMIC_RELEASE);
	pthread_join(thread, NULL);
	CHECK(r.found > 0);
	CHECK_EQ(r.wrong, 0);
	unwind_store_free(s);
	shards_free(&mem);
}

int main(void)
{
	RUN(gives_out_each_unit_once);
	RUN(fills_an_object);
	RUN(says_when_it_is_full);
	RUN(uses_small_gaps);
	RUN(lets_an_emptied_object_rest);
	RUN(keeps_what_readers_may_see);
	RUN(shows_no_half_table);
	return TEST_END();
}
