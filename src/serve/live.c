/* SPDX-License-Identifier: MIT */
#include "serve/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "output/html_live.h"
#include "profile/increment.h"

#define NAMES_TIME 3000000000ull	/* ns that an update waits for its names, at most */
/*
 * A new watcher gets the last whole update and all since: it is made anew when these have become as
 * large, so that it costs no more than they did.
 */
#define WHOLE_LEAST (1u << 20)		/* bytes */

struct live {
	struct live_sink sink;
	struct increment *increment;
	uint64_t each;
	int taken;
	uint64_t until;			/* it waits for names */
	uint64_t sequence;
	size_t whole, since;		/* bytes: of the last whole one, of the updates since */
	struct profile_account before;	/* what the updates so far have of it */
	struct profile_account now;	/* at the last live_take() */
};

struct live *live_new(const struct live_sink *sink, uint64_t each)
{
	struct live *l = xcalloc(1, sizeof(*l));

	l->sink = *sink;
	l->increment = increment_new();
	l->each = each;
	return l;
}

void live_free(struct live *l)
{
	if (!l)
		return;
	increment_free(l->increment);
	free(l);
}

int live_is_free(const struct live *l)
{
	return !l->taken && !l->sink.is_busy(l->sink.ctx);
}

void live_take(struct live *l, const struct profile *p, uint64_t now)
{
	increment_take(l->increment, p);
	l->now = *profile_view(p).account;
	l->until = now + NAMES_TIME;
	l->taken = 1;
}

int live_is_due(const struct live *l, const struct profile *p, uint64_t now)
{
	return l->taken && (now >= l->until || increment_is_named(l->increment, p));
}

static uint64_t count_of(const struct profile_reason *reasons, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(reasons[i].name, name))
			return reasons[i].count;
	return 0;
}

/* What @now has more than @before; a count that was corrected downwards has nothing more. */
static struct profile_account more(const struct profile_account *now,
				   const struct profile_account *before)
{
	struct profile_account a = *now;

	a.taken -= before->taken < a.taken ? before->taken : a.taken;
	a.kept -= before->kept < a.kept ? before->kept : a.kept;
	for (size_t i = 0; i < a.nlost; i++) {
		uint64_t old = count_of(before->lost, before->nlost, a.lost[i].name);

		a.lost[i].count -= old < a.lost[i].count ? old : a.lost[i].count;
	}
	for (size_t i = 0; i < a.ntruncated; i++) {
		uint64_t old =
			count_of(before->truncated, before->ntruncated, a.truncated[i].name);

		a.truncated[i].count -=
			old < a.truncated[i].count ? old : a.truncated[i].count;
	}
	return a;
}

/* Frees @p. Returns the bytes. */
static size_t put(struct live *l, struct profile *p, const struct profile_account *a, int whole)
{
	struct outfile_bytes text = { 0 };
	struct outfile *f = outfile_memory(&text);
	size_t size;

	*profile_account(p) = *a;
	if (l->each)
		profile_derive(p, 0, "cpu", "nanoseconds", l->each);
	html_write_update(p, l->sequence, whole, f);
	outfile_commit(f, NULL);
	profile_free(p);
	size = text.n;
	l->sink.put(l->sink.ctx, whole ? STORE_WHOLE : STORE_UPDATE, l->sequence, &text);
	return size;
}

void live_send(struct live *l, const struct profile *p)
{
	struct profile *part = increment_part(l->increment, p, &(struct increment_choice){ 0 });

	if (part) {
		const struct profile_account a = more(&l->now, &l->before);

		l->sequence++;
		l->since += put(l, part, &a, 0);
		l->before = l->now;
	}
	if (part && l->since >= WHOLE_LEAST && l->since >= l->whole) {
		l->whole = put(l, increment_so_far(l->increment, p), &l->now, 1);
		l->since = 0;
	}
	increment_clear(l->increment);
	l->taken = 0;
}
