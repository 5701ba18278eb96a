/* SPDX-License-Identifier: MIT */
/*
 * The processes beside the one that records. Files are named, and names kept, by one that reads
 * nothing foreign; memory is read, and what may take for ever is demangled, by two that may be
 * lost; each server has one that sends.
 */
#ifndef EBPROF_BESIDE_H
#define EBPROF_BESIDE_H

#include <sys/types.h>

#include "base/error.h"
#include "base/keeper.h"
#include "base/outfile.h"
#include "base/refusals.h"
#include "base/user.h"
#include "bpf/ebprof.h"
#include "proc/remote.h"
#include "push/push.h"
#include "sinks/results.h"
#include "symbols/demangler.h"
#include "symbols/name_store.h"

/* All zeros: none has been started. */
struct beside {
	struct keeper *keeper;
	struct refusals *refusals;	/* system calls that the sandbox refused */
	struct name_store *store;	/* NULL: names are not kept */
	struct remote *remote;
	struct demangler *demangler;	/* NULL: nothing is demangled */
	const struct push *push;	/* that has couriers; NULL: none */
	pid_t server;			/* 0: none */
};

struct beside_options {
	const struct user *user;
	const struct results *results;	/* to be written; NULL: none yet */
	struct outfile *last;			/* and this one; NULL: none */
	struct push *push;	/* and what it writes to; NULL: nothing */
	pid_t server;		/* that was started before; 0: none */
	int store, demangle;			/* whether names are kept, and demangled */
};

/* Starts them. 0, or a negative errno with @e filled. */
int beside_start(struct beside *b, const struct beside_options *o, struct error *e);
/* Their ids, not to be sampled; 0 in the place of one that is not there. */
void beside_pids(const struct beside *b, pid_t pids[EBP_SELF_MAX]);
/* Ends them; reports on standard error what the sandbox refused, if anything. */
void beside_end(struct beside *b);

#endif
