/* SPDX-License-Identifier: MIT */
/*
 * HTTP and HTTPS by libcurl, which is loaded when it is asked for: a program that sends nothing
 * does not have it. Its version must be 7.66 or newer. Proxies are those of the environment
 * (http_proxy, https_proxy, no_proxy).
 */
#ifndef EBPROF_HTTP_H
#define EBPROF_HTTP_H

#include <stddef.h>
#include <stdint.h>

#define HTTP_BODY_MAX 65536	/* bytes of an answer that are kept */
#define HTTP_WHY 256		/* bytes of a text that says why there was none, with its end */

struct http;

/* 0, or a negative errno: -ELIBACC where there is no libcurl that could be loaded. */
int http_new(struct http **out);

struct http_request {
	const char *url;
	const char *const *headers;	/* "Name: value"; ends with NULL */
	const char *ca_file;		/* trusts these certificates; NULL: those of the system */
	const void *body;
	size_t size;
	uint64_t timeout;		/* ns, for all of it */
	/* Asked about once a second: not 0 gives the request up. NULL: nobody is asked. */
	int (*give_up)(void *ctx);
	void *ctx;
};

struct http_answer {
	int status;		/* of HTTP; 0: there was no whole answer, @why says why */
	char why[HTTP_WHY];
	uint64_t retry_after;	/* ns that the server wants us to wait; 0: it does not say */
	/* of gRPC's header, -1 where it is absent: it need not come behind a body */
	int grpc_status;
	size_t size;			/* of @body, of which more may have come */
	unsigned char body[HTTP_BODY_MAX];
};

/* POST, without following redirections. */
void http_post(struct http *h, const struct http_request *r, struct http_answer *a);

#endif
