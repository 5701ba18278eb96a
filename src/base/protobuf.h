/* SPDX-License-Identifier: MIT */
/*
 * The wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding):
 * a message is a row of fields, each a key (number and wire type) and a value.
 *
 * Writing: a message grows in a buffer, so that its length is known, and goes to a
 * file when it is whole. What is held is one message, not the file.
 *
 *	struct protobuf b = { 0 };
 *	size_t sample = protobuf_open(&b, 2);
 *	protobuf_uint(&b, 1, 42);
 *	protobuf_close(&b, sample);
 *	protobuf_flush(&b, f);
 *	protobuf_free(&b);
 *
 * Reading: over a cursor, which is bad where the bytes are no message.
 *
 *	while (protobuf_next(&c, &field))
 *		if (field.number == 1)
 *			id = field.value;
 *	if (c.bad) ...
 */
#ifndef EBPROF_PROTOBUF_H
#define EBPROF_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"
#include "base/outfile.h"

/* A vector of base/vec.h. */
struct protobuf { uint8_t *v; size_t n, cap; };

/* An element of a packed field; and the value of a field that is varint. */
void protobuf_varint(struct protobuf *b, uint64_t value);
/* Zero is written as well: a field that is absent is another thing to some. */
void protobuf_uint(struct protobuf *b, uint32_t field, uint64_t value);
void protobuf_fixed64(struct protobuf *b, uint32_t field, uint64_t value);
void protobuf_bytes(struct protobuf *b, uint32_t field, const void *bytes, size_t n);
/* Whole fields that were made before. */
void protobuf_raw(struct protobuf *b, const void *bytes, size_t n);
/*
 * Begins a message, or a packed field, in the one that grows; what this returns is for
 * protobuf_close().
 */
size_t protobuf_open(struct protobuf *b, uint32_t field);
void protobuf_close(struct protobuf *b, size_t mark);
/* Writes what there is, and empties the buffer. */
void protobuf_flush(struct protobuf *b, struct outfile *f);
void protobuf_free(struct protobuf *b);

enum protobuf_wire {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2,
	PROTOBUF_FIXED32 = 5
};

struct protobuf_field {
	uint32_t number;
	enum protobuf_wire wire;
	uint64_t value;		/* of a number */
	struct cursor bytes;	/* of PROTOBUF_BYTES: text, or a message; of others none */
	int taken;		/* by protobuf_each() */
};

/*
 * The next field; 0 at the end, or where @c went bad. Groups, which nobody writes any more, are
 * bad.
 */
int protobuf_next(struct cursor *c, struct protobuf_field *f);
/*
 * The values of a repeated field of varints, packed or not, one after the other; 0 after the last,
 * or where @c went bad.
 */
int protobuf_each(struct cursor *c, struct protobuf_field *f, uint64_t *value);

#endif
