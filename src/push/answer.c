/* SPDX-License-Identifier: MIT */
#include "push/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/protobuf.h"
#include "base/text.h"

#define FRAME_HEAD 5		/* of gRPC: a byte of flags, four of length, the highest first */
#define FRAME_TRAILERS 0x80
#define SHOWN 160		/* bytes of a body that are shown */

/* ExportProfilesServiceResponse, ExportProfilesPartialSuccess */
#define PARTIAL_SUCCESS 1
#define PARTIAL_REJECTED 1
#define PARTIAL_WHY 2

/* Statuses of which the request itself is the cause; all others but success may pass. */
static const int never_http[] = { 400, 406, 411, 413, 414, 415, 422, 431 };
/* The same of gRPC: INVALID_ARGUMENT, OUT_OF_RANGE. */
static const int never_grpc[] = { 3, 11 };

static int has(const int *list, size_t n, int value)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == value)
			return 1;
	return 0;
}
#define HAS(list, value) has(list, sizeof(list) / sizeof(*(list)), value)

/* The beginning of @n bytes, which may be anything. */
static void show(const void *bytes, size_t n, char *text, size_t size)
{
	char raw[SHOWN + 1];

	if (n > SHOWN)
		n = SHOWN;
	memcpy(raw, bytes, n);
	raw[n] = '\0';
	raw[strcspn(raw, "\r\n")] = '\0';
	text_clean(text, size, raw);
}

static enum answer_verdict judge_plain(const struct http_answer *a, char *why, size_t size)
{
	char said[2 * SHOWN];

	if (a->status >= 200 && a->status < 300)
		return ANSWER_TAKEN;
	show(a->body, a->size, said, sizeof(said));
	snprintf(why, size, "status %d%s%s", a->status, *said ? ": " : "", said);
	return HAS(never_http, a->status) ? ANSWER_NEVER : ANSWER_LATER;
}

static enum answer_verdict judge_otlp(const struct http_answer *a, char *why, size_t size)
{
	struct cursor c = { .p = a->body, .end = a->body + a->size };
	struct protobuf_field f, inner;
	char said[2 * SHOWN] = "";
	uint64_t rejected = 0;

	while (protobuf_next(&c, &f))
		while (f.number == PARTIAL_SUCCESS && protobuf_next(&f.bytes, &inner)) {
			if (inner.number == PARTIAL_REJECTED)
				rejected = inner.value;
			else if (inner.number == PARTIAL_WHY && inner.wire == PROTOBUF_BYTES)
				show(inner.bytes.p, (size_t)(inner.bytes.end - inner.bytes.p),
				     said, sizeof(said));
		}
	if (!rejected)
		return ANSWER_TAKEN;
	snprintf(why, size, "%llu profiles refused%s%s", (unsigned long long)rejected,
		 *said ? ": " : "", said);
	return ANSWER_NEVER;
}

/* The value of "@name: value" among lines; what stands behind it is left there. NULL: absent. */
static const char *line_of(const char *lines, const char *name)
{
	size_t n = strlen(name);

	while (*lines) {
		if (!strncasecmp(lines, name, n) && lines[n] == ':')
			return lines + n + 1 + strspn(lines + n + 1, " ");
		lines += strcspn(lines, "\n");
		lines += *lines == '\n';
	}
	return NULL;
}

/* The trailers, copied to @text; "" where there are none. */
static void find_trailers(const struct http_answer *a, char *text, size_t size)
{
	size_t at = 0;

	*text = '\0';
	while (a->size - at >= FRAME_HEAD) {
		const unsigned char *head = a->body + at;
		size_t n = (size_t)head[1] << 24 | (size_t)head[2] << 16 | (size_t)head[3] << 8 |
			   head[4];

		at += FRAME_HEAD;
		if (n > a->size - at)
			return;
		if (head[0] & FRAME_TRAILERS) {
			snprintf(text, size, "%.*s", (int)n, (const char *)a->body + at);
			return;
		}
		at += n;
	}
}

static enum answer_verdict judge_grpc_web(const struct http_answer *a, char *why, size_t size)
{
	char lines[1024], said[2 * SHOWN] = "";
	int status = a->grpc_status;
	const char *text;

	find_trailers(a, lines, sizeof(lines));
	text = line_of(lines, "grpc-status");
	if (status < 0 && text)
		status = atoi(text);
	if (!status)
		return ANSWER_TAKEN;
	text = line_of(lines, "grpc-message");
	if (text)
		show(text, strlen(text), said, sizeof(said));
	if (status < 0)
		snprintf(why, size, "an answer that is none of gRPC-Web");
	else
		snprintf(why, size, "gRPC status %d%s%s", status, *said ? ": " : "", said);
	return HAS(never_grpc, status) ? ANSWER_NEVER : ANSWER_LATER;
}

enum answer_verdict answer_judge(enum answer_protocol protocol, const struct http_answer *a,
				 char *why, size_t size)
{
	static enum answer_verdict (*const judges[])(const struct http_answer *, char *, size_t) = {
		[ANSWER_PLAIN] = judge_plain,
		[ANSWER_OTLP] = judge_otlp,
		[ANSWER_GRPC_WEB] = judge_grpc_web,
	};
	enum answer_verdict v;

	if (!a->status) {
		snprintf(why, size, "%s", a->why);
		return ANSWER_LATER;
	}
	v = judge_plain(a, why, size);
	return v == ANSWER_TAKEN ? judges[protocol](a, why, size) : v;
}
