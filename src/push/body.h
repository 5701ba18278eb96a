/* SPDX-License-Identifier: MIT */
/*
 * The body of a request: the profiles of one window, of one service each, as a server's protocol
 * wants them. A row for each protocol (place.c names them).
 */
#ifndef EBPROF_BODY_H
#define EBPROF_BODY_H

#include <stddef.h>

#include "base/outfile.h"
#include "profile/profile.h"

/* What a series of profiles is known by; keys as OpenTelemetry calls them: "service.name". */
struct push_label { const char *key, *value; };

#define PUSH_SERVICE "service.name"
#define PUSH_HOST "host.name"
#define PUSH_CONTAINER "container.name"
#define PUSH_CONTAINER_ID "container.id"
#define PUSH_IMAGE "container.image.name"
#define PUSH_POD "k8s.pod.name"
#define PUSH_NAMESPACE "k8s.namespace.name"
#define PUSH_CGROUP "cgroup"
#define PUSH_LABELS_MOST 40	/* of a series */
#define PUSH_NAME 128		/* bytes of the name of a file, without its time */

struct push_part {
	const char *name;			/* of the service, and of what was measured */
	const struct profile *profile;
	const struct push_label *labels;	/* the first is PUSH_SERVICE */
	size_t nlabels;
	const struct outfile_bytes *pprof, *packed;	/* the same profile, and compressed */
};

struct body_ops {
	const char *name;
	void *(*begin)(void);
	void (*add)(void *body, const struct push_part *part);
	/* Bytes, as far as they are known. */
	size_t (*size)(const void *body);
	/* Writes it to @f, NULL: nowhere, and frees it. */
	void (*end)(void *body, struct outfile *f);
};

extern const struct body_ops body_otlp, body_pyroscope, body_parca;

#endif
