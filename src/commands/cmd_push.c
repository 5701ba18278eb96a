/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/heap.h"
#include "base/notify.h"
#include "base/say.h"
#include "base/text.h"
#include "commands/commands.h"
#include "commands/event_list.h"
#include "commands/recording.h"
#include "commands/summary.h"
#include "commands/supervisor.h"
#include "push/metrics.h"
#include "push/pace.h"
#include "push/push.h"
#include "push/usage.h"

#define STATUS_LINE 128		/* bytes of what systemctl shows */
#define METRICS_EVERY 1000000000u	/* ns */
#define NAMES_TIME 5000000000u	/* ns that a window waits for its names, at most */

/* Who wants to know what we do; NULL: nobody does. */
struct audience {
	struct notify *notify;
	struct metrics *metrics;
};

/* What is given turns while we sample. */
struct turns {
	struct recording *r;
	struct audience audience;
	uint64_t fetched;		/* CLOCK_MONOTONIC ns: counts were */
	uint64_t due;			/* the end of this window */
	uint64_t names_until;		/* for the names of the last one */
	struct pace pace;
};

static size_t fds(void *ctx, struct pollfd p[LOOP_FDS])
{
	return recording_fds(((struct turns *)ctx)->r, p);
}

/*
 * ns: names of code that a program makes may never come, and the next window is not to wait for
 * them.
 */
static uint64_t names_time(const struct push_options *o)
{
	return o->every / 2 < NAMES_TIME ? o->every / 2 : NAMES_TIME;
}

/*
 * What came while the last window waited for its names is a window, too, where the profile is to
 * go: on a busy machine there always is some.
 */
static void renew(struct recording *r, uint64_t now)
{
	struct profile *old = session_profile(r->session);

	if (!push_has_all(r->push, old)) {
		session_update(r->session, now);
		push_take(r->push, old);
		push_send(r->push, old);
	}
	session_renew(r->session, r->o.push.every);
	push_renew(r->push, old, session_profile(r->session));
	profile_free(old);
}

/* The window's samples are where they belong; whoever has ended since may be forgotten. */
static void send_window(struct recording *r, uint64_t now)
{
	push_send(r->push, session_profile(r->session));
	if (session_renews(r->session))
		renew(r, now);
	session_fold(r->session, r->o.push.every);
	push_fold(r->push, session_profile(r->session));
	/* What the window needed is not kept for the next one, which is long in coming. */
	session_rest(r->session);
	heap_trim();
}

static void tell_status(struct notify *n, const struct push *p)
{
	const struct push_counts c = push_counts(p);
	char text[STATUS_LINE];

	snprintf(text, sizeof(text), "STATUS=%" PRIu64 " samples in %" PRIu64 " windows, %" PRIu64
		 " profiles written, %" PRIu64 " not", c.samples, c.windows, c.files, c.failed);
	notify_send(n, text);
}

/* Seconds of CPU time that we have taken, with those who work for us. */
static double cpu_time(const struct recording *r)
{
	pid_t pids[EBP_SELF_MAX];
	struct usage u;
	double sum = 0;

	beside_pids(&r->beside, pids);
	for (size_t i = 0; i < EBP_SELF_MAX; i++)
		sum += pids[i] && !usage_of(pids[i], &u) ? u.cpu : 0;
	return sum;
}

/* Hz a CPU at which samples are asked for; 0: there are none, or they are not of a rate. */
static uint64_t rate(const struct recording *r)
{
	const struct samples_options *o = &r->o.sources.samples;

	return sources_event(&r->sources) == &o->event ? o->frequency : 0;
}

/* Between two windows, so that each has one rate. */
static void keep_pace(struct turns *t, uint64_t now)
{
	struct session *s = t->r->session;

	if (t->pace.most > 0 && t->pace.asked && pace_turn(&t->pace, now, cpu_time(t->r),
					  profile_meta(session_profile(s))->cpus))
		session_set_frequency(s, t->pace.now);
}

static uint64_t turn(void *ctx, uint64_t now)
{
	struct turns *t = ctx;
	struct session *s = t->r->session;
	struct push *push = t->r->push;
	/* Counts are fetched when the window ends, and else when there are many of them. */
	uint64_t every = t->due > t->fetched ? t->due - t->fetched : 1;
	const struct session_turn turn = session_turn(s, now, every);

	push_look(push, session_profile(s));
	if (turn.fetched)
		t->fetched = now;
	if (turn.fetched && now >= t->due && !push_is_taken(push)) {
		session_update(s, now);
		push_take(push, session_profile(s));
		keep_pace(t, now);
		t->names_until = now + names_time(&t->r->o.push);
		while (t->due <= now)
			t->due += t->r->o.push.every;
	}
	if (push_is_ready(push, session_profile(s)) ||
	    (push_is_taken(push) && now >= t->names_until)) {
		send_window(t->r, now);
		tell_status(t->audience.notify, push);
	}
	return recording_targets_ended(t->r) ? LOOP_DONE : turn.next;
}

