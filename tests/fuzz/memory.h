/* SPDX-License-Identifier: MIT */
/* Memory of a process made of a fuzzer's input, over and over; some places cannot be read. */
#ifndef EBPROF_FUZZ_MEMORY_H
#define EBPROF_FUZZ_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* 0, or negative. @p, @n: the input. */
static inline int memory_read(const uint8_t *p, size_t n, void *dst, uint32_t size,
			      uint64_t address)
{
	uint8_t *to = dst;

	if (!n || address >> 20 & 1)
		return -1;
	for (uint32_t i = 0; i < size; i++)
		to[i] = p[(address + i) % n];
	return 0;
}

#endif
