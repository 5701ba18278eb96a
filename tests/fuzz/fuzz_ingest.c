/* SPDX-License-Identifier: MIT */
/* What waits in a spool, whoever wrote it: each URL that is made of it is one, and in ASCII. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "push/ingest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ingest_request r = { .body = { 0 } };
	struct cursor c = { .p = data, .end = data + size };

	while (ingest_next(&c, "http://h/ingest", &r) > 0)
		for (const char *p = r.url.v; p < r.url.v + r.url.n - 1; p++)
			if (*p <= ' ' || *p > '~')
				abort();
	ingest_free(&r);
	return 0;
}
