/* SPDX-License-Identifier: MIT */
#include "output/packed.h"

#include <stdlib.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/xalloc.h"

#define LEVEL	6		/* zlib's usual */
#define WINDOW	(-15)		/* zlib.h: the largest window, no header */
#define VARINT	10		/* bytes of the longest */

struct packed {
	struct outfile *f;
	z_stream z;
	unsigned char in[16384], out[12288];	/* @out in whole groups of three bytes */
	size_t used;
};

/* @n bytes; not a multiple of 3 only at the end. */
static void base64(struct outfile *f, const unsigned char *p, size_t n)
{
	char text[BASE64_SIZE(sizeof(((struct packed *)0)->out))];

	outfile_write(f, text, base64_encode(text, p, n));
}

/* Takes all that was put; what comes out goes on when the buffer is full, or at the end. */
static void pump(struct packed *w, int mode)
{
	int err;

	w->z.next_in = w->in;
	w->z.avail_in = (uInt)w->used;
	w->used = 0;
	do {
		err = deflate(&w->z, mode);
		if (!w->z.avail_out || mode == Z_FINISH) {
			base64(w->f, w->out, sizeof(w->out) - w->z.avail_out);
			w->z.next_out = w->out;
			w->z.avail_out = sizeof(w->out);
		}
	} while (mode == Z_FINISH ? err == Z_OK || err == Z_BUF_ERROR : w->z.avail_in != 0);
}

static void *give(void *ctx, unsigned int n, unsigned int size)
{
	(void)ctx;
	return xcalloc(n, size);
}

static void release(void *ctx, void *p)
{
	(void)ctx;
	free(p);
}

struct packed *packed_open(struct outfile *f)
{
	struct packed *w = xcalloc(1, sizeof(*w));

	w->f = f;
	w->z.zalloc = give;		/* so that there is nothing it could fail for */
	w->z.zfree = release;
	deflateInit2(&w->z, LEVEL, Z_DEFLATED, WINDOW, 8, Z_DEFAULT_STRATEGY);
	w->z.next_out = w->out;
	w->z.avail_out = sizeof(w->out);
	return w;
}

void packed_put(struct packed *w, uint64_t n)
{
	if (w->used + VARINT > sizeof(w->in))
		pump(w, Z_NO_FLUSH);
	for (; n >= 0x80; n >>= 7)
		w->in[w->used++] = (unsigned char)(n | 0x80);
	w->in[w->used++] = (unsigned char)n;
}

void packed_close(struct packed *w)
{
	pump(w, Z_FINISH);
	deflateEnd(&w->z);
	free(w);
}
