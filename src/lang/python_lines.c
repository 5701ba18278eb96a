/* SPDX-License-Identifier: MIT */
#include "lang/python_lines.h"

/* Kinds of entries of the location table. */
#define LOCATION_ONE_LINE	10	/* 10 to 12: so many less 10 lines further */
#define LOCATION_NO_COLUMNS	13
#define LOCATION_LONG		14
#define LOCATION_NONE		15	/* code of no line */

#define NO_LINE 128			/* as a difference of 3.10's: -128 */

static uint32_t as_line(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

/* Pairs: so many bytes further, so many lines. The last entry holds to the end of the code. */
static uint32_t line_of_lnotab(const uint8_t *table, size_t size, int64_t line, uint32_t at)
{
	uint32_t address = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		address += table[i];
		if (address > at)
			break;
		line += (int8_t)table[i + 1];
	}
	return as_line(line);
}

/* Pairs: the entry's bytes, and the lines from the last one's. */
static uint32_t line_of_ranges(const uint8_t *table, size_t size, int64_t line, uint32_t at)
{
	uint32_t end = 0;

	for (size_t i = 0; i + 1 < size; i += 2) {
		int none = table[i + 1] == NO_LINE;

		line += none ? 0 : (int8_t)table[i + 1];
		end += table[i];
		if (at < end)
			return none ? 0 : as_line(line);
	}
	return 0;
}

/* Six bits a byte, the lowest first; bit 6 says that more follow; the lowest bit is the sign. */
static int64_t signed_varint(const uint8_t *table, size_t size, size_t at)
{
	uint64_t x = 0;

	for (unsigned shift = 0; at < size && shift < 36; at++, shift += 6) {
		x |= (uint64_t)(table[at] & 63) << shift;
		if (!(table[at] & 64))
			break;
	}
	return x & 1 ? -(int64_t)(x >> 1) : (int64_t)(x >> 1);
}

static uint32_t line_of_locations(const uint8_t *table, size_t size, int64_t line, uint32_t at)
{
	uint32_t end = 0;

	for (size_t i = 0; i < size;) {
		unsigned kind = table[i] >> 3 & 15;

		end += (table[i] & 7) + 1u;
		if (kind == LOCATION_LONG || kind == LOCATION_NO_COLUMNS)
			line += signed_varint(table, size, i + 1);
		else if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMNS)
			line += kind - LOCATION_ONE_LINE;
		if (at < end)
			return kind == LOCATION_NONE ? 0 : as_line(line);
		/* Only the first byte of an entry has its top bit. */
		for (i++; i < size && !(table[i] & 128); i++)
			;
	}
	return 0;
}

uint32_t python_line(uint32_t minor, const uint8_t *table, size_t size, uint32_t first_line,
		     uint32_t place)
{
	if (place >= UINT32_MAX / 2)
		return 0;
	if (minor < 10)
		return line_of_lnotab(table, size, first_line, place * 2);
	if (minor == 10)
		return line_of_ranges(table, size, first_line, place * 2);
	return line_of_locations(table, size, first_line, place);
}
