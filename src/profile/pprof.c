/* SPDX-License-Identifier: MIT */
#include "profile/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_vec.h"
#include "base/xalloc.h"
#include "profile/latency.h"

#define PREFIX "ebprof: "
/* the reason of no sample, which makes a list of reasons that is known */
#define NOTHING "none"
#define LATENCY "latency"
#define OWN "comment"		/* a remark of the user's that looks like one of ours */

enum what { NUMBER, NUMBER32, SWITCH, STRING };

/* Members of the profile's description. */
static const struct fact { const char *key; enum what what; size_t offset; } facts[] = {
#define FACT(key, what, member) { key, what, offsetof(struct profile_meta, member) }
	FACT("frequency", NUMBER, frequency),
	FACT("period", NUMBER, period),
	FACT("cpus", NUMBER32, cpus),
	FACT("per-thread", SWITCH, per_thread),
	FACT("host", STRING, host),
	FACT("command", STRING, command),
	FACT("title", STRING, title),
};
#define NFACTS (sizeof(facts) / sizeof(facts[0]))

struct teller {
	const struct profile *p;
	void (*add)(void *ctx, const char *text);
	void *ctx;
};

static void tell(const struct teller *t, const char *key, const char *value)
{
	char *text = xasprintf(PREFIX "%s=%s", key, value);

	t->add(t->ctx, text);
	free(text);
}

static void tell_number(const struct teller *t, const char *key, uint64_t n)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64, n);
	tell(t, key, text);
}

/* Those that there were; returns how many samples. */
static uint64_t tell_reasons(const struct teller *t, const char *key,
			     const struct profile_reason *r, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++) {
		char *text = xasprintf("%" PRIu64 " %s", r[i].count, r[i].name);

		total += r[i].count;
		if (r[i].count)
			tell(t, key, text);
		free(text);
	}
	return total;
}

static void tell_fact(const struct teller *t, const struct fact *f, const struct profile_meta *m)
{
	const void *member = (const char *)m + f->offset;
	uint64_t n = f->what == NUMBER ? *(const uint64_t *)member : *(const uint32_t *)member;

	if (!n)
		return;
	if (f->what == STRING)
		tell(t, f->key, profile_text(t->p, (uint32_t)n));
	else
		tell_number(t, f->key, n);
}

/* For each function: how many buckets have calls, BUCKET:CALLS of these, and its name. */
static void tell_latencies(const struct teller *t)
{
	size_t n;
	const struct latency *all = profile_latencies(t->p, &n);

	for (size_t i = 0; i < n; i++) {
		struct text_vec text = { 0 };
		unsigned int used = 0;
		char *value;

		text_vec_add(&text, "");
		for (unsigned int k = 0; k < LATENCY_BUCKETS; k++) {
			char pair[40];

			if (!all[i].calls[k])
				continue;
			snprintf(pair, sizeof(pair), "%u:%" PRIu64 " ", k, all[i].calls[k]);
			text_vec_add(&text, pair);
			used++;
		}
		value = xasprintf("%u %s%s", used, text.v, profile_text(t->p, all[i].name));
		tell(t, LATENCY, value);
		free(value);
		vec_free(&text);
	}
}

/* The type that the name of the one that is shown leads to. */
static uint32_t shown_by_name(const struct profile_view *v)
{
	uint32_t i = 0;

	while (v->types[i].name != v->types[v->shown].name)
		i++;
	return v->types[i].name ? i : PROFILE_NONE;
}

void pprof_describe(const struct profile *p, void (*add)(void *ctx, const char *text), void *ctx)
{
	const struct teller t = { p, add, ctx };
	struct profile_view v = profile_view(p);
	const struct profile_account *a = v.account;
	uint64_t truncated;

	if (*v.meta->event)
		tell(&t, "event", v.meta->event);
	for (size_t i = 0; i < NFACTS; i++)
		tell_fact(&t, &facts[i], v.meta);
	/* Always: they say that the profile is ours. */
	tell_number(&t, "taken", a->taken);
	tell_number(&t, "kept", a->kept);
	if (shown_by_name(&v) != v.shown)
		tell_number(&t, "shown", v.shown);
	truncated = tell_reasons(&t, "truncated", a->truncated, a->ntruncated);
	tell_reasons(&t, "lost", a->lost, a->nlost);
	/* That it is known, where neither is named, too. */
	if (a->ntruncated + a->nlost)
		tell_number(&t, "complete", a->kept > truncated ? a->kept - truncated : 0);
	tell_latencies(&t);
	for (size_t i = 0; i < v.ncomments; i++) {
		const char *text = profile_text(p, v.comments[i]);

		if (strncmp(text, PREFIX, strlen(PREFIX)))
			add(ctx, text);
		else
			tell(&t, OWN, text);
	}
}

