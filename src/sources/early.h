/* SPDX-License-Identifier: MIT */
/*
 * Counts that came before the stacks that they name: what the kernel could not unwind is known when
 * user space has done so, which may have to wait for tables.
 */
#ifndef EBPROF_EARLY_H
#define EBPROF_EARLY_H

#include "base/vec.h"
#include "sources/source.h"

struct early_count {
	struct ebp_key key;
	struct source_count count;	/* but for its key */
};

/* All zeros: none. */
struct early {
	VEC(struct early_count) counts;
};

static inline void early_keep(struct early *e, const struct source_count *c)
{
	vec_push(&e->counts, (struct early_count){ *c->key, *c });
}

/* Gives @fn those, in their order, of which @waits says no, NULL: all. It keeps none. */
static inline void early_take(struct early *e,
			      int (*waits)(void *ctx, const struct ebp_key *key),
			      void (*fn)(void *ctx, const struct source_count *c), void *ctx)
{
	size_t kept = 0;

	for (size_t i = 0; i < e->counts.n; i++) {
		struct early_count early = e->counts.v[i];

		early.count.key = &early.key;
		if (waits && waits(ctx, &early.key))
			e->counts.v[kept++] = early;
		else
			fn(ctx, &early.count);
	}
	e->counts.n = kept;
}

static inline void early_free(struct early *e)
{
	vec_free(&e->counts);
}

#endif
