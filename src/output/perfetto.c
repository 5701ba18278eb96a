/* SPDX-License-Identifier: MIT */
/*
 * A trace for ui.perfetto.dev and trace_processor: Perfetto's protos/perfetto/trace, a row of
 * packets. The first ones name the processes and threads, then what stacks consist of, each by a
 * number of its own ("interned"), then one packet is one sample of a thread at its time, and two
 * are a wait: a slice of the thread's own track, called after what waits.
 *
 * Samples whose time is not known are laid over the recording's duration evenly, by thread: their
 * number is right, and their order means nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "base/protobuf.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "output/formats.h"
#include "output/rollup.h"
#include "output/stack.h"
#include "output/wait_place.h"
#include "profile/worth.h"

#define SEQUENCE 1			/* packets that know each other's numbers */
#define LAID_MOST 1000000u		/* samples; of more each stands for several */
#define CLOCK_REALTIME_ID 1		/* BuiltinClock */
#define CLOCK_BOOTTIME_ID 6

/* Fields, by their messages. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCKS = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_SAMPLE = 66,
};
enum { FLAGS_CLEARED = 1, FLAGS_NEEDED = 2 };
enum { TREE_PROCESS = 1, TREE_THREAD = 2 };
enum { PROCESS_PID = 1, PROCESS_CMDLINE = 3 };
enum { THREAD_TID = 1, THREAD_NAME = 2, THREAD_PID = 3 };
enum { CLOCKS_CLOCK = 1, CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { DEFAULTS_SAMPLE = 12, SAMPLE_TIMEBASE = 1 };
enum { TIMEBASE_PERIOD = 1, TIMEBASE_FREQUENCY = 2, TIMEBASE_NAME = 10 };
enum { TRACK_UUID = 1, TRACK_THREAD = 4 };
enum { TRACK_THREAD_PID = 1, TRACK_THREAD_TID = 2, TRACK_THREAD_NAME = 5 };
enum {
	EVENT_TYPE = 9, EVENT_NAME = 10, EVENT_TRACK = 11, EVENT_CATEGORY = 22, EVENT_STACK = 56
};
enum { SLICE_BEGIN = 1, SLICE_END = 2 };
enum {
	INTERNED_EVENT = 2,
	INTERNED_FUNCTION = 5,
	INTERNED_FRAME = 6,
	INTERNED_STACK = 7,
	INTERNED_BUILD_ID = 16,
	INTERNED_PATH = 17,
	INTERNED_SOURCE = 18,
	INTERNED_MAPPING = 19,
};
enum { STRING_ID = 1, STRING_TEXT = 2 };
enum {
	MAPPING_ID = 1, MAPPING_BUILD_ID = 2, MAPPING_START = 4, MAPPING_END = 5,
	MAPPING_PATH = 7, MAPPING_OFFSET = 8,
};
enum {
	FRAME_ID = 1, FRAME_FUNCTION = 2, FRAME_MAPPING = 3, FRAME_PC = 4, FRAME_SOURCE = 5,
	FRAME_LINE_NUMBER = 6,
};
enum { STACK_ID = 1, STACK_FRAMES = 2 };
enum { SAMPLE_CPU = 1, SAMPLE_PID = 2, SAMPLE_TID = 3, SAMPLE_STACK = 4, SAMPLE_MODE = 5 };
enum { MODE_KERNEL = 1, MODE_USER = 2 };

struct writer {
	const struct profile *p;
	struct profile_view v;
	struct outfile *f;
	struct protobuf b;
	struct hashmap texts;		/* written, by table and string */
	unsigned char *modules;				/* the same */
	unsigned char *lines, *bare;		/* frames: by line, by location without one */
	unsigned char *stacks;			/* by node */
	struct strtab *events;			/* names of slices; 0 is none */
};

static void put_text(struct protobuf *b, uint32_t field, const char *text)
{
	protobuf_bytes(b, field, text, strlen(text));
}

/* --- Processes and threads. ----------------------------------------------------- */
static pid_t tid_of(const struct writer *w, uint32_t thread)
{
	const struct thread *t = &w->v.threads[thread];

	return t->tid ? t->tid : w->v.processes[t->process].pid;
}

