/* SPDX-License-Identifier: MIT */
#include "elf/minidebug.h"

#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "elf/inflate.h"

#define SIZE_LIMIT	(64u << 20)	/* packed and unpacked; the largest in Fedora have 2 MiB */
#define MEMORY_LIMIT	(80u << 20)	/* of the decoder: xz -9 needs 65 MiB */
#define SIZE_FIRST	(256u << 10)

static int errno_of(lzma_ret ret)
{
	switch (ret) {
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
	case LZMA_FORMAT_ERROR:
	case LZMA_OPTIONS_ERROR:
		return -ENOTSUP;
	default:
		return -EBADMSG;
	}
}

/* Doubles the room: how large the file is, only its end can tell. */
static int grow(lzma_stream *xz, size_t packed, size_t limit, uint8_t **out, size_t *room)
{
	size_t used = xz->total_out, more = *room ? *room * 2 : SIZE_FIRST;
	uint8_t *p;

	if (used >= limit || inflate_is_bomb(packed, used))
		return -EFBIG;
	if (more > limit)
		more = limit;
	p = realloc(*out, more);
	if (!p)
		return -ENOMEM;
	*out = p;
	*room = more;
	xz->next_out = p + used;
	xz->avail_out = more - used;
	return 0;
}

static int unpack(const uint8_t *in, size_t n, size_t limit, uint8_t **out, size_t *size)
{
	lzma_stream xz = LZMA_STREAM_INIT;
	lzma_ret ret = lzma_stream_decoder(&xz, MEMORY_LIMIT, 0);
	size_t room = 0;
	int err = 0;

	xz.next_in = in;
	xz.avail_in = n;
	while (ret == LZMA_OK && !err) {
		if (!xz.avail_out)
			err = grow(&xz, n, limit, out, &room);
		if (!err)
			ret = lzma_code(&xz, LZMA_FINISH);
	}
	*size = xz.total_out;
	if (!err && ret != LZMA_STREAM_END)
		err = errno_of(ret);
	lzma_end(&xz);
	return err;
}

uint8_t *minidebug_unpack(const struct elf_file *f, uint64_t *left, size_t *size)
{
	const struct elf_section *s = elf_file_section(f, ".gnu_debugdata");
	size_t limit = *left < SIZE_LIMIT ? *left : SIZE_LIMIT, n;
	uint8_t *in, *out = NULL;
	int err;

	if (!s) {
		errno = ENOENT;
		return NULL;
	}
	in = elf_file_section_data(f, s, limit, &n);
	if (!in)
		return NULL;
	*left -= n;
	err = unpack(in, n, *left < limit ? *left : limit, &out, size);
	*left -= *size;
	free(in);
	if (!err)
		return out;
	free(out);
	errno = -err;
	return NULL;
}
