/* SPDX-License-Identifier: MIT */
/*
 * What a server's answer means for what it was sent. The answer is hostile.
 */
#ifndef EBPROF_ANSWER_H
#define EBPROF_ANSWER_H

#include <stddef.h>

#include "push/http.h"

enum answer_protocol {
	/* By the status of HTTP alone (also Connect, connectrpc.com/docs/protocol). */
	ANSWER_PLAIN,
	/*
	 * The body is an ExportProfilesServiceResponse, which may say that a part was refused
	 * (opentelemetry-proto, collector/profiles/v1development).
	 */
	ANSWER_OTLP,
	/*
	 * The status of gRPC is in a header, or in the last frame of the body
	 * (github.com/grpc/grpc, doc/PROTOCOL-WEB.md).
	 */
	ANSWER_GRPC_WEB,
};

enum answer_verdict {
	ANSWER_TAKEN,
	ANSWER_LATER,		/* not now: the same may be sent again */
	ANSWER_NEVER,		/* the same would be refused again */
};

/*
 * @why: where it is not ANSWER_TAKEN, a clean text that says what the server said, as far as it
 * fits in @size bytes.
 */
enum answer_verdict answer_judge(enum answer_protocol protocol, const struct http_answer *a,
				 char *why, size_t size);

#endif
