/* SPDX-License-Identifier: MIT */
#include "lang/v8_positions.h"

/* Bits of a SourcePosition. */
#define EXTERNAL	1	/* of no script's text */
#define OFFSET_SHIFT	1
#define OFFSET_MASK	0x3fffffff
#define INLINED_SHIFT	31
#define INLINED_MASK	0xffff

void v8_position_decode(int64_t value, struct v8_position *out)
{
	uint64_t bits = (uint64_t)value, offset = bits >> OFFSET_SHIFT & OFFSET_MASK;

	/* Both count from 1 on, so that 0 is none. */
	out->position = bits & EXTERNAL || !offset ? UINT32_MAX : (uint32_t)offset - 1;
	out->inlined = (int32_t)(bits >> INLINED_SHIFT & INLINED_MASK) - 1;
}

/* The next number; 0: the table has ended. */
static int number(const uint8_t **p, const uint8_t *end, int64_t *out)
{
	uint64_t bits = 0;

	for (unsigned shift = 0; *p < end && shift < 64; shift += 7) {
		uint8_t byte = *(*p)++;

		bits |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		/* The sign is the lowest bit. */
		*out = (int64_t)(bits >> 1 ^ (0 - (bits & 1)));
		return 1;
	}
	return 0;
}

size_t v8_positions_decode(const uint8_t *bytes, size_t n, struct v8_position *out, size_t max)
{
	const uint8_t *p = bytes, *end = bytes + n;
	int64_t step, more;
	uint64_t place = 0, value = 0;
	size_t count = 0;

	while (count < max && number(&p, end, &step) && number(&p, end, &more)) {
		/* Negative where no statement begins. */
		place += (uint64_t)(step < 0 ? -(step + 1) : step);
		value += (uint64_t)more;
		if (place > UINT32_MAX)
			break;
		v8_position_decode((int64_t)value, &out[count]);
		out[count++].place = (uint32_t)place;
	}
	return count;
}