static void write_tasks(struct writer *w)
{
	size_t packet = protobuf_open(&w->b, TRACE_PACKET), tree;

	protobuf_uint(&w->b, PACKET_TIMESTAMP, 0);
	tree = protobuf_open(&w->b, PACKET_PROCESS_TREE);
	for (size_t i = 0; i < w->v.nprocesses; i++) {
		size_t process = protobuf_open(&w->b, TREE_PROCESS);

		protobuf_uint(&w->b, PROCESS_PID, (uint32_t)w->v.processes[i].pid);
		put_text(&w->b, PROCESS_CMDLINE, rollup_comm(w->p, w->v.processes[i].comm));
		protobuf_close(&w->b, process);
	}
	for (uint32_t i = 0; i < w->v.nthreads; i++) {
		const struct thread *t = &w->v.threads[i];
		size_t thread = protobuf_open(&w->b, TREE_THREAD);

		protobuf_uint(&w->b, THREAD_TID, (uint32_t)tid_of(w, i));
		put_text(&w->b, THREAD_NAME, rollup_comm(w->p, t->comm));
		protobuf_uint(&w->b, THREAD_PID, (uint32_t)w->v.processes[t->process].pid);
		protobuf_close(&w->b, thread);
	}
	protobuf_close(&w->b, tree);
	protobuf_close(&w->b, packet);
	protobuf_flush(&w->b, w->f);
}

/* --- What is told once. --------------------------------------------------------- */
static void put_clock(struct writer *w, uint32_t id, uint64_t time)
{
	size_t clock = protobuf_open(&w->b, CLOCKS_CLOCK);

	protobuf_uint(&w->b, CLOCK_ID, id);
	protobuf_uint(&w->b, CLOCK_TIMESTAMP, time);
	protobuf_close(&w->b, clock);
}

/* When it was by the clock on the wall. */
static void write_clock(struct writer *w)
{
	size_t packet, clocks;

	if (!w->v.meta->start)
		return;
	packet = protobuf_open(&w->b, TRACE_PACKET);
	clocks = protobuf_open(&w->b, PACKET_CLOCKS);
	put_clock(w, CLOCK_BOOTTIME_ID, 0);
	put_clock(w, CLOCK_REALTIME_ID, w->v.meta->start);
	protobuf_close(&w->b, clocks);
	protobuf_close(&w->b, packet);
	protobuf_flush(&w->b, w->f);
}

/* The sequence begins: what is sampled. */
static void write_defaults(struct writer *w)
{
	const struct profile_meta *m = w->v.meta;
	size_t packet = protobuf_open(&w->b, TRACE_PACKET), defaults, sample, timebase;

	protobuf_uint(&w->b, PACKET_SEQUENCE, SEQUENCE);
	protobuf_uint(&w->b, PACKET_FLAGS, FLAGS_CLEARED);
	defaults = protobuf_open(&w->b, PACKET_DEFAULTS);
	sample = protobuf_open(&w->b, DEFAULTS_SAMPLE);
	timebase = protobuf_open(&w->b, SAMPLE_TIMEBASE);
	if (m->frequency)
		protobuf_uint(&w->b, TIMEBASE_FREQUENCY, m->frequency);
	else if (m->period)
		protobuf_uint(&w->b, TIMEBASE_PERIOD, m->period);
	put_text(&w->b, TIMEBASE_NAME, m->event);
	protobuf_close(&w->b, timebase);
	protobuf_close(&w->b, sample);
	protobuf_close(&w->b, defaults);
	protobuf_close(&w->b, packet);
	protobuf_flush(&w->b, w->f);
}

/* --- Numbers for what stacks consist of; 0 is none, so each counts from 1. ------- */

