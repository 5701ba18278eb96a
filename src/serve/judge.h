/* SPDX-License-Identifier: MIT */
/*
 * Which requests are answered. A page of somebody else's, open in the same browser, can send some
 * to any port of this machine: by its own name, made to mean 127.0.0.1 (DNS rebinding: told by
 * Host), or by ours (told by Origin, and it has no token). Other users of this machine have no
 * token, either. Nothing is changed by any request, and only GET and HEAD are known.
 */
#ifndef EBPROF_JUDGE_H
#define EBPROF_JUDGE_H

#include <stddef.h>
#include <stdint.h>

#define JUDGE_TOKEN 32		/* hexadecimal digits: 128 bits */
#define JUDGE_HOST 64
#define JUDGE_HOSTS 4

struct judge {
	char token[JUDGE_TOKEN + 1];
	char hosts[JUDGE_HOSTS][JUDGE_HOST];	/* as browsers name us; the rest is "" */
};

struct judge_request {
	const char *method;
	const char *path;	/* without what stands behind "?" */
	const char *host, *origin;	/* NULL: not there */
	size_t hosts, origins;	/* how many headers there are of each */
};

enum judge_status {
	JUDGE_OK = 200,
	JUDGE_NO_TOKEN = 401,
	JUDGE_REFUSED = 403,		/* a wrong token, or another's request */
	JUDGE_BAD_METHOD = 405,
};

/* Draws a token. @address: "127.0.0.1:41234", "[::1]:41234". 0 or a negative errno. */
int judge_init(struct judge *j, const char *address, uint16_t port);
/* JUDGE_OK with *@rest what is asked for below /TOKEN/; why not, otherwise. */
enum judge_status judge_request(const struct judge *j, const struct judge_request *r,
				const char **rest);

#endif
