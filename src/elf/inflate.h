/* SPDX-License-Identifier: MIT */
/*
 * Sections that may be compressed: SHF_COMPRESSED (gABI, "Compression Header")
 * with zlib or zstd, and the older ".zdebug_" sections of GNU tools.
 */
#ifndef EBPROF_INFLATE_H
#define EBPROF_INFLATE_H

#include "elf/elf_file.h"

/* The section ".debug_x" (@name), or ".zdebug_x" in its place; NULL: there is neither. */
const struct elf_section *inflate_find(const struct elf_file *f, const char *name);

/*
 * The section's bytes, unpacked where they are packed, in a malloc'd block with
 * one NUL byte added behind them. NULL with errno: EFBIG over @limit bytes, packed or
 * not, or unpacked to far more than any compiler's output is; ENOTSUP another kind of
 * compression; EBADMSG damaged, outside of the file, or SHT_NOBITS; ENOMEM.
 */
uint8_t *inflate_section(const struct elf_file *f, const struct elf_section *s, size_t limit,
			 size_t *size);

/* Whether no symbols and no debug information would be @size bytes and pack to @packed. */
int inflate_is_bomb(uint64_t packed, uint64_t size);

#endif
