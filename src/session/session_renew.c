/* SPDX-License-Identifier: MIT */
/*
 * The part of a session that begins its profile, and begins it anew while sampling goes on.
 *
 * No sample may come to the new profile whose stack went to the old one alone. So both get stacks
 * at first. When all programs have ended that may have sent one before that, the kernel forgets
 * which it has sent. Counts of programs that had looked by then may be in this map of counts or in
 * the next one: when both were fetched, all that is counted has been sent again.
 */
#include <stdlib.h>

#include "base/clock.h"
#include "session/session_state.h"

/* bytes; and where months are to pass in little memory */
#define WORTH_IT	(8u << 20)
#define WORTH_IT_LEAN	(3u << 20)
/* fetches between two, at least; fewer where they are far apart */
#define APART		32
#define APART_LEAST	8
#define APART_NS	120000000000u
/*
 * Fetches until what sent a stack before has ended: the first map may have been given up before it
 * began.
 */
#define RESEND		2
#define READY		(RESEND + 2)

void session_begin_profile(struct session *s, struct renewal *r)
{
	const struct session_options *o = s->o;

	r->profile = profile_new();
	r->namer = namer_new(&(struct namer_options){
		.symbols = &o->symbols, .live = o->live, .pause = o->names_pause });
	r->assembler = assembler_new(r->profile, s->images, s->procs, r->namer, s->sources, o->why);
	r->drains = 0;
	r->begun = clock_ns();
	assembler_owners(r->assembler, s->owners);
	assembler_languages(r->assembler, s->langs, o->collect.stack->native);
	if (!o->live && !o->lean && !o->collect.stack->per_thread && sources_renew(s->sources))
		assembler_fold_brief(r->assembler);
	profile_meta(r->profile)->per_thread = o->collect.stack->per_thread;
	if (s->sources->host.at_tracepoint)
		assembler_leave_tracing_out(r->assembler);
}

void session_serve_profile(struct session *s)
{
	s->profile = s->next.profile;
	s->namer = s->next.namer;
	s->assembler = s->next.assembler;
	s->next = (struct renewal){ .begun = s->next.begun };
	s->sources->host.timeline = s->timeline;
	s->sources->host.per_thread = s->o->collect.stack->per_thread;
	assembler_serve(s->assembler);
	sources_begin(s->sources);
}

void session_renew_drained(struct session *s)
{
	if (++s->next.drains == RESEND && s->next.assembler)
		collector_resend_stacks(s->collector);
}

void session_renew_free(struct renewal *r)
{
	if (!r->assembler)
		return;
	assembler_free(r->assembler);
	namer_free(r->namer);
	profile_free(r->profile);
}

static int is_due(const struct session *s)
{
	uint32_t drains = s->next.drains;

	return drains >= APART ||
	       (drains >= APART_LEAST && clock_ns() - s->next.begun > APART_NS);
}

static int is_large(const struct session *s)
{
	return assembler_bytes(s->assembler) > (s->o->lean ? WORTH_IT_LEAN : WORTH_IT);
}

int session_renews(struct session *s)
{
	if (!s->next.assembler && is_due(s) && sources_renew(s->sources) && is_large(s))
		session_begin_profile(s, &s->next);
	return s->next.assembler && s->next.drains >= READY;
}

struct profile *session_renew(struct session *s, uint64_t window)
{
	struct profile *old = s->profile;

	/* What took long to name is not to be named again. */
	namer_save(s->namer);
	assembler_inherit(s->next.assembler, s->assembler, window);
	assembler_free(s->assembler);
	namer_free(s->namer);
	*profile_account(s->next.profile) = *profile_account(old);
	session_serve_profile(s);
	s->renewed++;
	s->named = assembler_ask(s->assembler);
	return old;
}
