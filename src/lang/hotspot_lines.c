/* SPDX-License-Identifier: MIT */
#include "lang/hotspot_lines.h"

#define END	0x00
#define LONG	0xff	/* two signed numbers follow */

struct reading {
	const uint8_t *table;
	size_t size, at;
	int no_zero;
	int cut;
};

static uint32_t byte_of(struct reading *r)
{
	if (r->at < r->size)
		return r->table[r->at++];
	r->cut = 1;
	return END;
}

/* UNSIGNED5, of at most five bytes. */
static uint32_t number(struct reading *r)
{
	uint32_t sum = 0;

	for (int shift = 0; shift < 30; shift += 6) {
		uint32_t b = byte_of(r);

		sum += (b - (r->no_zero ? 1 : 0)) << shift;
		if (b < 192)
			break;
	}
	return sum;
}

static uint32_t signed_number(struct reading *r)
{
	uint32_t x = number(r);

	return x >> 1 ^ -(x & 1);
}

uint32_t hotspot_line(const uint8_t *table, size_t size, int no_zero, uint32_t bci)
{
	struct reading r = { .table = table, .size = size, .no_zero = no_zero };
	uint32_t at = 0, line = 0, best = 0, best_at = 0;

	for (;;) {
		uint32_t b = byte_of(&r);

		if (r.cut || b == END)
			break;
		at += b == LONG ? signed_number(&r) : b >> 3;
		line += b == LONG ? signed_number(&r) : b & 7;
		if (r.cut)
			break;
		/* They need not ascend: the nearest before it counts. */
		if (at <= bci && (!best || at >= best_at)) {
			best = line;
			best_at = at;
		}
	}
	return best > INT32_MAX || (r.cut && !best) ? 0 : best;
}
