/* SPDX-License-Identifier: MIT */
/*
 * The text of `perf script`. It is read twice: the first time finds the events,
 * which must be known before the first sample, and when the recording began.
 *
 * Of one event the profile has "samples" and, where there are periods, their sum;
 * of several one type each, and of more than there is room for all samples in one.
 * Where perf tells one number only, that of the thread, it is taken for the process, too.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "input/perf_script_line.h"
#include "input/places.h"
#include "input/readers.h"

#define EVENTS_MAX 8
#define SNIFFED_LINES 100

/* What the first reading finds. */
struct survey {
	struct slice_memo events;	/* name -> number of the event */
	uint64_t begin, end;		/* ns, of samples */
	uint64_t samples, period;	/* the first period */
	int all_have_time, all_have_period, one_period;
};

/* A frame, and the line about its source that may follow it. */
struct framed {
	struct perf_script_frame frame;
	struct slice source;
};

struct reader {
	struct profile *p;
	struct survey survey;
	struct places places;
	struct slice_memo modules;	/* dso -> module * 2, + 1 where it is the kernel's */
	struct perf_script_header h;	/* of the sample that is being read */
	VEC(uint32_t) stack;		/* its places, from the leaf */
	/* The place that is being read: frames that were inlined, up to the one they are in; and all of their text. */
	struct framed frames[PLACES_INLINED_MAX];
	size_t nframes;
	struct slice place;
	struct slice outermost;		/* the symbol of the last place */
	uint64_t samples;
};

/* Not a line about what happened besides. */
static int is_event(const struct perf_script_header *h)
{
	return (h->has_pid || h->has_time) && !slice_begins(h->rest, "PERF_RECORD_") && !slice_begins(h->event, "PERF_RECORD_");
}

static void survey_sample(struct survey *s, const struct perf_script_header *h)
{
	uint32_t *event = s->events.entries.n <= EVENTS_MAX ? slice_memo_get(&s->events, h->event) : NULL;

	if (event && *event == PROFILE_NONE)
		*event = (uint32_t)s->events.entries.n - 1;
	if (!s->samples++)
		*s = (struct survey){ .events = s->events, .begin = h->time, .end = h->time, .samples = 1,
				      .period = h->period, .all_have_time = 1, .all_have_period = 1, .one_period = 1 };
	s->begin = h->time < s->begin ? h->time : s->begin;
	s->end = h->time > s->end ? h->time : s->end;
	s->all_have_time &= h->has_time;
	s->all_have_period &= h->has_period;
	s->one_period &= h->period == s->period;
}

static void survey(struct survey *s, struct slice text)
{
	struct perf_script_header h;
	struct perf_script_frame f;
	struct slice line;

	while (slice_line(&text, &line))
		if (perf_script_line(line, &h, &f) == PERF_SCRIPT_HEADER && is_event(&h))
			survey_sample(s, &h);
}

/* The sample types and what is known of the recording. */
static void describe(struct profile *p, const struct survey *s)
{
	struct profile_meta *m = profile_meta(p);
	size_t n = s->events.entries.n;
	const char *name;

	m->duration = s->all_have_time ? s->end - s->begin : 0;
	m->period = s->all_have_period && s->one_period && n == 1 ? s->period : 0;
	if (n > EVENTS_MAX || !n)
		return;
	name = profile_text(p, slice_string(p, s->events.entries.v[0].text));
	text_clean(m->event, sizeof(m->event), name);
	if (n == 1 && s->all_have_period && !strncmp(name, "cpu-clock", 9))
		profile_add_type(p, "cpu", "nanoseconds");
	else if (n == 1 && s->all_have_period)
		profile_add_type(p, *name ? name : "events", "count");
	if (n > 1)
		profile_set_type(p, 0, name, "count");
	for (size_t i = 1; i < n; i++)
		profile_add_type(p, profile_text(p, slice_string(p, s->events.entries.v[i].text)), "count");
}

