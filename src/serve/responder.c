/* SPDX-License-Identifier: MIT */
#include "serve/responder.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/sandbox.h"
#include "base/xalloc.h"
#include "serve/microhttpd.h"
#include "serve/watchers.h"

#define NOBODY 65534			/* a user and a group without rights */
#define CONNECTIONS 512u
#define CONNECTION_SECONDS 30u
#define CONNECTION_MEMORY ((size_t)16384)	/* bytes of a request, at most */
#define PAGE ""
#define UPDATES "data"
/* ns that watchers have, at most, to ask for what came last; mostly they do within a second. */
#define LAST_TIME 10000000000ull
#define LAST_LOOK 100u			/* ms between two looks whether all have */

struct responder {
	struct microhttpd http;
	struct MHD_Daemon *daemon;
	struct judge judge;
	struct store *store;
	int owner;
	struct watchers watchers;
	uint64_t until;			/* the end; 0: not known yet */
	struct { struct responder_message head; size_t got, have; char *text; } incoming;
	/* the last answer: many watchers ask for the same */
	struct { struct MHD_Response *response; uint64_t since, sequence; int ended; } last;
};

/* --- What it answers. ---------------------------------------------------------- */

/*
 * The page's own policy has the hashes of its script and its style; this one holds for all that we
 * send, and whatever else says, nothing comes from elsewhere.
 */
static const struct { const char *name, *value; } headers[] = {
	{ "Content-Security-Policy",
	  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
	  "img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
	  "frame-ancestors 'none'" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Referrer-Policy", "no-referrer" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Cross-Origin-Opener-Policy", "same-origin" },
	{ "Cache-Control", "no-store" },
};

static const struct refusal { unsigned int status; const char *text; } refusals[] = {
	{ JUDGE_NO_TOKEN, "401: the address that ebprof printed has a token behind the port\n" },
	{ JUDGE_REFUSED, "403: not the address that ebprof printed\n" },
	{ JUDGE_BAD_METHOD, "405: only GET\n" },
	{ MHD_HTTP_NOT_FOUND, "404: no such page\n" },
	{ MHD_HTTP_SERVICE_UNAVAILABLE, "503: not yet\n" },
};

/* @text is copied where @mode says so. */
static struct MHD_Response *response(const struct responder *r, const char *type,
				     struct store_text text, enum MHD_ResponseMemoryMode mode)
{
	struct MHD_Response *to = r->http.create_response_from_buffer(text.n, text.v, mode);

	for (size_t i = 0; to && i < sizeof(headers) / sizeof(*headers); i++)
		r->http.add_response_header(to, headers[i].name, headers[i].value);
	if (to)
		r->http.add_response_header(to, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	return to;
}

static struct MHD_Response *refuse(const struct responder *r, unsigned int status)
{
	size_t i = 0;

	while (refusals[i].status != status)
		i++;
	return response(r, "text/plain; charset=utf-8",
			(struct store_text){ (char *)refusals[i].text, strlen(refusals[i].text) },
			MHD_RESPMEM_PERSISTENT);
}

/* Kept in @r. */
static struct MHD_Response *updates(struct responder *r, uint64_t since)
{
	uint64_t sequence = store_sequence(r->store);
	int ended = store_has_ended(r->store);

	if (r->last.response && r->last.since == since && r->last.sequence == sequence &&
	    r->last.ended == ended)
		return r->last.response;
	if (r->last.response)
		r->http.destroy_response(r->last.response);
	r->last.response = response(r, "application/x-ndjson", store_since(r->store, since),
				    MHD_RESPMEM_MUST_FREE);
	r->last.since = since;
	r->last.sequence = sequence;
	r->last.ended = ended;
	return r->last.response;
}

/* --- Requests. ------------------------------------------------------------------ */

struct values { struct judge_request request; uint64_t since, watcher; };

static enum MHD_Result take_header(void *to, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	struct judge_request *r = &((struct values *)to)->request;

	(void)kind;
	if (!strcasecmp(key, "Host")) {
		r->host = value;
		r->hosts++;
	} else if (!strcasecmp(key, "Origin")) {
		r->origin = value ? value : "";
		r->origins++;
	}
	return MHD_YES;
}

static enum MHD_Result take_argument(void *to, enum MHD_ValueKind kind, const char *key,
				     const char *value)
{
	struct values *v = to;

	(void)kind;
	if (!strcmp(key, "since") && value)
		v->since = strtoull(value, NULL, 10);
	if (!strcmp(key, "watcher") && value)
		v->watcher = strtoull(value, NULL, 10);
	return MHD_YES;
}

/* Returns the status; *@out the answer, and *@by who watches: then it stays ours. */
static unsigned int choose(struct responder *r, struct values *v, struct MHD_Response **out,
			   struct watcher **by)
{
	const char *rest = NULL;
	unsigned int status = judge_request(&r->judge, &v->request, &rest);
	const struct store_text page = store_page(r->store);

