/* SPDX-License-Identifier: MIT */
/*
 * V8's tables of source positions (its codegen/source-position-table.h): for each place in code
 * from which on another position holds, both as differences, in numbers of 7 bits a byte.
 */
#ifndef EBPROF_V8_POSITIONS_H
#define EBPROF_V8_POSITIONS_H

#include <stddef.h>
#include <stdint.h>

struct v8_position {
	uint32_t place;
	uint32_t position;	/* in the script; UINT32_MAX: in none */
	int32_t inlined;	/* number of the inlined call that it is in; -1: in none */
};

/* A SourcePosition (its codegen/source-position.h). */
void v8_position_decode(int64_t value, struct v8_position *out);

/*
 * Those in @n @bytes, at most @max, into @out, by ascending places: how many. A table that is not
 * whole has those before.
 */
size_t v8_positions_decode(const uint8_t *bytes, size_t n, struct v8_position *out, size_t max);

#endif
