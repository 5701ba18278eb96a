/* SPDX-License-Identifier: MIT */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "collect/successor.h"
#include "proc/maps.h"
#include "profile/profile_fold.h"
#include "session/account.h"
#include "session/priority.h"
#include "session/session_state.h"
#include "session/unmapped.h"

#define MS		1000000ull
#define SECOND		(1000 * MS)
/* CPUs that came and went, processes that ended, names */
#define TICK		(250 * MS)
/* ... where nobody looks, and counts are not fetched for so long */
#define TICK_FAR	SECOND
#define FAR		(4 * SECOND)
/* counts are fetched this often, or when half of their map is used */
#define DRAIN		(1000 * MS)
/* the date was set, or the machine slept, where it is off by more */
#define DATE_SET	SECOND
/* a process that ended so long ago has no samples under way */
#define FORGET_AFTER	(3000 * MS)
/* sampling waits for the targets' unwind tables, but not longer */
#define TABLES_FIRST	(50 * MS)
/* ... of those whose frames have no names, and are not whole, without tables in the kernel */
#define TABLES_OF_JITS	(500 * MS)
#define LANGUAGES_FIRST	500	/* ms: the same for programs that take the targets' languages */
/* nor does the end wait longer for those that samples still need */
#define TABLES_LAST	(5000 * MS)
/* processes with tables at one time; others are unwound in user space */
#define SPACES		32768
#define TIMELINE_MOST	1000000		/* times of samples that are kept */
#define LEAN_TABLES	(6u << 20)	/* bytes; while there are fewer, none is thrown away */
/* bytes of tables, profile and symbols together, but of symbols at least so many */
#define LEAN_MOST	(20u << 20)
#define LEAN_SYMBOLS	(5u << 20)

static uint8_t *grow(void *ctx, uint32_t index)
{
	return unwind_maps_grow(((struct session *)ctx)->unwind_maps, index);
}

static int publish_space(void *ctx, pid_t pid, const struct ebp_space *space)
{
	return unwind_maps_publish(((struct session *)ctx)->unwind_maps, pid, space);
}

static void withdraw_space(void *ctx, pid_t pid)
{
	unwind_maps_withdraw(((struct session *)ctx)->unwind_maps, pid);
}

static int publish_layout(void *ctx, uint32_t number, const struct ebp_layout *layout)
{
	struct session *s = ctx;

	successor_want(collector_successor(s->collector), 1u << layout->language);
	return unwind_maps_layout(s->unwind_maps, number, layout);
}

static void on_rescued(void *ctx, const struct ebp_rescue *sample,
		       const struct unwind_result *result)
{
	assembler_rescued(((struct session *)ctx)->assembler, sample, result);
}

/* Whatever starts on this machine is sampled. */
static int samples_all(const struct collector_options *o)
{
	return !o->ntargets && !o->command && !o->target->comm && !o->cgroup;
}

/* The maps, and who fills them. */
static int prepare_unwinding(struct session *s, struct error *e)
{
	const struct collector_options *c = &s->o->collect;
	const struct stack_options *stack = c->stack;
	const struct unwinder_kernel kernel = { grow, publish_space, withdraw_space, s };
	const struct unwinder_options options = {
		.memory = stack->unwind_memory, .read_memory = remote_pages, .ctx = s->o->remote,
		.memory_unmapped = s->o->lean ? LEAN_TABLES : 0, .threads = s->o->lean,
	};

	s->unwind_maps = unwind_maps_new(session_takes_user(s) ? stack->unwind_memory : 0, SPACES,
					 e);
	if (!s->unwind_maps)
		return -EIO;
	s->unwinder = unwinder_new(s->images, &kernel, &options);
	if (!s->unwinder)
		return error_set(e, STATUS_ERROR, -errno, "cannot build unwind tables: %s",
				 strerror(errno));
	s->tracker = tracker_new(s->procs, s->unwinder, s->langs,
				 session_takes_user(s) && samples_all(c));
	s->rescue = rescue_new(s->procs, s->tracker, s->unwinder, s->o->remote,
			       (uint32_t)stack->max_frames, on_rescued, s);
	return 0;
}

/*
 * What we know will be sampled has its tables before the first sample. After
 * the programs are loaded: the first shard was made meanwhile.
 */
static void track_targets(struct session *s)
{
	const struct collector_options *c = &s->o->collect;

	for (size_t i = 0; !c->target->tids.n && i < c->ntargets; i++)
		tracker_add(s->tracker, c->targets[i], 0);
	if (c->command)
		tracker_add(s->tracker, c->command, 0);
}

static void look_for_language(const struct maps_line *line, void *arg)
{
	*(uint32_t *)arg |= lang_hinted(line->path);
}

