/* SPDX-License-Identifier: MIT */
#include "elf/inflate.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <libdeflate.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2	/* gABI; glibc 2.36 does not have it */
#endif

/*
 * Debug information packs to a third or a tenth, symbols to a fourteenth, but zlib can do 1032, xz
 * 7000 and zstd 30,000: a small file must not make us fill our memory. What is small may be
 * anything: zeros pack well.
 */
#define RATIO_MAX	128
#define RATIO_FREE	(1u << 20)

struct packed {
	uint32_t type;		/* ELFCOMPRESS_* */
	uint64_t size;		/* unpacked, as the header says */
	uint64_t head;		/* bytes of the header */
};

/*
 * How GNU tools packed before there was SHF_COMPRESSED (binutils, "ld
 * --compress-debug-sections=zlib-gnu").
 */
struct gnu_head {
	char magic[4];		/* "ZLIB" */
	uint8_t size[8];	/* big endian */
};

static int is_gnu(const struct elf_section *s)
{
	return !strncmp(s->name, ".zdebug_", 8);
}

static int read_head(const struct elf_file *f, const struct elf_section *s, struct packed *p)
{
	union {
		struct gnu_head gnu;
		Elf32_Chdr c32;
		Elf64_Chdr c64;
	} h;
	uint64_t size;
	int err;

	if (s->flags & SHF_COMPRESSED)
		p->head = elf_file_is64(f) ? sizeof(h.c64) : sizeof(h.c32);
	else
		p->head = sizeof(h.gnu);
	if (s->type == SHT_NOBITS || s->size <= p->head)
		return -EBADMSG;
	err = elf_file_read(f, s->offset, &h, p->head);
	if (err)
		return err;
	if (!(s->flags & SHF_COMPRESSED)) {
		memcpy(&size, h.gnu.size, sizeof(size));
		p->type = ELFCOMPRESS_ZLIB;
		p->size = be64toh(size);
		return memcmp(h.gnu.magic, "ZLIB", sizeof(h.gnu.magic)) ? -EBADMSG : 0;
	}
	p->type = elf_file_is64(f) ? h.c64.ch_type : h.c32.ch_type;
	p->size = elf_file_is64(f) ? h.c64.ch_size : h.c32.ch_size;
	return 0;
}

/*
 * Exactly @size bytes. The linker may have joined several streams. By libdeflate: all is in memory,
 * where it takes half of zlib's time, which is most of what naming a function of libc takes.
 */
static int unpack_zlib(uint8_t *out, size_t size, const uint8_t *in, size_t n)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	size_t got, used;
	int err = d ? 0 : -ENOMEM;

	for (; !err && size; out += got, size -= got, in += used, n -= used)
		if (libdeflate_zlib_decompress_ex(d, in, n, out, size, &used, &got))
			err = -EBADMSG;
	libdeflate_free_decompressor(d);
	return err;
}

static int unpack_zstd(uint8_t *out, size_t size, const uint8_t *in, size_t n)
{
	/* At once, not as a stream: a stream would want a window as large as the file says. */
	size_t got = ZSTD_decompress(out, size, in, n);

	return ZSTD_isError(got) || got != size ? -EBADMSG : 0;
}

static int (*unpacker(uint32_t type))(uint8_t *, size_t, const uint8_t *, size_t)
{
	return type == ELFCOMPRESS_ZLIB	  ? unpack_zlib
	       : type == ELFCOMPRESS_ZSTD ? unpack_zstd
					  : NULL;
}

int inflate_is_bomb(uint64_t packed, uint64_t size)
{
	return size > RATIO_FREE && size / RATIO_MAX > packed;
}

static int too_large(const struct packed *p, uint64_t packed_size, size_t limit)
{
	return packed_size > limit || p->size > limit || p->size >= SIZE_MAX ||
	       inflate_is_bomb(packed_size, p->size);
}

const struct elf_section *inflate_find(const struct elf_file *f, const char *name)
{
	const struct elf_section *s = elf_file_section(f, name);
	char old[32] = ".z";

	if (s || name[0] != '.' || strlen(name) > sizeof(old) - 2)
		return s;
	strcat(old, name + 1);
	return elf_file_section(f, old);
}

uint8_t *inflate_section(const struct elf_file *f, const struct elf_section *s, size_t limit,
			 size_t *size)
{
	uint8_t *in = NULL, *out = NULL;
	struct packed p;
	size_t n;
	int err;

	if (!(s->flags & SHF_COMPRESSED) && !is_gnu(s))
		return elf_file_section_data(f, s, limit, size);
	err = read_head(f, s, &p);
	if (err)
		goto out;
	err = -ENOTSUP;
	if (!unpacker(p.type))
		goto out;
	n = s->size - p.head;
	err = -EFBIG;
	if (too_large(&p, n, limit))
		goto out;
	err = -ENOMEM;
	in = malloc(n);
	out = malloc(p.size + 1);
	if (!in || !out)
		goto out;
	err = elf_file_read(f, s->offset + p.head, in, n);
	if (!err)
		err = unpacker(p.type)(out, p.size, in, n);
	if (err)
		goto out;
	free(in);
	out[p.size] = '\0';
	*size = p.size;
	return out;
out:
	free(in);
	free(out);
	errno = -err;
	return NULL;
}
