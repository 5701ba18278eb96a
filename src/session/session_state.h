/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a session share: session.c begins and ends it, session_intake.c moves on what
 * the kernel side has sent.
 */
#ifndef EBPROF_SESSION_STATE_H
#define EBPROF_SESSION_STATE_H

#include "collect/sideband.h"
#include "lang/langs.h"
#include "proc/procs.h"
#include "session/assembler.h"
#include "session/deadline.h"
#include "session/namer.h"
#include "session/rescue.h"
#include "session/session.h"
#include "session/tracker.h"

struct session {
	const struct session_options *o;
	struct unwind_maps *unwind_maps;
	struct collector_options collect;	/* o->collect, and the maps */
	struct collector *collector;
	struct sideband *sideband;
	struct images *images;
	struct langs *langs;
	struct procs *procs;
	struct profile *profile;
	struct unwinder *unwinder;
	struct tracker *tracker;
	struct rescue *rescue;
	struct assembler *assembler;
	struct sources *sources;		/* of the options */
	struct namer *namer;
	struct deadline deadline;
	/* stacks were left out, because it was too late for them */
	int cut;
	int named;			/* names of what the last update has are being looked for */
	uint64_t started;		/* 0: not yet */
	uint64_t stopped, drained, next_tick;
	uint64_t started_at;		/* CLOCK_REALTIME ns */
	uint64_t side_band_lost;
	uint64_t interpreters;		/* ns that frames of sleeping threads took */
	uint64_t folded;		/* processes that were made one for each name */
	uint32_t cpus;				/* that are sampled */
};

/* 1 where user stacks are taken. */
static inline int session_takes_user(const struct session *s)
{
	return !s->o->collect.stack->kernel_only;
}

/*
 * Moves what waits in the buffers on. The records are taken first and the side
 * band after them: so the history of processes reaches beyond every record
 * when that is looked at.
 */
void session_pump(struct session *s);
/*
 * Fetches the counts of the map that no program uses any more, after the frames that they refer to.
 * 1 where it did.
 */
int session_drain(struct session *s, int wait);

#endif
