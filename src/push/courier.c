/* SPDX-License-Identifier: MIT */
#include "push/courier.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/io.h"
#include "base/sandbox.h"
#include "base/say.h"
#include "base/text.h"
#include "push/gzip.h"
#include "push/ingest.h"

#define SECOND 1000000000ull
#define MILLISECOND 1000000u
#define TOKEN_MAX 4096		/* bytes */
#define BODY_MAX (64u << 20)	/* bytes of a file that is sent */
#define WAIT_LEAST (SECOND / 2)	/* before the second try; doubles */
#define WAIT_MOST (60 * SECOND)
#define TRIES_MOST 20		/* of one body that the server's own errors answer */
#define SERVER_ERROR 500
#define NOT_FOUND 404
#define NOT_ALLOWED 405			/* that path takes no POST */
#define PART_TYPE "Content-Type: application/octet-stream"
#define FLUSH_TIME (5 * SECOND)
#define SHOWN 512

struct courier {
	pid_t pid;
	int fd;
};

/* What comes through the socket; its end is an END, too. */
enum order { WAKE = 'w', END = 'e' };

/* The state of the process that sends. */
struct sender {
	struct courier_setup setup;
	struct http *http;
	string_vec headers, part_headers;
	int fd;
	uint64_t ends;			/* clock_ns(); 0: nobody has asked */
	uint64_t next, wait;		/* when to try again; and how long it was */
	int tries;			/* of the body that is next */
	int failing;			/* that was said */
	int in_parts;			/* bodies are sent so */
	size_t parts;			/* of the body that is next: done with */
	int refused;			/* one of them was */
	struct { folder_file_vec all; size_t at; } files;
	struct http_answer answer;
};

/* --- Secrets and headers. ---------------------------------------------------------- */

int courier_bad_header(const struct courier_options *o)
{
	for (size_t i = 0; i < o->headers.n; i++) {
		const char *h = o->headers.v[i];
		size_t name = strcspn(h, ": \t\r\n");

		if (!name || h[name] != ':' || strpbrk(h, "\r\n") ||
		    !strncasecmp(h, "authorization:", strlen("authorization:")))
			return (int)i;
	}
	return -1;
}

/* "Authorization: " and a scheme that the text has itself, else Bearer. malloc'd. */
static char *authorization(const char *token)
{
	return xasprintf("Authorization: %s%s", strchr(token, ' ') ? "" : "Bearer ", token);
}

static int add_token(struct sender *s, int fd)
{
	const char *from = getenv(COURIER_TOKEN);
	char token[TOKEN_MAX] = "";

	if (fd >= 0) {
		ssize_t n = io_read_full(fd, token, sizeof(token) - 1);

		close(fd);
		if (n < 0)
			return (int)n;
		token[n] = '\0';
	} else if (from) {
		snprintf(token, sizeof(token), "%s", from);
	}
	token[strcspn(token, "\r\n")] = '\0';
	if (*token)
		vec_push(&s->part_headers, authorization(token));
	explicit_bzero(token, sizeof(token));
	return 0;
}

static int add_headers(struct sender *s, int token_fd)
{
	const struct courier_options *o = s->setup.options;
	int err = add_token(s, token_fd);

	for (size_t i = 0; i < o->headers.n; i++)
		vec_push(&s->part_headers, o->headers.v[i]);
	for (size_t i = 0; i < s->part_headers.n; i++)
		vec_push(&s->headers, s->part_headers.v[i]);
	for (size_t i = 0; s->setup.headers[i]; i++)
		vec_push(&s->headers, s->setup.headers[i]);
	vec_push(&s->headers, NULL);
	vec_push(&s->part_headers, PART_TYPE);
	vec_push(&s->part_headers, NULL);
	return err;
}

/* --- Orders. ------------------------------------------------------------------------ */

static void take_orders(struct sender *s)
{
	char orders[64];
	ssize_t n;

	while ((n = recv(s->fd, orders, sizeof(orders), MSG_DONTWAIT)) > 0)
		if (memchr(orders, END, (size_t)n) && !s->ends)
			s->ends = clock_ns() + FLUSH_TIME;
	if (!n && !s->ends)
		s->ends = clock_ns() + FLUSH_TIME;
}

