/* SPDX-License-Identifier: MIT */
#include "commands/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/text.h"

#define SECOND 1e9
#define ROUGH 0.05	/* error of sums */

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
static void show_reasons(const char *what, const struct profile_reason *r, size_t n)
{
	const char *separator = " (";

	fprintf(stderr, ", %llu %s", (unsigned long long)sum(r, n), what);
	for (size_t i = 0; i < n; i++) {
		if (!r[i].count)
			continue;
		fprintf(stderr, "%s%llu %s", separator, (unsigned long long)r[i].count, r[i].name);
		separator = ", ";
	}
	if (*separator == ',')
		fputc(')', stderr);
}

/* What is not known, as of a file that does not tell it, is left out. */
static void show_account(const struct profile_account *a, const struct profile_meta *m)
{
	const struct profile_event_words *words = profile_event_words(m->event);
	uint64_t truncated = sum(a->truncated, a->ntruncated);

	fprintf(stderr, "ebprof: %llu %s", (unsigned long long)a->taken,
		a->taken == 1 ? words->one : words->many);
	if (*m->event)
		fprintf(stderr, " of %s", m->event);
	if (m->frequency)
		fprintf(stderr, " at %llu Hz", (unsigned long long)m->frequency);
	else if (m->period > 1)
		fprintf(stderr, " every %llu events", (unsigned long long)m->period);
	if (m->duration)
		fprintf(stderr, " in %.1f s", (double)m->duration / SECOND);
	if (a->ntruncated + a->nlost) {
		fprintf(stderr, ": %llu complete", (unsigned long long)(a->kept - truncated));
		show_reasons("truncated", a->truncated, a->ntruncated);
	}
	if (a->nlost)
		show_reasons("lost", a->lost, a->nlost);
	fputc('\n', stderr);
}