/* What perf calls a file, as we do. Returns the name's string, and whether it is the kernel's. */
static uint32_t module_name(struct profile *p, struct slice dso, int *kernel)
{
	struct slice base = dso;
	const char *ko;
	char name[256];

	if (slice_ends(base, " (deleted)"))
		base.n -= strlen(" (deleted)");
	for (size_t i = base.n; i-- > 0;)
		if (base.s[i] == '/' && i + 1 < base.n) {
			base = (struct slice){ base.s + i + 1, base.n - i - 1 };
			break;
		}
	*kernel = slice_begins(dso, "[kernel.kallsyms]") || slice_begins(dso, "[guest.kernel.kallsyms") ||
		  slice_begins(dso, "[kernel]");
	if (*kernel)
		return profile_string(p, "[kernel]");
	if ((slice_begins(base, "perf-") && slice_ends(base, ".map")) ||
	    (slice_begins(base, "jitted-") && slice_ends(base, ".so")))
		return profile_string(p, "[jit]");
	ko = base.n ? memmem(base.s, base.n, ".ko", 3) : NULL;
	*kernel = ko && (ko + 3 == base.s + base.n || ko[3] == '.');
	if (!*kernel || ko - base.s > 200)
		return slice_string(p, base);
	snprintf(name, sizeof(name), "[%.*s]", (int)(ko - base.s), base.s);
	return slice_string(p, (struct slice){ name, strlen(name) });
}

/* The module of a frame, and @kind by it and by the address. */
static uint32_t find_module(struct reader *r, const struct perf_script_frame *f, enum frame_kind *kind)
{
	uint32_t *known = room_memo(&r->places.room, &r->modules, f->dso);
	int kernel = 0;

	if (*known == PROFILE_NONE) {
		uint32_t name = f->dso.n ? module_name(r->p, f->dso, &kernel) : 0;
		const char *path = profile_text(r->p, slice_string(r->p, f->dso));

		*known = (profile_module(r->p, profile_text(r->p, name), path, "") << 1) | (unsigned int)kernel;
	}
	kernel = *known & 1 || (f->address >> 63 && !slice_begins(f->dso, "[vsyscall]"));
	*kind = kernel ? FRAME_KERNEL : FRAME_USER;
	return *known >> 1;
}

static uint32_t find_place(struct reader *r)
{
	uint32_t *known = room_memo(&r->places.room, &r->places.memo, r->place), module;
	const struct framed *base = &r->frames[r->nframes - 1];
	struct line lines[PLACES_INLINED_MAX];
	enum frame_kind kind;

	if (*known != PROFILE_NONE)
		return *known;
	module = find_module(r, &base->frame, &kind);
	kind = places_is_mark(base->frame.symbol) ? FRAME_MARK : kind;
	for (size_t i = 0; i < r->nframes; i++) {
		const char *name = profile_text(r->p, profile_view(r->p).modules[module].name);
		struct slice file;
		uint32_t line;
		int inlined;

		lines[i] = places_line(&r->places, r->frames[i].frame.symbol, name, kind);
		if (perf_script_source(r->frames[i].source, &file, &line, &inlined)) {
			lines[i].file = slice_string(r->p, file);
			lines[i].line = line;
		}
	}
	*known = places_add(&r->places, module, kind, base->frame.address, lines, r->nframes);
	return *known;
}

static void finish_place(struct reader *r)
{
	r->outermost = r->nframes ? r->frames[r->nframes - 1].frame.symbol : r->outermost;
	if (r->nframes)
		vec_push(&r->stack, find_place(r));
	r->nframes = 0;
}

/* The frame in @line; its source follows in @rest, if it does. */
static void add_frame(struct reader *r, struct slice line, const struct perf_script_frame *f, struct slice *rest)
{
	struct slice behind = *rest, source = { 0 }, file;
	struct perf_script_header h;
	struct perf_script_frame next;
	int inlined = 0;
	uint32_t number;

	/* Our own name for a sample without frames. */
	if (f->symbol.n == strlen("[no stack]") && slice_begins(f->symbol, "[no stack]") && !f->dso.n)
		return;
	if (slice_line(&behind, &source) && perf_script_line(source, &h, &next) == PERF_SCRIPT_OTHER)
		*rest = behind;
	else
		source.n = 0;
	perf_script_source(source, &file, &number, &inlined);
	if (!r->nframes)
		r->place.s = line.s;
	r->place.n = (size_t)((source.n ? source.s + source.n : line.s + line.n) - r->place.s);
	r->frames[r->nframes++] = (struct framed){ *f, source };
	if ((!f->inlined && !inlined) || r->nframes == PLACES_INLINED_MAX)
		finish_place(r);
}

