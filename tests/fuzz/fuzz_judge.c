/* SPDX-License-Identifier: MIT */
/*
 * What asks the server of `ebprof serve`: five lines are the path, the host, the origin, the
 * method, and how often the two headers came. "@" stands for the token, which nobody else knows.
 */
#include <stdio.h>
#include <strings.h>

#include "fuzz/fuzz.h"
#include "serve/judge.h"

enum { LINES = 5, PATH_MAX_HERE = 4096 };

/* @line with the token in the place of each "@". */
static void fill(const struct judge *j, const char *line, char path[PATH_MAX_HERE])
{
	size_t n = 0;

	for (; *line && n + JUDGE_TOKEN + 1 < PATH_MAX_HERE; line++)
		n += (size_t)snprintf(path + n, PATH_MAX_HERE - n, *line == '@' ? "%s" : "%.1s",
				      *line == '@' ? j->token : line);
	path[n] = '\0';
}

static void check(const struct judge *j, const struct judge_request *r, const char *line)
{
	const char *rest = NULL;
	enum judge_status status = judge_request(j, r, &rest);

	if (status != JUDGE_OK) {
		require(status == JUDGE_NO_TOKEN || status == JUDGE_REFUSED ||
			status == JUDGE_BAD_METHOD);
		require(!rest);
		return;
	}
	require(strchr(line, '@') && strstr(r->path, j->token) && rest > r->path);
	require(rest <= r->path + strlen(r->path));
	require(r->hosts == 1 && r->origins <= 1);
	require(!strcasecmp(r->host, "127.0.0.1:4123") || !strcasecmp(r->host, "localhost:4123"));
	require(!r->origin || !strcasecmp(r->origin, "http://127.0.0.1:4123") ||
		!strcasecmp(r->origin, "http://localhost:4123"));
	require(!strcmp(r->method, "GET") || !strcmp(r->method, "HEAD"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *lines[LINES] = { "", "", "", "", "" }, *rest, *text = fuzz_text(data, size, &rest);
	char path[PATH_MAX_HERE];
	struct judge_request r;
	struct judge j;

	if (!text || judge_init(&j, "127.0.0.1:4123", 4123))
		return 0;
	lines[0] = text;
	for (size_t i = 1; i < LINES && *rest; i++) {
		size_t n = strcspn(rest, "\n");

		lines[i] = rest;
		rest += n + (rest[n] == '\n');
		lines[i][n] = '\0';
	}
	fill(&j, lines[0], path);
	r = (struct judge_request){ .method = lines[3], .path = path, .host = lines[1],
				    .origin = *lines[2] ? lines[2] : NULL };
	r.hosts = *lines[4] ? (size_t)(*lines[4] & 3) : 1;
	r.origins = *lines[4] ? (size_t)(*lines[4] >> 2 & 3) : r.origin != NULL;
	if (!r.origins)
		r.origin = NULL;
	check(&j, &r, lines[0]);
	free(text);
	return 0;
}
