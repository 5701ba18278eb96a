/* SPDX-License-Identifier: MIT */
/*
 * What a program publishes of itself in its memory, for whoever looks at it from outside:
 * OpenTelemetry's process context, version 2 (oteps/profiles/4719-process-ctx.md of
 * github.com/open-telemetry/opentelemetry-specification). A mapping that has a name of its own
 * begins with a header, which points at a ProcessContext of theirs. All of it is hostile.
 */
#ifndef EBPROF_OTEL_CONTEXT_H
#define EBPROF_OTEL_CONTEXT_H

#include <stddef.h>
#include <sys/types.h>

#include "proc/remote.h"

#define OTEL_SERVICE 256	/* bytes of a name, with its end; any bytes but NUL */

/*
 * The service.name that @pid has published: 1, or 0 where there is none, it is being written, or it
 * cannot be read. What SDKs say where nobody gave a name (unknown_service) is none.
 */
int otel_context_of(struct remote *remote, pid_t pid, char service[OTEL_SERVICE]);

/* --- For its tests. ------------------------------------------------------------ */

/* That of a ProcessContext, of @size bytes. */
int otel_context_service(const void *context, size_t size, char service[OTEL_SERVICE]);

#endif
