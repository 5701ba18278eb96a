/* SPDX-License-Identifier: MIT */
/*
 * What the parts of a session share: session.c begins and ends it, session_intake.c moves on what
 * the kernel side has sent, session_renew.c begins anew while sampling goes on, session_images.c
 * closes files meanwhile.
 */
#ifndef EBPROF_SESSION_STATE_H
#define EBPROF_SESSION_STATE_H

#include "collect/sideband.h"
#include "lang/langs.h"
#include "proc/procs.h"
#include "profile/timeline.h"
#include "session/assembler.h"
#include "session/deadline.h"
#include "session/interpreters.h"
#include "session/namer.h"
#include "session/rescue.h"
#include "session/session.h"
#include "session/tracker.h"

/*
 * A profile that is to take the place of one that has become large, with its stacks, which the
 * kernel sends again meanwhile.
 */
struct renewal {
	struct profile *profile;
	struct namer *namer;
	struct assembler *assembler;	/* NULL: none is under way */
	unsigned drains;		/* since it began, or since the last one ended */
	uint64_t begun;			/* CLOCK_MONOTONIC ns: it, or the last one */
};

struct session {
	const struct session_options *o;
	struct unwind_maps *unwind_maps;
	struct collector_options collect;	/* o->collect, and the maps */
	struct collector *collector;
	struct sideband *sideband;
	struct images *images;
	struct unmapped *unmapped;	/* which of these may go */
	uint64_t images_looked;		/* when that was last asked, ns */
	struct langs *langs;
	struct procs *procs;
	struct owners *owners;		/* NULL: nobody asks for them */
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
	struct timeline *timeline;	/* NULL: none is wanted */
	uint64_t timeline_end;		/* it is full since then; 0: it is not */
	uint64_t untimed;		/* samples that were counted without their times */
	struct renewal next;
	uint64_t renewed;		/* how often it took its place */
	struct interpreters running;	/* before the start, where all is sampled */
	int named;			/* names of what the last update has are being looked for */
	uint64_t started;		/* 0: not yet */
	uint64_t stopped, drained, next_tick;
	uint64_t started_at;		/* CLOCK_REALTIME ns */
	uint64_t side_band_lost;
	/* what the side band told when it was last read: anything; of processes that are sampled */
	unsigned told, told_of_ours;
	unsigned others_in_a_row;	/* how often it told of others alone */
	uint64_t side_band_sleeps;	/* until then (ns) it does not wake us; 0: it does */
	int shares_cpu;			/* with threads of ours that build tables */
	uint64_t interpreters;		/* ns that frames of sleeping threads took */
	/* as in struct session_result, the former in CLOCK_MONOTONIC ns */
	uint64_t languages_from;
	int languages_failed;
	uint32_t cpus;				/* that are sampled */
};

/* A session without a profile of its own: what makes one, in @r. */
void session_begin_profile(struct session *s, struct renewal *r);
/* What @s->next is takes its place in @s, and the sources begin. */
void session_serve_profile(struct session *s);
/* Counts were fetched. */
void session_renew_drained(struct session *s);
void session_renew_free(struct renewal *r);

/* 1 where user stacks are taken. */
static inline int session_takes_user(const struct session *s)
{
	return !s->o->collect.stack->kernel_only;
}

/* Closes files that nobody maps any more, now and then. */
void session_retire_images(struct session *s, uint64_t now);

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
