/* SPDX-License-Identifier: MIT */
/*
 * A small jitdump in memory, for tests.
 */
#ifndef EBPROF_TESTS_JIT_IMAGE_H
#define EBPROF_TESTS_JIT_IMAGE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct jit_image {
	uint8_t bytes[65536];
	size_t size, record;	/* where the last record begins */
};

static inline void jit_image_bytes(struct jit_image *j, const void *p, size_t n)
{
	memcpy(j->bytes + j->size, p, n);
	j->size += n;
}

static inline void jit_image_u32(struct jit_image *j, uint32_t x)
{
	jit_image_bytes(j, &x, sizeof(x));
}

static inline void jit_image_u64(struct jit_image *j, uint64_t x)
{
	jit_image_bytes(j, &x, sizeof(x));
}

static inline void jit_image_begin(struct jit_image *j, uint32_t pid)
{
	j->size = 0;
	jit_image_u32(j, 0x4a695444);
	jit_image_u32(j, 1);
	jit_image_u32(j, 40);
	jit_image_u32(j, 62);
	jit_image_u32(j, 0);
	jit_image_u32(j, pid);
	jit_image_u64(j, 1);
	jit_image_u64(j, 0);
}

static inline void jit_image_record(struct jit_image *j, uint32_t id)
{
	j->record = j->size;
	jit_image_u32(j, id);
	jit_image_u32(j, 0);
	jit_image_u64(j, 2);
}

/* Its length is what was written of it. */
static inline void jit_image_end(struct jit_image *j)
{
	uint32_t size = (uint32_t)(j->size - j->record);

	memcpy(j->bytes + j->record + 4, &size, sizeof(size));
}

static inline void jit_image_load(struct jit_image *j, uint32_t pid, uint64_t address,
				  uint64_t size, uint64_t index, const char *name)
{
	jit_image_record(j, 0);
	jit_image_u32(j, pid);
	jit_image_u32(j, pid);
	jit_image_u64(j, address);
	jit_image_u64(j, address);
	jit_image_u64(j, size);
	jit_image_u64(j, index);
	jit_image_bytes(j, name, strlen(name) + 1);
	for (uint64_t i = 0; i < size && i < 256; i++)
		jit_image_bytes(j, "\xcc", 1);
	jit_image_end(j);
}

static inline void jit_image_move(struct jit_image *j, uint32_t pid, uint64_t from, uint64_t to,
				  uint64_t size, uint64_t index)
{
	jit_image_record(j, 1);
	jit_image_u32(j, pid);
	jit_image_u32(j, pid);
	jit_image_u64(j, to);
	jit_image_u64(j, from);
	jit_image_u64(j, to);
	jit_image_u64(j, size);
	jit_image_u64(j, index);
	jit_image_end(j);
}

/* @n entries are to follow, then jit_image_end(). */
static inline void jit_image_debug(struct jit_image *j, uint64_t address, uint64_t n)
{
	jit_image_record(j, 2);
	jit_image_u64(j, address);
	jit_image_u64(j, n);
}

static inline void jit_image_line(struct jit_image *j, uint64_t address, uint32_t line,
				  const char *file)
{
	jit_image_u64(j, address);
	jit_image_u32(j, line);
	jit_image_u32(j, 0);
	jit_image_bytes(j, file, strlen(file) + 1);
}

#endif
