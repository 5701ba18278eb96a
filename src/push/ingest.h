/* SPDX-License-Identifier: MIT */
/*
 * A PushRequest (series.c) as requests to Pyroscope's older API, one for each profile: POST
 * /ingest?name=SERVICE{LABEL=VALUE,...}&from=NS&until=NS&format=pprof, with the profile as the body
 * (pkg/ingester/pyroscope/ingest_handler.go and api/model/labelset of
 * github.com/grafana/pyroscope). What a name and its values cannot have there becomes "_".
 *
 * The request comes from a file and is not trusted.
 */
#ifndef EBPROF_INGEST_H
#define EBPROF_INGEST_H

#include <stddef.h>

#include "base/cursor.h"
#include "base/outfile.h"
#include "base/vec.h"

struct ingest_request {
	VEC(char) url;		/* a string */
	struct outfile_bytes body;	/* compressed */
};

/*
 * The next profile that @c has: 1 with @r filled, whose url begins with @base, to be used for the
 * next one, and freed at the end; 0: there are no more; -EINVAL: it is no PushRequest.
 */
int ingest_next(struct cursor *c, const char *base, struct ingest_request *r);
void ingest_free(struct ingest_request *r);

#endif
