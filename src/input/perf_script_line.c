/* SPDX-License-Identifier: MIT */
#include "input/perf_script_line.h"

#include <string.h>

#define SECOND 1000000000u
#define SECONDS_MAX 10000000000u	/* more makes no sense, and does not fit */
#define CPU_MAX 65535

/* "34527.112179:", with micro- or nanoseconds. */
static int parse_time(struct slice word, uint64_t *ns)
{
	const char *dot = memchr(word.s, '.', word.n);
	uint64_t seconds, fraction;
	size_t digits;

	if (!dot || !slice_ends(word, ":"))
		return 0;
	digits = (size_t)(word.s + word.n - dot) - 2;
	if ((digits != 6 && digits != 9) ||
	    !slice_decimal((struct slice){ word.s, (size_t)(dot - word.s) }, &seconds) ||
	    !slice_decimal((struct slice){ dot + 1, digits }, &fraction) || seconds > SECONDS_MAX)
		return 0;
	*ns = seconds * SECOND + fraction * (digits == 6 ? 1000 : 1);
	return 1;
}

/* "[003]" */
static int parse_cpu(struct slice word, uint32_t *cpu)
{
	uint64_t n;

	if (word.n < 3 || *word.s != '[' || !slice_ends(word, "]") ||
	    !slice_decimal((struct slice){ word.s + 1, word.n - 2 }, &n))
		return 0;
	*cpu = n <= CPU_MAX ? (uint32_t)n : 0;
	return 1;
}

/* "12/13", or the tid alone, which then stands for both. */
static int parse_ids(struct slice word, struct perf_script_header *h)
{
	const char *slash = memchr(word.s, '/', word.n);
	struct slice pid = { word.s, slash ? (size_t)(slash - word.s) : word.n }, tid = pid;

	if (slash)
		tid = (struct slice){ slash + 1, word.n - pid.n - 1 };
	h->has_pid = slice_decimal(pid, &h->pid) && slice_decimal(tid, &h->tid) &&
		     h->pid <= INT32_MAX && h->tid <= INT32_MAX;
	if (!h->has_pid)
		h->pid = h->tid = 0;
	return h->has_pid;
}

/* What stands behind the time: a period, the event, the rest. */
static void parse_event(struct slice text, struct perf_script_header *h)
{
	struct slice rest = text, word;

	if (slice_word(&rest, &word) && slice_decimal(word, &h->period)) {
		h->has_period = 1;
		text = rest;
		slice_word(&rest, &word);
	}
	if (word.n > 1 && slice_ends(word, ":")) {
		h->event = (struct slice){ word.s, word.n - 1 };
		text = rest;
	}
	h->rest = slice_trim(slice_skip(text));
}

/* What stands before the time, from its end: flags, the CPU, the ids, and all else is the comm. */
static void parse_thread(struct slice text, struct perf_script_header *h)
{
	struct slice rest = text, word;

	h->comm = slice_trim(slice_skip(text));
	while (slice_last_word(&rest, &word)) {
		if (parse_cpu(word, &h->cpu))
			h->comm = slice_skip(rest);
		if (parse_ids(word, h)) {
			h->comm = slice_skip(rest);
			break;
		}
	}
}

/* Without a time: the first word that can be ids ends the comm, else the CPU, else the event. */
static void parse_timeless(struct slice line, struct perf_script_header *h)
{
	struct slice rest = line, word, before = { line.s, 0 };

	*h = (struct perf_script_header){ 0 };
	while (slice_word(&rest, &word)) {
		int ids = parse_ids(word, h), cpu = !ids && parse_cpu(word, &h->cpu);
		struct slice behind = rest;

		before.n = (size_t)(word.s - line.s);
		if (ids && slice_word(&behind, &word) && parse_cpu(word, &h->cpu))
			rest = behind;
		if (ids || cpu) {
			h->comm = slice_skip(slice_trim(before));
			parse_event(rest, h);
			return;
		}
	}
	h->comm = slice_trim(slice_skip(line));
	rest = line;
	if (slice_last_word(&rest, &word) && word.n > 1 && slice_ends(word, ":")) {
		h->comm = slice_skip(rest);
		h->event = (struct slice){ word.s, word.n - 1 };
	}
}

static int parse_header(struct slice line, struct perf_script_header *h)
{
	struct slice rest = line, word;

	*h = (struct perf_script_header){ 0 };
	while (slice_word(&rest, &word)) {
		h->has_time = parse_time(word, &h->time);
		if (!h->has_time)
			continue;
		parse_thread((struct slice){ line.s, (size_t)(word.s - line.s) }, h);
		parse_event(rest, h);
		return 1;
	}
	return 0;
}

/* Where the "(" of the "(...)" stands that ends @s; its size where there is none. */
static size_t last_group(struct slice s)
{
	size_t depth = 0;

	if (!slice_ends(s, ")"))
		return s.n;
	for (size_t i = s.n; i-- > 0;) {
		depth += s.s[i] == ')';
		depth -= s.s[i] == '(';
		if (!depth)
			return i && s.s[i - 1] != ' ' ? s.n : i;
	}
	return s.n;
}

