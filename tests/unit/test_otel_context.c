/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include <string.h>

#include "base/protobuf.h"
#include "proc/otel_context.h"

/* An attribute of a resource, whose value is in field @kind: 1 is a string. */
static void add(struct protobuf *b, const char *key, uint32_t kind, const char *value)
{
	size_t resource = protobuf_open(b, 1), attribute = protobuf_open(b, 1), any;

	protobuf_bytes(b, 1, key, strlen(key));
	any = protobuf_open(b, 2);
	protobuf_bytes(b, kind, value, strlen(value));
	protobuf_close(b, any);
	protobuf_close(b, attribute);
	protobuf_close(b, resource);
}

TEST(service_of_a_context)
{
	char service[OTEL_SERVICE], longest[2 * OTEL_SERVICE];
	struct protobuf b = { 0 };

	CHECK(!otel_context_service(NULL, 0, service));
	add(&b, "host.name", 1, "h");
	add(&b, "service.names", 1, "no");
	add(&b, "service.name", 7, "bytes");
	CHECK(!otel_context_service(b.v, b.n, service));
	add(&b, "service.name", 1, "cart");
	add(&b, "service.name", 1, "second");
	CHECK(otel_context_service(b.v, b.n, service));
	CHECK_STR(service, "cart");
	protobuf_free(&b);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	add(&b, "service.name", 1, longest);
	CHECK(otel_context_service(b.v, b.n, service));
	CHECK_EQ(strlen(service), OTEL_SERVICE - 1);
	protobuf_free(&b);
}

TEST(names_that_are_none)
{
	char service[OTEL_SERVICE];
	struct protobuf b = { 0 };

	add(&b, "service.name", 1, "unknown_service:java");
	CHECK(!otel_context_service(b.v, b.n, service));
	protobuf_free(&b);
	add(&b, "service.name", 1, "");
	CHECK(!otel_context_service(b.v, b.n, service));
	protobuf_free(&b);
}

/* Each beginning of a context, and each with a byte that is another one. */
TEST(broken_contexts)
{
	char service[OTEL_SERVICE];
	struct protobuf b = { 0 };

	add(&b, "service.name", 1, "cart");
	for (size_t n = 0; n < b.n; n++)
		CHECK(!otel_context_service(b.v, n, service));
	for (size_t i = 0; i < b.n; i++)
		for (int bit = 0; bit < 8; bit++) {
			b.v[i] ^= (uint8_t)(1 << bit);
			otel_context_service(b.v, b.n, service);
			CHECK(memchr(service, 0, sizeof(service)) != NULL);
			b.v[i] ^= (uint8_t)(1 << bit);
		}
	protobuf_free(&b);
}

int main(void)
{
	RUN(service_of_a_context);
	RUN(names_that_are_none);
	RUN(broken_contexts);
	return TEST_END();
}
