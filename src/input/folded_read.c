/* SPDX-License-Identifier: MIT */
/*
 * Folded stacks: `comm;root;...;leaf COUNT`, one line a stack, by whatever wrote
 * them. What ours tell beyond that is understood: "comm-PID/TID" where all lines
 * have it, [truncated: ...], and _[k], _[i], _[j] behind frames.
 *
 * Where all lines end in two counts they are a differential (before and after);
 * elsewhere a number before the count is a part of the leaf's name. A count may
 * have a fraction, as flamegraph.pl allows: counts are rounded so that the sum
 * of all lines so far is never off by more than a half.
 *
 * Some tools write remarks, "# ...". A line that is no stack is an error, unless it is
 * the last one and has no end: then whoever wrote the file was stopped.
 */
#include <errno.h>
#include <string.h>

#include "input/places.h"
#include "input/readers.h"
#include "input/slice.h"

#define MILLION 1000000
#define SNIFFED_LINES 16

struct count {
	uint64_t whole;
	uint32_t millionths;
};

/* A line: its frames, and one or two counts behind them. */
struct entry {
	struct slice stack;
	struct count counts[2];		/* the last one is the last of the line */
	int two;
};

struct reader {
	struct profile *p;
	struct places places;
	struct slice_memo threads;
	int ids;			/* all lines begin with comm-PID/TID */
	int two;			/* all lines have two counts */
	int64_t owed[2];		/* millionths that rounding took or gave, so far */
	uint64_t totals[2];
};

static int is_inlined(struct slice frame)
{
	return frame.n > 4 && slice_ends(frame, "_[i]");
}

/* What comes before the first @separator, which is taken off with it. */
static struct slice cut(struct slice *rest, char separator)
{
	const char *end = rest->n ? memchr(rest->s, separator, rest->n) : NULL;
	struct slice part = { rest->s, end ? (size_t)(end - rest->s) : rest->n };

	rest->s += part.n + (end != NULL);
	rest->n -= part.n + (end != NULL);
	return part;
}

/* "12", "1.5", "12." */
static int parse_count(struct slice s, struct count *c)
{
	struct slice whole = cut(&s, '.');
	uint32_t unit = MILLION / 10;

	c->millionths = 0;
	if (!slice_decimal(whole, &c->whole))
		return 0;
	for (size_t i = 0; i < s.n; i++, unit /= 10) {
		if (s.s[i] < '0' || s.s[i] > '9')
			return 0;
		c->millionths += unit * (uint32_t)(s.s[i] - '0');
	}
	return 1;
}

static int parse_line(struct slice line, struct entry *e)
{
	struct slice word, rest;

	e->stack = line;
	if (!slice_last_word(&e->stack, &word) || !parse_count(word, &e->counts[1]) || !e->stack.n)
		return 0;
	rest = e->stack;
	e->two = slice_last_word(&rest, &word) && rest.n && parse_count(word, &e->counts[0]);
	return 1;
}

/* A thread may be called "#1", but a blank in its name is written as "_". */
static int is_remark(struct slice line)
{
	struct entry e;

	return line.n && *line.s == '#' &&
	       (line.n == 1 || memchr(" \t#!", line.s[1], 4) || !parse_line(line, &e));
}

/* "comm-12/13": 1 with the ids, and @comm without them. */
static int parse_ids(struct slice *comm, uint64_t *pid, uint64_t *tid)
{
	size_t slash = comm->n, dash;

	while (slash && comm->s[slash - 1] != '/')
		slash--;
	dash = slash;
	while (dash && comm->s[dash - 1] != '-')
		dash--;
	if (dash < 2 || !slice_decimal((struct slice){ comm->s + slash, comm->n - slash }, tid) ||
	    !slice_decimal((struct slice){ comm->s + dash, slash - 1 - dash }, pid) ||
	    *pid > INT32_MAX || *tid > INT32_MAX)
		return 0;
	comm->n = dash - 1;
	return 1;
}

/* Takes a last line that was cut off away from @text. */
static int cut_off(struct slice *text, struct slice line, size_t number, struct input_notes *notes)
{
	if (number == 1 || line.s + line.n != text->s + text->n)
		return 0;
	*notes = (struct input_notes){ .lines = 1, .first = number, .cut = 1 };
	text->n = (size_t)(line.s - text->s);
	return 1;
}

/* Looks at all lines: are they right, and what do they have in common? */
static int survey(struct reader *r, struct slice *text, struct input_notes *notes, struct error *e)
{
	struct slice left = *text, line;
	size_t lines = 0;

	for (size_t number = 1; slice_line(&left, &line); number++) {
		struct slice rest = slice_trim(line), comm;
		struct entry entry;
		uint64_t pid, tid;

		if (!rest.n || is_remark(line))
			continue;
		if (!parse_line(line, &entry)) {
			if (cut_off(text, line, number, notes))
				break;
			return error_set(e, STATUS_ERROR, -EBADMSG, "line %zu is no folded stack: "
					 "frames, a blank and a count are expected", number);
		}
		rest = entry.stack;
		comm = cut(&rest, ';');
		r->ids = (!lines || r->ids) && parse_ids(&comm, &pid, &tid);
		r->two = (!lines || r->two) && entry.two;
		lines++;
	}
	return 0;
}

