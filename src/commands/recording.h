/* SPDX-License-Identifier: MIT */
/*
 * From options to a session and through it: what all commands that sample have in
 * common. Call in this order: recording_find(), recording_prepare(), recording_start(),
 * recording_loop(), session_finish(); and at last, whatever failed, recording_cleanup().
 */
#ifndef EBPROF_RECORDING_H
#define EBPROF_RECORDING_H

#include "base/error.h"
#include "base/keeper.h"
#include "base/sandbox.h"
#include "base/user.h"
#include "commands/beside.h"
#include "commands/record_options.h"
#include "commands/started.h"
#include "commands/targets.h"
#include "loop/loop.h"
#include "session/session.h"
#include "sinks/results.h"
#include "sources/sources.h"

/* Begins as RECORDING_NEW, with the user's options parsed into @o and @argv for the description. */
struct recording {
	char **argv;
	struct record_options o;
	struct user user;
	/* all that is written; NULL: files are opened later, if any are */
	struct results *results;
	struct push *push;		/* what is written meanwhile; NULL: nothing */
	pid_t server;			/* of ours, not to be sampled; 0: none */
	struct outfile *last;		/* where it is kept (last_recording.h); NULL: it is not */
	int times;			/* are kept where that costs little, unless told not to */
	int live;			/* as in struct session_options */
	int lean;			/* the same */
	uint64_t names_pause;		/* the same */
	int terminal;			/* the command has it for itself while it records */
	struct targets targets;
	struct started command;
	struct loop loop;
	struct collector_options collect;
	struct sources sources;		/* what is measured */
	struct debuginfod *debuginfod;	/* NULL: not asked for */
	struct beside beside;
	struct sandbox_options sandbox;
	struct session_options session_options;
	struct session *session;
	uint64_t next_rest;		/* CLOCK_MONOTONIC ns, as recording_rest() has it */
	struct session_result result;
};

#define RECORDING_NEW(args) { .argv = (args), .loop = LOOP_NEW, .command = STARTED_NEW }

/*
 * Looks up the target, and what is measured. 0, or a negative errno with @e filled; so all below.
 */
int recording_find(struct recording *r, struct error *e);
/*
 * Gives privileges up, blocks signals and starts the command, which waits. What needs more
 * privileges comes before.
 */
int recording_prepare(struct recording *r, struct error *e);
/*
 * Loads everything, lets the delay pass, and samples from then on. Where a signal comes in the
 * delay it does not, and recording_loop() ends at once.
 */
int recording_start(struct recording *r, struct error *e);
/*
 * Samples until an end comes: time is up, a signal, the command's end, or one of @consumers, which
 * give the session its turns. Then fetches what is left.
 */
void recording_loop(struct recording *r, const struct loop_consumer *consumers, size_t n);
/* For a consumer: the descriptors of the session. */
size_t recording_fds(void *recording, struct pollfd fds[LOOP_FDS]);
/*
 * For a consumer that runs for hours: now and then, gives back memory that is needed no more. @now:
 * CLOCK_MONOTONIC ns.
 */
void recording_rest(struct recording *r, uint64_t now);
/* 1 where all targets have ended, and nothing else says how long to sample. */
int recording_targets_ended(const struct recording *r);
/* Where, by which command and for what the profile was made. */
void recording_describe(const struct recording *r, struct profile *p);
void recording_cleanup(struct recording *r);

#endif