/* A string of the profile; the tables of Perfetto each have their own. */
static uint64_t intern_text(struct writer *w, uint32_t table, uint32_t string, const char *text)
{
	size_t at;

	if (hashmap_get(&w->texts, (uint64_t)table << 32 | string) == 1)
		return (uint64_t)string + 1;
	hashmap_set(&w->texts, (uint64_t)table << 32 | string, 1);
	at = protobuf_open(&w->b, table);
	protobuf_uint(&w->b, STRING_ID, (uint64_t)string + 1);
	put_text(&w->b, STRING_TEXT, text);
	protobuf_close(&w->b, at);
	return (uint64_t)string + 1;
}

static uint64_t intern_module(struct writer *w, uint32_t module)
{
	const struct module *m = &w->v.modules[module];
	uint32_t path = m->path ? m->path : m->name;
	uint64_t build_id, name;
	size_t at;

	if (w->modules[module])
		return (uint64_t)module + 1;
	w->modules[module] = 1;
	build_id = m->build_id ? intern_text(w, INTERNED_BUILD_ID, m->build_id,
					     profile_text(w->p, m->build_id))
			       : 0;
	name = intern_text(w, INTERNED_PATH, path, profile_text(w->p, path));
	at = protobuf_open(&w->b, INTERNED_MAPPING);
	protobuf_uint(&w->b, MAPPING_ID, (uint64_t)module + 1);
	if (build_id)
		protobuf_uint(&w->b, MAPPING_BUILD_ID, build_id);
	protobuf_uint(&w->b, MAPPING_START, 0);
	protobuf_uint(&w->b, MAPPING_END, INT64_MAX);
	protobuf_uint(&w->b, MAPPING_PATH, name);
	protobuf_uint(&w->b, MAPPING_OFFSET, 0);
	protobuf_close(&w->b, at);
	return (uint64_t)module + 1;
}

/* Frame @i of a location, which has at least one. Frames without a line are behind all lines. */
static uint64_t intern_frame(struct writer *w, uint32_t location, uint32_t i)
{
	const struct location *l = &w->v.locations[location];
	const struct line *line = i < l->nlines ? &w->v.lines[l->first_line + i] : NULL;
	uint64_t id = line ? l->first_line + i + 1ull : w->v.nlines + location + 1ull;
	unsigned char *known = line ? &w->lines[l->first_line + i] : &w->bare[location];
	size_t function = line ? line->function : w->v.nfunctions, at;
	uint32_t name = line ? w->v.functions[function].name : 0;
	uint64_t mapping, text, source = 0;

	if (*known)
		return id;
	*known = 1;
	mapping = intern_module(w, l->module);
	text = intern_text(w, INTERNED_FUNCTION, name, rollup_name(w->p, function));
	if (line && line->file)
		source = intern_text(w, INTERNED_SOURCE, line->file,
				     profile_text(w->p, line->file));
	at = protobuf_open(&w->b, INTERNED_FRAME);
	protobuf_uint(&w->b, FRAME_ID, id);
	protobuf_uint(&w->b, FRAME_FUNCTION, text);
	protobuf_uint(&w->b, FRAME_MAPPING, mapping);
	protobuf_uint(&w->b, FRAME_PC, l->address);
	if (source) {
		protobuf_uint(&w->b, FRAME_SOURCE, source);
		protobuf_uint(&w->b, FRAME_LINE_NUMBER, line->line);
	}
	protobuf_close(&w->b, at);
	return id;
}

static void put_stack(struct writer *w, uint32_t node)
{
	VEC(uint64_t) frames = { 0 };
	size_t at;

	/* From the leaf, where what was inlined stands first. */
	for (uint32_t n = node; n; n = w->v.nodes[n].parent) {
		uint32_t location = w->v.nodes[n].location, lines = w->v.locations[location].nlines;

		for (uint32_t i = 0; i < (lines ? lines : 1); i++)
			vec_push(&frames, intern_frame(w, location, i));
	}
	at = protobuf_open(&w->b, INTERNED_STACK);
	protobuf_uint(&w->b, STACK_ID, node);
	for (size_t i = frames.n; i-- > 0;)
		protobuf_uint(&w->b, STACK_FRAMES, frames.v[i]);
	protobuf_close(&w->b, at);
	vec_free(&frames);
}