/* The thread of a line's first frame. */
static uint32_t find_thread(struct reader *r, struct slice comm)
{
	uint32_t *known = room_memo(&r->places.room, &r->threads, comm), process, name;
	uint64_t pid = 0, tid = 0;

	if (*known != PROFILE_NONE)
		return *known;
	if (r->ids)
		parse_ids(&comm, &pid, &tid);
	name = slice_string(r->p, comm);
	/*
	 * Without a pid each comm is a process. The leader's name is the process's, else the first
	 * one.
	 */
	process = profile_process(r->p, (pid_t)pid, r->ids ? 0 : name, 0);
	if (pid == tid || !profile_view(r->p).processes[process].comm)
		profile_process(r->p, (pid_t)pid, r->ids ? 0 : name, name);
	*known = room_thread(&r->places.room, process, (pid_t)tid, name);
	return *known;
}

struct annotation {
	const char *suffix, *module;
	enum frame_kind kind;
};

static struct annotation annotation_of(struct slice frame)
{
	for (size_t i = 0; i < FRAME_KINDS; i++) {
		const struct frame_kind_row *row = &frame_kinds[i];

		if (*row->mark && frame.n > strlen(row->mark) && slice_ends(frame, row->mark))
			return (struct annotation){ row->mark, row->module, row->saved };
	}
	return (struct annotation){ "", "", places_is_mark(frame) ? FRAME_MARK : FRAME_USER };
}

/*
 * The location of a function's frame and those after it that were inlined there, all of it @text.
 */
static uint32_t find_location(struct reader *r, struct slice text)
{
	uint32_t *known = room_memo(&r->places.room, &r->places.memo, text);
	struct annotation base = { 0 };
	struct line lines[PLACES_INLINED_MAX + 1];
	size_t first = PLACES_INLINED_MAX + 1;
	const char *end = text.s + text.n;
	uint32_t module;

	if (*known != PROFILE_NONE)
		return *known;
	do {
		struct slice frame = cut(&text, ';');
		struct annotation a = annotation_of(frame);

		frame.n -= strlen(a.suffix);
		if (first > PLACES_INLINED_MAX)
			base = a;
		lines[--first] = places_line(&r->places, frame, base.module, a.kind);
	} while (text.s < end);
	module = profile_module(r->p, base.module, "", "");
	*known = places_add(&r->places, module, base.kind, 0, lines + first,
			    PLACES_INLINED_MAX + 1 - first);
	return *known;
}

/* The node of these frames, as far as there is room for them. */
static uint32_t find_node(struct reader *r, struct slice stack)
{
	uint32_t node = 0;

	while (stack.n && room_take(&r->places.room, 0)) {
		struct slice place = cut(&stack, ';'), rest = stack, next;

		for (int i = 0; i < PLACES_INLINED_MAX && rest.n && !places_is_mark(place); i++) {
			next = cut(&rest, ';');
			if (!is_inlined(next))
				break;
			place.n = (size_t)(next.s + next.n - place.s);
			stack = rest;
		}
		node = room_node(&r->places.room, node, find_location(r, place));
	}
	return node;
}

/* Rounded, so that all counts of column @i so far add up to what they say. */
static uint64_t round_count(struct reader *r, const struct count *c, int i)
{
	uint64_t up;

	r->owed[i] += c->millionths;
	up = r->owed[i] >= MILLION / 2 && c->whole < UINT64_MAX;
	r->owed[i] -= up ? MILLION : 0;
	return c->whole + up;
}

static int add_line(struct reader *r, size_t number, struct slice line, struct error *e)
{
	struct slice word, comm;
	struct entry entry;
	uint32_t node, sample;

	parse_line(line, &entry);
	if (r->two)
		slice_last_word(&entry.stack, &word);
	comm = cut(&entry.stack, ';');
	node = find_node(r, entry.stack);
	sample = room_sample(&r->places.room, find_thread(r, comm), node, 0);
	if (!room_take(&r->places.room, 0))
		return error_set(e, STATUS_ERROR, -E2BIG,
				 "line %zu: there are too many different frames and threads",
				 number);
	for (int i = !r->two; i < 2; i++) {
		uint64_t count = round_count(r, &entry.counts[i], i);

		if (__builtin_add_overflow(r->totals[i], count, &r->totals[i]))
			return error_set(e, STATUS_ERROR, -ERANGE,
					 "line %zu: the counts add up to more than 64 bits",
					 number);
		profile_count(r->p, sample, r->two ? (uint32_t)i : 0, count);
		if (!r->two)
			places_count_mark(r->p, cut(&entry.stack, ';'), count);
	}
	return 0;
}

static int add_lines(struct reader *r, struct slice text, struct error *e)
{
	struct slice line;
	int err = 0;

	profile_meta(r->p)->per_thread = r->ids;
	if (r->two) {
		profile_set_type(r->p, 0, "before", "count");
		profile_show(r->p, profile_add_type(r->p, "after", "count"));
	}
	for (size_t number = 1; !err && slice_line(&text, &line); number++)
		if (slice_trim(line).n && !is_remark(line))
			err = add_line(r, number, line, e);
	if (!r->two)
		profile_account(r->p)->taken = profile_account(r->p)->kept = r->totals[1];
	return err;
}

int folded_looks(const char *bytes, size_t n)
{
	struct slice text = { bytes, n }, line;
	struct entry entry;

	if (memchr(bytes, '\0', n < 4096 ? n : 4096))
		return 0;
	for (int i = 0; i < SNIFFED_LINES && slice_line(&text, &line);) {
		if (is_remark(line))
			continue;
		if (parse_line(line, &entry))
			return 1;
		i++;
	}
	return 0;
}

int folded_read(struct profile *p, const char *bytes, size_t n, struct input_notes *notes,
		struct error *e)
{
	struct reader r = { .p = p, .places = { .room = { .profile = p } } };
	struct slice text = { bytes, n };
	int err = survey(&r, &text, notes, e);

	if (!err)
		err = add_lines(&r, text, e);
	places_free(&r.places);
	slice_memo_free(&r.threads);
	return err;
}
