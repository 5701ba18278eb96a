/* SPDX-License-Identifier: MIT */
/* The part of a session that moves on what the kernel side has sent. */
#include <stdlib.h>

#include "base/clock.h"
#include "session/priority.h"
#include "session/session_state.h"
#include "session/sleeper.h"

#define MS		1000000ull
#define END_STACKS	(1000 * MS)	/* stacks are taken for so long after the end, */
/* and then counts, so that those that were taken are not in vain */
#define END_COUNTS	(1500 * MS)
/* for frames of interpreters in threads that sleep at the beginning: meanwhile they wake up */
#define INTERPRETERS_MAX (500 * MS)
#define RESCUES_AT_ONCE	16	/* some 2 ms of work */
#define OTHERS_IN_A_ROW	5	/* reads of the side band */
#define REST		(MS / 3)	/* a third of the time between two samples at 999 Hz */

/* session_start() made it so; see share_cpu(). */
static int goes_first(const struct session *s)
{
	return s->started && !s->stopped && !s->shares_cpu;
}

/*
 * As procs_exit(). One that is older than we are is looked up in /proc as it goes, and there the
 * kernel turns round and round until whoever reaps it is done (d_invalidate()): for a third of a
 * second, and in vain, where that one waits for the CPU on which we are the first.
 */
static int take_exit(struct session *s, const struct sideband_event *ev)
{
	int steps_back = goes_first(s) && !procs_knows(s->procs, ev->pid), ended;

	if (steps_back)
		priority_first(0);
	ended = procs_exit(s->procs, ev->time, ev->pid);
	if (steps_back)
		priority_first(1);
	return ended;
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

	s->told = 1;
	switch (ev->type) {
	case SIDEBAND_THREAD:
		return;
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
		if (!take_exit(s, ev))
			return;
		rescue_forget(s->rescue, ev->pid);
		tracker_exit(s->tracker, ev->pid);
		break;
	}
	s->told_of_ours |= (unsigned)tracker_follows(s->tracker, ev->pid);
	sources_process_event(s->sources, ev);
}

/*
 * Each event wakes us, so that tables are there for what is mapped. Threads that begin and end need
 * none, nor do processes that are not sampled; but the kernel has no event of mappings without
 * these (perf_event_task_match()). They come by the thousand, and to be woken takes more of a CPU
 * than to read them: where only such come, those that follow wait for a moment.
 */
static uint64_t read_side_band(struct session *s)
{
	uint64_t lost;

	s->told = s->told_of_ours = 0;
	lost = sideband_read(s->sideband, on_process_event, s);
	s->others_in_a_row = s->told_of_ours ? 0 : s->others_in_a_row + s->told;
	s->side_band_sleeps = 0;
	if (s->told && s->others_in_a_row >= OTHERS_IN_A_ROW && !s->o->lean)
		s->side_band_sleeps = clock_ns() + REST;
	return lost;
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
	/* What is summed up for a class, or counted beside a sample, never has a time. */
	if (s->timeline && key->share == EBP_OWN && (key->kind != EBP_METERED || !key->class))
		s->untimed += count->n;
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
		if (s->next.assembler)
			assembler_stack(s->next.assembler, (const void *)head);
		break;
	case EBP_PROCESS:
		assembler_process(s->assembler, &sighting->process, sighting->time);
		if (session_takes_user(s))
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
 * Who builds what many stacks wait for has the usual priority, and where all CPUs are busy its own
 * may be ours: while they wait we do not go first, or it would wait for as long as their process
 * sends more.
 */
static void share_cpu(struct session *s)
{
	int shares = rescue_waits(s->rescue);

	if (shares == s->shares_cpu || !s->started || s->stopped)
		return;
	s->shares_cpu = shares;
	priority_first(!shares);
}

void session_pump(struct session *s)
{
	const struct ebp_head *head;
	uint64_t lost;
	size_t at = 0, rescues = 0;

	collector_read(s->collector);
	lost = read_side_band(s);
	if (lost) {
		s->side_band_lost += lost;
		procs_events_lost(s->procs);
	}
	exchange_tables(s);
	while ((head = collector_next(s->collector, &at))) {
		take_record(s, head);
		/* While many wait, their process sends more until the kernel has its tables. */
		if (head->type == EBP_RESCUE && ++rescues % RESCUES_AT_ONCE == 0) {
			exchange_tables(s);
			share_cpu(s);
		}
	}
	if (s->timeline && !s->timeline_end && timeline_full(s->timeline)) {
		s->timeline_end = clock_ns();
		collector_end_timeline(s->collector);
	}
	if (s->shares_cpu)
		share_cpu(s);
	/* What the records made us look at. */
	tracker_publish(s->tracker);
	sources_flush(s->sources, 0);
}

int session_drain(struct session *s, int wait)
{
	int swapped = collector_swapped(s->collector, wait);

	if (!swapped)
		return 0;
	session_pump(s);
	if (swapped > 0) {
		tracker_epoch(s->tracker);
		collector_counts(s->collector, on_count, s);
		session_renew_drained(s);
	}
	s->drained = clock_ns();
	return swapped > 0;
}
