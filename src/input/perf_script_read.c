/* SPDX-License-Identifier: MIT */
/*
 * The text of `perf script`. It is read twice: the first time finds the events,
 * which must be known before the first sample, and when the recording began.
 *
 * Where perf prints one number only, that of the thread, it is taken for the process, too.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "input/perf_script_events.h"
#include "input/perf_script_line.h"
#include "input/places.h"
#include "input/readers.h"

#define SNIFFED_LINES 100

/* A frame, and the line about its source that may follow it. */
struct framed {
	struct perf_script_frame frame;
	struct slice source;
};

struct reader {
	struct profile *p;
	struct slice text;		/* all of it */
	struct input_notes *notes;
	struct perf_script_events events;
	struct places places;
	struct slice_memo modules;	/* dso -> module * 2, + 1 where it is the kernel's */
	struct perf_script_header h;	/* of the sample that is being read */
	struct slice header;		/* its line; empty: there is none */
	VEC(uint32_t) stack;		/* its places, from the leaf */
	/*
	 * The place that is being read: frames that were inlined, up to the one they are in; and
	 * all of their text.
	 */
	struct framed frames[PLACES_INLINED_MAX];
	size_t nframes;
	struct slice place;
	struct slice outermost;		/* the symbol of the last place */
	uint64_t samples;
};

static void survey(struct perf_script_events *s, struct slice text)
{
	struct perf_script_header h;
	struct perf_script_frame f;
	struct slice line;

	while (slice_line(&text, &line))
		if (perf_script_line(line, &h, &f) == PERF_SCRIPT_HEADER &&
		    perf_script_is_sample(&h))
			perf_script_events_survey(s, &h);
}

static int equals(struct slice s, const char *word)
{
	return s.n == strlen(word) && slice_begins(s, word);
}

/*
 * The kernel itself by any of its names: perf names the file that it took the symbols from. And its
 * modules, which perf puts in brackets where it knows no file; so does it with a few things of
 * processes.
 */
static int is_kernel(struct slice dso, struct slice base)
{
	return slice_begins(dso, "[kernel.kallsyms]") ||
	       slice_begins(dso, "[guest.kernel.kallsyms") || slice_begins(dso, "[kernel]") ||
	       equals(base, "vmlinux") || slice_begins(base, "vmlinux-");
}

static int is_bare_module(struct slice dso)
{
	static const char *const users[] = {
		"[anon]",    "[heap]", "[jit]",	    "[sigpage]",  "[stack]",
		"[uprobes]", "[vdso]", "[vectors]", "[vsyscall]",
	};

	for (size_t i = 0; i < sizeof(users) / sizeof(*users); i++)
		if (equals(dso, users[i]))
			return 0;
	return dso.n > 2 && *dso.s == '[' && slice_ends(dso, "]");
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
	*kernel = is_kernel(dso, base);
	if (*kernel)
		return profile_string(p, frame_kinds[FRAME_KERNEL].module);
	*kernel = is_bare_module(dso);
	if (*kernel)
		return slice_string(p, dso);
	if ((slice_begins(base, "perf-") && slice_ends(base, ".map")) ||
	    (slice_begins(base, "jitted-") && slice_ends(base, ".so")))
		return profile_string(p, frame_kinds[FRAME_JIT].module);
	ko = base.n ? memmem(base.s, base.n, ".ko", 3) : NULL;
	*kernel = ko && (ko + 3 == base.s + base.n || ko[3] == '.');
	if (!*kernel || ko - base.s > 200)
		return slice_string(p, base);
	snprintf(name, sizeof(name), "[%.*s]", (int)(ko - base.s), base.s);
	return slice_string(p, (struct slice){ name, strlen(name) });
}

/* The module of a frame, and @kind by it and by the address. */
static uint32_t find_module(struct reader *r, const struct perf_script_frame *f,
			    enum frame_kind *kind)
{
	uint32_t *known = room_memo(&r->places.room, &r->modules, f->dso);
	int kernel = 0;

	if (*known == PROFILE_NONE) {
		uint32_t name = f->dso.n ? module_name(r->p, f->dso, &kernel) : 0;
		const char *path = profile_text(r->p, slice_string(r->p, f->dso));

		*known = (profile_module(r->p, profile_text(r->p, name), path, "") << 1) |
			 (unsigned int)kernel;
	}
	kernel = *known & 1 || (f->address >> 63 && !slice_begins(f->dso, "[vsyscall]"));
	*kind = kernel ? FRAME_KERNEL : FRAME_USER;
	return *known >> 1;
}

