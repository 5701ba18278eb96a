/* SPDX-License-Identifier: MIT */
#include "push/ingest.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/protobuf.h"
#include "base/xalloc.h"
#include "push/gzip.h"

#define SECOND 1000000000ull
#define NAME "__name__"
#define SERVICE "service_name"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
#define UNRESERVED LETTERS "-._~"	/* RFC 3986, 2.3 */

enum { SERIES = 1 };					/* PushRequest */
enum { SERIES_LABELS = 1, SERIES_SAMPLES = 2 };
enum { LABEL_KEY = 1, LABEL_VALUE = 2 };
#define RAW_PROFILE 1					/* RawSample */
enum {
	PPROF_STRING = 6,
	PPROF_TIME = 9,
	PPROF_DURATION = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
};
#define TYPE_UNIT 2					/* ValueType */

struct times { uint64_t start, duration, period; };	/* ns; period 0: it is no time */
struct label { struct cursor key, value; };

/* --- Of the profile. ---------------------------------------------------------------- */

static int is_word(const struct cursor *word, const char *text)
{
	size_t n = (size_t)(word->end - word->p);

	return n == strlen(text) && !memcmp(word->p, text, n);
}

static int is_string(struct cursor profile, uint64_t index, const char *text)
{
	struct protobuf_field f;

	while (protobuf_next(&profile, &f))
		if (f.number == PPROF_STRING && !index--)
			return is_word(&f.bytes, text);
	return 0;
}

static int read_times(const struct cursor *profile, struct times *t)
{
	struct protobuf_field f, inner;
	const struct cursor all = *profile;
	struct cursor c = all;
	uint64_t unit = 0;

	*t = (struct times){ 0 };
	while (protobuf_next(&c, &f)) {
		if (f.number == PPROF_TIME)
			t->start = f.value;
		else if (f.number == PPROF_DURATION)
			t->duration = f.value;
		else if (f.number == PPROF_PERIOD)
			t->period = f.value;
		while (f.number == PPROF_PERIOD_TYPE && protobuf_next(&f.bytes, &inner))
			if (inner.number == TYPE_UNIT)
				unit = inner.value;
	}
	if (!is_string(all, unit, "nanoseconds"))
		t->period = 0;
	return c.bad ? -EINVAL : 0;
}

/* --- The URL. -------------------------------------------------------------------------- */

static void put_text(struct ingest_request *r, const char *text)
{
	for (; *text; text++)
		vec_push(&r->url, *text);
}

/* As a value of a query. */
static void put_byte(struct ingest_request *r, char c)
{
	static const char digits[] = "0123456789ABCDEF";

	if (c && strchr(UNRESERVED, c)) {
		vec_push(&r->url, c);
		return;
	}
	vec_push(&r->url, '%');
	vec_push(&r->url, digits[(unsigned char)c >> 4]);
	vec_push(&r->url, digits[(unsigned char)c & 15]);
}

/* What is one of @good; with @good NULL what ends no value. */
static void put_word(struct ingest_request *r, const struct cursor *word, const char *good)
{
	for (const uint8_t *p = word->p; p < word->end; p++) {
		char c = (char)*p;

		put_byte(r, c && (good ? !!strchr(good, c) : !strchr(",{}=", c)) ? c : '_');
	}
}

static struct label read_label(struct cursor c)
{
	struct protobuf_field f;
	struct label l = { 0 };

	while (protobuf_next(&c, &f))
		if (f.number == LABEL_KEY)
			l.key = f.bytes;
		else if (f.number == LABEL_VALUE)
			l.value = f.bytes;
	return l;
}

static void put_labels(struct ingest_request *r, struct cursor series)
{
	struct protobuf_field f;
	int n = 0;

	put_byte(r, '{');
	while (protobuf_next(&series, &f)) {
		struct label l;

		if (f.number != SERIES_LABELS)
			continue;
		l = read_label(f.bytes);
		if (is_word(&l.key, NAME) || is_word(&l.key, SERVICE) || l.key.p == l.key.end)
			continue;
		if (n++)
			put_byte(r, ',');
		put_word(r, &l.key, LETTERS "_.");
		put_byte(r, '=');
		put_word(r, &l.value, NULL);
	}
	put_byte(r, '}');
}

/* -EINVAL where it has no service or no profile. */
static int read_series(const struct cursor *series, struct cursor *service, struct cursor *profile)
{
	struct cursor c = *series;
	struct protobuf_field f, inner;

	while (protobuf_next(&c, &f)) {
		if (f.number == SERIES_LABELS) {
			struct label l = read_label(f.bytes);

			if (is_word(&l.key, SERVICE))
				*service = l.value;
		}
		while (f.number == SERIES_SAMPLES && protobuf_next(&f.bytes, &inner))
			if (inner.number == RAW_PROFILE)
				*profile = inner.bytes;
	}
	return c.bad || service->p == service->end || profile->p == profile->end ? -EINVAL : 0;
}

static int make(const struct cursor *series, const char *base, struct ingest_request *r)
{
	struct cursor service = { 0 }, profile = { 0 };
	struct times t;
	char text[160];
	int err = read_series(series, &service, &profile);

	if (!err)
		err = read_times(&profile, &t);
	if (err)
		return err;
	r->url.n = 0;
	put_text(r, base);
	put_text(r, "?format=pprof&spyName=ebprof&name=");
	put_word(r, &service, LETTERS "_-./");
	put_labels(r, *series);
	snprintf(text, sizeof(text), "&from=%llu&until=%llu", (unsigned long long)t.start,
		 (unsigned long long)(t.start + t.duration));
	put_text(r, text);
	if (t.period && t.period <= SECOND) {
		snprintf(text, sizeof(text), "&sampleRate=%llu",
			 (unsigned long long)((SECOND + t.period / 2) / t.period));
		put_text(r, text);
	}
	vec_push(&r->url, '\0');
	r->body.n = 0;
	gzip_pack(profile.p, (size_t)(profile.end - profile.p), &r->body);
	return 1;
}

int ingest_next(struct cursor *c, const char *base, struct ingest_request *r)
{
	struct protobuf_field f;

	while (protobuf_next(c, &f))
		if (f.number == SERIES)
			return f.wire == PROTOBUF_BYTES ? make(&f.bytes, base, r) : -EINVAL;
	return c->bad ? -EINVAL : 0;
}

void ingest_free(struct ingest_request *r)
{
	vec_free(&r->url);
	vec_free(&r->body);
}
