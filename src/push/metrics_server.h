/* SPDX-License-Identifier: MIT */
/*
 * A process that answers GET /metrics with a page (HTTP/1.1, RFC 9112; a request for each
 * connection), so that whoever asks cannot hold up who samples, and who samples needs no socket. It
 * has no rights, reads no file, and has a bounded number of connections, each for a bounded time.
 */
#ifndef EBPROF_METRICS_SERVER_H
#define EBPROF_METRICS_SERVER_H

#include <sys/types.h>

#include "base/error.h"
#include "push/metrics_page.h"

#define METRICS_CONNECTIONS 16
#define METRICS_TIME 5000000000ull	/* ns of a connection, at most */

struct metrics_server;

/*
 * Listens, and forks; before there are threads, and before the sandbox is entered. @address is
 * ADDRESS:PORT, :PORT or PORT, [ADDRESS]:PORT for IPv6; by itself a port is one of 127.0.0.1. NULL
 * with @e filled.
 */
struct metrics_server *metrics_server_new(const char *address, const struct metrics_page *page,
					  struct error *e);
pid_t metrics_server_pid(const struct metrics_server *s);
/* Ends it, and waits for it. Takes NULL. */
void metrics_server_free(struct metrics_server *s);

/* --- For its tests. ------------------------------------------------------------ */

/* The answer's first line for a request's bytes, up to their end; NULL: more must come. */
const char *metrics_status(const char *request, size_t size);

#endif