/*
 * A bit for each enum ebp_language. Before the sandbox, so by names alone: another one is met
 * later, if there is one. On a whole machine there mostly are some, which may rest.
 */
static uint32_t languages_at_first(struct session *s)
{
	const struct collector_options *c = &s->collect;
	uint32_t languages = 0;

	if (samples_all(c) && c->nparts == 1) {
		interpreters_find(&s->running);
		return 0;
	}
	if (!c->ntargets || c->target->command)
		return s->o->self_contained ? 0 : EBP_LANGUAGES_ALL;
	for (size_t i = 0; i < c->ntargets; i++)
		maps_for_each_executable(c->targets[i], look_for_language, &languages);
	return languages;
}

/* Where the kernel has no such filter `doctor` says so. */
static void enter_sandbox(const struct session *s)
{
	struct sandbox_options o;

	if (!s->o->sandbox)
		return;
	o = *s->o->sandbox;
	o.answers = successor_socket(collector_successor(s->collector));
	sandbox_enter(&o);
}

struct session *session_new(const struct session_options *o, struct error *e)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->o = o;
	s->sources = o->sources;
	deadline_set(&s->deadline, -1, UINT64_MAX);
	s->images = images_new();
	s->unmapped = unmapped_new();
	s->langs = langs_new(s->images, publish_layout, s);
	if (o->remote)
		langs_memory(s->langs, remote_place, o->remote);
	s->procs = procs_new(s->images, o->remote);
	s->owners = o->by ? owners_new(o->by) : NULL;
	if (o->collect.stack->timeline)
		s->timeline = timeline_new(TIMELINE_UNIT, TIMELINE_MOST);
	session_begin_profile(s, &s->next);
	session_serve_profile(s);
	if (s->timeline)
		timeline_expect(s->timeline, profile_meta(s->profile)->frequency);
	if (s->sources->host.at_tracepoint)
		assembler_leave_tracing_out(s->assembler);
	if (prepare_unwinding(s, e))
		goto fail;
	/* Before the programs: what happens to the targets meanwhile is not missed. */
	/* Each tick reads it, and each process that is sampled: new ones need not wake us, too. */
	s->sideband = sideband_new(o->lean, e);
	if (!s->sideband)
		goto fail;
	s->collect = o->collect;
	s->collect.unwind_maps = s->unwind_maps;
	s->collect.nparts = sources_parts(s->sources, s->collect.parts);
	s->collect.languages = languages_at_first(s);
	s->collector = collector_new(&s->collect, e);
	s->sources->host.collector = s->collector;
	if (s->collector) {
		/* All is loaded, and the targets' files are read next. */
		enter_sandbox(s);
		if (session_takes_user(s))
			track_targets(s);
		return s;
	}
fail:
	session_free(s);
	return NULL;
}

void session_free(struct session *s)
{
	if (!s)
		return;
	collector_free(s->collector);
	sideband_free(s->sideband);
	rescue_free(s->rescue);
	tracker_free(s->tracker);
	unwinder_free(s->unwinder);
	unwind_maps_free(s->unwind_maps);
	session_renew_free(&s->next);
	timeline_free(s->timeline);
	assembler_free(s->assembler);
	namer_free(s->namer);
	procs_free(s->procs);
	owners_free(s->owners);
	interpreters_free(&s->running);
	langs_free(s->langs);
	images_free(s->images);
	unmapped_free(s->unmapped);
	profile_free(s->profile);
	free(s);
}

int session_add_target(struct session *s, pid_t pid)
{
	/* Where we are a target's descendant. */
	if (pid == successor_pid(collector_successor(s->collector)))
		return 0;
	if (session_takes_user(s))
		tracker_add(s->tracker, pid, 0);
	return collector_add_target(s->collector, pid);
}

void session_save_names(struct session *s)
{
	namer_save(s->namer);
}

struct profile *session_profile(struct session *s)
{
	return s->profile;
}

/* @next, or when the side band is to be read again, if that is sooner. */
static uint64_t or_side_band(const struct session *s, uint64_t next)
{
	return s->side_band_sleeps && s->side_band_sleeps < next ? s->side_band_sleeps : next;
}

size_t session_fds(const struct session *s, struct pollfd fds[SESSION_FDS])
{
	const int wanted[SESSION_FDS] = {
		collector_fd(s->collector),
		clock_ns() < s->side_band_sleeps ? -1 : sideband_fd(s->sideband),
		unwinder_fd(s->unwinder),
		collector_swap_fd(s->collector),
		successor_fd(collector_successor(s->collector)),
	};

	for (size_t i = 0; i < SESSION_FDS; i++)
		fds[i] = (struct pollfd){ .fd = wanted[i], .events = POLLIN };
	return SESSION_FDS;
}

