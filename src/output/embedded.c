/* SPDX-License-Identifier: MIT */
#include "output/embedded.h"

#include "output/formats.h"
#include "profile/pprof.h"

void embedded_write(struct json *j, const struct profile *p)
{
	const struct output_options none = { 0 };
	struct outfile *f = json_bytes(j, PPROF_EMBEDDED);

	outfile_compress(f);
	pprof_write(p, &none, f);
	json_bytes_end(j, f);
}