/*
 * Without a symbol a frame has its file's name: "[libfoo.so]". Our own outputs name such a frame
 * themselves.
 */
static struct line nameless(struct reader *r, uint32_t module, enum frame_kind kind)
{
	const char *name = profile_text(r->p, profile_view(r->p).modules[module].name);
	char *text = NULL;
	struct line line;

	if (*name)
		text = xasprintf(*name == '[' ? "%s" : "[%s]", name);
	line = places_line(&r->places, (struct slice){ text, text ? strlen(text) : 0 }, name, kind);
	free(text);
	return line;
}

/*
 * The lines of one frame, the innermost first. perf-map-agent names a Java method with what was
 * inlined there: "outer->inner->innermost".
 */
static size_t frame_lines(struct reader *r, struct slice symbol, uint32_t module,
			  enum frame_kind kind, struct line *lines, size_t room)
{
	const char *name = profile_text(r->p, profile_view(r->p).modules[module].name);
	size_t n = 0;

	if (!symbol.n) {
		lines[0] = nameless(r, module, kind);
		return 1;
	}
	while (n + 1 < room && frame_kind_in(FRAME_USER, name) == FRAME_JIT) {
		size_t at = symbol.n;

		while (at > 2 && memcmp(symbol.s + at - 2, "->", 2))
			at--;
		if (at <= 2 || at == symbol.n)
			break;
		lines[n++] = places_line(&r->places, (struct slice){ symbol.s + at, symbol.n - at },
					 name, kind);
		symbol.n = at - 2;
	}
	lines[n++] = places_line(&r->places, symbol, name, kind);
	return n;
}

static uint32_t find_place(struct reader *r)
{
	uint32_t *known = room_memo(&r->places.room, &r->places.memo, r->place), module;
	const struct framed *base = &r->frames[r->nframes - 1];
	struct line lines[PLACES_INLINED_MAX + 1];
	enum frame_kind kind;
	size_t n = 0;

	if (*known != PROFILE_NONE)
		return *known;
	module = find_module(r, &base->frame, &kind);
	kind = places_is_mark(base->frame.symbol) ? FRAME_MARK : kind;
	for (size_t i = 0; i < r->nframes; i++) {
		/* Each of the frames that are left needs a line. */
		size_t room = sizeof(lines) / sizeof(*lines) - n - (r->nframes - 1 - i), first = n;
		struct slice file;
		uint32_t line;
		int inlined;

		n += frame_lines(r, r->frames[i].frame.symbol, module, kind, lines + n, room);
		if (perf_script_source(r->frames[i].source, &file, &line, &inlined)) {
			lines[first].file = slice_string(r->p, file);
			lines[first].line = line;
		}
	}
	*known = places_add(&r->places, module, kind, base->frame.address, lines, n);
	return *known;
}

static void finish_place(struct reader *r)
{
	r->outermost = r->nframes ? r->frames[r->nframes - 1].frame.symbol : r->outermost;
	if (r->nframes)
		vec_push(&r->stack, find_place(r));
	r->nframes = 0;
}

/* Takes a line about the source of the frame before it off @rest. */
static struct slice take_source(struct slice *rest)
{
	struct slice behind = *rest, source;
	struct perf_script_header h;
	struct perf_script_frame f;

	if (!slice_line(&behind, &source) ||
	    perf_script_line(source, &h, &f) != PERF_SCRIPT_REMARK ||
	    !perf_script_is_source(source))
		return (struct slice){ 0 };
	*rest = behind;
	return source;
}

/* The frame in @line; its source follows in @rest, if it does. */
static void add_frame(struct reader *r, struct slice line, const struct perf_script_frame *f,
		      struct slice *rest)
{
	struct slice source, file;
	int inlined = 0;
	uint32_t number;

