/* SPDX-License-Identifier: MIT */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/xalloc.h"
#include "collect/sideband.h"
#include "lang/langs.h"
#include "proc/procs.h"
#include "session/account.h"
#include "session/assembler.h"
#include "session/deadline.h"
#include "session/namer.h"
#include "session/priority.h"
#include "session/rescue.h"
#include "session/sleeper.h"
#include "session/tracker.h"

#define MS		1000000ull
#define SECOND		(1000 * MS)
/* CPUs that came and went, processes that ended, names */
#define TICK		(250 * MS)
/* counts are fetched this often, or when half of their map is used */
#define DRAIN		(1000 * MS)
/* a process that ended so long ago has no samples under way */
#define FORGET_AFTER	(3000 * MS)
/* sampling waits for the targets' unwind tables, but not longer */
#define TABLES_FIRST	(50 * MS)
/* ... of those whose frames have no names, and are not whole, without tables in the kernel */
#define TABLES_OF_JITS	(500 * MS)
/* nor does the end wait longer for those that samples still need */
#define TABLES_LAST	(5000 * MS)
#define END_STACKS	(1000 * MS)	/* stacks are taken for so long after the end, */
/* and then counts, so that those that were taken are not in vain */
#define END_COUNTS	(1500 * MS)
/* for frames of interpreters in threads that sleep at the beginning: meanwhile they wake up */
#define INTERPRETERS_MAX (500 * MS)
#define RESCUES_AT_ONCE	16	/* some 2 ms of work */
/* processes with tables at one time; others are unwound in user space */
#define SPACES		32768

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
	uint64_t started;		/* 0: not yet */
	uint64_t stopped, drained, next_tick;
	uint64_t started_at;		/* CLOCK_REALTIME ns */
	uint64_t side_band_lost;
	uint64_t interpreters;		/* ns that frames of sleeping threads took */
	uint64_t folded;		/* processes that were made one for each name */
	uint32_t cpus;				/* that are sampled */
};

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
	return unwind_maps_layout(((struct session *)ctx)->unwind_maps, number, layout);
}

static void on_rescued(void *ctx, const struct ebp_rescue *sample,
		       const struct unwind_result *result)
{
	assembler_rescued(((struct session *)ctx)->assembler, sample, result);
}

static int takes_user(const struct session *s)
{
	return !s->o->collect.stack->kernel_only;
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
		.memory = stack->unwind_memory, .read_memory = remote_place, .ctx = s->o->remote,
	};

	s->unwind_maps = unwind_maps_new(takes_user(s) ? stack->unwind_memory : 0, SPACES, e);
	if (!s->unwind_maps)
		return -EIO;
	s->unwinder = unwinder_new(s->images, &kernel, &options);
	if (!s->unwinder)
		return error_set(e, STATUS_ERROR, -errno, "cannot build unwind tables: %s",
				 strerror(errno));
	s->tracker = tracker_new(s->procs, s->unwinder, s->langs, takes_user(s) && samples_all(c));
	s->rescue = rescue_new(s->procs, s->tracker, s->unwinder, (uint32_t)stack->max_frames,
			       on_rescued, s);
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

struct session *session_new(const struct session_options *o, struct error *e)
{
	struct session *s = xcalloc(1, sizeof(*s));

