/* SPDX-License-Identifier: MIT */
#include "input/slurp.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "base/huge.h"
#include "base/io.h"
#include "base/vec.h"

#define CHUNK 65536			/* bytes read at once */
#define READ_MAX ((size_t)1 << 24)	/* the same into the block itself */
#define GZIP_WINDOW (15 + 16)		/* zlib.h: the largest window, and a gzip header */

struct bytes { char *v; size_t n, cap; };

static int append(struct bytes *out, const unsigned char *p, size_t n, size_t limit)
{
	if (n > limit - out->n)
		return -EFBIG;
	vec_reserve(out, out->n + n);
	memcpy(out->v + out->n, p, n);
	out->n += n;
	return 0;
}

/*
 * Unpacks what stands in @z to @out. *@ended: a member of the file is over, and nothing of another
 * has come.
 */
static int unpack(z_stream *z, struct bytes *out, size_t limit, int *ended)
{
	unsigned char buf[CHUNK];
	int err = 0;

	do {
		int status;

		/* Members follow one another, and tape drives fill the rest with zeros. */
		while (*ended && z->avail_in && !*z->next_in) {
			z->next_in++;
			z->avail_in--;
		}
		if (*ended && !z->avail_in)
			return 0;
		if (*ended && inflateReset(z) != Z_OK)
			return -EBADMSG;
		z->next_out = buf;
		z->avail_out = sizeof(buf);
		status = inflate(z, Z_NO_FLUSH);
		if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
			return -EBADMSG;
		*ended = status == Z_STREAM_END;
		err = append(out, buf, sizeof(buf) - z->avail_out, limit);
	} while (!err && (z->avail_in || !z->avail_out));
	return err;
}

/* @in holds the first @n bytes, and takes the others. */
static int slurp_gzip(int fd, unsigned char *in, ssize_t n, struct bytes *out, size_t limit)
{
	z_stream z = { 0 };
	int ended = 0, err = 0;

	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		return -ENOMEM;
	for (; n > 0 && !err; n = err ? n : io_read(fd, in, CHUNK)) {
		z.next_in = in;
		z.avail_in = (unsigned int)n;
		err = unpack(&z, out, limit, &ended);
	}
	inflateEnd(&z);
	if (!err && n < 0)
		err = (int)n;
	return err ? err : ended ? 0 : -EBADMSG;
}

/* Room for all of a large file. What it has less of is never touched. */
static void expect(int fd, struct bytes *out, size_t limit)
{
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < 2 * HUGE_BYTES ||
	    (uint64_t)st.st_size > limit)
		return;
	vec_reserve(out, (size_t)st.st_size + 1);
	huge_wanted(out->v, out->cap);
}

/* @in holds the first @n bytes. */
static int slurp_plain(int fd, const unsigned char *in, ssize_t n, struct bytes *out, size_t limit)
{
	int err = n < 0 ? (int)n : 0;

	if (n > 0)
		expect(fd, out, limit);
	if (n > 0)
		err = append(out, in, (size_t)n, limit);
	while (!err && n > 0) {
		size_t room;

		vec_reserve(out, out->n + 1);
		room = out->cap - out->n;
		n = io_read(fd, out->v + out->n, room < READ_MAX ? room : READ_MAX);
		if (n > 0)
			out->n += (size_t)n;
		err = n < 0 ? (int)n : out->n > limit ? -EFBIG : 0;
	}
	return err;
}

char *slurp_unpack(const unsigned char *packed, size_t n, size_t limit, size_t *size)
{
	struct bytes out = { 0 };
	z_stream z = { 0 };
	int ended = 0, err = 0;

	vec_reserve(&out, 1);
	if (inflateInit2(&z, GZIP_WINDOW) != Z_OK)
		err = -ENOMEM;
	while (n && !err) {
		/* In parts that zlib's counter holds. */
		size_t part = n < 1u << 30 ? n : 1u << 30;

		/* zlib does not write there */
		z.next_in = (unsigned char *)(uintptr_t)packed;
		z.avail_in = (unsigned int)part;
		err = unpack(&z, &out, limit, &ended);
		packed += part;
		n -= part;
	}
	inflateEnd(&z);
	*size = out.n;
	if (!err && ended)
		return out.v;
	vec_free(&out);
	errno = err ? -err : EBADMSG;
	return NULL;
}

char *slurp(int fd, size_t limit, size_t *size)
{
	unsigned char in[CHUNK];
	struct bytes out = { 0 };
	ssize_t n = io_read(fd, in, sizeof(in));
	int err = 0;

	vec_reserve(&out, 1);
	/* A pipe may give its first bytes one by one. */
	if (n == 1) {
		ssize_t more = io_read(fd, in + 1, sizeof(in) - 1);

		n = more < 0 ? more : n + more;
	}
	if (n >= 2 && in[0] == 0x1f && in[1] == 0x8b)
		err = slurp_gzip(fd, in, n, &out, limit);
	else
		err = slurp_plain(fd, in, n, &out, limit);
	*size = out.n;
	if (!err)
		return out.v;
	vec_free(&out);
	errno = -err;
	return NULL;
}
