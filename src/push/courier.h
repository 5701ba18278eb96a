/* SPDX-License-Identifier: MIT */
/*
 * A process of ours that sends what waits in a spool to a server, so that the one that reads
 * foreign files needs no network. It reads nothing but its spool and what the server answers, has
 * no capabilities, is the invoking user, and is in a sandbox of its own. Nobody waits for it while
 * it sends.
 *
 * What is not taken now is sent again later, after a time that doubles, with a random part, or that
 * the server says; what the server will never take is removed and counted.
 *
 * A body whose answer got lost is sent again: a server may get it twice.
 *
 * A server may take profiles one by one: a body is then sent in parts (ingest.h), of which none is
 * sent again that was taken, other than by a process that begins anew. A body counts as refused
 * where one of them is.
 */
#ifndef EBPROF_COURIER_H
#define EBPROF_COURIER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/user.h"
#include "base/vec.h"
#include "push/answer.h"
#include "push/spool.h"

#define COURIER_TOKEN "EBPROF_PUSH_TOKEN"	/* in the environment: as --token-file has it */

/* As the user wants it, for all servers. */
struct courier_options {
	const char *token_file;		/* NULL: none */
	const char *ca_file;		/* certificates to trust; NULL: those of the system */
	string_vec headers;		/* "Name: value" */
	uint64_t timeout;		/* ns that a request may take */
};

struct courier_setup {
	const struct courier_options *options;
	const struct user *user;
	struct spool *spool;
	const char *to;			/* as the user wrote it, for messages */
	const char *url;		/* NULL: @parts_url alone */
	/* For servers that answer @url with 404 or 405; NULL: none. */
	const char *parts_url;
	const char *const *headers;	/* of the protocol; ends with NULL */
	enum answer_protocol protocol;
};

struct courier;

/* Starts it, once it can send. All of @setup is read before this returns. NULL with @e filled. */
struct courier *courier_new(const struct courier_setup *setup, struct error *e);
/* Something new is in the spool. */
void courier_wake(struct courier *c);
/*
 * Waits for it to send what is in the spool, up to FLUSH_TIME and the first that fails, and to
 * end. Takes NULL.
 */
void courier_free(struct courier *c);
pid_t courier_pid(const struct courier *c);

/* A number of @options whose header is no header, or a secret; -1: all are good. */
int courier_bad_header(const struct courier_options *o);

#endif