/* Until something new comes, or @until (0: for ever). */
static void wait_orders(struct sender *s, uint64_t until)
{
	struct pollfd p = { .fd = s->fd, .events = POLLIN };
	uint64_t now = clock_ns();
	int ms = until ? (int)((until > now ? until - now : 0) / MILLISECOND) + 1 : -1;

	poll(&p, 1, ms);
	take_orders(s);
}

static int give_up(void *sender)
{
	struct sender *s = sender;

	take_orders(s);
	return s->ends && clock_ns() > s->ends;
}

/* --- Sending. ------------------------------------------------------------------------ */

/* Says what changed: a server that is away would fill the journal, too. */
static void tell(struct sender *s, const char *why)
{
	char to[SHOWN];

	if (!!why == s->failing)
		return;
	s->failing = !!why;
	text_clean(to, sizeof(to), s->setup.to);
	if (why)
		say(SAY_WARNING, "%s: %s; what is not sent waits in %s", to, why,
		    folder_path(spool_folder(s->setup.spool)));
	else
		say(SAY_NOTICE, "%s takes profiles again", to);
}

/* Half of it is drawn: servers that come back are not to be asked by all at one time. */
static uint64_t with_jitter(uint64_t wait)
{
	uint64_t random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = clock_ns();
	return wait / 2 + random % (wait / 2 + 1);
}

static void put_off(struct sender *s)
{
	s->wait = s->wait ? 2 * s->wait : WAIT_LEAST;
	if (s->wait > WAIT_MOST)
		s->wait = WAIT_MOST;
	s->next = clock_ns() + with_jitter(s->wait) + s->answer.retry_after;
}

/*
 * It is done with. Where it is not there any more it was counted as dropped meanwhile, which it was
 * not.
 */
static void done(struct sender *s, const struct folder_file *file, struct spool_count *as)
{
	uint64_t samples = spool_samples(file->name);
	struct spool_count *dropped = &spool_counts(s->setup.spool)->dropped;

	spool_count(as, samples, file->size);
	if (unlinkat(folder_dir(spool_folder(s->setup.spool)), file->name, 0) && errno == ENOENT) {
		__atomic_fetch_sub(&dropped->bodies, 1, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&dropped->samples, samples, __ATOMIC_RELAXED);
		__atomic_fetch_sub(&dropped->bytes, file->size, __ATOMIC_RELAXED);
	}
	s->files.at++;
	s->parts = 0;
	s->refused = 0;
	s->wait = 0;
	s->tries = 0;
}

/* What the answer means; what has to be said or waited for is. */
static enum answer_verdict judge(struct sender *s, const struct folder_file *file)
{
	char why[HTTP_WHY + SHOWN] = "", to[SHOWN];
	enum answer_verdict v = answer_judge(s->in_parts ? ANSWER_PLAIN : s->setup.protocol,
					     &s->answer, why, sizeof(why));

	/* What a server fails at each time would keep all that is behind it. */
	if (v == ANSWER_LATER && s->answer.status == SERVER_ERROR && ++s->tries >= TRIES_MOST)
		v = ANSWER_NEVER;
	switch (v) {
	case ANSWER_TAKEN:
		tell(s, NULL);
		break;
	case ANSWER_NEVER:
		text_clean(to, sizeof(to), s->setup.to);
		say(SAY_WARNING, "%s refused %s%llu samples: %s", to,
		    s->in_parts ? "a part of " : "",
		    (unsigned long long)spool_samples(file->name), why);
		break;
	case ANSWER_LATER:
		tell(s, why);
		put_off(s);
		break;
	}
	return v;
}

/* What is in the file, malloc'd; NULL: it is gone, or is none that we send. */
static void *read_body(struct sender *s, const char *name, size_t *size)
{
	int fd = openat(folder_dir(spool_folder(s->setup.spool)), name,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *bytes = NULL;
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= BODY_MAX) {
		*size = (size_t)st.st_size;
		bytes = xmalloc(*size + 1);
		if (io_read_full(fd, bytes, *size) != st.st_size) {
			free(bytes);
			bytes = NULL;
		}
	}
	if (fd >= 0)
		close(fd);
	return bytes;
}

