/* SPDX-License-Identifier: MIT */
#include "unit/test.h"

#include "base/protobuf.h"

#define CURSOR(bytes) \
	{ .p = (const uint8_t *)(bytes), .end = (const uint8_t *)(bytes) + sizeof(bytes) - 1 }

#define CHECK_BYTES(b, expected) do { \
	CHECK_EQ((b).n, sizeof(expected) - 1); \
	CHECK((b).n == sizeof(expected) - 1 && !memcmp((b).v, expected, (b).n)); \
} while (0)

/* The examples of the format's description, and the edges of a varint. */
TEST(writes_numbers)
{
	struct protobuf b = { 0 };

	protobuf_uint(&b, 1, 150);
	CHECK_BYTES(b, "\x08\x96\x01");
	b.n = 0;
	protobuf_uint(&b, 16, 0);
	protobuf_varint(&b, 127);
	protobuf_varint(&b, 128);
	protobuf_varint(&b, UINT64_MAX);
	CHECK_BYTES(b, "\x80\x01\x00" "\x7f" "\x80\x01" "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	protobuf_free(&b);
}

TEST(writes_bytes)
{
	struct protobuf b = { 0 };

	protobuf_bytes(&b, 2, "testing", 7);
	protobuf_bytes(&b, 2, NULL, 0);
	CHECK_BYTES(b, "\x12\x07testing\x12\x00");
	protobuf_free(&b);
}

TEST(writes_messages_in_messages)
{
	struct protobuf b = { 0 };
	size_t outer, inner;
	uint8_t filler[200];

	outer = protobuf_open(&b, 3);
	inner = protobuf_open(&b, 6);
	protobuf_varint(&b, 3);
	protobuf_varint(&b, 270);
	protobuf_varint(&b, 86942);
	protobuf_close(&b, inner);
	protobuf_close(&b, outer);
	CHECK_BYTES(b, "\x1a\x08\x32\x06\x03\x8e\x02\x9e\xa7\x05");
	b.n = 0;
	/* A length of two bytes moves what is behind it. */
	memset(filler, 'x', sizeof(filler));
	outer = protobuf_open(&b, 1);
	inner = protobuf_open(&b, 1);
	protobuf_bytes(&b, 1, filler, sizeof(filler));
	protobuf_close(&b, inner);
	protobuf_uint(&b, 2, 5);
	protobuf_close(&b, outer);
	CHECK_EQ(b.n, 3 + 3 + 3 + 200 + 2);
	CHECK(!memcmp(b.v, "\x0a\xd0\x01\x0a\xcb\x01\x0a\xc8\x01xx", 11));
	CHECK(!memcmp(b.v + b.n - 4, "xx\x10\x05", 4));
	protobuf_free(&b);
}

TEST(reads_each_wire_type)
{
	struct cursor c = CURSOR("\x08\x96\x01"
				 "\x11\x01\x02\x03\x04\x05\x06\x07\x08"
				 "\x1a\x03"
				 "abc"
				 "\x25\x01\x00\x00\x80");
	struct protobuf_field f;

	CHECK(protobuf_next(&c, &f));
	CHECK_EQ(f.number, 1);
	CHECK_EQ(f.wire, PROTOBUF_VARINT);
	CHECK_EQ(f.value, 150);
	CHECK(protobuf_next(&c, &f));
	CHECK_EQ(f.wire, PROTOBUF_FIXED64);
	CHECK_EQ(f.value, 0x0807060504030201);
	CHECK(protobuf_next(&c, &f));
	CHECK_EQ(f.number, 3);
	CHECK(f.bytes.end - f.bytes.p == 3 && !memcmp(f.bytes.p, "abc", 3));
	CHECK(protobuf_next(&c, &f));
	CHECK_EQ(f.value, 0x80000001);
	CHECK(!protobuf_next(&c, &f));
	CHECK(!c.bad);
}

/* All values of field 1, as one number of decimal digits. */
static int64_t digits(struct cursor c)
{
	struct protobuf_field f;
	uint64_t value;
	int64_t all = 0;

	while (protobuf_next(&c, &f))
		while (f.number == 1 && protobuf_each(&c, &f, &value))
			all = all * 10 + (int64_t)value;
	return c.bad ? -1 : all;
}

TEST(reads_repeated_numbers)
{
	CHECK_EQ(digits((struct cursor)CURSOR("\x08\x01\x08\x02\x08\x03")), 123);
	CHECK_EQ(digits((struct cursor)CURSOR("\x0a\x03\x01\x02\x03")), 123);
	CHECK_EQ(digits((struct cursor)CURSOR(
			 "\x0a\x02\x01\x02\x10\x63\x08\x03\x0a\x00\x0a\x01\x04")),
		 1234);
	/*
	 * The last number of a packed field is cut, and it must not run over into the next field.
	 */
	CHECK_EQ(digits((struct cursor)CURSOR("\x0a\x02\x01\x82\x08\x03")), -1);
	/* A number that is no varint. */
	CHECK_EQ(digits((struct cursor)CURSOR("\x0d\x01\x00\x00\x00")), -1);
}

static int is_bad(struct cursor c)
{
	struct protobuf_field f;

	while (protobuf_next(&c, &f))
		;
	CHECK(c.p == c.end);
	return c.bad;
}

TEST(refuses_what_is_no_message)
{
	CHECK(!is_bad((struct cursor)CURSOR("")));
	CHECK(is_bad((struct cursor)CURSOR("\x08")));			/* no value */
	CHECK(is_bad((struct cursor)CURSOR("\x08\x80")));		/* half a value */
	CHECK(is_bad((struct cursor)CURSOR("\x00\x01")));		/* field 0 */
	CHECK(is_bad((struct cursor)CURSOR("\x0b\x0c")));		/* a group */
	CHECK(is_bad((struct cursor)CURSOR("\x0f\x01")));		/* no such wire type */
	/* longer than what there is */
	CHECK(is_bad((struct cursor)CURSOR("\x0a\x05" "abc")));
	CHECK(is_bad((struct cursor)CURSOR("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01" "abc")));
	CHECK(is_bad((struct cursor)CURSOR("\x09\x01\x02")));		/* half a fixed64 */
	/* a field number of 30 bits */
	CHECK(is_bad((struct cursor)CURSOR("\x80\x80\x80\x80\x10\x01")));
	/* Eleven bytes of a number. */
	CHECK(is_bad((struct cursor)CURSOR("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")));
	CHECK(!is_bad((struct cursor)CURSOR("\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")));
}

int main(void)
{
	RUN(writes_numbers);
	RUN(writes_bytes);
	RUN(writes_messages_in_messages);
	RUN(reads_each_wire_type);
	RUN(reads_repeated_numbers);
	RUN(refuses_what_is_no_message);
	return TEST_END();
}
