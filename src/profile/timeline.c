/* SPDX-License-Identifier: MIT */
#include "profile/timeline.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "base/xalloc.h"

#define RECENT 64	/* samples of a stream that have short numbers; so each is one byte */
#define FIRST_BYTES 256
#define SECOND 1000000000u

enum sort { MOMENTS, VALUES, SPANS, SORTS };

/* Where a stream is. */
struct place {
	uint64_t time;			/* units */
	uint32_t recent[RECENT];	/* samples, the last one first */
	uint32_t nrecent;
	uint32_t other;			/* the last sample that was not among them */
};

struct stream {
	uint8_t *v;
	size_t n, cap, ticks;
	struct place at;
};

struct timeline {
	VEC(struct stream *) streams;	/* by their numbers; NULL: none yet */
	uint64_t unit, period;		/* ns; units */
	size_t ticks, most;
	uint64_t refused;
};

struct timeline *timeline_new(uint64_t unit, size_t most)
{
	struct timeline *t = xcalloc(1, sizeof(*t));

	t->unit = unit;
	t->most = most;
	return t;
}

void timeline_expect(struct timeline *t, uint64_t frequency)
{
	t->period = frequency ? SECOND / frequency / t->unit : 0;
}

static void release(struct timeline *t)
{
	for (size_t i = 0; i < t->streams.n; i++) {
		if (t->streams.v[i])
			free(t->streams.v[i]->v);
		free(t->streams.v[i]);
	}
	vec_free(&t->streams);
}

void timeline_free(struct timeline *t)
{
	if (!t)
		return;
	release(t);
	free(t);
}

/* --- Numbers. -------------------------------------------------------------------- */

