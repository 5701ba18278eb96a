/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "push/answer.h"
#include "unit/test.h"

static enum answer_verdict judge(enum answer_protocol protocol, int status, const void *body,
				 size_t size, const char *says)
{
	struct http_answer a = { .status = status, .grpc_status = -1, .size = size };
	char why[256] = "";
	enum answer_verdict v;

	memcpy(a.body, body, size);
	v = answer_judge(protocol, &a, why, sizeof(why));
	CHECK(!says || strstr(why, says));
	return v;
}

TEST(statuses)
{
	CHECK(judge(ANSWER_PLAIN, 200, "", 0, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_PLAIN, 204, "", 0, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_PLAIN, 400, "bad\nmore", 8, "status 400: bad") == ANSWER_NEVER);
	CHECK(judge(ANSWER_PLAIN, 413, "", 0, "413") == ANSWER_NEVER);
	CHECK(judge(ANSWER_PLAIN, 401, "", 0, "401") == ANSWER_LATER);
	CHECK(judge(ANSWER_PLAIN, 404, "", 0, "404") == ANSWER_LATER);
	CHECK(judge(ANSWER_PLAIN, 429, "", 0, "429") == ANSWER_LATER);
	CHECK(judge(ANSWER_PLAIN, 503, "\x1b[2J", 4, "503") == ANSWER_LATER);
	/* Nobody answered; or not wholly. */
	CHECK(judge(ANSWER_PLAIN, 0, "", 0, NULL) == ANSWER_LATER);
	/* Redirections are not followed: the token would go along. */
	CHECK(judge(ANSWER_PLAIN, 302, "", 0, NULL) == ANSWER_LATER);
}

TEST(otlp_takes_a_part)
{
	static const char none[] = "\x0a\x00", two[] = "\x0a\x08\x08\x02\x12\x04no v";
	static const char warning[] = "\x0a\x06\x12\x04warn", cut[] = "\x0a\x7f\x08";

	CHECK(judge(ANSWER_OTLP, 200, "", 0, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_OTLP, 200, none, 2, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_OTLP, 200, warning, 8, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_OTLP, 200, two, 10, "2 profiles refused: no v") == ANSWER_NEVER);
	CHECK(judge(ANSWER_OTLP, 200, cut, 3, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_OTLP, 500, two, 10, NULL) == ANSWER_LATER);
}

TEST(grpc_web)
{
	static const char ok[] = "\0\0\0\0\0\x80\0\0\0\x10grpc-status: 0\r\n";
	static const char bad[] = "\x80\0\0\0\x26Grpc-Status:3\r\ngrpc-message: missing x\r\n";
	static const char away[] = "\x80\0\0\0\x10grpc-status:14\r\n";
	static const char cut[] = "\x80\0\0\0\xffgrpc-status:0\r\n";
	struct http_answer a = { .status = 200, .grpc_status = 0 };
	char why[256];

	CHECK(judge(ANSWER_GRPC_WEB, 200, ok, 26, NULL) == ANSWER_TAKEN);
	CHECK(judge(ANSWER_GRPC_WEB, 200, bad, 43, "gRPC status 3: missing x") == ANSWER_NEVER);
	CHECK(judge(ANSWER_GRPC_WEB, 200, away, 21, "14") == ANSWER_LATER);
	CHECK(judge(ANSWER_GRPC_WEB, 200, cut, 20, "none of gRPC-Web") == ANSWER_LATER);
	CHECK(judge(ANSWER_GRPC_WEB, 200, "<html>", 6, "none of gRPC-Web") == ANSWER_LATER);
	/* A header says it where there is no body. */
	CHECK(answer_judge(ANSWER_GRPC_WEB, &a, why, sizeof(why)) == ANSWER_TAKEN);
	a.grpc_status = 16;
	CHECK(answer_judge(ANSWER_GRPC_WEB, &a, why, sizeof(why)) == ANSWER_LATER);
}

int main(void)
{
	RUN(statuses);
	RUN(otlp_takes_a_part);
	RUN(grpc_web);
	return TEST_END();
}
