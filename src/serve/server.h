/* SPDX-License-Identifier: MIT */
/*
 * A page for browsers of this machine, by a process of its own (responder.h). Start it before there
 * are threads, and before the sandbox is entered.
 */
#ifndef EBPROF_SERVER_H
#define EBPROF_SERVER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/outfile.h"
#include "serve/store.h"

struct server_options {
	const char *listen;	/* an address of this machine alone; NULL: 127.0.0.1 */
	uint64_t port;		/* 0: any */
	int open;		/* a browser, too */
};

struct server;

/* Listens, and forks. NULL with @e filled. */
struct server *server_new(const struct server_options *o, struct error *e);
/* Where the page is, with the token. */
const char *server_url(const struct server *s);
pid_t server_pid(const struct server *s);

/* Sends @text, which it takes, as far as it goes now; the rest by server_flush(). */
void server_put(struct server *s, enum store_kind kind, uint64_t sequence,
		struct outfile_bytes *text);
/* What is left, as far as it goes now: 1 where there is none, 0; a negative errno: it is gone. */
int server_flush(struct server *s);
/* To be waited for: that it takes more, where anything is left, and its end. */
int server_fd(const struct server *s);
int server_is_busy(const struct server *s);
/* All of it, however long that takes. 0 or a negative errno. */
int server_flush_all(struct server *s);

/* Tells watchers that it is over, and waits until those who ask have seen it. Takes NULL. */
void server_free(struct server *s);

#endif
