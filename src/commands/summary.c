/* SPDX-License-Identifier: MIT */
#include "commands/summary.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/say.h"
#include "base/text.h"
#include "profile/latency.h"

#define SECOND 1e9
#define PREFIX "ebprof: "
#define OWN_CPU "own_cpu_ms"
#define OWN_CPU_TEXT "own CPU time %.0f ms"

void progress_show(const struct session_progress *p, uint64_t duration)
{
	fprintf(stderr, "\r\033[Kebprof: %.1f", (double)p->elapsed / SECOND);
	if (duration)
		fprintf(stderr, "/%.1f", (double)duration / SECOND);
	fprintf(stderr, " s, %llu sample%s", (unsigned long long)p->taken, text_s(p->taken));
	if (p->truncated)
		fprintf(stderr, ", %llu truncated", (unsigned long long)p->truncated);
	if (p->lost)
		fprintf(stderr, ", %llu lost", (unsigned long long)p->lost);
	if (!duration)
		fputs("; Ctrl-C ends it", stderr);
	fflush(stderr);
}

void progress_clear(void)
{
	fputs("\r\033[K", stderr);
	fflush(stderr);
}

static uint64_t sum(const struct profile_reason *r, size_t n)
{
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += r[i].count;
	return total;
}

uint64_t summary_lost(const struct profile_account *a)
{
	return sum(a->lost, a->nlost);
}

/* ", 3 truncated (3 depth)" */
static void add_reasons(struct summary *s, const char *what, const struct profile_reason *r,
			size_t n)
{
	const char *separator = " (";

	summary_row(s, what, (double)sum(r, n), ", %llu %s", (unsigned long long)sum(r, n), what);
	for (size_t i = 0; i < n; i++) {
		if (!r[i].count)
			continue;
		summary_text(s, "%s%llu %s", separator, (unsigned long long)r[i].count, r[i].name);
		separator = ", ";
	}
	if (*separator == ',')
		summary_text(s, ")");
}

/* What is not known, as of a file that does not tell it, is left out. */
static void add_account(struct summary *s, const struct profile_view *v)
{
	const struct profile_account *a = v->account;
	const struct profile_meta *m = v->meta;
	const struct profile_event_words *words = profile_event_words(m->event);
	uint64_t truncated = sum(a->truncated, a->ntruncated);

	summary_line(s, SUMMARY_ACCOUNT);
	summary_row(s, "taken", (double)a->taken, "%llu %s", (unsigned long long)a->taken,
		    a->taken == 1 ? words->one : words->many);
	if (*m->event)
		summary_text(s, " of %s", m->event);
	if (m->frequency)
		summary_text(s, " at %llu Hz", (unsigned long long)m->frequency);
	else if (m->period > 1)
		summary_text(s, " every %llu %s", (unsigned long long)m->period,
			     words->period_unit ? words->period_unit : "events");
	if (m->duration)
		summary_row(s, "duration_s", (double)m->duration / SECOND, " in %.1f s",
			    (double)m->duration / SECOND);
	if (a->ntruncated + a->nlost) {
		summary_row(s, "complete", (double)(a->kept - truncated), ": %llu complete",
			    (unsigned long long)(a->kept - truncated));
		add_reasons(s, "truncated", a->truncated, a->ntruncated);
	}
	if (a->nlost)
		add_reasons(s, "lost", a->lost, a->nlost);
}

void summary_show_saved(struct profile *p)
{
	struct profile_view v = profile_view(p);
	const struct profile_type *shown = &v.types[v.shown];
	struct summary s = { 0 };

	if (v.account->taken)
		add_account(&s, &v);
	if (!v.account->taken || v.shown) {
		summary_line(&s, SUMMARY_RESULT);
		summary_text(&s, "%s, in %s: %llu in all", profile_text(p, shown->name),
			     profile_text(p, shown->unit), (unsigned long long)v.total);
		for (size_t i = 0; i < v.ntypes; i++)
			if (i != v.shown)
				summary_text(&s, "%s%s",
					     i == (v.shown == 0) ? "; also there: " : ", ",
					     profile_text(p, v.types[i].name));
	}
	latency_summaries(p, "", &s);
	summary_print(&s, PREFIX, stderr);
	summary_free(&s);
}

#define WHYS 16		/* reasons told apart; what exceeds them has a name or is one of the last */

/* Of all frames of all samples: how many there are, and how many have no name for which reason. */
struct naming {
	double frames, unnamed[WHYS];
	uint32_t why[WHYS];	/* string of the profile */
	size_t n;
};

