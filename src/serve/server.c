/* SPDX-License-Identifier: MIT */
#include "serve/server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/child.h"
#include "base/io.h"
#include "base/listen.h"
#include "base/vec.h"
#include "serve/responder.h"

#define BACKLOG 128
#define URL_MAX (sizeof("http:///") + LISTEN_TEXT + JUDGE_TOKEN + 2)

struct server {
	pid_t pid;
	int fd;
	char url[URL_MAX];
	VEC(char) left;		/* to be sent, from @sent on */
	size_t sent;
	int err;		/* it is gone: why */
};

/* --- Its start. ------------------------------------------------------------------ */

static int parse(const struct server_options *o, union listen_address *a, struct error *e)
{
	const char *host = o->listen ? o->listen : "127.0.0.1";

	if (o->port > UINT16_MAX)
		return error_set(e, STATUS_USAGE, -EINVAL, "--port %llu: at most %u",
				 (unsigned long long)o->port, (unsigned int)UINT16_MAX);
	if (listen_host(host, (uint16_t)o->port, a))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--listen '%.100s': expected an address, like 127.0.0.1 or ::1",
				 host);
	if (!listen_is_loopback(a))
		return error_set(e, STATUS_USAGE, -EINVAL,
				 "--listen '%.100s': others could read along; only addresses of "
				 "this machine (127.0.0.1, ::1). From elsewhere: ssh -L "
				 "PORT:127.0.0.1:PORT HOST", host);
	return 0;
}

static int not_started(int err, struct error *e)
{
	if (err == -ELIBACC)
		return error_set(e, STATUS_ERROR, err,
				 "a page needs libmicrohttpd (libmicrohttpd.so.12), which is not "
				 "here, or this ebprof is a static one, which cannot load it: "
				 "apt-get install libmicrohttpd12, or -o out.html writes a page");
	return error_set(e, STATUS_ERROR, err, "cannot start the server: %s", strerror(-err));
}

/* Forks, and waits until it answers. 0, or a negative errno with @e filled. */
static int start(struct server *s, struct responder_setup *setup, struct error *e)
{
	int ends[2];
	int32_t err = 0;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return not_started(-errno, e);
	s->pid = child_fork();
	if (!s->pid) {
		close(ends[0]);
		setup->owner = ends[1];
		respond(setup);
	}
	err = s->pid < 0 ? -errno : 0;
	close(ends[1]);
	s->fd = ends[0];
	if (!err && io_read_full(s->fd, &err, sizeof(err)) != sizeof(err))
		err = -ECHILD;
	return err ? not_started(err, e) : 0;
}

struct server *server_new(const struct server_options *o, struct error *e)
{
	struct responder_setup setup = { .listening = -1 };
	char address[LISTEN_TEXT];
	union listen_address a;
	struct server *s;
	int err = parse(o, &a, e);

	if (err)
		return NULL;
	setup.listening = listen_open(&a, BACKLOG);
	if (setup.listening < 0) {
		error_set(e, STATUS_ERROR, setup.listening, "cannot listen at %s, port %llu: %s",
			  o->listen ? o->listen : "127.0.0.1", (unsigned long long)o->port,
			  strerror(-setup.listening));
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	s->fd = -1;
	listen_text(&a, address);
	setup.v6 = a.any.sa_family == AF_INET6;
	err = judge_init(&setup.judge, address, listen_port(&a));
	err = err ? not_started(err, e) : start(s, &setup, e);
	close(setup.listening);
	snprintf(s->url, sizeof(s->url), "http://%s/%s/", address, setup.judge.token);
	if (!err)
		return s;
	server_free(s);
	return NULL;
}

const char *server_url(const struct server *s)
{
	return s->url;
}

pid_t server_pid(const struct server *s)
{
	return s ? s->pid : 0;
}

/* --- What it is sent. -------------------------------------------------------------- */

int server_fd(const struct server *s)
{
	return s->fd;
}

int server_is_busy(const struct server *s)
{
	return s->sent < s->left.n;
}

int server_flush(struct server *s)
{
	while (!s->err && server_is_busy(s)) {
		ssize_t n = send(s->fd, s->left.v + s->sent, s->left.n - s->sent,
				 MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n > 0)
			s->sent += (size_t)n;
		else if (n < 0 && errno == EAGAIN)
			return 0;
		else if (n < 0 && errno != EINTR)
			s->err = -errno;
	}
	vec_free(&s->left);
	s->sent = 0;
	return s->err ? s->err : 1;
}

static void append(struct server *s, const void *bytes, size_t size)
{
	vec_reserve(&s->left, s->left.n + size);
	if (size)
		memcpy(s->left.v + s->left.n, bytes, size);
	s->left.n += size;
}

void server_put(struct server *s, enum store_kind kind, uint64_t sequence,
		struct outfile_bytes *text)
{
	const struct responder_message head = { .kind = kind, .sequence = sequence,
						.size = text->n };

	append(s, &head, sizeof(head));
	append(s, text->v, text->n);
	vec_free(text);
	server_flush(s);
}

int server_flush_all(struct server *s)
{
	struct { char *v; size_t n; } left = { s->left.v + s->sent, s->left.n - s->sent };

	if (!s->err && left.n)
		s->err = io_write_full(s->fd, left.v, left.n);
	vec_free(&s->left);
	s->sent = 0;
	return s->err;
}

void server_free(struct server *s)
{
	struct outfile_bytes none = { 0 };

	if (!s)
		return;
	if (s->pid > 0) {
		server_put(s, STORE_END, 0, &none);
		server_flush_all(s);
		close(s->fd);
		child_wait(s->pid);
	}
	vec_free(&s->left);
	free(s);
}