static void post(struct sender *s, struct http_request *r)
{
	uint64_t now = clock_ns();

	r->ca_file = s->setup.options->ca_file;
	r->timeout = s->setup.options->timeout;
	r->give_up = give_up;
	r->ctx = s;
	if (s->ends && s->ends < now + r->timeout)
		r->timeout = s->ends > now ? s->ends - now : 1;
	http_post(s->http, r, &s->answer);
}

/* 1 where the server has no such path, and the other one is to be tried. */
static int is_elsewhere(struct sender *s)
{
	char to[SHOWN];

	if (!s->setup.url || !s->setup.parts_url ||
	    (s->answer.status != NOT_FOUND && s->answer.status != NOT_ALLOWED))
		return 0;
	s->in_parts = !s->in_parts;
	if (!s->in_parts)
		return 0;
	text_clean(to, sizeof(to), s->setup.to);
	say(SAY_NOTICE, "%s: status %d; each profile goes to %s", to, s->answer.status,
	    s->setup.parts_url);
	return 1;
}

/* Those that are not done with, up to the first that is not taken now. */
static void send_parts(struct sender *s, const struct folder_file *file, struct cursor body)
{
	struct spool_counts *counts = spool_counts(s->setup.spool);
	enum answer_verdict v = ANSWER_TAKEN;
	struct ingest_request part = { .body = { 0 } };
	struct protobuf bytes = { 0 };
	struct cursor all = { 0 };
	size_t at = 0;
	int err = gzip_unpack(&body, &bytes), more = err;

	all = (struct cursor){ .p = bytes.v, .end = bytes.v + bytes.n };
	while (!err && (more = ingest_next(&all, s->setup.parts_url, &part)) > 0) {
		struct http_request r = { .url = part.url.v, .headers = s->part_headers.v,
					  .body = part.body.v, .size = part.body.n };

		if (at++ < s->parts)
			continue;
		post(s, &r);
		v = judge(s, file);
		if (v == ANSWER_LATER)
			break;
		s->refused |= v == ANSWER_NEVER;
		s->parts++;
	}
	ingest_free(&part);
	protobuf_free(&bytes);
	if (v != ANSWER_LATER)
		done(s, file, more < 0 || s->refused ? &counts->refused : &counts->sent);
	else
		is_elsewhere(s);
}

static void send_whole(struct sender *s, const struct folder_file *file, struct http_request *r)
{
	struct spool_counts *counts = spool_counts(s->setup.spool);
	enum answer_verdict v;

	post(s, r);
	if (is_elsewhere(s))
		return;
	v = judge(s, file);
	if (v != ANSWER_LATER)
		done(s, file, v == ANSWER_TAKEN ? &counts->sent : &counts->refused);
}

static void send_file(struct sender *s, const struct folder_file *file)
{
	struct http_request r = { .url = s->setup.url, .headers = s->headers.v };
	void *body = read_body(s, file->name, &r.size);

	r.body = body;
	if (!body) {
		s->files.at++;
		s->parts = 0;
		s->refused = 0;
	} else if (s->in_parts) {
		send_parts(s, file, (struct cursor){ .p = body, .end = (uint8_t *)body + r.size });
	} else {
		send_whole(s, file, &r);
	}
	free(body);
}

/* The oldest file; NULL where there is none. */
static const struct folder_file *next_file(struct sender *s)
{
	if (s->files.at == s->files.all.n) {
		folder_list_free(&s->files.all);
		s->files.at = 0;
		folder_list(folder_dir(spool_folder(s->setup.spool)), SPOOL_SUFFIX, &s->files.all);
	}
	return s->files.at < s->files.all.n ? &s->files.all.v[s->files.at] : NULL;
}