static uint64_t show_metrics(void *ctx, uint64_t now)
{
	static const char *const names[] = { "sampler", "keeper", "reader", "demangler" };
	const struct turns *t = ctx;
	struct metrics_member members[sizeof(names) / sizeof(*names)];
	pid_t pids[EBP_SELF_MAX];

	if (!t->audience.metrics)
		return LOOP_LATER;
	beside_pids(&t->r->beside, pids);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		members[i] = (struct metrics_member){ names[i], pids[i] };
	metrics_update(t->audience.metrics, session_profile(t->r->session), t->r->push, members,
		       sizeof(names) / sizeof(*names));
	return now + METRICS_EVERY;
}

static int sample(struct recording *r, const struct audience *audience, struct error *e)
{
	struct turns t = { .r = r, .audience = *audience };
	const struct loop_consumer consumers[] = {
		{ fds, turn, &t },
		{ NULL, notify_turn, audience->notify },
		{ NULL, show_metrics, &t },
	};
	uint64_t frequency = rate(r);
	int err = recording_start(r, e);

	if (err)
		return err;
	push_memory(r->push, r->beside.remote);
	t.fetched = session_started(r->session);
	t.due = t.fetched + r->o.push.every;
	t.pace = (struct pace){ .most = r->o.push.max_overhead, .asked = frequency,
				.now = frequency, .at = t.fetched, .taken = cpu_time(r) };
	notify_send(audience->notify, "READY=1\nSTATUS=sampling");
	recording_loop(r, consumers, sizeof(consumers) / sizeof(*consumers));
	session_finish(r->session, 1, &r->result);
	/* All have names now: what waited for them, and what came since. */
	if (push_is_taken(r->push))
		push_send(r->push, session_profile(r->session));
	push_take(r->push, session_profile(r->session));
	push_send(r->push, session_profile(r->session));
	return 0;
}

/* 0 where it took all that it was sent. */
static int account_server(const struct place *p, int quiet)
{
	const struct spool_counts *c = place_sent(p);
	int wrong = c->refused.bodies || c->dropped.bodies || c->waiting.bodies;
	char to[512];

	text_clean(to, sizeof(to), place_text(p));
	if (!quiet) {
		say(SAY_INFO, "%s: %" PRIu64 " request%s of %" PRIu64 " bytes (%" PRIu64
		    " samples) sent", to, c->sent.bodies, text_s(c->sent.bodies),
		    c->sent.bytes, c->sent.samples);
		say(wrong ? SAY_WARNING : SAY_INFO, "%s: %" PRIu64 " refused (%" PRIu64
		    " samples), %" PRIu64 " dropped (%" PRIu64 " samples), %" PRIu64
		    " wait (%" PRIu64 " samples)", to, c->refused.bodies, c->refused.samples,
		    c->dropped.bodies, c->dropped.samples, c->waiting.bodies,
		    c->waiting.samples);
	}
	return wrong ? -1 : 0;
}

/* 0 where all servers took all; what is in folders is there. */
static int account_servers(struct push *push, int quiet)
{
	const place_vec *places = push_places(push);
	int wrong = 0;

	push_finish(push);
	for (size_t i = 0; i < places->n; i++)
		if (place_sent(places->v[i]))
			wrong |= account_server(places->v[i], quiet);
	return wrong;
}

/* What was measured that is no number of samples. */
static void account_types(const struct profile *p)
{
	const struct profile_view v = profile_view(p);

	for (size_t t = 0; t < v.ntypes; t++)
		if (v.types[t].words->event)
			say(SAY_INFO, "%s: %" PRIu64 " %s %s", profile_text(p, v.types[t].name),
			    v.types[t].total, profile_text(p, v.types[t].unit),
			    v.types[t].words->measure == PROFILE_LEVEL ? "in the last window"
								      : "in all windows");
}

