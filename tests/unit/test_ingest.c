/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <errno.h>
#include <string.h>

#include "base/outfile.h"
#include "base/protobuf.h"
#include "push/ingest.h"

#define BASE "http://h/ingest"
#define HEAD BASE "?format=pprof&spyName=ebprof&name="

/* A profile of pprof: of 2 s, with a period of 10 ms, or of 10 of whatever. */
static struct outfile_bytes profile(const char *unit)
{
	struct outfile_bytes bytes = { 0 };
	struct outfile *f = outfile_memory(&bytes);
	struct protobuf b = { 0 };
	size_t type = protobuf_open(&b, 11);

	protobuf_uint(&b, 2, 1);
	protobuf_close(&b, type);
	protobuf_bytes(&b, 6, "", 0);
	protobuf_bytes(&b, 6, unit, strlen(unit));
	protobuf_uint(&b, 9, 1700000000000000000);
	protobuf_uint(&b, 10, 2000000000);
	protobuf_uint(&b, 12, 10000000);
	protobuf_flush(&b, f);
	protobuf_free(&b);
	outfile_commit(f, NULL);
	return bytes;
}

static void add_label(struct protobuf *b, const char *key, const char *value)
{
	size_t label = protobuf_open(b, 1);

	protobuf_bytes(b, 1, key, strlen(key));
	protobuf_bytes(b, 2, value, strlen(value));
	protobuf_close(b, label);
}

static void add_series(struct protobuf *b, const char *service, const char *value, const char *unit)
{
	struct outfile_bytes p = profile(unit);
	size_t series = protobuf_open(b, 1), sample;

	add_label(b, "__name__", "process_cpu");
	add_label(b, "service_name", service);
	add_label(b, "host_name", value);
	add_label(b, "zone", "z1");
	sample = protobuf_open(b, 2);
	protobuf_bytes(b, 1, p.v, p.n);
	protobuf_close(b, sample);
	protobuf_close(b, series);
	vec_free(&p);
}

TEST(a_request_for_each_profile)
{
	struct ingest_request r = { .body = { 0 } };
	struct protobuf b = { 0 };
	struct cursor c;

	add_series(&b, "shop.cart", "h1", "nanoseconds");
	add_series(&b, "getty@tty1", "a,b}={ \xc3\xa9&", "count");
	c = (struct cursor){ .p = b.v, .end = b.v + b.n };
	CHECK_EQ(ingest_next(&c, BASE, &r), 1);
	CHECK_STR(r.url.v, HEAD "shop.cart%7Bhost_name%3Dh1%2Czone%3Dz1%7D"
			   "&from=1700000000000000000&until=1700000002000000000&sampleRate=100");
	CHECK(r.body.n > 20 && !memcmp(r.body.v, "\x1f\x8b", 2));
	CHECK_EQ(ingest_next(&c, BASE, &r), 1);
	CHECK_STR(r.url.v, HEAD "getty_tty1%7Bhost_name%3Da_b___%20%C3%A9%26%2Czone%3Dz1%7D"
			   "&from=1700000000000000000&until=1700000002000000000");
	CHECK_EQ(ingest_next(&c, BASE, &r), 0);
	ingest_free(&r);
	protobuf_free(&b);
}

/* Each beginning of a request is none, but that of no bytes. */
TEST(broken_requests)
{
	struct ingest_request r = { .body = { 0 } };
	struct protobuf b = { 0 };
	struct cursor c;

	add_series(&b, "cart", "h1", "nanoseconds");
	for (size_t n = 1; n < b.n; n++) {
		c = (struct cursor){ .p = b.v, .end = b.v + n };
		CHECK_EQ(ingest_next(&c, BASE, &r), -EINVAL);
	}
	for (size_t i = 0; i < b.n; i++) {
		b.v[i] ^= 0x55;
		c = (struct cursor){ .p = b.v, .end = b.v + b.n };
		while (ingest_next(&c, BASE, &r) > 0)
			CHECK(strlen(r.url.v) == r.url.n - 1);
		b.v[i] ^= 0x55;
	}
	ingest_free(&r);
	protobuf_free(&b);
}

TEST(requests_without_what_they_need)
{
	struct ingest_request r = { .body = { 0 } };
	struct protobuf b = { 0 };
	struct cursor c;

	add_series(&b, "", "h1", "nanoseconds");
	c = (struct cursor){ .p = b.v, .end = b.v + b.n };
	CHECK_EQ(ingest_next(&c, BASE, &r), -EINVAL);
	ingest_free(&r);
	protobuf_free(&b);
}

int main(void)
{
	RUN(a_request_for_each_profile);
	RUN(broken_requests);
	RUN(requests_without_what_they_need);
	return TEST_END();
}
