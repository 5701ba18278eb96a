/* SPDX-License-Identifier: MIT */
#include "push/http.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/auxv.h>

#include "base/text.h"
#include "base/xalloc.h"

#define MILLISECOND 1000000u
#define SECOND 1000000000u
#define RETRY_MOST 600		/* s that a server can make us wait */
#define CONNECT_MOST 10000	/* ms */

/*
 * libcurl's numbers of options, protocols and facts (curl/curl.h), which are part of its ABI: they
 * do not change, and its headers need not be there to build.
 */
enum curl_option {
	CURL_POST = 47,
	CURL_NOSIGNAL = 99,
	CURL_NOPROGRESS = 43,
	CURL_TIMEOUT_MS = 155,
	CURL_CONNECTTIMEOUT_MS = 156,
	CURL_PROTOCOLS = 181,
	CURL_WRITEDATA = 10001,
	CURL_URL = 10002,
	CURL_ERRORBUFFER = 10010,
	CURL_POSTFIELDS = 10015,
	CURL_USERAGENT = 10018,
	CURL_HTTPHEADER = 10023,
	CURL_HEADERDATA = 10029,
	CURL_XFERINFODATA = 10057,
	CURL_CAINFO = 10065,
	CURL_WRITEFUNCTION = 20011,
	CURL_HEADERFUNCTION = 20079,
	CURL_XFERINFOFUNCTION = 20219,
	CURL_POSTFIELDSIZE_LARGE = 30120,
};
#define CURL_HTTP_AND_HTTPS 3L
#define CURL_GLOBAL_ALL 3L
#define CURL_RESPONSE_CODE 0x200002
#define CURL_RETRY_AFTER 0x600039
#define CURL_ERROR_SIZE 256
#define CURL_VERSION_FIRST 0		/* of the structure, whose second field is the number */
#define CURL_OLDEST 0x074200

struct http {
	void *library, *easy;
	int (*global_init)(long flags);
	const struct curl_version { int age; const char *text; unsigned int number; } *
		(*version)(int age);
	void *(*init)(void);
	void (*cleanup)(void *easy);
	int (*setopt)(void *easy, int option, ...);
	int (*perform)(void *easy);
	int (*getinfo)(void *easy, int info, ...);
	const char *(*strerror)(int code);
	void *(*append)(void *list, const char *text);
	void (*free_all)(void *list);
};

static int find_functions(struct http *h)
{
	const struct { const char *name; void *to; } functions[] = {
		{ "curl_global_init", &h->global_init },
		{ "curl_version_info", &h->version },
		{ "curl_easy_init", &h->init },
		{ "curl_easy_cleanup", &h->cleanup },
		{ "curl_easy_setopt", &h->setopt },
		{ "curl_easy_perform", &h->perform },
		{ "curl_easy_getinfo", &h->getinfo },
		{ "curl_easy_strerror", &h->strerror },
		{ "curl_slist_append", &h->append },
		{ "curl_slist_free_all", &h->free_all },
	};

	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		void *function = dlsym(h->library, functions[i].name);

		if (!function)
			return -ELIBACC;
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return 0;
}

static int load(struct http *h)
{
	static const char *const names[] = { "libcurl.so.4", "libcurl-gnutls.so.4" };

	/* A static program would load another C library than its own. */
	for (size_t i = 0; getauxval(AT_BASE) && !h->library && i < 2; i++)
		h->library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!h->library || find_functions(h) || h->global_init(CURL_GLOBAL_ALL) ||
	    h->version(CURL_VERSION_FIRST)->number < CURL_OLDEST)
		return -ELIBACC;
	h->easy = h->init();
	return h->easy ? 0 : -ENOMEM;
}

static void drop(struct http *h)
{
	if (h->easy)
		h->cleanup(h->easy);
	if (h->library)
		dlclose(h->library);
	free(h);
}

int http_new(struct http **out)
{
	struct http *h = xcalloc(1, sizeof(*h));
	int err = load(h);

	*out = err ? NULL : h;
	if (err)
		drop(h);
	return err;
}

