/* SPDX-License-Identifier: MIT */
/* Reading bytes that somebody else wrote, little endian. */
#ifndef EBPROF_CURSOR_H
#define EBPROF_CURSOR_H

#include <stdint.h>
#include <string.h>

/*
 * Reads forward and never past @end: a read that does not fit sets @bad, gives
 * 0 and moves to the end, so that one check after several reads is enough and
 * every loop over a cursor ends.
 */
struct cursor {
	const uint8_t *p, *end;
	int bad;
};

static inline uint64_t cursor_fail(struct cursor *c)
{
	c->bad = 1;
	c->p = c->end;
	return 0;
}

static inline int cursor_has(const struct cursor *c, uint64_t size)
{
	return size <= (uint64_t)(c->end - c->p);
}

/* @size bytes, little endian, zero-extended; more than 8 do not fit. */
static inline uint64_t cursor_fixed(struct cursor *c, unsigned size)
{
	uint64_t v = 0;

	if (size > sizeof(v) || !cursor_has(c, size))
		return cursor_fail(c);
	/* Each a single load. */
	switch (size) {
	case 1:	v = *c->p; break;
	case 2:	memcpy(&v, c->p, 2); break;
	case 4:	memcpy(&v, c->p, 4); break;
	case 8:	memcpy(&v, c->p, 8); break;
	default: memcpy(&v, c->p, size);
	}
	c->p += size;
	return v;
}

static inline void cursor_skip(struct cursor *c, uint64_t size)
{
	if (cursor_has(c, size))
		c->p += size;
	else
		cursor_fail(c);
}

/* LEB128 (DWARF 5, 7.6). Bits beyond 64 are dropped, as a writer may pad a number to any length. */
static inline uint64_t cursor_leb(struct cursor *c, int is_signed)
{
	uint64_t v = 0;
	unsigned shift = 0;

	while (c->p < c->end) {
		uint8_t byte = *c->p++;

		if (shift < 64)
			v |= (uint64_t)(byte & 0x7f) << shift;
		shift += shift < 64 ? 7 : 0;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift < 64)
			v |= ~0ull << shift;
		return v;
	}
	return cursor_fail(c);
}

static inline uint64_t cursor_uleb(struct cursor *c)
{
	if (c->p < c->end && *c->p < 0x80)
		return *c->p++;
	return cursor_leb(c, 0);
}

static inline int64_t cursor_sleb(struct cursor *c)
{
	return (int64_t)cursor_leb(c, 1);
}

#endif
