/* SPDX-License-Identifier: MIT */
/*
 * The process that answers browsers: so that whoever asks cannot hold up who samples, and what
 * reads HTTP has no rights, no files and nothing but the pages that it may give.
 */
#ifndef EBPROF_RESPONDER_H
#define EBPROF_RESPONDER_H

#include <stdint.h>

#include "serve/judge.h"
#include "serve/store.h"

/* What its owner sends: this, and then @size bytes. */
struct responder_message {
	uint32_t kind;		/* enum store_kind */
	uint32_t unused;
	uint64_t sequence, size;
};

#define RESPONDER_BYTES (1u << 30)	/* of one message, at most */

struct responder_setup {
	int listening, owner;	/* descriptors; @owner is a stream socket */
	int v6;
	struct judge judge;
};

/*
 * Tells the owner by an int32_t whether it answers: 0, or a negative errno (-ELIBACC: no library);
 * and goes on until the owner says that it is over, or is gone.
 */
void respond(const struct responder_setup *setup) __attribute__((noreturn));

#endif