/* --- Samples. ------------------------------------------------------------------- */
static int is_kernel(const struct writer *w, uint32_t node)
{
	return node && frame_is_kernel(w->v.locations[w->v.nodes[node].location].kind);
}

static size_t open_packet(struct writer *w, uint64_t time)
{
	size_t packet = protobuf_open(&w->b, TRACE_PACKET);

	protobuf_uint(&w->b, PACKET_TIMESTAMP, time);
	protobuf_uint(&w->b, PACKET_SEQUENCE, SEQUENCE);
	protobuf_uint(&w->b, PACKET_FLAGS, FLAGS_NEEDED);
	return packet;
}

/* What the packet refers to and none before did: a stack, the name of a slice (or 0). */
static void intern(struct writer *w, uint32_t node, uint32_t event)
{
	size_t at = protobuf_open(&w->b, PACKET_INTERNED), name;

	if (node && !w->stacks[node]) {
		w->stacks[node] = 1;
		put_stack(w, node);
	}
	if (event) {
		name = protobuf_open(&w->b, INTERNED_EVENT);
		protobuf_uint(&w->b, STRING_ID, event);
		put_text(&w->b, STRING_TEXT, strtab_get(w->events, event));
		protobuf_close(&w->b, name);
	}
	protobuf_close(&w->b, at);
}

static void write_sample(struct writer *w, uint32_t sample, uint64_t time, uint32_t cpu)
{
	const struct sample *s = &w->v.samples[sample];
	const struct thread *t = &w->v.threads[s->thread];
	size_t packet = open_packet(w, time), at;

	if (s->node && !w->stacks[s->node])
		intern(w, s->node, 0);
	at = protobuf_open(&w->b, PACKET_SAMPLE);
	protobuf_uint(&w->b, SAMPLE_CPU, cpu);
	protobuf_uint(&w->b, SAMPLE_PID, (uint32_t)w->v.processes[t->process].pid);
	protobuf_uint(&w->b, SAMPLE_TID, (uint32_t)tid_of(w, s->thread));
	if (s->node)
		protobuf_uint(&w->b, SAMPLE_STACK, s->node);
	protobuf_uint(&w->b, SAMPLE_MODE, is_kernel(w, s->node) ? MODE_KERNEL : MODE_USER);
	protobuf_close(&w->b, at);
	protobuf_close(&w->b, packet);
	protobuf_flush(&w->b, w->f);
}

/* --- Waits. --------------------------------------------------------------------- */

/* The track of each thread that has some; a thread's number is one less than its track's. */
static void write_tracks(struct writer *w)
{
	unsigned char *done = xcalloc(w->v.nthreads + 1, sizeof(*done));

	for (size_t i = 0; i < w->v.nticks; i++) {
		uint32_t thread = w->v.samples[w->v.ticks[i].sample].thread;
		const struct thread *t = &w->v.threads[thread];
		size_t packet, track, of;

		if (!w->v.ticks[i].span || done[thread])
			continue;
		done[thread] = 1;
		packet = protobuf_open(&w->b, TRACE_PACKET);
		protobuf_uint(&w->b, PACKET_SEQUENCE, SEQUENCE);
		track = protobuf_open(&w->b, PACKET_TRACK);
		protobuf_uint(&w->b, TRACK_UUID, thread + 1ull);
		of = protobuf_open(&w->b, TRACK_THREAD);
		protobuf_uint(&w->b, TRACK_THREAD_PID, (uint32_t)w->v.processes[t->process].pid);
		protobuf_uint(&w->b, TRACK_THREAD_TID, (uint32_t)tid_of(w, thread));
		put_text(&w->b, TRACK_THREAD_NAME, rollup_comm(w->p, t->comm));
		protobuf_close(&w->b, of);
		protobuf_close(&w->b, track);
		protobuf_close(&w->b, packet);
		protobuf_flush(&w->b, w->f);
	}
	free(done);
}

/* "blocked: futex_wait" */
static uint32_t name_of_wait(struct writer *w, uint32_t sample)
{
	struct wait_words words;
	char *name;
	uint32_t id;

	wait_words(w->p, sample, &words);
	name = xasprintf("%s: %s", words.state, words.place);
	id = strtab_add(w->events, name);
	free(name);
	return id;
}

