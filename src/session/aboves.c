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
		    !memcmp(last->bytes + from, border, UNWIND_BORDER))
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

	if (n <= UNWIND_BORDER || memcmp(a->fetched, border, UNWIND_BORDER))
		return NULL;
	bytes = stash_take(a->stash, n);
	if (!bytes)
		return NULL;
	memcpy(bytes, a->fetched, n);
	return new_piece(at, bytes, n);
}

/* All from @at on, the beginning of which is at @border. */
static struct unwind_above *fetch_all(struct aboves *a, const struct ebp_rescue *sample,
				      struct unwind_above *last, uint64_t at, const char *border)
{
	struct unwind_above *first = NULL, **end = &first, *piece;

	for (unsigned i = 0; i < PIECES_MAX; i++) {
		piece = find(last, at, border);
		if (piece) {
			*end = share(piece);
			break;
		}
		piece = fetch(a, (pid_t)sample->key.process.tgid, at, border);
		if (!piece)
			break;
		*end = piece;
		end = &piece->next;
		if (piece->n < PIECE)
			break;
		at += piece->n - UNWIND_BORDER;
		border = piece->bytes + (piece->n - UNWIND_BORDER);
	}
	return first;
}

struct unwind_above *aboves_take(struct aboves *a, const struct ebp_rescue *sample)
{
	struct unwind_above *above;
	uint32_t n = sample->head.n;
	struct thread *t;

	if (!EBP_STACK_WAS_CUT(n))
		return NULL;
	t = thread_of(a, sample->key.tid);
	above = fetch_all(a, sample, t->last, sample->sp + n - UNWIND_BORDER,
			  (const char *)sample->stack + n - UNWIND_BORDER);
	if (!above)
		return new_piece(sample->sp + n, NULL, 0);
	aboves_give(a, t->last);
	t->last = share(above);
	return above;
}