/* 0 where all that was taken is in a window, or lost and counted. */
static int account(struct recording *r)
{
	const struct profile *profile = session_profile(r->session);
	const struct profile_account *a = profile_view(profile).account;
	const struct push_counts c = push_counts(r->push);
	uint64_t lost = 0;

	for (size_t i = 0; i < a->nlost; i++)
		lost += a->lost[i].count;
	if (!r->o.quiet) {
		say(lost ? SAY_WARNING : SAY_INFO, "%" PRIu64 " sample%s: %" PRIu64 " in %" PRIu64
		    " window%s, %" PRIu64 " lost", a->taken, text_s(a->taken), c.samples,
		    c.windows, text_s(c.windows), lost);
		say(c.failed ? SAY_WARNING : SAY_INFO, "%" PRIu64 " file%s of %" PRIu64
		    " bytes in all, %" PRIu64 " could not be written (%" PRIu64 " sample%s)",
		    c.files, text_s(c.files), c.bytes, c.failed, c.failed_samples,
		    text_s(c.failed_samples));
		account_types(profile);
		summary_renewals(&r->result);
	}
	if (c.samples + lost == a->taken && push_adds_up(r->push, profile))
		return 0;
	say(SAY_ERROR, "the windows do not add up to what was sampled; please report it");
	return -1;
}

static int push(struct recording *r, struct audience *audience, struct error *e)
{
	struct push_setup setup = { .options = &r->o.push, .user = &r->user };
	int wrong;

	r->user = user_invoking();
	heap_keep_small();
	r->live = r->lean = 1;
	r->names_pause = names_time(&r->o.push) / 2;
	if (recording_find(r, e))
		return command_failed_because(e, r->o.verbose);
	setup.frequency = rate(r);
	setup.is_time = setup.frequency && event_is_time(&r->o.sources.samples.event);
	setup.sources_bounded = r->o.sources.waits.off_cpu || r->o.sources.waits.wall ||
				r->o.sources.allocations.on;
	r->push = push_new(&setup, e);
	if (r->push && r->o.metrics && !(audience->metrics = metrics_new(r->o.metrics, e)))
		return command_failed(e);
	if (!r->push || recording_prepare(r, e) || sample(r, audience, e))
		return command_failed_because(e, r->o.verbose);
	started_end(&r->command, &r->loop);
	session_save_names(r->session);
	wrong = account(r);
	wrong |= account_servers(r->push, r->o.quiet);
	if (wrong || push_counts(r->push).failed)
		return STATUS_ERROR;
	return started_status(&r->command, &r->loop, r->o.quiet);
}

struct invocation {
	const struct cli_command *command;
	int argc;
	char **argv;
};

/* Parses the options, as they are now; @what does the rest. Returns the exit status. */
static int with_options(struct invocation *i, int (*what)(struct recording *, struct invocation *))
{
	struct recording r = RECORDING_NEW(i->argv);
	struct error e = { .status = STATUS_ERROR };
	int err = record_options_parse(&r.o, i->command, i->argc, i->argv, &e), status = STATUS_OK;

	if (!err)
		status = what(&r, i);
	else if (err < 0)
		status = command_failed(&e);
	recording_cleanup(&r);
	push_free(r.push);
	return status;
}

static int record(struct recording *r, struct invocation *i)
{
	struct audience audience = { .notify = notify_new() };
	struct error e = { .status = STATUS_ERROR };
	int status = push(r, &audience, &e);

	(void)i;
	notify_free(audience.notify);
	metrics_free(audience.metrics);
	return status;
}

static int do_nothing(struct recording *r, struct invocation *i)
{
	(void)r;
	(void)i;
	return STATUS_OK;
}

static int run_once(void *invocation)
{
	return with_options(invocation, record);
}

static int check_options(void *invocation)
{
	return with_options(invocation, do_nothing);
}

static int begin(struct recording *r, struct invocation *i)
{
	const struct supervised supervised = { run_once, check_options, i };
	struct error e = { .status = STATUS_ERROR };

	if (event_list_asked(&r->o.sources.samples.events))
		return event_list_print(NULL, 0, &e);
	return r->o.config.path ? supervise(&supervised) : record(r, i);
}

static int run(const struct cli_command *c, int argc, char **argv)
{
	struct invocation i = { c, argc, argv };

	return with_options(&i, begin);
}

const struct cli_command command_push = {
	.name = "push",
	.summary = "sample all the time, a profile for each service and window",
	.usage = "push --to PLACE [TARGET] [OPTION]... [[--] COMMAND ARG...]",
	.about = "Samples all the time, and sends a profile for each service and window.\n"
		 "  sudo ebprof push --to dir:/var/lib/profiles       to files\n"
		 "  sudo ebprof push --to otlp+http://collector:4318  to a Collector\n"
		 "  sudo ebprof push --to dir:. -G 3f2a91c07b --every 1m -d 2h\n",
	.rows = record_rows,
	.parts = source_parts,
	.rules = record_rules,
	.family = record_family,
	.bit = EBPROF_PUSH,
	.starts = 1,
	.run = run,
};