static void write_wait(struct writer *w, const struct tick *tick)
{
	const struct sample *s = &w->v.samples[tick->sample];
	uint32_t known = strtab_count(w->events), name = name_of_wait(w, tick->sample);
	size_t packet = open_packet(w, tick->time), event;

	if (name >= known || (s->node && !w->stacks[s->node]))
		intern(w, s->node, name >= known ? name : 0);
	event = protobuf_open(&w->b, PACKET_EVENT);
	protobuf_uint(&w->b, EVENT_TYPE, SLICE_BEGIN);
	protobuf_uint(&w->b, EVENT_NAME, name);
	protobuf_uint(&w->b, EVENT_TRACK, s->thread + 1ull);
	put_text(&w->b, EVENT_CATEGORY, "wait");
	if (s->node)
		protobuf_uint(&w->b, EVENT_STACK, s->node);
	protobuf_close(&w->b, event);
	protobuf_close(&w->b, packet);
	packet = open_packet(w, tick->time + tick->span);
	event = protobuf_open(&w->b, PACKET_EVENT);
	protobuf_uint(&w->b, EVENT_TYPE, SLICE_END);
	protobuf_uint(&w->b, EVENT_TRACK, s->thread + 1ull);
	protobuf_close(&w->b, event);
	protobuf_close(&w->b, packet);
	protobuf_flush(&w->b, w->f);
}

/* --- When. ---------------------------------------------------------------------- */
static void write_ticks(struct writer *w)
{
	for (size_t i = 0; i < w->v.nticks; i++) {
		const struct tick *tick = &w->v.ticks[i];

		if (tick->span)
			write_wait(w, tick);
		else
			write_sample(w, tick->sample, tick->time, tick->cpu);
	}
}

/* What has no tick; the caller frees it. */
static uint64_t *untimed(const struct writer *w)
{
	struct worth worth = worth_of(w->p, 0);
	uint64_t *counts = xcalloc(w->v.nsamples + 1, sizeof(*counts));

	for (uint32_t i = 0; i < w->v.nsamples; i++)
		counts[i] = worth_untimed(&worth, i);
	worth_free(&worth);
	return counts;
}

/* As many as there were, as far as that is possible, each thread's over all of the time. */
static void lay_out(struct writer *w)
{
	uint64_t total = w->v.types[0].total, each = total / LAID_MOST + 1;
	uint64_t *counts = untimed(w);
	uint64_t *of_thread = xcalloc(w->v.nthreads + 1, sizeof(*of_thread)),
		 *done = xcalloc(w->v.nthreads + 1, sizeof(*done));
	double span = w->v.meta->duration ? (double)w->v.meta->duration : 1e9;

	for (size_t i = 0; i < w->v.nsamples; i++)
		of_thread[w->v.samples[i].thread] += counts[i] / each;
	for (uint32_t i = 0; i < w->v.nsamples; i++) {
		uint32_t thread = w->v.samples[i].thread;

		for (uint64_t k = 0; k < counts[i] / each; k++) {
			double part = (double)done[thread]++ / (double)of_thread[thread];

			write_sample(w, i, (uint64_t)(part * span), 0);
		}
	}
	free(counts);
	free(of_thread);
	free(done);
}

void perfetto_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct writer w = { .p = p, .v = profile_view(p), .f = f, .events = strtab_new() };

	(void)o;
	w.modules = xcalloc(w.v.nmodules, 1);
	w.lines = xcalloc(w.v.nlines + 1, 1);
	w.bare = xcalloc(w.v.nlocations + 1, 1);
	w.stacks = xcalloc(w.v.nnodes, 1);
	write_tasks(&w);
	write_clock(&w);
	write_defaults(&w);
	write_tracks(&w);
	write_ticks(&w);
	lay_out(&w);
	strtab_free(w.events);
	hashmap_free(&w.texts);
	free(w.modules);
	free(w.lines);
	free(w.bare);
	free(w.stacks);
	protobuf_free(&w.b);
}
