/* SPDX-License-Identifier: MIT */
#include "serve/live.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "output/html_live.h"
#include "profile/increment.h"
#include "profile/profile_fold.h"

#define NAMES_TIME 3000000000ull	/* ns that an update waits for its names, at most */
/*
 * A new watcher gets the last whole update and all since: it is made anew when these have become as
 * large, so that it costs no more than they did.
 */
#define WHOLE_LEAST (1u << 20)		/* bytes */
#define TICKS_HALF 500000u		/* of those that a whole update has, the last ones */

struct live {
	struct live_sink sink;
	struct increment *increment;
	uint64_t each;
	struct timeline *fresh;		/* times of what is to be sent; NULL: none */
	struct timeline *older, *newer;	/* of what was sent, the last ones */
	uint64_t folded;		/* how often the profile was, then */
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
	timeline_free(l->fresh);
	timeline_free(l->older);
	timeline_free(l->newer);
	free(l);
}

int live_is_free(const struct live *l)
{
	return !l->taken && !l->sink.is_busy(l->sink.ctx);
}

static int keep_tick(void *ctx, const struct tick *tick)
{
	timeline_add(ctx, tick);
	return 1;
}

/* They were sent; of the oldest ones half are forgotten when there are too many. */
static void keep_ticks(struct live *l)
{
	if (!l->fresh)
		return;
	if (l->newer && timeline_ticks(l->newer) >= TICKS_HALF) {
		timeline_free(l->older);
		l->older = l->newer;
		l->newer = NULL;
	}
	if (!l->newer)
		l->newer = timeline_new(TIMELINE_UNIT, 2 * TICKS_HALF);
	timeline_each(l->fresh, keep_tick, l->newer);
	timeline_free(l->fresh);
	l->fresh = NULL;
}

/* Samples may have other numbers than the last time. */
static void follow_folding(struct live *l, const struct profile *p)
{
	const struct profile_folded f = profile_folded(p);

	struct timeline *all[] = { l->fresh, l->older, l->newer };

	for (size_t i = 0; i < sizeof(all) / sizeof(*all) && f.times != l->folded; i++)
		if (all[i])
			timeline_renumber(all[i], f.samples);
	l->folded = f.times;
}

void live_take(struct live *l, const struct profile *p, struct timeline *ticks, uint64_t now)
{
	follow_folding(l, p);
	if (l->fresh && ticks)
		timeline_each(ticks, keep_tick, l->fresh);
	if (l->fresh)
		timeline_free(ticks);
	else
		l->fresh = ticks;
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
	struct profile *part = increment_part(
		l->increment, p, &(struct increment_choice){ .ticks = { l->fresh } });

	if (part) {
		const struct profile_account a = more(&l->now, &l->before);

		l->sequence++;
		l->since += put(l, part, &a, 0);
		l->before = l->now;
		keep_ticks(l);
	}
	if (part && l->since >= WHOLE_LEAST && l->since >= l->whole) {
		l->whole = put(l,
			       increment_so_far(l->increment, p,
						&(struct increment_choice){
							.ticks = { l->older, l->newer } }),
			       &l->now, 1);
		l->since = 0;
	}
	increment_clear(l->increment);
	l->taken = 0;
}
