/* SPDX-License-Identifier: MIT */
/*
 * A bit for each word of the code says whether another line begins there; how many did before is
 * counted for the first 54 by themselves, in 7 bits each, then for blocks of 512, and in these for
 * 64 each, in 9 bits (iseq.c, succ_index_table).
 */
#include "lang/ruby_lines.h"

#include <string.h>

#include "bpf/ruby.h"

#define FIRST		54
#define FIRST_EACH	9	/* counts in a word */
#define FIRST_BYTES	48
#define BLOCK		512
#define BLOCK_BYTES	80

static uint64_t u64_at(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* How many entries begin at or before @place; 0: not known. @index has @size bytes. */
static uint32_t rank(const uint8_t *index, size_t size, uint32_t place)
{
	uint32_t block = (place - FIRST) / BLOCK, bit = (place - FIRST) % BLOCK, small = bit / 64;
	uint64_t counts, bits;
	const uint8_t *p;

	if (place < FIRST) {
		if (size < FIRST_BYTES)
			return 0;
		counts = u64_at(index + place / FIRST_EACH * 8);
		return counts >> place % FIRST_EACH * 7 & 0x7f;
	}
	if (size < FIRST_BYTES || block >= (size - FIRST_BYTES) / BLOCK_BYTES)
		return 0;
	p = index + FIRST_BYTES + (size_t)block * BLOCK_BYTES;
	counts = u64_at(p + 8);
	bits = u64_at(p + 16 + small * 8) << (63 - bit % 64);
	return (uint32_t)u64_at(p) + (small ? counts >> (small - 1) * 9 & 0x1ff : 0) +
	       (uint32_t)__builtin_popcountll(bits);
}

uint32_t ruby_line(const uint8_t *table, size_t size, uint32_t place)
{
	struct ebp_ruby_table t;
	uint32_t at, line;
	size_t lines;

	if (size < sizeof(t))
		return 0;
	memcpy(&t, table, sizeof(t));
	lines = sizeof(t) + t.index_room;
	if (size < lines || t.index_bytes > t.index_room || t.entry_bytes < sizeof(line))
		return 0;
	at = t.entries == 1 ? 1 : rank(table + sizeof(t), t.index_bytes, place);
	if (!at || at > t.entries || at > (size - lines) / t.entry_bytes)
		return 0;
	memcpy(&line, table + lines + (at - 1) * (size_t)t.entry_bytes, sizeof(line));
	return line > INT32_MAX ? 0 : line;
}