/* A number at the beginning of @text; where it ends, NULL where there is none. */
static const char *number(const char *text, uint64_t *n)
{
	char *end;

	if (*text < '0' || *text > '9')
		return NULL;
	errno = 0;
	*n = strtoull(text, &end, 10);
	return errno ? NULL : end;
}

static int take_number(const char *value, uint64_t most, uint64_t *n)
{
	uint64_t read;
	const char *end = number(value, &read);

	if (!end || *end || read > most)
		return 0;
	*n = read;
	return 1;
}

static int take_fact(struct profile *p, const struct fact *f, const char *value)
{
	void *member = (char *)profile_meta(p) + f->offset;
	uint64_t n;

	if (f->what == STRING)
		*(uint32_t *)member = profile_string(p, value);
	else if (!take_number(value, f->what == NUMBER ? UINT64_MAX : INT_MAX, &n))
		return 0;
	else if (f->what == NUMBER)
		*(uint64_t *)member = n;
	else
		*(uint32_t *)member = (uint32_t)n;
	return 1;
}

static int take_reason(struct profile *p, const char *value, struct profile_reason *reasons,
		       size_t *n)
{
	uint64_t count;
	const char *end = number(value, &count);

	if (!end || *end != ' ' || *n == PROFILE_REASONS_MAX)
		return 0;
	reasons[(*n)++] = (struct profile_reason){ profile_text(p, profile_string(p, end + 1)),
						   count };
	return 1;
}

/* The account was kept: what it does not name did not happen. */
static int take_complete(struct profile_account *a, const char *value)
{
	uint64_t complete;

	if (!take_number(value, UINT64_MAX, &complete))
		return 0;
	if (!a->ntruncated)
		a->truncated[a->ntruncated++].name = NOTHING;
	if (!a->nlost)
		a->lost[a->nlost++].name = NOTHING;
	return 1;
}

/* A number and @end behind it; where that ends, NULL where there is none. */
static const char *number_before(const char *text, char end, uint64_t *n)
{
	const char *behind = text ? number(text, n) : NULL;

	return behind && *behind == end ? behind + 1 : NULL;
}

static int take_latency(struct profile *p, const char *value)
{
	uint64_t calls[LATENCY_BUCKETS] = { 0 }, n, bucket, count;
	const char *at = number_before(value, ' ', &n);

	for (uint64_t i = 0; at && i < n; i++) {
		at = number_before(at, ':', &bucket);
		at = number_before(at, ' ', &count);
		if (at && bucket >= LATENCY_BUCKETS)
			return 0;
		if (at)
			calls[bucket] = count;
	}
	return at && !profile_add_latency(p, at, calls);
}

/* What stands behind @key in KEY=VALUE, NULL where that is another key. */
static const char *behind(const char *text, const char *key)
{
	size_t n = strlen(key);

	return !strncmp(text, key, n) && text[n] == '=' ? text + n + 1 : NULL;
}

static int take_shown(struct profile *p, const char *value)
{
	uint64_t type;

	if (!take_number(value, profile_view(p).ntypes - 1, &type))
		return 0;
	profile_show(p, (uint32_t)type);
	return 1;
}

int pprof_take_comment(struct profile *p, const char *text)
{
	struct profile_account *a = profile_account(p);
	const char *value;

	if (strncmp(text, PREFIX, strlen(PREFIX)))
		return 0;
	text += strlen(PREFIX);
	if ((value = behind(text, "taken")))
		return take_number(value, UINT64_MAX, &a->taken);
	if ((value = behind(text, "kept")))
		return take_number(value, UINT64_MAX, &a->kept);
	if ((value = behind(text, "shown")))
		return take_shown(p, value);
	if ((value = behind(text, "truncated")))
		return take_reason(p, value, a->truncated, &a->ntruncated);
	if ((value = behind(text, "lost")))
		return take_reason(p, value, a->lost, &a->nlost);
	if ((value = behind(text, "complete")))
		return take_complete(a, value);
	if ((value = behind(text, LATENCY)))
		return take_latency(p, value);
	if ((value = behind(text, "event")) && strlen(value) < sizeof(profile_meta(p)->event)) {
		strcpy(profile_meta(p)->event, value);
		return 1;
	}
	if ((value = behind(text, OWN))) {
		profile_comment(p, value);
		return 1;
	}
	for (size_t i = 0; i < NFACTS; i++)
		if ((value = behind(text, facts[i].key)))
			return take_fact(p, &facts[i], value);
	return 0;
}