void summary_show_saved(struct profile *p)
{
	struct profile_view v = profile_view(p);
	const struct profile_type *shown = &v.types[v.shown];

	if (v.account->taken)
		show_account(v.account, v.meta);
	if (v.account->taken && !v.shown)
		return;
	fprintf(stderr, "ebprof: %s, in %s: %llu in all", profile_text(p, shown->name),
		profile_text(p, shown->unit), (unsigned long long)v.total);
	for (size_t i = 0; i < v.ntypes; i++)
		if (i != v.shown)
			fprintf(stderr, "%s%s", i == (v.shown == 0) ? "; also there: " : ", ",
				profile_text(p, v.types[i].name));
	fputc('\n', stderr);
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
static void show_naming(const struct profile *p)
{
	struct naming c = { 0 };
	double unnamed = 0;
	const char *before = " (";

	count_names(p, &c);
	if (c.frames <= 0)
		return;
	for (size_t i = 0; i < c.n; i++)
		unnamed += c.unnamed[i];
	fprintf(stderr, "%.1f%% of the frames have names", 100 * (1 - unnamed / c.frames));
	for (size_t k = 0; k < c.n; k++) {
		size_t most = 0;

		for (size_t i = 1; i < c.n; i++)
			most = c.unnamed[i] > c.unnamed[most] ? i : most;
		if (1000 * c.unnamed[most] >= 0.5 * c.frames) {
			fprintf(stderr, "%s%.1f%% %s", before, 100 * c.unnamed[most] / c.frames,
				profile_text(p, c.why[most]));
			before = ", ";
		}
		c.unnamed[most] = 0;
	}
	fputs(*before == ',' ? "), " : ", ", stderr);
}

static double own_cpu_ms(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* How the user stacks came about. */
static void show_unwinding(const struct profile_account *a, const struct session_result *r)
{
	uint64_t truncated = sum(a->truncated, a->ntruncated);

	if (!a->kept || !r->frames)
		return;
	fprintf(stderr, "ebprof: %.2f%% of the stacks complete",
		100 * (double)(a->kept - truncated) / (double)a->kept);
	if (r->sent)
		fprintf(stderr, ", %llu of %llu rescued", (unsigned long long)r->saved,
			(unsigned long long)r->sent);
	fprintf(stderr,
		", %.1f%% of the frames by frame pointer, %llu unwind table%s in %.1f MiB\n",
		100 * (double)r->fp_frames / (double)r->frames,
		(unsigned long long)r->unwind.tables, text_s(r->unwind.tables),
		(double)r->unwind.memory / (1 << 20));
	if (r->unwind.evicted + r->unwind.refused)
		fprintf(stderr,
			"ebprof: unwind tables reached their limit: %llu evicted, %llu refused; "
			"try a larger --unwind-memory\n",
			(unsigned long long)r->unwind.evicted,
			(unsigned long long)r->unwind.refused);
}

/* What was done about waits. */
static void show_waits(const struct session_result *r)
{
	if (!r->switches && !r->idle)
		return;
	fprintf(stderr, "ebprof: threads left the CPU %llu times, stacks were taken %llu times",
		(unsigned long long)r->switches, (unsigned long long)r->captured);
	if (r->captured < r->switches)
		fputs(" (--max-overhead); the time of the others was measured, and divided by "
		      "theirs",
		      stderr);
	if (r->brief)
		fprintf(stderr, "; %llu wait%s below --min-block, %.3f ms together, left out",
			(unsigned long long)r->brief, text_s(r->brief), (double)r->brief_ns / 1e6);
	if (r->idle)
		fprintf(stderr, "; %llu idle thread%s hidden, that waited %.1f s",
			(unsigned long long)r->idle, text_s(r->idle), (double)r->idle_ns / SECOND);
	fputc('\n', stderr);
}

/* How --max-overhead was kept. */
static void show_slices(const struct slicer_result *s, uint64_t samples, uint64_t duration)
{
	/* Of samples, too, there are few in a part of the time. */
	double error = s->error + (samples && s->slices ? 1 / sqrt((double)samples) : 0);

	if (s->open || s->slices)
		fprintf(stderr,
			"ebprof: the probes took about %.1f%% of the CPU time of the threads that "
			"allocate",
			100 * s->overhead);
	if (s->all && s->open)
		fputs(", so they stayed\n", stderr);
	else if (s->open || s->slices)
		fprintf(stderr,
			"; allocations were sampled in %llu slices, %.2f s of %.1f s together, and "
			"scaled up by that\n",
			(unsigned long long)s->slices, (double)s->open / SECOND,
			(double)duration / SECOND);
	if (s->failed)
		fprintf(stderr,
			"ebprof: %llu times the probes could not be set: what was allocated then "
			"is missing\n",
			(unsigned long long)s->failed);
	if (error > ROUGH)
		fprintf(stderr,
			"ebprof: rough: sums may be wrong by %.0f%%: they are of %llu samples, and "
			"probes took %.0f%% of "
			"the CPU time of these threads in the slices\n",
			100 * error, (unsigned long long)samples, 100 * s->traps);
	if (s->endless)
		fputs("ebprof: to see each free() would cost more than --max-overhead: what was in "
		      "use is not known\n",
		      stderr);
}

/* Of the profile, whose types are enum alloc_type. */
static void show_allocations(const struct profile *p, const struct session_result *r)
{
	struct profile_view v = profile_view(p);
	static const struct {
		uint32_t type;
		const char *text;
	} parts[] = {
		{ ALLOC_OBJECTS, "allocated" },
		{ INUSE_OBJECTS, "never freed" },
		{ PEAK_OBJECTS, "at the peak" },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && parts[i].type < v.ntypes; i++)
		fprintf(stderr, "%s%.2f MiB in %llu block%s %s",
			i ? ", " : "ebprof: ", (double)v.types[parts[i].type + 1].total / (1 << 20),
			(unsigned long long)v.types[parts[i].type].total,
			text_s(v.types[parts[i].type].total), parts[i].text);
	if (v.ntypes > PEAK_OBJECTS)
		fprintf(stderr, " (after %.2f s)", (double)v.meta->peak / SECOND);
	fputc('\n', stderr);
	show_slices(&r->slices, v.account->taken, r->duration);
	if (r->ends_lost)
		fprintf(stderr,
			"ebprof: the ends of %llu sampled blocks were lost, so these seem never "
			"freed; "
			"try a larger --buffer\n",
			(unsigned long long)r->ends_lost);
	if (!v.account->taken)
		fputs("ebprof: no allocation was seen: there was none; or, with a command, it is "
		      "static, has an allocator of its "
		      "own or other rights than its user (-p PID sees these)\n",
		      stderr);
}

/* Of the profile, whose types are faults and their bytes. */
static void show_page_faults(const struct profile *p, const struct session_result *r)
{
	struct profile_view v = profile_view(p);

	fprintf(stderr, "ebprof: %.2f MiB in %llu page fault%s",
		(double)v.types[1].total / (1 << 20), (unsigned long long)v.types[0].total,
		text_s(v.types[0].total));
	if (v.account->taken && !r->sized)
		fputs("; all of them taken for small pages, for Linux before 6.3 does not tell "
		      "huge ones",
		      stderr);
	fputc('\n', stderr);
}

void summary_show(struct profile *p, const struct session_result *r, const struct record_options *o,
		  uint64_t origin, const char *none)
{
	const struct profile_meta *m = profile_meta(p);

	show_account(profile_account(p), m);
	if (o->alloc)
		show_allocations(p, r);
	else if (o->page_faults)
		show_page_faults(p, r);
	if (!o->alloc && !profile_account(p)->taken)
		fprintf(stderr, "ebprof: no samples: %s\n", none);
	show_unwinding(profile_account(p), r);
	show_waits(r);
	fputs("ebprof: ", stderr);
	show_naming(p);
	fprintf(stderr, "own CPU time %.0f ms\n", own_cpu_ms());
	if (!o->event && !strcmp(m->event, "cpu-clock"))
		fputs("ebprof: cpu-clock, because this CPU or virtual machine offers no cycles\n",
		      stderr);
	if (r->kernel_hidden)
		fputs("ebprof: kernel names are hidden; to see them: sudo sysctl "
		      "kernel.kptr_restrict=0\n",
		      stderr);
	if (r->unknown_language)
		fprintf(stderr, "ebprof: functions of Python are not shown: %s\n",
			r->unknown_language);
	if (r->side_band_lost)
		fprintf(stderr,
			"ebprof: %llu process event%s dropped by the kernel; some names may be "
			"missing\n",
			(unsigned long long)r->side_band_lost,
			r->side_band_lost == 1 ? " was" : "s were");
	if (r->skipped)
		fprintf(stderr,
			"ebprof: %llu hits of the tracepoint, of whatever process, were not seen: "
			"another BPF program "
			"ran on their CPU\n",
			(unsigned long long)r->skipped);
	if (r->folded)
		fprintf(stderr,
			"ebprof: %llu processes that ended were made one for each name, for they "
			"were many\n",
			(unsigned long long)r->folded);
	if (o->verbose) {
		struct rusage u;

		getrusage(RUSAGE_SELF, &u);
		fprintf(stderr, "ebprof: %zu CPU%s, peak memory %.1f MiB", r->cpus, text_s(r->cpus),
			(double)u.ru_maxrss / 1024);
		fprintf(stderr,
			", %llu unwind rows built in %.1f ms of CPU time, %llu samples before "
			"their tables",
			(unsigned long long)r->unwind.rows, (double)r->unwind.build_ns / 1e6,
			(unsigned long long)r->untabled);
		fprintf(stderr, ", names %.1f ms after the end of sampling",
			(double)r->naming / 1e6);
		if (r->first_sample)
			fprintf(stderr, ", first sample %.1f ms after start",
				((double)r->first_sample - (double)origin) / 1e6);
		fputc('\n', stderr);
	}
}
