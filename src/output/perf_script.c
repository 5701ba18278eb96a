/* SPDX-License-Identifier: MIT */
/*
 * Text as `perf script` prints it (perf-script(1)): a line that says who, where, when
 * and how much, then the frames, the innermost first, then an empty line.
 *
 *	comm  pid/tid [cpu] sec.usec:  PERIOD event:
 *		ffffffff81000000 symbol (file)
 *
 * Readers count records, add up periods, or take the time between two records of a
 * thread for the weight of a stack. To be right for all of them, a count of n is n
 * records of period 1 in regular steps of time. Where that would be too much for them, or where
 * the values are no counts, it is one record of period n. With a timeline the
 * records are at their true times, and waits at their beginnings.
 *
 * A sample has no offset in its function here, so none is printed. Readers find fields by
 * patterns (stackcollapse-perf.pl's, which others took over), and what a program calls itself and
 * its functions must not match them: see clean_comm() and the others.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text_vec.h"
#include "base/vec.h"
#include "output/formats.h"
#include "output/rollup.h"
#include "output/stack.h"
#include "output/threads.h"
#include "profile/worth.h"

#define RECORDS_MAX 1000000	/* that counts are written as */
/* bytes of these; what reads larger files does not need them repeated */
#define REPEATED_MAX (2ull << 30)
#define FRAME_BYTES 32		/* of a frame's line, besides its name and file */
#define SECOND 1000000000ul
#define DEFAULT_STEP 1000000	/* ns between records where the rate is not known */

struct writer {
	const struct profile *p;
	struct profile_view v;
	struct outfile *f;
	struct stack stack;
	struct text_vec line;
	char *event;
	int repeat;		/* a count of n is n records */
	struct worth worth;
	int timed;		/* each tick is a record */
};

/*
 * A blank before a digit would end the name, and "#" begins a remark; a name of one letter is too
 * short for some.
 */
static void append_comm(struct text_vec *t, const char *comm)
{
	size_t at = t->n;

	text_vec_add(t, comm);
	for (char *c = t->v + at; *c; c++)
		if (*c == ' ' && (c == t->v + at || isdigit((unsigned char)c[1])))
			*c = '_';
	if (t->v[at] == '#')
		t->v[at] = '_';
	if (t->n == at + 1)
		text_vec_add(t, " ");
}

/* "foo+0x1f" */
static int ends_in_offset(const char *name)
{
	const char *plus = strrchr(name, '+');

	return plus && !strncmp(plus, "+0x", 3) && plus[3] &&
	       plus[3 + strspn(plus + 3, "0123456789abcdef")] == '\0';
}

/*
 * A name in brackets at its beginning is skipped ("(anonymous namespace)::f"), and what looks like
 * an offset cut off.
 */
static void append_symbol(struct text_vec *t, const char *name)
{
	size_t at = t->n;
	char *c, *close;

	text_vec_add(t, name);
	for (c = t->v + at; *c == ' '; c++)
		*c = '_';
	close = *c == '(' ? strchr(c, ')') : NULL;
	if (*c == '(')
		*c = '{';
	if (close)
		*close = '}';
	if (ends_in_offset(name))
		text_vec_add(t, "+0x0");
}

/* The file ends at the first bracket or blank. */
static void append_file(struct text_vec *t, const char *file)
{
	size_t at = t->n;

	text_vec_add(t, file);
	for (char *c = t->v + at; *c; c++)
		*c = *c == '(' ? '[' : *c == ')' ? ']' : *c == ' ' ? '_' : *c;
}

/*
 * As perf calls the file of @location: by its path; the kernel and its modules in square brackets.
 */
static const char *file_name(const struct writer *w, const struct location *l, uint32_t function)
{
	const struct module *m = &w->v.modules[l->module];
	const char *name = function < w->v.nfunctions
				   ? profile_text(w->p, w->v.functions[function].module)
				   : "";
	const char *path = profile_text(w->p, m->path);

	if (*path && !m->made &&
	    (!frame_is_kernel(l->kind) || !*name || !strcmp(name, profile_text(w->p, m->name))))
		return path;
	return *name ? name : ROLLUP_UNKNOWN;
}

static void append_frame(struct writer *w, const struct stack_frame *frame)
{
	const struct location *l = &w->v.locations[frame->location];
	char address[32];

	snprintf(address, sizeof(address), "\t%16" PRIx64 " ",
		 frame_is_code(l->kind) ? l->address : 0);
	text_vec_add(&w->line, address);
	append_symbol(&w->line, rollup_name(w->p, frame->function));
	text_vec_add(&w->line, " (");
	append_file(&w->line, frame->inlined ? "inlined" : file_name(w, l, frame->function));
	text_vec_add(&w->line, ")\n");
}

/* When, and on which CPU; a CPU of PROFILE_NONE is not known. */
struct moment {
	uint64_t time;
	uint32_t cpu;
};