static void tick(struct session *s, uint64_t now)
{
	uint64_t past = now - FORGET_AFTER, waits = rescue_oldest(s->rescue);

	collector_refresh_cpus(s->collector);
	sideband_refresh_cpus(s->sideband);
	procs_forget(s->procs, past < waits ? past : waits);
	rescue_tick(s->rescue, now);
	session_retire_images(s, now);
	if (s->o->lean && s->named)
		assembler_take(s->assembler);
	else
		s->named = assembler_ask(s->assembler);
}

/* How long it was measured, and what became of the samples until now. */
static void describe(struct session *s, uint64_t now)
{
	struct profile_meta *m = profile_meta(s->profile);

	account_fill(s->profile, s->collector, s->assembler);
	m->duration = now - s->started;
	m->start = s->started_at;
	m->cpus = s->cpus;
}

/* Somebody may have set the date since, or the machine has slept, when our clock stood still. */
static void follow_date(struct session *s)
{
	uint64_t date = s->sources->host.origin + clock_ahead_ns(CLOCK_REALTIME);
	uint64_t off = date > s->started_at ? date - s->started_at : s->started_at - date;

	/* What a clock is steered by is less: windows touch each other. */
	if (off > DATE_SET)
		s->started_at = date;
}

void session_update(struct session *s, uint64_t now)
{
	follow_date(s);
	s->named = assembler_ask(s->assembler);
	s->cpus = (uint32_t)collector_cpus(s->collector);
	assembler_update(s->assembler);
	describe(s, now);
}

void session_fold(struct session *s, uint64_t window)
{
	/* The next one knows processes by numbers that would be used again. */
	if (!sources_keep_samples(s->sources) && !s->next.assembler)
		assembler_fold(s->assembler, window, PROFILE_ENDED);
}

/* What tables and the profile leave: large programs that come and go have much of all of them. */
static void limit_symbols(struct session *s)
{
	size_t most = s->o->symbols.memory, taken = assembler_bytes(s->assembler);
	struct unwinder_stats tables;

	unwinder_stats(s->unwinder, &tables);
	taken += tables.memory;
	if (taken + most > LEAN_MOST)
		most = taken + LEAN_SYMBOLS < LEAN_MOST ? LEAN_MOST - taken : LEAN_SYMBOLS;
	namer_limit(s->namer, most);
}

void session_rest(struct session *s)
{
	unwinder_rest(s->unwinder);
	langs_rest(s->langs);
	if (s->o->lean)
		limit_symbols(s);
}

uint64_t session_follow(struct session *s)
{
	session_pump(s);
	return or_side_band(s, UINT64_MAX);
}

/* Where there were many processes or threads, those that ended are one for each name. */
static void make_room(struct session *s)
{
	size_t ticks = s->timeline ? timeline_ticks(s->timeline) : 0;

	if (assembler_make_room(s->assembler, ticks) && ticks)
		timeline_renumber(s->timeline, profile_folded(s->profile).samples);
}

/* Frames of languages, where they were met after the programs were loaded. */
static void follow_successor(struct session *s)
{
	struct successor *successor = collector_successor(s->collector);
	int followed = successor_follow(successor);

	if (followed < 0)
		s->languages_failed = -followed;
	else if (followed)
		s->languages_from = clock_ns();
}

static uint64_t languages_from(const struct session *s)
{
	if (s->languages_from)
		return s->languages_from - s->started;
	return successor_takes(collector_successor(s->collector)) ? 0 : LANGUAGES_NEVER;
}

struct session_turn session_turn(struct session *s, uint64_t now, uint64_t every)
{
	struct session_turn t = { 0 };
	uint64_t due;

	every = every ? every : DRAIN;
	sources_turn(s->sources, now);
	session_pump(s);
	follow_successor(s);
	t.fetched = session_drain(s, 0);
	if (t.fetched && !s->o->live && !sources_keep_samples(s->sources))
		make_room(s);
	due = s->drained + every;
	/* What was fetched just now was so after @now. */
	if (collector_drain_wanted(s->collector) || now >= due)
		collector_swap(s->collector);
	if (now >= s->next_tick) {
		tick(s, now);
		s->next_tick = now + (s->o->lean && every > FAR ? TICK_FAR : TICK);
	}
	/* While counts are under way their descriptor wakes us. */
	t.next = sources_until(s->sources, due <= now || s->next_tick < due ? s->next_tick : due);
	t.next = or_side_band(s, t.next);
	return t;
}

void session_set_frequency(struct session *s, uint64_t frequency)
{
	sources_set_frequency(s->sources, frequency);
}

void session_progress(const struct session *s, uint64_t now, struct session_progress *p)
{
	struct ebp_counters c;

	collector_counters(s->collector, &c);
	*p = (struct session_progress){ .elapsed = now - s->started, .taken = c.taken };
	for (int i = 0; i < EBP_RESULTS; i++)
		p->truncated += i == EBP_COMPLETE ? 0 : assembler_results(s->assembler)[i];
	for (int i = 0; i < EBP_LOSSES; i++)
		p->lost += c.lost[i];
}