static void count_unnamed(struct naming *c, uint32_t why, double weight)
{
	size_t i = 0;

	while (i < c->n && c->why[i] != why)
		i++;
	if (i == WHYS)
		i--;
	else if (i == c->n)
		c->why[c->n++] = why;
	c->unnamed[i] += weight;
}

static void count_names(const struct profile *p, struct naming *c)
{
	struct profile_view v = profile_view(p);

	for (size_t i = 0; i < v.nsamples; i++)
		for (uint32_t n = v.samples[i].node; n; n = v.nodes[n].parent) {
			const struct location *l = &v.locations[v.nodes[n].location];

			if (!frame_is_code(l->kind))
				continue;
			c->frames += (double)v.values[i];
			if (*profile_text(p, l->why))
				count_unnamed(c, l->why, (double)v.values[i]);
		}
}

/*
 * "75.8% of the frames have names (20.0% stripped, 4.2% made at run time), ": the most frequent
 * reason first.
 */
static void add_naming(struct summary *s, const struct profile *p)
{
	struct naming c = { 0 };
	double unnamed = 0;
	const char *before = " (";

	count_names(p, &c);
	if (c.frames <= 0)
		return;
	for (size_t i = 0; i < c.n; i++)
		unnamed += c.unnamed[i];
	summary_row(s, "named_percent", 100 * (1 - unnamed / c.frames),
		    "%.1f%% of the frames have names", 100 * (1 - unnamed / c.frames));
	for (size_t k = 0; k < c.n; k++) {
		size_t most = 0;

		for (size_t i = 1; i < c.n; i++)
			most = c.unnamed[i] > c.unnamed[most] ? i : most;
		if (1000 * c.unnamed[most] >= 0.5 * c.frames) {
			summary_text(s, "%s%.1f%% %s", before, 100 * c.unnamed[most] / c.frames,
				     profile_text(p, c.why[most]));
			before = ", ";
		}
		c.unnamed[most] = 0;
	}
	summary_text(s, *before == ',' ? "), " : ", ");
}

static double own_cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* How the user stacks came about. */
static void add_unwinding(struct summary *s, const struct profile_account *a,
			  const struct session_result *r)
{
	uint64_t truncated = sum(a->truncated, a->ntruncated);
	double complete = 100 * (double)(a->kept - truncated) / (double)a->kept;

	if (!a->kept || !r->frames)
		return;
	summary_line(s, SUMMARY_STACKS);
	summary_row(s, "complete_percent", complete, "%.2f%% of the stacks complete", complete);
	if (r->sent) {
		summary_row(s, "rescued", (double)r->saved, ", %llu", (unsigned long long)r->saved);
		summary_row(s, "sent_for_rescue", (double)r->sent, " of %llu rescued",
			    (unsigned long long)r->sent);
	}
	summary_row(s, "by_frame_pointer_percent", 100 * (double)r->fp_frames / (double)r->frames,
		    ", %.1f%% of the frames by frame pointer, ",
		    100 * (double)r->fp_frames / (double)r->frames);
	summary_row(s, "unwind_tables", (double)r->unwind.tables, "%llu unwind table%s",
		    (unsigned long long)r->unwind.tables, text_s(r->unwind.tables));
	summary_row(s, "unwind_bytes", (double)r->unwind.memory, " in %.1f MiB",
		    (double)r->unwind.memory / (1 << 20));
	if (r->unwind.evicted + r->unwind.refused) {
		summary_line(s, SUMMARY_STACKS);
		summary_row(s, "unwind_tables_evicted", (double)r->unwind.evicted,
			    "unwind tables reached their limit: %llu evicted, ",
			    (unsigned long long)r->unwind.evicted);
		summary_row(s, "unwind_tables_refused", (double)r->unwind.refused,
			    "%llu refused; try a larger --unwind-memory",
			    (unsigned long long)r->unwind.refused);
	}
}

/* Whose times are not known. */
static void add_untimed(struct summary *s, const struct session_result *r)
{
	if (!r->untimed)
		return;
	summary_line(s, SUMMARY_MISSED);
	summary_row(s, "untimed", (double)r->untimed,
		    "the timeline lacks %llu sample%s, which count all the same: ",
		    (unsigned long long)r->untimed, text_s(r->untimed));
	if (r->timeline_end)
		summary_row(s, "timeline_end_s", (double)r->timeline_end / 1e9,
			    "it was full with %llu after %.1f s", (unsigned long long)r->timeline,
			    (double)r->timeline_end / 1e9);
	else
		summary_text(s, "the ring buffer was full; --buffer makes it larger");
}

