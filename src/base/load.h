/* SPDX-License-Identifier: MIT */
/* Numbers that may lie anywhere: little endian, as all machines are that this runs on. */
#ifndef EBPROF_LOAD_H
#define EBPROF_LOAD_H

#include <stdint.h>
#include <string.h>

static inline uint16_t load16(const void *p)
{
	uint16_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static inline uint32_t load32(const void *p)
{
	uint32_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

static inline uint64_t load64(const void *p)
{
	uint64_t n;

	memcpy(&n, p, sizeof(n));
	return n;
}

#endif