	*by = NULL;
	if (status == JUDGE_OK && !strcmp(rest, UPDATES)) {
		*by = watchers_ask(&r->watchers, v->watcher, clock_ns());
		*out = updates(r, v->since);
		return status;
	}
	if (status == JUDGE_OK && strcmp(rest, PAGE))
		status = MHD_HTTP_NOT_FOUND;
	if (status == JUDGE_OK && !page.v)
		status = MHD_HTTP_SERVICE_UNAVAILABLE;
	*out = status == JUDGE_OK ? response(r, "text/html; charset=utf-8", page,
					     MHD_RESPMEM_PERSISTENT)
				  : refuse(r, status);
	return status;
}

static enum MHD_Result answer(void *ctx, struct MHD_Connection *c, const char *url,
			      const char *method, const char *version, const char *upload,
			      size_t *upload_size, void **state)
{
	struct responder *r = ctx;
	struct values v = { .request = { .method = method, .path = url } };
	struct MHD_Response *out;
	enum MHD_Result done;
	struct watcher *by;
	unsigned int status;

	(void)version;
	(void)upload;
	(void)upload_size;
	/* Answered before it was read to its end, a request would end its connection. */
	if (!*state && (!strcmp(method, "GET") || !strcmp(method, "HEAD"))) {
		*state = r;
		return MHD_YES;
	}
	r->http.get_connection_values(c, MHD_HEADER_KIND, take_header, &v);
	r->http.get_connection_values(c, MHD_GET_ARGUMENT_KIND, take_argument, &v);
	status = choose(r, &v, &out, &by);
	if (!out)
		return MHD_NO;
	done = r->http.queue_response(c, status, out);
	if (!by)
		r->http.destroy_response(out);
	*state = by && store_has_ended(r->store) ? by : (void *)r;
	return done;
}

/* Of a request: it was answered, or its connection has ended. */
static void completed(void *ctx, struct MHD_Connection *c, void **state,
		      enum MHD_RequestTerminationCode how)
{
	(void)c;
	if (how == MHD_REQUEST_TERMINATED_COMPLETED_OK && *state && *state != ctx)
		((struct watcher *)*state)->told = 1;
}

/* --- What its owner sends. ------------------------------------------------------- */

static void finish_message(struct responder *r)
{
	const struct responder_message *m = &r->incoming.head;

	store_add(r->store, m->kind, m->sequence,
		  (struct store_text){ r->incoming.text, m->size });
	r->incoming.text = NULL;
	r->incoming.got = r->incoming.have = 0;
	if (m->kind == STORE_END)
		r->until = clock_ns() + LAST_TIME;
}

/* Bytes; 0: the end, or no sense; below 0: none are there now. */
static ssize_t receive(struct responder *r)
{
	const size_t head = sizeof(r->incoming.head);
	ssize_t n;

	if (r->incoming.got < head) {
		n = recv(r->owner, (char *)&r->incoming.head + r->incoming.got,
			 head - r->incoming.got, MSG_DONTWAIT);
		if (n <= 0)
			return n;
		r->incoming.got += (size_t)n;
		if (r->incoming.got < head)
			return n;
		if (r->incoming.head.size > RESPONDER_BYTES || r->incoming.head.kind > STORE_END)
			return 0;
		r->incoming.text = xcalloc(1, r->incoming.head.size + 1);
	} else {
		n = recv(r->owner, r->incoming.text + r->incoming.have,
			 r->incoming.head.size - r->incoming.have, MSG_DONTWAIT);
		if (n <= 0)
			return n;
		r->incoming.have += (size_t)n;
	}
	if (r->incoming.have == r->incoming.head.size)
		finish_message(r);
	return n;
}

/* 0 where the owner is gone. */
static int take_messages(struct responder *r)
{
	ssize_t n;

	while ((n = receive(r)) > 0)
		;
	return n < 0 && (errno == EAGAIN || errno == EINTR);
}

/* --- The process. ----------------------------------------------------------------- */

/* Until something comes, or it is time for something: ms, for poll(2). */
static int patience(const struct responder *r)
{
	unsigned long long ms = INT32_MAX;
	int timed = r->http.get_timeout(r->daemon, &ms) == MHD_YES;

	if (r->until)
		return (int)(timed && ms < LAST_LOOK ? ms : LAST_LOOK);
	return timed && ms < INT32_MAX ? (int)ms : -1;
}

static int is_over(const struct responder *r)
{
	uint64_t now = clock_ns();

	return r->until && (now >= r->until || !watchers_wait(&r->watchers, now));
}

static void serve(struct responder *r)
{
	const union MHD_DaemonInfo *info =
		r->http.get_daemon_info(r->daemon, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[2] = { { .fd = r->owner, .events = POLLIN },
				 { .fd = info->epoll_fd, .events = POLLIN } };

	while (!is_over(r)) {
		if (poll(fds, 2, patience(r)) < 0 && errno != EINTR)
			return;
		/* The end is the last that comes; then its socket only says so. */
		if (fds[0].revents && !r->until && !take_messages(r))
			return;
		if (r->until)
			fds[0].fd = -1;
		r->http.run(r->daemon);
	}
}

static int begin(struct responder *r, const struct responder_setup *setup)
{
	const struct sandbox_options sandbox = { .server = 1, .sends = 1 };
	int err = microhttpd_load(&r->http);

	if (err)
		return err;
	r->daemon = r->http.start_daemon(
		MHD_USE_EPOLL | (setup->v6 ? MHD_USE_IPv6 : 0), 0, NULL, NULL, answer, r,
		MHD_OPTION_LISTEN_SOCKET, setup->listening,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, CONNECTION_SECONDS,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_MEMORY,
		MHD_OPTION_NOTIFY_COMPLETED, completed, r, MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_END);
	if (!r->daemon)
		return errno ? -errno : -EIO;
	/* As far as we may: without root there is little to give up. */
	if (!setresgid(NOBODY, NOBODY, NOBODY) && setresuid(NOBODY, NOBODY, NOBODY))
		return -errno;
	/* Which a change of user has reset. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	caps_limit(0);
	sandbox_enter(&sandbox);
	return 0;
}

void respond(const struct responder_setup *setup)
{
	struct responder r = { .judge = setup->judge, .owner = setup->owner,
			       .store = store_new() };
	int32_t err = begin(&r, setup);

	/* Who does not hear that it has begun waits for its end. */
	if (!io_write_full(r.owner, &err, sizeof(err)) && !err)
		serve(&r);
	_exit(0);
}
