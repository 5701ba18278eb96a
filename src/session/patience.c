/* SPDX-License-Identifier: MIT */
#include "session/patience.h"

#define IN_A_ROW	16
#define REST		1000000000ull	/* ns, the first one */
#define DOUBLED_MAX	12		/* 68 minutes */
/* What is kept of a process: stacks in a row, how often it has rested, and whether it does. */
#define ROW		0xffu
#define RESTS_SHIFT	8
#define RESTS		(0xffu << RESTS_SHIFT)
#define RESTING		(1u << 16)

int patience_failed(struct patience *p, pid_t pid, uint64_t now)
{
	uint32_t kept = hashmap_put(&p->tried, (uint64_t)pid, 0);
	uint32_t rests = (kept & RESTS) >> RESTS_SHIFT;

	/* They were under way. */
	if (kept & RESTING)
		return 0;
	if ((kept & ROW) + 1 < IN_A_ROW) {
		hashmap_set(&p->tried, (uint64_t)pid, kept + 1);
		return 0;
	}
	vec_push(&p->resting, (struct resting){ now + (REST << rests), pid });
	rests += rests < DOUBLED_MAX;
	hashmap_set(&p->tried, (uint64_t)pid, RESTING | rests << RESTS_SHIFT);
	return 1;
}

void patience_succeeded(struct patience *p, pid_t pid)
{
	uint32_t kept = hashmap_get(&p->tried, (uint64_t)pid);

	if (kept != HASHMAP_NONE && !(kept & RESTING))
		hashmap_del(&p->tried, (uint64_t)pid);
}

pid_t patience_rested(struct patience *p, uint64_t now)
{
	for (size_t i = 0; i < p->resting.n; i++) {
		struct resting r = p->resting.v[i];
		uint32_t kept = hashmap_get(&p->tried, (uint64_t)r.pid);

		if (r.until > now)
			continue;
		p->resting.v[i] = p->resting.v[--p->resting.n];
		hashmap_set(&p->tried, (uint64_t)r.pid, kept & ~RESTING);
		return r.pid;
	}
	return 0;
}

void patience_forget(struct patience *p, pid_t pid)
{
	hashmap_del(&p->tried, (uint64_t)pid);
	for (size_t i = 0; i < p->resting.n; i++)
		if (p->resting.v[i].pid == pid) {
			p->resting.v[i] = p->resting.v[--p->resting.n];
			return;
		}
}

void patience_free(struct patience *p)
{
	hashmap_free(&p->tried);
	vec_free(&p->resting);
}