/* @sample's frames are in the writer's stack. */
static void write_record(struct writer *w, uint32_t sample, const struct moment *m, uint64_t period)
{
	const struct thread *t = &w->v.threads[w->v.samples[sample].thread];
	pid_t pid = w->v.processes[t->process].pid;
	char text[256], cpu[32] = "";

	if (m->cpu != PROFILE_NONE)
		snprintf(cpu, sizeof(cpu), " [%03u]", m->cpu);
	w->line.n = 0;
	append_comm(&w->line, rollup_comm(w->p, t->comm));
	snprintf(text, sizeof(text), " %d/%d%s %" PRIu64 ".%06" PRIu64 ": %10" PRIu64 " ", pid,
		 t->tid ? t->tid : pid, cpu, m->time / SECOND, m->time % SECOND / 1000, period);
	text_vec_add(&w->line, text);
	text_vec_add(&w->line, w->event);
	text_vec_add(&w->line, ": \n");
	for (size_t i = 0; i < w->stack.n; i++) {
		append_frame(w, &w->stack.v[i]);
		outfile_write(w->f, w->line.v, w->line.n);
		w->line.n = 0;
	}
	if (!w->stack.n) {
		snprintf(text, sizeof(text), "\t%16x %s (%s)\n", 0, ROLLUP_NO_STACK,
			 ROLLUP_UNKNOWN);
		text_vec_add(&w->line, text);
	}
	text_vec_add(&w->line, "\n");
	outfile_write(w->f, w->line.v, w->line.n);
}

/* About how many bytes the frames of @node's stack take. */
static uint64_t record_bytes(struct writer *w, uint32_t node)
{
	uint64_t bytes = 0;

	stack_fill(&w->stack, &w->v, node);
	for (size_t i = 0; i < w->stack.n; i++) {
		const struct stack_frame *frame = &w->stack.v[i];

		bytes += FRAME_BYTES + strlen(rollup_name(w->p, frame->function)) +
			 strlen(file_name(w, &w->v.locations[frame->location], frame->function));
	}
	return bytes;
}

/* @value of a sample: one record or many. @step: from one to the next; moves @m on. */
static void write_value(struct writer *w, uint32_t sample, struct moment *m, uint64_t step,
			uint64_t value)
{
	uint64_t records = w->repeat ? value : 1;

	stack_fill(&w->stack, &w->v, w->v.samples[sample].node);
	for (uint64_t i = 0; i < records; i++) {
		m->time += step;
		write_record(w, sample, m, w->repeat ? 1 : value);
	}
}

/* Each at its time; a wait at its beginning. */
static void write_timeline(struct writer *w)
{
	for (size_t i = 0; i < w->v.nticks; i++) {
		const struct tick *tick = &w->v.ticks[i];
		uint64_t worth = worth_tick(&w->worth, tick);

		if (worth)
			write_value(w, tick->sample, &(struct moment){ tick->time, tick->cpu }, 0,
				    worth);
	}
}

/*
 * Thread by thread, one sampling interval from each record to the next: as if one CPU had run all
 * of it. Of what has no time.
 */
static void write_in_steps(struct writer *w)
{
	struct threads *threads = threads_new(w->p);
	struct moment m = { .cpu = PROFILE_NONE };
	uint64_t step = w->v.meta->frequency ? SECOND / w->v.meta->frequency : DEFAULT_STEP;

	for (size_t i = 0; i < threads->n; i++)
		for (size_t k = 0; k < threads->v[i].nsamples; k++) {
			uint32_t sample = threads->v[i].samples[k];
			uint64_t value = w->timed ? worth_untimed(&w->worth, sample)
						  : w->v.values[sample];

			if (value)
				write_value(w, sample, &m, step, value);
		}
	threads_free(threads);
}

/* One word that is not taken for a time. */
static void set_event(struct writer *w)
{
	const char *event = *w->v.meta->event ? w->v.meta->event
					      : profile_text(w->p, w->v.types[w->v.shown].name);

	w->event = xasprintf("%s%s", isalpha((unsigned char)*event) ? "" : "event-", event);
	for (char *c = w->event; *c; c++)
		if (isspace((unsigned char)*c) || *c == '(' || *c == ')')
			*c = '_';
}

/*
 * As `perf script --header` has it; by its first line readers know the format whatever a comm
 * begins with.
 */
static void write_header(const struct writer *w)
{
	const struct { const char *name, *text; } rows[] = {
		{ "hostname", profile_text(w->p, w->v.meta->host) },
		{ "cmdline", profile_text(w->p, w->v.meta->command) },
	};

	outfile_printf(w->f, "# ========\n");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (*rows[i].text)
			outfile_printf(w->f, "# %s : %s\n", rows[i].name, rows[i].text);
	outfile_printf(w->f, "# ========\n#\n");
}

/* 1 where all counts as records of their own are not too much. */
static int can_repeat(struct writer *w)
{
	uint64_t left = REPEATED_MAX;

	if (w->v.types[w->v.shown].measured_in != PROFILE_COUNT ||
	    w->v.total > RECORDS_MAX)
		return 0;
	for (size_t s = 0; s < w->v.nsamples; s++) {
		uint64_t bytes = record_bytes(w, w->v.samples[s].node);

		if (w->v.values[s] && bytes > left / w->v.values[s])
			return 0;
		left -= bytes * w->v.values[s];
	}
	return 1;
}

/* 1 where a record for each tick is not too much. */
static int can_tell_each(struct writer *w)
{
	uint64_t left = REPEATED_MAX;

	for (size_t i = 0; i < w->v.nticks; i++) {
		uint64_t bytes = record_bytes(w, w->v.samples[w->v.ticks[i].sample].node);

		if (bytes > left)
			return 0;
		left -= bytes;
	}
	return 1;
}

void perf_script_write(const struct profile *p, const struct output_options *o, struct outfile *f)
{
	struct writer w = { .p = p, .v = profile_view(p), .f = f };

	(void)o;
	w.repeat = can_repeat(&w);
	set_event(&w);
	write_header(&w);
	w.worth = worth_of(p, w.v.shown);
	w.timed = can_tell_each(&w);
	if (w.timed)
		write_timeline(&w);
	write_in_steps(&w);
	worth_free(&w.worth);
	free(w.event);
	vec_free(&w.line);
	vec_free(&w.stack);
}
