/* SPDX-License-Identifier: MIT */
#include "input/perf_data_unpack.h"

#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "base/xalloc.h"

#define UNPACKED_MAX ((size_t)1 << 30)	/* bytes */
#define STEP ((size_t)1 << 17)

struct perf_data_unpack {
	ZSTD_DCtx *stream;
};

int perf_data_unpack(struct perf_data_unpack **u, struct perf_data_file *f, struct slice part)
{
	ZSTD_inBuffer in = { part.s, part.n, 0 };
	int full = 0;

	if (!*u) {
		*u = xcalloc(1, sizeof(**u));
		(*u)->stream = ZSTD_createDCtx();
	}
	if (!(*u)->stream)
		return -ENOMEM;
	/* What was unpacked, but found no room, is still to come. */
	while (in.pos < in.size || full) {
		ZSTD_outBuffer out;

		if (f->unpacked.n > UNPACKED_MAX - STEP)
			return -EFBIG;
		vec_reserve(&f->unpacked, f->unpacked.n + STEP);
		out = (ZSTD_outBuffer){ f->unpacked.v + f->unpacked.n, STEP, 0 };
		if (ZSTD_isError(ZSTD_decompressStream((*u)->stream, &out, &in)))
			return -EBADMSG;
		f->unpacked.n += out.pos;
		full = out.pos == out.size;
	}
	return 0;
}

void perf_data_unpack_free(struct perf_data_unpack *u)
{
	if (!u)
		return;
	ZSTD_freeDCtx(u->stream);
	free(u);
}
