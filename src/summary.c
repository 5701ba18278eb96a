/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SECOND 1e9

void progress_show(const struct session_progress *p)
{
	fprintf(stderr, "\r\033[Kebprof: %.1f", (double)p->elapsed / SECOND);
	if (p->duration)
		fprintf(stderr, "/%.1f", (double)p->duration / SECOND);
	fprintf(stderr, " s, %llu samples", (unsigned long long)p->taken);
	if (p->truncated)
		fprintf(stderr, ", %llu truncated", (unsigned long long)p->truncated);
	if (p->lost)
		fprintf(stderr, ", %llu lost", (unsigned long long)p->lost);
	if (!p->duration)
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

static void show_account(const struct profile_account *a, const struct profile_meta *m)
{
	uint64_t truncated = sum(a->truncated, a->ntruncated);

	fprintf(stderr, "ebprof: %llu samples of %s ", (unsigned long long)a->taken, m->event);
	if (m->frequency)
		fprintf(stderr, "at %llu Hz", (unsigned long long)m->frequency);
	else
		fprintf(stderr, "every %llu", (unsigned long long)m->period);
	fprintf(stderr, " in %.1f s: %llu complete", (double)m->duration / SECOND, (unsigned long long)(a->kept - truncated));
	show_reasons("truncated", a->truncated, a->ntruncated);
	show_reasons("lost", a->lost, a->nlost);
	fputc('\n', stderr);
}

/* A name in brackets is what stands for one that was not found. */
static int has_name(const struct profile *p, const struct profile_view *v, uint32_t location)
{
	const struct location *l = &v->locations[location];

	return l->nlines && profile_text(p, v->functions[v->lines[l->first_line].function].name)[0] != '[';
}

/* Of all frames of all samples, how many have names; per cent, or -1 where there is no frame. */
static double named_share(const struct profile *p)
{
	struct profile_view v = profile_view(p);
	double frames = 0, named = 0;

	for (size_t i = 0; i < v.nsamples; i++)
		for (uint32_t n = v.samples[i].node; n; n = v.nodes[n].parent) {
			if (v.locations[v.nodes[n].location].kind == FRAME_MARK)
				continue;
			frames += (double)v.samples[i].count;
			if (has_name(p, &v, v.nodes[n].location))
				named += (double)v.samples[i].count;
		}
	return frames > 0 ? 100 * named / frames : -1;
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
	fprintf(stderr, "ebprof: %.2f%% of the stacks complete", 100 * (double)(a->kept - truncated) / (double)a->kept);
	if (r->sent)
		fprintf(stderr, ", %llu of %llu rescued", (unsigned long long)r->saved, (unsigned long long)r->sent);
	fprintf(stderr, ", %.1f%% of the frames by frame pointer, %llu unwind tables in %.1f MiB\n",
		100 * (double)r->fp_frames / (double)r->frames, (unsigned long long)r->unwind.tables,
		(double)r->unwind.memory / (1 << 20));
	if (r->unwind.evicted + r->unwind.refused)
		fprintf(stderr, "ebprof: unwind tables reached their limit: %llu evicted, %llu refused; "
			"try a larger --unwind-memory\n",
			(unsigned long long)r->unwind.evicted, (unsigned long long)r->unwind.refused);
}

void summary_show(struct profile *p, const struct session_result *r, const struct record_options *o, uint64_t origin)
{
	const struct profile_meta *m = profile_meta(p);
	double named = named_share(p);

	show_account(profile_account(p), m);
	if (!profile_account(p)->taken)
		fputs("ebprof: no samples: the target did not run on a CPU meanwhile, or the event did not happen\n", stderr);
	show_unwinding(profile_account(p), r);
	fputs("ebprof: ", stderr);
	if (named >= 0)
		fprintf(stderr, "%.1f%% of the frames have names, ", named);
	fprintf(stderr, "own CPU time %.0f ms\n", own_cpu_ms());
	if (!o->event && !strcmp(m->event, "cpu-clock"))
		fputs("ebprof: cpu-clock, because this CPU or virtual machine offers no cycles\n", stderr);
	if (r->kernel_hidden)
		fputs("ebprof: kernel names are hidden; to see them: sudo sysctl kernel.kptr_restrict=0\n", stderr);
	if (r->side_band_lost)
		fprintf(stderr, "ebprof: %llu process events were dropped by the kernel; some names may be missing\n",
			(unsigned long long)r->side_band_lost);
	if (o->verbose) {
		struct rusage u;

		getrusage(RUSAGE_SELF, &u);
		fprintf(stderr, "ebprof: %zu CPUs, peak memory %ld KiB", r->cpus, u.ru_maxrss);
		fprintf(stderr, ", %llu unwind rows built in %.1f ms of CPU time, %llu samples before their tables",
			(unsigned long long)r->unwind.rows, (double)r->unwind.build_ns / 1e6, (unsigned long long)r->untabled);
		if (r->first_sample)
			fprintf(stderr, ", first sample %.1f ms after start", ((double)r->first_sample - (double)origin) / 1e6);
		fputc('\n', stderr);
	}
}
