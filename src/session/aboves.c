/* SPDX-License-Identifier: MIT */
#include "session/aboves.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"

#define PIECE		REMOTE_BYTES
#define PIECES_MAX	16u	/* of a stack: frames of rustc's main thread are in some 10 */
#define THREADS		16u	/* whose last stack is remembered */

struct thread {
	uint32_t tid;
	struct unwind_above *last;
};

struct aboves {
	struct remote *remote;
	struct stash *stash;
	struct thread threads[THREADS];
	unsigned next;			/* whose place is taken next */
	char fetched[PIECE];
};

struct aboves *aboves_new(struct remote *remote, struct stash *stash)
{
	struct aboves *a = xcalloc(1, sizeof(*a));

	a->remote = remote;
	a->stash = stash;
	return a;
}

void aboves_give(struct aboves *a, struct unwind_above *above)
{
	while (above && !--above->users) {
		struct unwind_above *next = above->next;

		if (above->bytes)
			stash_give(a->stash, above->bytes);
		free(above);
		above = next;
	}
}

void aboves_forget(struct aboves *a)
{
	for (unsigned i = 0; i < THREADS; i++) {
		aboves_give(a, a->threads[i].last);
		a->threads[i] = (struct thread){ 0 };
	}
}

void aboves_free(struct aboves *a)
{
	if (!a)
		return;
	aboves_forget(a);
	free(a);
}

static struct unwind_above *share(struct unwind_above *piece)
{
	piece->users++;
	return piece;
}

/* Its place, or the one that is to be its. */
static struct thread *thread_of(struct aboves *a, uint32_t tid)
{
	struct thread *t;

	for (unsigned i = 0; i < THREADS; i++)
		if (a->threads[i].tid == tid)
			return &a->threads[i];
	t = &a->threads[a->next++ % THREADS];
	aboves_give(a, t->last);
	*t = (struct thread){ .tid = tid };
	return t;
}

/* Of @last and what lies above it, the piece that has what is at @border, from @at on. */
static struct unwind_above *find(struct unwind_above *last, uint64_t at, const char *border)
{
	for (; last; last = last->next) {
		uint64_t from = at - last->start;

		if (from < last->n && UNWIND_BORDER <= last->n - from &&
		    unwind_border_holds(last->bytes + from, border, UNWIND_BORDER))
			return last;
	}
	return NULL;
}

static struct unwind_above *new_piece(uint64_t start, char *bytes, size_t n)
{
	struct unwind_above *piece = xcalloc(1, sizeof(*piece));

	piece->start = start;
	piece->n = (uint32_t)n;
	piece->users = 1;
	piece->bytes = bytes;
	return piece;
}

/* The piece from @at on, where its beginning is what is at @border; else NULL. */
static struct unwind_above *fetch(struct aboves *a, pid_t pid, uint64_t at, const char *border)
{
	size_t n = remote_pages(a->remote, pid, at, a->fetched, sizeof(a->fetched));
	char *bytes;

	if (n <= UNWIND_BORDER || !unwind_border_holds(border, a->fetched, UNWIND_BORDER))
		return NULL;
	bytes = stash_take(a->stash, n);
	if (!bytes)
		return NULL;
	memcpy(bytes, a->fetched, n);
	return new_piece(at, bytes, n);
}

/*
 * All from @at on, the beginning of which is at @border, as far as it did not change meanwhile;
 * what @last has of it is shared, and goes on from where it ends. @broken: it should go on.
 */
static struct unwind_above *fetch_all(struct aboves *a, pid_t pid, struct unwind_above *last,
				      uint64_t at, const char *border, int *broken)
{
	struct unwind_above *first = NULL, **end = &first, *piece;

	*broken = 0;
	for (unsigned i = 0; i < PIECES_MAX; i++) {
		piece = find(last, at, border);
		if (piece) {
			*end = share(piece);
			last = NULL;
		} else {
			*end = piece = fetch(a, pid, at, border);
		}
		*broken = !piece;
		if (!piece)
			break;
		for (; piece->next; i++)
			piece = piece->next;
		end = &piece->next;
		if (piece->n < PIECE)
			break;
		at = piece->start + piece->n - UNWIND_BORDER;
		border = piece->bytes + (piece->n - UNWIND_BORDER);
	}
	return first;
}

struct unwind_above *aboves_take(struct aboves *a, const struct ebp_rescue *sample)
{
	pid_t pid = (pid_t)sample->key.process.tgid;
	uint32_t n = sample->head.n;
	const char *border = (const char *)sample->stack + n - UNWIND_BORDER;
	uint64_t at = sample->sp + n - UNWIND_BORDER;
	struct unwind_above *above, *anew;
	struct thread *t;
	int broken;

	if (!EBP_STACK_WAS_CUT(n))
		return NULL;
	t = thread_of(a, sample->key.tid);
	above = fetch_all(a, pid, t->last, at, border, &broken);
	/* What was kept of an earlier stack may be of the past from some place on. */
	if (broken && t->last && (anew = fetch_all(a, pid, NULL, at, border, &broken))) {
		aboves_give(a, above);
		above = anew;
	}
	if (!above)
		return new_piece(sample->sp + n, NULL, 0);
	aboves_give(a, t->last);
	t->last = share(above);
	return above;
}