static uint32_t find_thread(struct reader *r, const struct perf_script_header *h)
{
	struct profile *p = r->p;
	uint32_t comm = slice_string(p, h->comm), process;
	/* Without a pid each comm is a process. */
	uint32_t incarnation = h->has_pid ? 0 : comm;

	process = profile_process(p, (pid_t)h->pid, incarnation, h->pid == h->tid ? comm : 0);
	if (!profile_view(p).processes[process].comm)
		profile_process(p, (pid_t)h->pid, incarnation, comm);
	return room_thread(&r->places.room, process, (pid_t)h->tid, comm);
}

/* Adds the sample that has been read, if there is one, and makes ready for the next. */
static void finish_sample(struct reader *r)
{
	const struct perf_script_header *h = &r->h;
	size_t events = r->survey.events.entries.n;
	uint32_t type = 0, node = 0, sample;

	finish_place(r);
	if (r->stack.n || (h->has_time && is_event(h))) {
		if (events > 1 && events <= EVENTS_MAX)
			type = *slice_memo_get(&r->survey.events, h->event);
		type = type == PROFILE_NONE ? 0 : type;
		for (size_t i = r->stack.n; i-- > 0 && room_take(&r->places.room, 0);)
			node = room_node(&r->places.room, node, r->stack.v[i]);
		sample = room_sample(&r->places.room, find_thread(r, h), node, 0);
		profile_count(r->p, sample, type, 1);
		if (events == 1 && r->survey.all_have_period)
			profile_count(r->p, sample, 1, h->period);
		if (type == 0 && r->survey.all_have_time && room_take(&r->places.room, 1))
			profile_tick(r->p, &(struct tick){ .time = h->has_time ? h->time - r->survey.begin : 0, .value = 1,
							   .sample = sample, .cpu = h->cpu });
		places_count_mark(r->p, r->outermost, 1);
		r->samples++;
	}
	r->stack.n = 0;
	r->outermost.n = 0;
	r->h = (struct perf_script_header){ 0 };
}

static void add_samples(struct reader *r, struct slice text)
{
	struct perf_script_header h;
	struct perf_script_frame f;
	struct slice line;

	while (room_take(&r->places.room, 0) && slice_line(&text, &line)) {
		enum perf_script_line kind = perf_script_line(line, &h, &f);

		if (kind == PERF_SCRIPT_FRAME)
			add_frame(r, line, &f, &text);
		if (kind != PERF_SCRIPT_HEADER && kind != PERF_SCRIPT_BLANK)
			continue;
		finish_sample(r);
		if (kind != PERF_SCRIPT_HEADER)
			continue;
		r->h = h;
		/* A sample without a call chain has its place here; where there is one, its leaf is told again. */
		if (is_event(&h) && perf_script_frame(h.rest, &f) && f.symbol.n + f.dso.n)
			add_frame(r, h.rest, &f, &text);
	}
	finish_sample(r);
}

int perf_script_looks(const char *bytes, size_t n)
{
	struct slice text = { bytes, n }, line;
	struct perf_script_header h;
	struct perf_script_frame f;

	for (int i = 0; i < SNIFFED_LINES && slice_line(&text, &line); i++) {
		enum perf_script_line kind = perf_script_line(line, &h, &f);

		/* Any indented word of hexadecimal digits would be a frame. */
		if ((kind == PERF_SCRIPT_FRAME && (*line.s == '\t' || slice_ends(line, ")"))) ||
		    (kind == PERF_SCRIPT_HEADER && h.has_time))
			return 1;
	}
	return 0;
}

int perf_script_read(struct profile *p, const char *bytes, size_t n, struct error *e)
{
	struct reader r = { .p = p, .places = { .room = { .profile = p } } };
	struct slice text = { bytes, n };

	survey(&r.survey, text);
	describe(p, &r.survey);
	add_samples(&r, text);
	profile_finish_ticks(p);
	if (r.survey.events.entries.n < 2)
		profile_account(p)->taken = profile_account(p)->kept = r.samples;
	places_free(&r.places);
	slice_memo_free(&r.survey.events);
	slice_memo_free(&r.modules);
	vec_free(&r.stack);
	if (!room_take(&r.places.room, 0))
		return error_set(e, STATUS_ERROR, -E2BIG, "there are too many different frames, threads and samples");
	return r.samples ? 0 : error_set(e, STATUS_ERROR, -ENODATA, "no samples in this text of perf script");
}