	/* Our own name for a sample without frames. */
	if (equals(f->symbol, "[no stack]") && !f->dso.n)
		return;
	source = take_source(rest);
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

static void skip_line(struct reader *r, struct slice line)
{
	if (r->notes->lines++)
		return;
	r->notes->first = 1;
	for (const char *c = r->text.s; c < line.s && (c = memchr(c, '\n', (size_t)(line.s - c)));
	     c++)
		r->notes->first++;
}

/* The sample that has been read, whose frames are known. */
static void add_sample(struct reader *r)
{
	const struct perf_script_header *h = &r->h;
	uint32_t node = 0, sample, event;

	for (size_t i = r->stack.n; i-- > 0 && room_take(&r->places.room, 0);)
		node = room_node(&r->places.room, node, r->stack.v[i]);
	sample = room_sample(&r->places.room, find_thread(r, h), node, 0);
	event = perf_script_events_count(&r->events, r->p, sample, h);
	if (event == 0 && r->events.all_have_time && room_take(&r->places.room, 1))
		profile_tick(r->p,
			     &(struct tick){ .time = h->has_time ? h->time - r->events.begin : 0,
					     .value = 1,
					     .sample = sample,
					     .cpu = h->cpu });
	places_count_mark(r->p, r->outermost, 1);
	r->samples++;
}

/* Adds the sample that has been read, if there is one, and makes ready for the next. */
static void finish_sample(struct reader *r)
{
	finish_place(r);
	if (r->stack.n || perf_script_is_sample(&r->h))
		add_sample(r);
	else if (r->header.n && !slice_begins(r->h.rest, "PERF_RECORD_") &&
		 !slice_begins(r->h.event, "PERF_RECORD_"))
		skip_line(r, r->header);
	r->stack.n = 0;
	r->outermost.n = 0;
	r->h = (struct perf_script_header){ 0 };
	r->header.n = 0;
}

static void begin_sample(struct reader *r, struct slice line, const struct perf_script_header *h,
			 struct slice *rest)
{
	struct perf_script_frame f;

	finish_sample(r);
	r->h = *h;
	r->header = line;
	/*
	 * A sample without a call chain has its place here; where there is one, its leaf is
	 * repeated.
	 */
	if (perf_script_is_sample(h) && perf_script_frame(h->rest, &f) &&
	    (f.symbol.n + f.dso.n || f.unknown))
		add_frame(r, h->rest, &f, rest);
}

static void add_samples(struct reader *r)
{
	struct slice text = r->text, line;
	struct perf_script_header h;
	struct perf_script_frame f;

	while (room_take(&r->places.room, 0) && slice_line(&text, &line)) {
		switch (perf_script_line(line, &h, &f)) {
		case PERF_SCRIPT_HEADER:
			begin_sample(r, line, &h, &text);
			break;
		case PERF_SCRIPT_FRAME:
			add_frame(r, line, &f, &text);
			break;
		case PERF_SCRIPT_BLANK:
			/* Some tools leave one between a header and its frames. */
			if (r->stack.n + r->nframes)
				finish_sample(r);
			break;
		case PERF_SCRIPT_OTHER:
			skip_line(r, line);
			break;
		case PERF_SCRIPT_REMARK:
			break;
		}
	}
	finish_sample(r);
}

int perf_script_looks(const char *bytes, size_t n)
{
	struct slice text = { bytes, n }, line;
	struct perf_script_header h;
	struct perf_script_frame f;

	for (int i = 0; i < SNIFFED_LINES && slice_line(&text, &line);) {
		enum perf_script_line kind = perf_script_line(line, &h, &f);

		/* Any indented word of hexadecimal digits would be a frame. */
		if ((kind == PERF_SCRIPT_FRAME && (*line.s == '\t' || slice_ends(line, ")"))) ||
		    (kind == PERF_SCRIPT_HEADER && h.has_time))
			return 1;
		i += kind != PERF_SCRIPT_REMARK;
	}
	return 0;
}

int perf_script_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		     struct error *e)
{
	struct reader r = {
		.p = p, .text = { bytes, n }, .notes = notes, .places = { .room = { .profile = p } }
	};

	survey(&r.events, r.text);
	perf_script_events_describe(&r.events, p);
	add_samples(&r);
	profile_finish_ticks(p);
	if (r.events.names.entries.n < 2)
		profile_account(p)->taken = profile_account(p)->kept = r.samples;
	places_free(&r.places);
	perf_script_events_free(&r.events);
	slice_memo_free(&r.modules);
	vec_free(&r.stack);
	if (!room_take(&r.places.room, 0))
		return error_set(e, STATUS_ERROR, -E2BIG,
				 "there are too many different frames, threads and samples");
	return r.samples ? 0
			 : error_set(e, STATUS_ERROR, -ENODATA,
				     "no samples in this text of perf script");
}
