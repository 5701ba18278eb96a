/* SPDX-License-Identifier: MIT */
/*
 * What was found out of the places of one image, in memory and as bytes for a file.
 *
 * The bytes are ours to choose, little endian, numbers as LEB128 but in the header:
 *	"ebpnames", format (u32), CRC-32 of all behind it (u32),
 *	key: size, bytes; it says what the answers hold for, and is compared whole
 *	strings: count, each ended by NUL
 *	places: count, each: offset, frames in one byte (0: no symbol there, 255: stripped),
 *	        of each frame the number of its name, of its file, and its line; and
 *	        where there are none how far behind its function's start the place is
 * They come back from a folder that may not be ours alone, so they are read as hostile.
 */
#ifndef EBPROF_NAME_CACHE_H
#define EBPROF_NAME_CACHE_H

#include <stddef.h>
#include <stdint.h>

#include "base/strtab.h"
#include "symbols/symbol_frame.h"
#include "symbols/symbol_source.h"

/* of an image, at most: what this run did not ask for is left out first */
#define NAME_CACHE_BYTES (16u << 20)

struct name_cache;

/* Empty. @names keeps the texts that are read, cleaned; borrowed. */
struct name_cache *name_cache_new(struct strtab *names);
void name_cache_free(struct name_cache *c);

/*
 * Adds what @bytes tell, if they were written for @key. 0, -EBADMSG damaged, or -ESTALE written for
 * something else.
 */
int name_cache_read(struct name_cache *c, const void *bytes, size_t size, const void *key,
		    size_t key_size);

/* What symbolizer_user() said of @offset: that, or 0: it was not asked. */
int name_cache_find(struct name_cache *c, uint64_t offset,
		    struct symbol_frame out[SOURCE_FRAMES_MAX]);
/* What symbolizer_start() said of @offset: 1 and *@start; or 0: not asked, or it has a name. */
int name_cache_start(const struct name_cache *c, uint64_t offset, uint64_t *start);
/*
 * Keeps both; @frames's texts must live as long, and equal ones be one. @start, at most @offset,
 * counts where there is no name. Errors but -ENOENT and -ENODATA are not kept.
 */
void name_cache_add(struct name_cache *c, uint64_t offset, const struct symbol_frame *frames, int n,
		    uint64_t start);

/* All of it, in a malloc'd block of at most NAME_CACHE_BYTES. */
void *name_cache_write(const struct name_cache *c, const void *key, size_t key_size, size_t *size);

#endif