/* Small ones for what is near to 0. */
static uint64_t zigzag(uint64_t difference)
{
	return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static uint64_t unzigzag(uint64_t code)
{
	return code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
}

/* It grows by a part, as most of what is held is this. */
static void put(struct stream *s, uint64_t value)
{
	if (s->n + 10 > s->cap) {
		s->cap += s->cap / 8 + FIRST_BYTES;
		s->v = xrealloc(s->v, s->cap);
	}
	for (; value >= 0x80; value >>= 7)
		s->v[s->n++] = (uint8_t)(value | 0x80);
	s->v[s->n++] = (uint8_t)value;
}

/* @sample is the last one now; it was at @i, or is new. */
static void move_to_front(struct place *at, uint32_t i, uint32_t sample)
{
	if (i == at->nrecent) {
		at->other = sample;
		at->nrecent += at->nrecent < RECENT;
		i = at->nrecent - 1;
	}
	memmove(at->recent + 1, at->recent, i * sizeof(*at->recent));
	at->recent[0] = sample;
}

static uint64_t code_of(struct place *at, uint32_t sample)
{
	uint64_t other = RECENT + zigzag((uint64_t)sample - at->other);
	uint32_t i = 0;

	while (i < at->nrecent && at->recent[i] != sample)
		i++;
	other = i < at->nrecent ? i : other;
	move_to_front(at, i, sample);
	return other;
}

/* The other way; PROFILE_NONE: no such sample. */
static uint32_t sample_of(struct place *at, uint64_t code)
{
	uint64_t sample = code < RECENT ? PROFILE_NONE : at->other + unzigzag(code - RECENT);
	uint32_t i = code < at->nrecent ? (uint32_t)code : at->nrecent;

	if (i < at->nrecent)
		sample = at->recent[i];
	if (sample >= PROFILE_NONE)
		return PROFILE_NONE;
	move_to_front(at, i, (uint32_t)sample);
	return (uint32_t)sample;
}

/* --- Ticks. ------------------------------------------------------------------------ */

static struct stream *stream_at(struct timeline *t, uint32_t cpu, enum sort sort)
{
	size_t number = (size_t)cpu * SORTS + sort;

	while (t->streams.n <= number)
		vec_push(&t->streams, NULL);
	if (!t->streams.v[number])
		t->streams.v[number] = xcalloc(1, sizeof(struct stream));
	return t->streams.v[number];
}

int timeline_full(const struct timeline *t)
{
	return t->ticks >= t->most;
}

int timeline_add(struct timeline *t, const struct tick *tick)
{
	enum sort sort = tick->span ? SPANS : tick->value == 1 ? MOMENTS : VALUES;
	uint64_t begin = tick->time / t->unit, end = (tick->time + tick->span) / t->unit;
	struct stream *s;

	t->refused += timeline_full(t);
	if (timeline_full(t) || tick->cpu >= TIMELINE_CPUS || (tick->span && begin == end) ||
	    tick->time > INT64_MAX || tick->span > INT64_MAX - tick->time)
		return 0;
	s = stream_at(t, tick->cpu, sort);
	put(s, zigzag(end - s->at.time - (sort == SPANS ? 0 : t->period)));
	put(s, code_of(&s->at, tick->sample));
	if (sort != MOMENTS)
		put(s, sort == SPANS ? end - begin : tick->value);
	s->at.time = end;
	s->ticks++;
	t->ticks++;
	return 1;
}

uint64_t timeline_refused(const struct timeline *t)
{
	return t->refused;
}

size_t timeline_ticks(const struct timeline *t)
{
	return t->ticks;
}

size_t timeline_bytes(const struct timeline *t)
{
	size_t bytes = sizeof(*t) + t->streams.cap * sizeof(*t->streams.v);

	for (size_t i = 0; i < t->streams.n; i++)
		bytes += t->streams.v[i] ? sizeof(struct stream) + t->streams.v[i]->cap : 0;
	return bytes;
}

/* The next one of a stream; @c is bad where there is none. */
static struct tick next_tick(struct cursor *c, struct place *at, enum sort sort, uint64_t unit,
			     uint64_t period)
{
	uint64_t step = unzigzag(cursor_uleb(c)), code = cursor_uleb(c);
	uint64_t value = sort == MOMENTS ? 1 : cursor_uleb(c), span = 0;
	struct tick tick = { .sample = sample_of(at, code) };

	at->time += step + (sort == SPANS ? 0 : period);
	span = sort == SPANS ? value : 0;
	c->bad |= tick.sample == PROFILE_NONE || span > at->time ||
		  __builtin_mul_overflow(at->time - span, unit, &tick.time) ||
		  __builtin_mul_overflow(span, unit, &tick.span) ||
		  tick.time > INT64_MAX || tick.span > INT64_MAX;
	tick.value = sort == SPANS ? tick.span : value;
	return tick;
}

/* 0 where it is enough. */
static int read_stream(struct cursor *c, uint64_t number, uint64_t n, uint64_t unit,
		       uint64_t period, timeline_take *take, void *ctx)
{
	struct place at = { 0 };

	c->bad |= number / SORTS >= TIMELINE_CPUS;
	for (; n && !c->bad; n--) {
		struct tick tick = next_tick(c, &at, (enum sort)(number % SORTS), unit, period);

		tick.cpu = (uint32_t)(number / SORTS);
		if (!c->bad && !take(ctx, &tick))
			return 0;
	}
	c->bad |= c->p != c->end;
	return 1;
}

void timeline_each(const struct timeline *t, timeline_take *take, void *ctx)
{
	for (size_t i = 0; i < t->streams.n; i++) {
		const struct stream *s = t->streams.v[i];
		struct cursor c = { 0 };

		if (!s)
			continue;
		c = (struct cursor){ .p = s->v, .end = s->v + s->n };
		if (!read_stream(&c, i, s->ticks, t->unit, t->period, take, ctx))
			return;
	}
}

/* What timeline_renumber() is in the midst of. */
struct renumbering {
	struct timeline *to;
	const uint32_t *now;
};

static int add_renumbered(void *ctx, const struct tick *tick)
{
	const struct renumbering *r = ctx;
	struct tick t = *tick;

	t.sample = r->now[t.sample];
	timeline_add(r->to, &t);
	return 1;
}

void timeline_renumber(struct timeline *t, const uint32_t *now)
{
	struct timeline to = { .unit = t->unit, .period = t->period, .most = t->most,
			       .refused = t->refused };

	timeline_each(t, add_renumbered, &(struct renumbering){ &to, now });
	release(t);
	*t = to;
}

/* --- As bytes. ----------------------------------------------------------------------- */

void timeline_write(const struct timeline *t, struct protobuf *b)
{
	protobuf_varint(b, t->unit);
	protobuf_varint(b, t->period);
	for (size_t i = 0; i < t->streams.n; i++) {
		const struct stream *s = t->streams.v[i];

		if (!s)
			continue;
		protobuf_varint(b, i);
		protobuf_varint(b, s->ticks);
		protobuf_varint(b, s->n);
		protobuf_raw(b, s->v, s->n);
	}
}

void timeline_read(struct cursor *bytes, timeline_take *take, void *ctx)
{
	uint64_t unit = cursor_uleb(bytes), period = cursor_uleb(bytes);
	int more = 1;

	while (more && !bytes->bad && bytes->p < bytes->end) {
		uint64_t number = cursor_uleb(bytes), n = cursor_uleb(bytes);
		uint64_t size = cursor_uleb(bytes);
		struct cursor c = *bytes;

		cursor_skip(bytes, size);
		c.end = bytes->p;
		if (bytes->bad)
			return;
		more = read_stream(&c, number, n, unit, period, take, ctx);
		bytes->bad |= c.bad;
	}
}