/* Without a "+0x1a" at its end. */
static struct slice without_offset(struct slice s)
{
	size_t digits = 0;
	uint64_t value;

	while (digits < 16 && digits < s.n && s.s[s.n - 1 - digits] != 'x')
		digits++;
	if (s.n >= digits + 3 && !memcmp(s.s + s.n - digits - 3, "+0x", 3) &&
	    slice_hex((struct slice){ s.s + s.n - digits, digits }, &value))
		s.n -= digits + 3;
	return s;
}

static struct slice known(struct slice s)
{
	return s.n == strlen("[unknown]") && slice_begins(s, "[unknown]") ? (struct slice){ s.s, 0 }
									  : s;
}

int perf_script_frame(struct slice text, struct perf_script_frame *f)
{
	struct slice word, symbol, dso = { 0 };
	size_t group;

	*f = (struct perf_script_frame){ 0 };
	text = slice_trim(text);
	if (!slice_word(&text, &word) || !slice_hex(word, &f->address))
		return 0;
	text = slice_skip(text);
	group = last_group(text);
	symbol = without_offset(slice_trim((struct slice){ text.s, group }));
	if (group < text.n)
		dso = without_offset((struct slice){ text.s + group + 1, text.n - group - 2 });
	f->symbol = known(symbol);
	f->dso = known(dso);
	f->unknown = f->symbol.n < symbol.n || f->dso.n < dso.n;
	f->inlined = f->dso.n == strlen("inlined") && slice_begins(f->dso, "inlined");
	if (f->inlined)
		f->dso.n = 0;
	return 1;
}

int perf_script_source(struct slice text, struct slice *file, uint32_t *line, int *inlined)
{
	uint64_t number;
	size_t colon;

	text = slice_trim(slice_skip(text));
	*inlined = slice_ends(text, " (inlined)");
	text.n -= *inlined ? strlen(" (inlined)") : 0;
	for (colon = text.n; colon && text.s[colon - 1] != ':'; colon--)
		;
	*file = (struct slice){ text.s, colon ? colon - 1 : 0 };
	if (!file->n || !slice_decimal((struct slice){ text.s + colon, text.n - colon }, &number) ||
	    number > UINT32_MAX)
		return 0;
	*line = (uint32_t)number;
	return 1;
}

int perf_script_is_source(struct slice line)
{
	struct slice text = slice_trim(line), file;
	uint32_t number;
	int inlined;

	if (!line.n || *line.s != ' ')
		return 0;
	return perf_script_source(text, &file, &number, &inlined) ||
	       (slice_ends(text, "]") && memchr(text.s, '[', text.n));
}

/* What -F insn and its like print below a sample. */
static int is_instruction(struct slice line)
{
	return slice_begins(slice_skip(line), "insn:") || slice_begins(slice_skip(line), "ilen:");
}

/*
 * "12345", "12345 cycles:" or "12/13 [003]" without a command, where the number could be an
 * address, too. perf prints addresses behind a tab and 16 columns wide, and ids 5 to 7.
 */
static int begins_with_ids(struct slice line, struct perf_script_header *h)
{
	struct slice rest = line, word;
	uint32_t cpu;

	if (!line.n || *line.s == '\t' || !slice_word(&rest, &word))
		return 0;
	*h = (struct perf_script_header){ 0 };
	if (!parse_ids(word, h) || (size_t)(word.s + word.n - line.s) > 15)
		return 0;
	return !slice_word(&rest, &word) || parse_cpu(word, &cpu) ||
	       (slice_ends(word, ":") && !slice_skip(rest).n);
}

/* A frame whose indentation was lost: "ADDRESS SYMBOL (DSO)" and no "COMM ID ...". */
static int flush_frame(struct slice line, struct perf_script_frame *f)
{
	struct perf_script_header h;
	struct slice rest = line, word;

	return slice_word(&rest, &word) && slice_word(&rest, &word) && !parse_ids(word, &h) &&
	       perf_script_frame(line, f) && slice_ends(slice_trim(line), ")") &&
	       (f->dso.n || f->unknown);
}

enum perf_script_line perf_script_line(struct slice line, struct perf_script_header *h,
				       struct perf_script_frame *f)
{
	int indented = line.n && (*line.s == ' ' || *line.s == '\t');

	if (!slice_skip(line).n)
		return PERF_SCRIPT_BLANK;
	if (*line.s == '#')
		return PERF_SCRIPT_REMARK;
	if (*line.s != '\t' && parse_header(line, h))
		return PERF_SCRIPT_HEADER;
	if (begins_with_ids(line, h)) {
		parse_timeless(line, h);
		return PERF_SCRIPT_HEADER;
	}
	if (indented ? perf_script_frame(line, f) : flush_frame(line, f))
		return PERF_SCRIPT_FRAME;
	if (perf_script_is_source(line) || is_instruction(line))
		return PERF_SCRIPT_REMARK;
	parse_timeless(line, h);
	/* Without call chains the names stand to the right, and a frame follows. */
	if (!indented ||
	    (h->has_pid && h->comm.n && perf_script_frame(h->rest, f) && (f->dso.n || f->unknown)))
		return PERF_SCRIPT_HEADER;
	return PERF_SCRIPT_OTHER;
}
