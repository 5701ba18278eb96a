/* SPDX-License-Identifier: MIT */
#include "serve/judge.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define HTTP_PORT 80		/* browsers leave it out */
#define SCHEME "http://"

int judge_init(struct judge *j, const char *address, uint16_t port)
{
	unsigned char random[JUDGE_TOKEN / 2];
	size_t n = 0;

	*j = (struct judge){ .token = "" };
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return errno ? -errno : -EIO;
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(j->token + 2 * i, 3, "%02x", random[i]);
	snprintf(j->hosts[n++], JUDGE_HOST, "%s", address);
	snprintf(j->hosts[n++], JUDGE_HOST, "localhost:%u", (unsigned int)port);
	if (port != HTTP_PORT)
		return 0;
	snprintf(j->hosts[n++], JUDGE_HOST, "%.*s", (int)(strrchr(address, ':') - address),
		 address);
	snprintf(j->hosts[n++], JUDGE_HOST, "localhost");
	return 0;
}

static int is_ours(const struct judge *j, const char *host)
{
	for (size_t i = 0; i < JUDGE_HOSTS && *j->hosts[i]; i++)
		if (!strcasecmp(host, j->hosts[i]))
			return 1;
	return 0;
}

/* Takes as long for any two texts of @size bytes: its time tells nothing of what is right. */
static int is_equal(const char *a, const char *b, size_t size)
{
	unsigned char differs = 0;

	for (size_t i = 0; i < size; i++)
		differs |= (unsigned char)(a[i] ^ b[i]);
	return !differs;
}

enum judge_status judge_request(const struct judge *j, const struct judge_request *r,
				const char **rest)
{
	const char *token = *r->path == '/' ? r->path + 1 : r->path;
	size_t n = strcspn(token, "/");

	if (r->hosts != 1 || !r->host || !is_ours(j, r->host))
		return JUDGE_REFUSED;
	if (r->origins > 1 ||
	    (r->origin && (strncasecmp(r->origin, SCHEME, strlen(SCHEME)) ||
			   !is_ours(j, r->origin + strlen(SCHEME)))))
		return JUDGE_REFUSED;
	if (!n)
		return JUDGE_NO_TOKEN;
	if (n != JUDGE_TOKEN || token[n] != '/' || !is_equal(token, j->token, JUDGE_TOKEN))
		return JUDGE_REFUSED;
	if (strcmp(r->method, "GET") && strcmp(r->method, "HEAD"))
		return JUDGE_BAD_METHOD;
	*rest = token + n + 1;
	return JUDGE_OK;
}