/* What may be missing, and why. */
static void add_notes(struct summary *s, const struct session_result *r)
{
	if (r->kernel_hidden) {
		summary_line(s, SUMMARY_NOTES);
		summary_text(s, "kernel names are hidden; to see them: sudo sysctl "
			     "kernel.kptr_restrict=0");
	}
	if (r->unknown_language) {
		summary_line(s, SUMMARY_NOTES);
		summary_text(s, "%s", r->unknown_language);
	}
	if (r->languages_failed) {
		summary_line(s, SUMMARY_NOTES);
		summary_text(s, "functions of languages are not shown: their programs could not "
			     "be loaded: %s", strerror(r->languages_failed));
	}
	if (r->side_band_lost) {
		summary_line(s, SUMMARY_NOTES);
		summary_row(s, "process_events_lost", (double)r->side_band_lost,
			    "%llu process event%s dropped by the kernel; some names may be "
			    "missing", (unsigned long long)r->side_band_lost,
			    r->side_band_lost == 1 ? " was" : "s were");
	}
	if (r->folded) {
		summary_line(s, SUMMARY_MISSED);
		summary_row(s, "processes_folded", (double)r->folded,
			    "%llu processes that ended were made one for each name, for they "
			    "were many", (unsigned long long)r->folded);
	}
	if (r->folded_threads) {
		summary_line(s, SUMMARY_MISSED);
		summary_row(s, "threads_folded", (double)r->folded_threads,
			    "%llu threads that ended were made one for each name in their process, "
			    "for they were many (--per-thread keeps them apart)",
			    (unsigned long long)r->folded_threads);
	}
	add_untimed(s, r);
}

/*
 * Ours, in bytes; 0: not known. getrusage() takes the peak of the process that started us for ours.
 */
static double peak_memory(void)
{
	long kib;

	return file_own_status("VmHWM", &kib) ? 0 : 1024 * (double)kib;
}

static void add_details(struct summary *s, const struct session_result *r, uint64_t origin)
{
	double first = ((double)r->first_sample - (double)origin) / 1e6;
	double peak = peak_memory();

	summary_line(s, SUMMARY_DETAILS);
	summary_row(s, "cpus", (double)r->cpus, "%zu CPU%s", r->cpus, text_s(r->cpus));
	summary_row(s, "peak_memory_bytes", peak, ", peak memory %.1f MiB", peak / (1 << 20));
	if (r->languages_from == LANGUAGES_NEVER)
		summary_text(s, ", without frames of languages");
	else if (r->languages_from)
		summary_row(s, "languages_from_s", (double)r->languages_from / 1e9,
			    ", frames of all languages after %.2f s",
			    (double)r->languages_from / 1e9);
	summary_row(s, "unwind_rows", (double)r->unwind.rows, ", %llu unwind rows built",
		    (unsigned long long)r->unwind.rows);
	summary_row(s, "unwind_build_ms", (double)r->unwind.build_ns / 1e6,
		    " in %.1f ms of CPU time", (double)r->unwind.build_ns / 1e6);
	summary_row(s, "before_tables", (double)r->untabled, ", %llu samples before their tables",
		    (unsigned long long)r->untabled);
	if (r->timeline)
		summary_row(s, "timeline_bytes", (double)r->timeline_bytes,
			    ", times of %llu samples in %.1f KiB", (unsigned long long)r->timeline,
			    (double)r->timeline_bytes / 1024);
	summary_row(s, "naming_ms", (double)r->naming / 1e6,
		    ", names %.1f ms after the end of sampling", (double)r->naming / 1e6);
	if (r->first_sample)
		summary_row(s, "first_sample_ms", first, ", first sample %.1f ms after start",
			    first);
}

void summary_fill(struct profile *p, const struct sources *sources, const struct session_result *r,
		  const struct summary_options *o)
{
	struct summary *s = profile_summary(p);
	struct profile_view v = profile_view(p);

	add_account(s, &v);
	sources_summary(sources, s);
	if (*o->none) {
		summary_line(s, SUMMARY_NOTHING);
		summary_text(s, "no samples: %s", o->none);
	}
	add_unwinding(s, v.account, r);
	summary_line(s, SUMMARY_NAMES);
	add_naming(s, p);
	summary_row(s, OWN_CPU, own_cpu_ms(), OWN_CPU_TEXT, own_cpu_ms());
	add_notes(s, r);
	if (o->verbose)
		add_details(s, r, o->origin);
}

void summary_show(struct profile *p)
{
	/* Results were written since. */
	summary_replace(profile_summary(p), OWN_CPU, own_cpu_ms(), OWN_CPU_TEXT, own_cpu_ms());
	summary_print(profile_summary(p), PREFIX, stderr);
}

void summary_renewals(const struct session_result *r)
{
	if (r->renewed)
		say(SAY_INFO, "stacks forgotten %" PRIu64 " time%s, to bound memory", r->renewed,
		    text_s(r->renewed));
}
