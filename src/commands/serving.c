/* SPDX-License-Identifier: MIT */
#include "commands/serving.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/vec.h"
#include "commands/opener.h"
#include "loop/loop.h"

struct server *serving_begin(const struct server_options *o, struct outfile_bytes *page,
			     const struct user *u, struct error *e)
{
	struct server *s = server_new(o, e);
	int err;

	if (!s) {
		vec_free(page);
		return NULL;
	}
	server_put(s, STORE_PAGE, 0, page);
	err = server_flush_all(s);
	if (err) {
		error_set(e, STATUS_ERROR, err, "the server ended: %s", strerror(-err));
		server_free(s);
		return NULL;
	}
	fprintf(stderr, "ebprof: %s\n", server_url(s));
	if (o->open)
		opener_show(server_url(s), u);
	return s;
}

static size_t fds(void *server, struct pollfd p[LOOP_FDS])
{
	p[0] = (struct pollfd){ .fd = server_fd(server), .events = POLLIN };
	return 1;
}

/* It sends nothing: there is something to read where it is gone. */
static uint64_t turn(void *server, uint64_t now)
{
	char byte;

	(void)now;
	return recv(server_fd(server), &byte, 1, MSG_DONTWAIT) < 0 ? LOOP_LATER : LOOP_DONE;
}

int serving_show(const struct profile *p, const struct server_options *o,
		 const struct output_options *output, struct error *e)
{
	const struct user user = user_invoking();
	struct outfile_bytes page = { 0 };
	struct outfile *f = outfile_memory(&page);
	struct loop loop = LOOP_NEW;
	struct server *server;
	int err;

	output_write(output_by_name("html"), p, output, f, NULL);
	outfile_commit(f, NULL);
	server = serving_begin(o, &page, &user, e);
	if (!server)
		return -EIO;
	err = loop_watch_signals(&loop, 0);
	if (err)
		error_set(e, STATUS_ERROR, err, "cannot wait for signals: %s", strerror(-err));
	else if (loop_run(&loop, &(struct loop_consumer){ fds, turn, server }, 1, UINT64_MAX) !=
		 LOOP_ASKED)
		err = error_set(e, STATUS_ERROR, -ECHILD, "the server ended by itself");
	loop_close(&loop);
	server_free(server);
	return err;
}