	s->o = o;
	s->sources = o->sources;
	deadline_set(&s->deadline, -1, UINT64_MAX);
	s->images = images_new();
	s->langs = langs_new(s->images, publish_layout, s);
	if (o->remote)
		langs_memory(s->langs, remote_place, o->remote);
	s->procs = procs_new(s->images, o->remote);
	s->profile = profile_new();
	s->namer = namer_new(&(struct namer_options){ &o->symbols, o->live, o->names_pause });
	s->assembler = assembler_new(s->profile, s->images, s->procs, s->namer, s->sources, o->why);
	assembler_languages(s->assembler, s->langs, o->collect.stack->native);
	s->sources->host.timeline = o->collect.stack->timeline;
	s->sources->host.per_thread = profile_meta(s->profile)->per_thread =
		o->collect.stack->per_thread;
	sources_begin(s->sources);
	if (s->sources->host.at_tracepoint)
		assembler_leave_tracing_out(s->assembler);
	if (prepare_unwinding(s, e))
		goto fail;
	/* Before the programs: what happens to the targets meanwhile is not missed. */
	s->sideband = sideband_new(e);
	if (!s->sideband)
		goto fail;
	s->collect = o->collect;
	s->collect.unwind_maps = s->unwind_maps;
	s->collect.nparts = sources_parts(s->sources, s->collect.parts);
	s->collector = collector_new(&s->collect, e);
	s->sources->host.collector = s->collector;
	if (s->collector) {
		/*
		 * All is loaded, and the targets' files are read next. Where the kernel has no such
		 * filter `doctor` says so.
		 */
		if (o->sandbox)
			sandbox_enter(o->sandbox);
		if (takes_user(s))
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
	assembler_free(s->assembler);
	namer_free(s->namer);
	procs_free(s->procs);
	langs_free(s->langs);
	images_free(s->images);
	profile_free(s->profile);
	free(s);
}

int session_add_target(struct session *s, pid_t pid)
{
	if (takes_user(s))
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

static void on_process_event(void *ctx, const struct sideband_event *ev)
{
	struct session *s = ctx;
	struct image_key key = {
		.path = ev->text,
		.dev_major = ev->dev_major,
		.dev_minor = ev->dev_minor,
		.inode = ev->inode,
		.start = ev->start,
		.end = ev->end,
	};

	switch (ev->type) {
	case SIDEBAND_FORK:
		procs_fork(s->procs, ev->time, ev->pid, ev->parent);
		tracker_fork(s->tracker, ev->pid, ev->parent);
		break;
	case SIDEBAND_EXEC:
		procs_exec(s->procs, ev->time, ev->pid, ev->text);
		tracker_exec(s->tracker, ev->pid);
		break;
	case SIDEBAND_COMM:
		procs_comm(s->procs, ev->time, ev->pid, ev->text);
		break;
	case SIDEBAND_MMAP:
		procs_mmap(s->procs, ev->time, ev->pid, &key, ev->offset);
		break;
	case SIDEBAND_EXIT:
		if (!procs_exit(s->procs, ev->time, ev->pid))
			return;
		rescue_forget(s->rescue, ev->pid);
		tracker_exit(s->tracker, ev->pid);
		break;
	}
	sources_process_event(s->sources, ev);
}

/* What is left now is dropped, unless a source needs all of it. */
static int too_late(struct session *s, uint64_t ns)
{
	return !sources_are_whole(s->sources) && deadline_passed(&s->deadline, ns);
}

static void on_count(void *ctx, const struct ebp_key *key, const struct ebp_count *count)
{
	struct session *s = ctx;

	/* A sample without its stack is as good as lost. */
	if (too_late(s, END_COUNTS) || (s->cut && !assembler_knows(s->assembler, key)))
		return;
	assembler_count(s->assembler, key, count, clock_ns());
}

/* What an interpreter runs in a thread that sleeps. */
static void take_interpreter(struct session *s, struct ebp_rescue *sample)
{
	uint64_t bias = 0, begin = clock_ns();
	uint32_t incarnation, number;
	struct ebp_stack *frames = NULL;

	if (s->interpreters >= INTERPRETERS_MAX)
		return;
	incarnation = procs_at(s->procs, (pid_t)sample->key.process.tgid, sample->time);
	number = tracker_interpreter(s->tracker, incarnation, sample->time, &bias);
	if (number)
		frames = sleeper_frames(s->langs, sample, number, bias,
					s->o->collect.stack->await);
	if (frames) {
		assembler_stack(s->assembler, frames);
		sample->lang_id = frames->id;
	}
	free(frames);
	s->interpreters += clock_ns() - begin;
}

/*
 * A stack to be unwound here; that of a thread that sleeps, which has an id, is yet to be fetched.
 */
static void take_rescue(struct session *s, const struct ebp_rescue *sample)
{
	struct ebp_rescue *whole = NULL;

	if (sample->key.user_id && !sample->head.n) {
		sample = whole = sleeper_fetch(s->o->remote, sample);
		if (whole->head.n && whole->thread_pointer)
			take_interpreter(s, whole);
	}
	rescue_take(s->rescue, sample);
	free(whole);
}

static void take_record(struct session *s, const struct ebp_head *head)
{
	const struct ebp_sighting *sighting = (const void *)head;

	if (too_late(s, END_STACKS)) {
		s->cut = 1;
		return;
	}
	switch (head->type) {
	case EBP_STACK:
	case EBP_KERNEL_STACK:
	case EBP_LANG_STACK:
		assembler_stack(s->assembler, (const void *)head);
		break;
	case EBP_PROCESS:
		assembler_process(s->assembler, &sighting->process, sighting->time);
		if (takes_user(s))
			tracker_add(s->tracker, (pid_t)sighting->process.tgid,
				    sighting->process.start);
		break;
	case EBP_CODE:
		langs_code(s->langs, (const void *)head, sizeof(struct ebp_code) + head->n);
		break;
	case EBP_SAMPLE:
		assembler_sample(s->assembler, (const void *)head);
		break;
	case EBP_RESCUE:
		take_rescue(s, (const void *)head);
		break;
	default:
		sources_record(s->sources, head);
	}
}

/* The kernel gets what is known of processes, and we the tables that were built. */
static void exchange_tables(struct session *s)
{
	tracker_publish(s->tracker);
	if (unwinder_collect(s->unwinder))
		rescue_retry(s->rescue);
}

/*
 * Moves what waits in the buffers on. The records are taken first and the side
 * band after them: so the history of processes reaches beyond every record
 * when that is looked at.
 */
static void pump(struct session *s)
{
	const struct ebp_head *head;
	uint64_t lost;
	size_t at = 0, rescues = 0;

	collector_read(s->collector);
	lost = sideband_read(s->sideband, on_process_event, s);
	if (lost) {
		s->side_band_lost += lost;
		procs_events_lost(s->procs);
	}
	exchange_tables(s);
	while ((head = collector_next(s->collector, &at))) {
		take_record(s, head);
		/* While many wait, their process sends more until the kernel has its tables. */
		if (head->type == EBP_RESCUE && ++rescues % RESCUES_AT_ONCE == 0)
			exchange_tables(s);
	}
	/* What the records made us look at. */
	tracker_publish(s->tracker);
	sources_flush(s->sources, 0);
}

/*
 * Fetches the counts of the map that no program uses any more, after the frames that they refer to.
 * 1 where it did.
 */
static int drain(struct session *s, int wait)
{
	int swapped = collector_swapped(s->collector, wait);

	if (!swapped)
		return 0;
	pump(s);
	if (swapped > 0) {
		tracker_epoch(s->tracker);
		collector_counts(s->collector, on_count, s);
	}
	s->drained = clock_ns();
	return swapped > 0;
}

size_t session_fds(const struct session *s, struct pollfd fds[SESSION_FDS])
{
	const int wanted[SESSION_FDS] = {
		collector_fd(s->collector),
		sideband_fd(s->sideband),
		unwinder_fd(s->unwinder),
		collector_swap_fd(s->collector),
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
	assembler_ask(s->assembler);
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

void session_update(struct session *s, uint64_t now)
{
	assembler_ask(s->assembler);
	s->cpus = (uint32_t)collector_cpus(s->collector);
	assembler_update(s->assembler);
	describe(s, now);
}

void session_fold(struct session *s, uint64_t window)
{
	if (!sources_keep_samples(s->sources))
		assembler_fold(s->assembler, window, " (ended)");
}

void session_rest(struct session *s)
{
	unwinder_rest(s->unwinder);
}

void session_follow(struct session *s)
{
	pump(s);
}

struct session_turn session_turn(struct session *s, uint64_t now, uint64_t every)
{
	struct session_turn t = { 0 };
	uint64_t due;

	every = every ? every : DRAIN;
	sources_turn(s->sources, now);
	pump(s);
	t.fetched = drain(s, 0);
	if (t.fetched && !s->o->live && !sources_keep_samples(s->sources))
		s->folded += assembler_make_room(s->assembler);
	due = s->drained + every;
	/* What was fetched just now was so after @now. */
	if (collector_drain_wanted(s->collector) || now >= due)
		collector_swap(s->collector);
	if (now >= s->next_tick) {
		tick(s, now);
		s->next_tick = now + TICK;
	}
	/* While counts are under way their descriptor wakes us. */
	t.next = sources_until(s->sources, due <= now || s->next_tick < due ? s->next_tick : due);
	return t;
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

	if (takes_user(s)) {
		pump(s);
		unwinder_wait(s->unwinder,
			      langs_has_machine(s->langs) ? TABLES_OF_JITS : TABLES_FIRST);
	}
	s->sources->host.origin = clock_ns();
	err = collector_start(s->collector, e);
	if (err)
		return err;
	s->started = s->drained = clock_ns();
	s->started_at = clock_wall_ns();
	s->next_tick = s->started + TICK;
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
	drain(s, 1);
	collector_swap(s->collector);
	assembler_ask(s->assembler);
	drain(s, 1);
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
		.folded = s->folded,
		.skipped = collector_skipped(s->collector),
		.sent = c.sent,
		.saved = rescue_saved(s->rescue),
		.untabled = c.untabled,
		.frames = c.frames,
		.fp_frames = c.fp_frames,
		.cpus = s->cpus,
		.unknown_language = langs_why(s->langs),
		.kernel_hidden = namer_kernel_hidden(s->namer),
	};
	unwinder_stats(s->unwinder, &r.unwind);
	return r;
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
	profile_finish_ticks(s->profile);
	*r = result_of(s);
	r->naming = naming;
}