/* What is over the limit is taken and forgotten: an answer is no reason to fail. */
static size_t take_body(char *bytes, size_t size, size_t n, void *answer)
{
	struct http_answer *a = answer;
	size_t room = sizeof(a->body) - a->size, all = size * n;

	memcpy(a->body + a->size, bytes, all < room ? all : room);
	a->size += all < room ? all : room;
	return all;
}

static size_t take_header(char *bytes, size_t size, size_t n, void *answer)
{
	static const char name[] = "grpc-status:";
	struct http_answer *a = answer;
	size_t all = size * n, length = sizeof(name) - 1;
	char text[16] = "";

	if (all > length && !strncasecmp(bytes, name, length)) {
		size_t rest = all - length;

		memcpy(text, bytes + length, rest < sizeof(text) ? rest : sizeof(text) - 1);
		a->grpc_status = atoi(text);
	}
	return all;
}

static int ask(void *request, int64_t down, int64_t now_down, int64_t up, int64_t now_up)
{
	const struct http_request *r = request;

	(void)down;
	(void)now_down;
	(void)up;
	(void)now_up;
	return r->give_up && r->give_up(r->ctx);
}

/* All of it each time: whatever the request before had is not this one's. */
static void set(struct http *h, const struct http_request *r, struct http_answer *a, void *headers,
		char *why)
{
	uint64_t ms = r->timeout / MILLISECOND;

	h->setopt(h->easy, CURL_URL, r->url);
	h->setopt(h->easy, CURL_PROTOCOLS, CURL_HTTP_AND_HTTPS);
	h->setopt(h->easy, CURL_POST, 1L);
	h->setopt(h->easy, CURL_POSTFIELDS, r->body);
	h->setopt(h->easy, CURL_POSTFIELDSIZE_LARGE, (int64_t)r->size);
	h->setopt(h->easy, CURL_HTTPHEADER, headers);
	h->setopt(h->easy, CURL_USERAGENT, "ebprof/" EBPROF_VERSION);
	h->setopt(h->easy, CURL_NOSIGNAL, 1L);
	h->setopt(h->easy, CURL_TIMEOUT_MS, (long)ms);
	h->setopt(h->easy, CURL_CONNECTTIMEOUT_MS, (long)(ms < CONNECT_MOST ? ms : CONNECT_MOST));
	h->setopt(h->easy, CURL_WRITEFUNCTION, take_body);
	h->setopt(h->easy, CURL_WRITEDATA, a);
	h->setopt(h->easy, CURL_HEADERFUNCTION, take_header);
	h->setopt(h->easy, CURL_HEADERDATA, a);
	h->setopt(h->easy, CURL_NOPROGRESS, 0L);
	h->setopt(h->easy, CURL_XFERINFOFUNCTION, ask);
	h->setopt(h->easy, CURL_XFERINFODATA, r);
	h->setopt(h->easy, CURL_ERRORBUFFER, why);
	if (r->ca_file)
		h->setopt(h->easy, CURL_CAINFO, r->ca_file);
}

void http_post(struct http *h, const struct http_request *r, struct http_answer *a)
{
	char why[CURL_ERROR_SIZE] = "";
	/* Without asking first whether a body is welcome: ours are small, and that costs a trip. */
	void *headers = h->append(NULL, "Expect:");
	int64_t retry = 0;
	long status = 0;
	int code;

	*a = (struct http_answer){ .grpc_status = -1 };
	for (size_t i = 0; r->headers[i]; i++)
		headers = h->append(headers, r->headers[i]);
	set(h, r, a, headers, why);
	code = h->perform(h->easy);
	if (code) {
		text_clean(a->why, sizeof(a->why), *why ? why : h->strerror(code));
	} else {
		h->getinfo(h->easy, CURL_RESPONSE_CODE, &status);
		h->getinfo(h->easy, CURL_RETRY_AFTER, &retry);
		a->status = (int)status;
		if (retry > 0)
			a->retry_after = (uint64_t)(retry < RETRY_MOST ? retry : RETRY_MOST) *
					 SECOND;
	}
	h->free_all(headers);
}
