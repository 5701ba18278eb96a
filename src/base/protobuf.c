/* SPDX-License-Identifier: MIT */
#include "base/protobuf.h"

#include <string.h>

#include "base/vec.h"

#define VARINT_MAX 10		/* bytes: 7 bits each of 64 */
#define NUMBER_MAX ((1u << 29) - 1)

static size_t put_varint(uint8_t *p, uint64_t value)
{
	size_t n = 0;

	for (; value >= 0x80; value >>= 7)
		p[n++] = (uint8_t)(value | 0x80);
	p[n++] = (uint8_t)value;
	return n;
}

void protobuf_varint(struct protobuf *b, uint64_t value)
{
	vec_reserve(b, b->n + VARINT_MAX);
	b->n += put_varint(b->v + b->n, value);
}

static void put_key(struct protobuf *b, uint32_t field, enum protobuf_wire wire)
{
	protobuf_varint(b, (uint64_t)field << 3 | wire);
}

void protobuf_uint(struct protobuf *b, uint32_t field, uint64_t value)
{
	put_key(b, field, PROTOBUF_VARINT);
	protobuf_varint(b, value);
}

void protobuf_fixed64(struct protobuf *b, uint32_t field, uint64_t value)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	put_key(b, field, PROTOBUF_FIXED64);
	protobuf_raw(b, bytes, sizeof(bytes));
}

void protobuf_raw(struct protobuf *b, const void *bytes, size_t n)
{
	vec_reserve(b, b->n + n);
	if (n)
		memcpy(b->v + b->n, bytes, n);
	b->n += n;
}

void protobuf_bytes(struct protobuf *b, uint32_t field, const void *bytes, size_t n)
{
	put_key(b, field, PROTOBUF_BYTES);
	protobuf_varint(b, n);
	protobuf_raw(b, bytes, n);
}

/* One byte is left for the length, which most need. */
size_t protobuf_open(struct protobuf *b, uint32_t field)
{
	put_key(b, field, PROTOBUF_BYTES);
	vec_push(b, 0);
	return b->n;
}

void protobuf_close(struct protobuf *b, size_t mark)
{
	size_t n = b->n - mark, size;
	uint8_t length[VARINT_MAX];

	size = put_varint(length, n);
	vec_reserve(b, b->n + size - 1);
	memmove(b->v + mark + size - 1, b->v + mark, n);
	memcpy(b->v + mark - 1, length, size);
	b->n += size - 1;
}

void protobuf_flush(struct protobuf *b, struct outfile *f)
{
	outfile_write(f, b->v, b->n);
	b->n = 0;
}

void protobuf_free(struct protobuf *b)
{
	vec_free(b);
}

static uint64_t get_varint(struct cursor *c)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < VARINT_MAX && c->p < c->end; i++) {
		uint8_t byte = *c->p++;

		v |= (uint64_t)(byte & 0x7f) << 7 * i;
		if (byte < 0x80)
			return v;
	}
	return cursor_fail(c);
}

int protobuf_next(struct cursor *c, struct protobuf_field *f)
{
	uint64_t key;

	if (c->p >= c->end)
		return 0;
	key = get_varint(c);
	*f = (struct protobuf_field){ .number = (uint32_t)(key >> 3), .wire = key & 7 };
	if (!(key >> 3) || key >> 3 > NUMBER_MAX)
		cursor_fail(c);
	switch (f->wire) {
	case PROTOBUF_VARINT:
		f->value = get_varint(c);
		break;
	case PROTOBUF_FIXED64:
		f->value = cursor_fixed(c, 8);
		break;
	case PROTOBUF_FIXED32:
		f->value = cursor_fixed(c, 4);
		break;
	case PROTOBUF_BYTES:
		f->value = get_varint(c);
		f->bytes = (struct cursor){ .p = c->p };
		cursor_skip(c, f->value);
		f->bytes.end = c->bad ? f->bytes.p : c->p;
		break;
	default:
		cursor_fail(c);
	}
	return !c->bad;
}

int protobuf_each(struct cursor *c, struct protobuf_field *f, uint64_t *value)
{
	if (f->wire == PROTOBUF_BYTES) {
		if (f->bytes.p >= f->bytes.end)
			return 0;
		*value = get_varint(&f->bytes);
		if (f->bytes.bad)
			cursor_fail(c);
	} else if (f->wire == PROTOBUF_VARINT) {
		if (f->taken++)
			return 0;
		*value = f->value;
	} else {
		cursor_fail(c);
	}
	return !c->bad;
}
