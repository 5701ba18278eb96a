/* SPDX-License-Identifier: MIT */
#include "push/metrics_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/caps.h"
#include "base/child.h"
#include "base/clock.h"
#include "base/listen.h"
#include "base/sandbox.h"
#include "base/xalloc.h"

#define REQUEST_MOST 4096	/* bytes of a request */
#define HEAD_MOST 256		/* bytes above the page */
#define BACKLOG 8
#define NOBODY 65534		/* a user and a group without rights */
#define MILLISECOND 1000000u
#define SECOND 1000		/* ms that poll(2) waits, at most, where a connection has a time */
#define OK "200 OK"

struct metrics_server {
	pid_t pid;
	int end;		/* what comes from here, or its end, ends the server */
};

struct connection {
	int fd;			/* -1: none */
	uint64_t until;		/* CLOCK_MONOTONIC ns */
	size_t got, have, sent;	/* bytes of the request, of the answer; 0 of these: not yet made */
	char request[REQUEST_MOST];
	char answer[HEAD_MOST + METRICS_PAGE_MOST];
};

struct server {
	int listening, end;
	const struct metrics_page *page;
	struct connection connections[METRICS_CONNECTIONS];
	char text[METRICS_PAGE_MOST];
};

/* --- What it answers. ---------------------------------------------------------- */

static int begins(const char *text, size_t size, const char *with)
{
	return size >= strlen(with) && !memcmp(text, with, strlen(with));
}

const char *metrics_status(const char *request, size_t size)
{
	if (!memmem(request, size, "\r\n\r\n", 4))
		return size < REQUEST_MOST ? NULL : "431 Request Header Fields Too Large";
	if (!memmem(request, (size_t)((char *)memchr(request, '\r', size) - request), " HTTP/1.",
		    8))
		return "400 Bad Request";
	if (!begins(request, size, "GET "))
		return "405 Method Not Allowed";
	if (begins(request, size, "GET /metrics ") || begins(request, size, "GET /metrics?"))
		return OK;
	return "404 Not Found";
}

static void make_answer(struct server *s, struct connection *c, const char *status)
{
	size_t size = strcmp(status, OK) ? 0 : metrics_page_read(s->page, s->text);
	int head = snprintf(c->answer, HEAD_MOST,
			    "HTTP/1.1 %s\r\nContent-Type: text/plain; version=0.0.4; "
			    "charset=utf-8\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
			    status, size);

	memcpy(c->answer + head, s->text, size);
	c->have = (size_t)head + size;
}

/* --- Connections. -------------------------------------------------------------- */

static void drop(struct connection *c)
{
	close(c->fd);
	c->fd = -1;
}

static void take(struct server *s, uint64_t now)
{
	int fd = accept4(s->listening, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	for (size_t i = 0; i < METRICS_CONNECTIONS && fd >= 0; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd >= 0)
			continue;
		c->fd = fd;
		c->until = now + METRICS_TIME;
		c->got = c->have = c->sent = 0;
		return;
	}
	if (fd >= 0)
		close(fd);
}

/* 1 where it can wait for more, 0 where it is done with. */
static int move(struct server *s, struct connection *c)
{
	ssize_t n;

	if (!c->have) {
		const char *status;

		n = recv(c->fd, c->request + c->got, sizeof(c->request) - c->got, 0);
		if (n <= 0)
			return n < 0 && errno == EAGAIN;
		c->got += (size_t)n;
		status = metrics_status(c->request, c->got);
		if (!status)
			return 1;
		make_answer(s, c, status);
	}
	n = send(c->fd, c->answer + c->sent, c->have - c->sent, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN;
	c->sent += (size_t)n;
	return c->sent < c->have;
}

/* One round. 0 where the server is to end. */
static int serve(struct server *s)
{
	struct pollfd fds[2 + METRICS_CONNECTIONS];
	int any = 0;
	uint64_t now;

	fds[0] = (struct pollfd){ .fd = s->end, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = s->listening, .events = POLLIN };
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++) {
		const struct connection *c = &s->connections[i];

		any |= c->fd >= 0;
		fds[2 + i] = (struct pollfd){ .fd = c->fd, .events = c->have ? POLLOUT : POLLIN };
	}
	if (poll(fds, sizeof(fds) / sizeof(*fds), any ? SECOND : -1) < 0)
		return errno == EINTR;
	now = clock_ns();
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd >= 0 && ((fds[2 + i].revents && !move(s, c)) || now > c->until))
			drop(c);
	}
	if (fds[1].revents)
		take(s, now);
	return !fds[0].revents;
}

static __attribute__((noreturn)) void run(struct server *s)
{
	const struct sandbox_options sandbox = { .server = 1, .sends = 1 };

	/* As far as we may: without root there is little to give up. */
	if (!setresgid(NOBODY, NOBODY, NOBODY) && setresuid(NOBODY, NOBODY, NOBODY))
		_exit(1);
	/* Which a change of user has reset. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	caps_limit(0);
	sandbox_enter(&sandbox);
	while (serve(s))
		;
	_exit(0);
}

/* --- Its start and end. -------------------------------------------------------- */

static pid_t start(int listening, int ends[2], const struct metrics_page *page)
{
	struct server *s;
	pid_t pid = child_fork();

	if (pid)
		return pid;
	close(ends[1]);
	s = xcalloc(1, sizeof(*s));
	s->listening = listening;
	s->end = ends[0];
	s->page = page;
	for (size_t i = 0; i < METRICS_CONNECTIONS; i++)
		s->connections[i].fd = -1;
	run(s);
}

struct metrics_server *metrics_server_new(const char *address, const struct metrics_page *page,
					  struct error *e)
{
	struct metrics_server *s;
	union listen_address a;
	int listening, ends[2], err;
	pid_t pid;

	if (listen_parse(address, &a)) {
		error_set(e, STATUS_USAGE, -EINVAL,
			  "--metrics '%.100s': expected ADDRESS:PORT, like 127.0.0.1:9464, or a "
			  "port", address);
		return NULL;
	}
	listening = listen_open(&a, BACKLOG);
	if (listening < 0) {
		error_set(e, STATUS_ERROR, listening, "--metrics '%.100s': %s", address,
			  strerror(-listening));
		return NULL;
	}
	if (pipe2(ends, O_CLOEXEC)) {
		ends[0] = ends[1] = -1;
		pid = -1;
	} else {
		pid = start(listening, ends, page);
	}
	err = errno;
	close(listening);
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		error_set(e, STATUS_ERROR, -err, "cannot start a process: %s", strerror(err));
		return NULL;
	}
	s = xcalloc(1, sizeof(*s));
	*s = (struct metrics_server){ pid, ends[1] };
	return s;
}

pid_t metrics_server_pid(const struct metrics_server *s)
{
	return s ? s->pid : 0;
}

void metrics_server_free(struct metrics_server *s)
{
	if (!s)
		return;
	/* Others that were forked since may have this end of the pipe, too. */
	(void)!write(s->end, "", 1);
	close(s->end);
	child_wait(s->pid);
	free(s);
}