int session_start(struct session *s, struct error *e)
{
	int err;

	if (session_takes_user(s)) {
		session_pump(s);
		successor_want(collector_successor(s->collector), interpreters_ran(&s->running));
		unwinder_wait(s->unwinder,
			      langs_has_machine(s->langs) ? TABLES_OF_JITS : TABLES_FIRST);
		successor_wait(collector_successor(s->collector), LANGUAGES_FIRST);
	}
	s->sources->host.origin = clock_ns();
	err = collector_start(s->collector, e);
	if (err)
		return err;
	s->started = s->drained = clock_ns();
	/* Of the time from which samples' times are counted. */
	s->started_at = s->sources->host.origin + clock_ahead_ns(CLOCK_REALTIME);
	s->next_tick = s->started + TICK;
	follow_successor(s);
	sources_started(s->sources);
	priority_first(1);
	return 0;
}

uint64_t session_started(const struct session *s)
{
	return s->started;
}

void session_ends(struct session *s, uint64_t at, int fd)
{
	deadline_set(&s->deadline, fd, at);
}

void session_stop(struct session *s)
{
	if (!s->started) {
		s->started = s->stopped = clock_ns();
		return;
	}
	deadline_end(&s->deadline, clock_ns());
	priority_first(0);
	s->cpus = (uint32_t)collector_cpus(s->collector);
	s->stopped = clock_ns();
	sources_stopping(s->sources);
	collector_stop(s->collector);
	namer_stopped(s->namer);
	assembler_ask(s->assembler);
	/* The one that may be under way, and a last one for all that came after it began. */
	session_drain(s, 1);
	collector_swap(s->collector);
	assembler_ask(s->assembler);
	session_drain(s, 1);
	rescue_finish(s->rescue, TABLES_LAST);
}

/* What became of all that was sampled. */
static struct session_result result_of(struct session *s)
{
	struct session_result r;
	struct ebp_counters c;

	collector_counters(s->collector, &c);
	r = (struct session_result){
		.duration = s->stopped - s->started,
		.first_sample = collector_first_sample(s->collector),
		.side_band_lost = s->side_band_lost,
		.folded = assembler_folded(s->assembler),
		.folded_threads = assembler_folded_threads(s->assembler),
		.timeline_end = s->timeline_end ? s->timeline_end - s->started : 0,
		.untimed = s->untimed + (s->timeline ? timeline_refused(s->timeline) : 0),
		.timeline = s->timeline ? timeline_ticks(s->timeline) : 0,
		.timeline_bytes = s->timeline ? timeline_bytes(s->timeline) : 0,
		.renewed = s->renewed,
		.skipped = collector_skipped(s->collector),
		.sent = c.sent,
		.saved = rescue_saved(s->rescue),
		.untabled = c.untabled,
		.frames = c.frames,
		.fp_frames = c.fp_frames,
		.cpus = s->cpus,
		.unknown_language = langs_why(s->langs),
		.languages_from = languages_from(s),
		.languages_failed = s->languages_failed,
		.kernel_hidden = namer_kernel_hidden(s->namer),
	};
	unwinder_stats(s->unwinder, &r.unwind);
	return r;
}

/* What counts nothing, as of threads that are hidden, has no times. */
static int take_tick(void *ctx, const struct tick *tick)
{
	struct profile *p = ctx;
	uint32_t type = 0, types = (uint32_t)profile_view(p).ntypes;

	while (type < types && !profile_values(p, type)[tick->sample])
		type++;
	if (type < types)
		profile_tick(p, tick);
	return 1;
}

static struct timeline *new_timeline(const struct session *s)
{
	struct timeline *t = timeline_new(TIMELINE_UNIT, TIMELINE_MOST);

	timeline_expect(t, profile_meta(s->profile)->frequency);
	return t;
}

struct timeline *session_take_timeline(struct session *s)
{
	struct timeline *t = s->timeline;

	if (t)
		s->timeline = s->sources->host.timeline = new_timeline(s);
	return t;
}

void session_finish(struct session *s, int names, struct session_result *r)
{
	sources_finish(s->sources, s->started, s->stopped);
	assembler_finish(s->assembler);
	if (names)
		assembler_name(s->assembler);
	uint64_t naming = clock_ns() - s->stopped;
	describe(s, s->stopped);
	account_complete(s->profile, s->collector);
	if (s->timeline)
		timeline_each(s->timeline, take_tick, s->profile);
	profile_finish_ticks(s->profile);
	*r = result_of(s);
	r->naming = naming;
}
