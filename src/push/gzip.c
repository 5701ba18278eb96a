/* SPDX-License-Identifier: MIT */
#include "push/gzip.h"

#include <errno.h>
#include <zlib.h>

#include "base/vec.h"

#define GZIP_WINDOW (15 + 16)	/* zlib.h: the largest window, and a gzip header */
#define STEP 65536

void gzip_pack(const void *v, size_t n, struct outfile_bytes *packed)
{
	struct outfile *f = outfile_memory(packed);

	outfile_compress_well(f);
	outfile_write(f, v, n);
	outfile_commit(f, NULL);
}

int gzip_unpack(const struct cursor *packed, struct protobuf *out)
{
	z_stream z = { .next_in = (uint8_t *)packed->p,
		       .avail_in = (unsigned int)(packed->end - packed->p) };
	int err = inflateInit2(&z, GZIP_WINDOW);

	while (!err && out->n < GZIP_MOST) {
		vec_reserve(out, out->n + STEP);
		z.next_out = out->v + out->n;
		z.avail_out = STEP;
		err = inflate(&z, Z_NO_FLUSH);
		out->n += STEP - z.avail_out;
	}
	inflateEnd(&z);
	return err == Z_STREAM_END ? 0 : -EINVAL;
}