static void count_waiting(struct sender *s)
{
	struct spool_counts *counts = spool_counts(s->setup.spool);

	folder_list_free(&s->files.all);
	folder_list(folder_dir(spool_folder(s->setup.spool)), SPOOL_SUFFIX, &s->files.all);
	for (size_t i = 0; i < s->files.all.n; i++)
		spool_count(&counts->waiting, spool_samples(s->files.all.v[i].name),
			    s->files.all.v[i].size);
}

/* Until we are asked to end, and all is sent or cannot be. */
static void serve(struct sender *s)
{
	for (;;) {
		const struct folder_file *file = next_file(s);
		uint64_t now = clock_ns();

		take_orders(s);
		if (s->ends && (!file || now >= s->ends || s->next > now))
			break;
		if (!file)
			wait_orders(s, 0);
		else if (now < s->next)
			wait_orders(s, s->next);
		else
			send_file(s, file);
	}
	count_waiting(s);
}

/* --- The process. ----------------------------------------------------------------------- */

static int confine(const struct courier_setup *setup)
{
	int err = user_become(setup->user);

	if (!err)
		err = caps_limit(0);
	if (!err)
		err = prctl(PR_SET_DUMPABLE, 0) ? -errno : 0;
	if (!err)
		err = sandbox_enter(&(struct sandbox_options){ .network = 1, .sends = 1 });
	/* A kernel without such filters: as everywhere, without. */
	return err == -ENOSYS || err == -EINVAL ? 0 : err;
}

static __attribute__((noreturn)) void run(const struct courier_setup *setup, int fd, int token_fd)
{
	struct sender *s = xcalloc(1, sizeof(*s));
	int32_t err;

	signal(SIGPIPE, SIG_IGN);
	s->setup = *setup;
	s->in_parts = !setup->url;
	s->fd = fd;
	err = add_headers(s, token_fd);
	if (!err)
		err = http_new(&s->http);
	if (!err)
		err = confine(setup);
	if (io_write_full(fd, &err, sizeof(err)) || err)
		_exit(1);
	serve(s);
	_exit(0);
}

static int start(struct courier *c, const struct courier_setup *setup, int token_fd,
		 struct error *e)
{
	int32_t err = -ECHILD;
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_set(e, STATUS_ERROR, -errno, "cannot make a socket: %s",
				 strerror(errno));
	c->pid = child_fork();
	if (!c->pid) {
		close(ends[0]);
		run(setup, ends[1], token_fd);
	}
	close(ends[1]);
	c->fd = ends[0];
	if (c->pid < 0)
		return error_set(e, STATUS_ERROR, -errno, "cannot start a process: %s",
				 strerror(errno));
	if (io_read_full(c->fd, &err, sizeof(err)) == sizeof(err) && !err)
		return 0;
	return error_set(e, STATUS_ERROR, err, "--to '%.200s': %s", setup->to,
			 err == -ELIBACC
				 ? "that needs libcurl.so.4, 7.66 or newer (Debian: libcurl4), and "
				   "an ebprof that is not linked statically"
				 : strerror(-err));
}

struct courier *courier_new(const struct courier_setup *setup, struct error *e)
{
	const char *path = setup->options->token_file;
	struct courier *c = xcalloc(1, sizeof(*c));
	int token_fd = -1, err = 0;

	c->fd = -1;
	if (path) {
		err = user_enter(setup->user);
		if (!err) {
			token_fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
			err = token_fd < 0 ? -errno : 0;
			user_leave(setup->user);
		}
		if (err)
			error_set(e, STATUS_ERROR, err, "--token-file '%.200s': %s", path,
				  strerror(-err));
	}
	if (!err)
		err = start(c, setup, token_fd, e);
	if (token_fd >= 0)
		close(token_fd);
	if (!err)
		return c;
	courier_free(c);
	return NULL;
}

void courier_wake(struct courier *c)
{
	send(c->fd, &(char){ WAKE }, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void courier_free(struct courier *c)
{
	if (!c)
		return;
	if (c->fd >= 0) {
		send(c->fd, &(char){ END }, 1, MSG_NOSIGNAL);
		close(c->fd);
	}
	if (c->pid > 0)
		child_wait(c->pid);
	free(c);
}

pid_t courier_pid(const struct courier *c)
{
	return c->pid;
}
