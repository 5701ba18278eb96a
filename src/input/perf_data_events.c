/* SPDX-License-Identifier: MIT */
#include "input/perf_data_events.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/xalloc.h"

#define COMMAND_MAX 4096

static const char *const hardware[] = {
	[PERF_COUNT_HW_CPU_CYCLES] = "cycles",
	[PERF_COUNT_HW_INSTRUCTIONS] = "instructions",
	[PERF_COUNT_HW_CACHE_REFERENCES] = "cache-references",
	[PERF_COUNT_HW_CACHE_MISSES] = "cache-misses",
	[PERF_COUNT_HW_BRANCH_INSTRUCTIONS] = "branches",
	[PERF_COUNT_HW_BRANCH_MISSES] = "branch-misses",
	[PERF_COUNT_HW_BUS_CYCLES] = "bus-cycles",
	[PERF_COUNT_HW_STALLED_CYCLES_FRONTEND] = "stalled-cycles-frontend",
	[PERF_COUNT_HW_STALLED_CYCLES_BACKEND] = "stalled-cycles-backend",
	[PERF_COUNT_HW_REF_CPU_CYCLES] = "ref-cycles",
};

static const char *const software[] = {
	[PERF_COUNT_SW_CPU_CLOCK] = "cpu-clock",
	[PERF_COUNT_SW_TASK_CLOCK] = "task-clock",
	[PERF_COUNT_SW_PAGE_FAULTS] = "page-faults",
	[PERF_COUNT_SW_CONTEXT_SWITCHES] = "context-switches",
	[PERF_COUNT_SW_CPU_MIGRATIONS] = "cpu-migrations",
	[PERF_COUNT_SW_PAGE_FAULTS_MIN] = "minor-faults",
	[PERF_COUNT_SW_PAGE_FAULTS_MAJ] = "major-faults",
	[PERF_COUNT_SW_ALIGNMENT_FAULTS] = "alignment-faults",
	[PERF_COUNT_SW_EMULATION_FAULTS] = "emulation-faults",
	[PERF_COUNT_SW_DUMMY] = "dummy",
	[PERF_COUNT_SW_BPF_OUTPUT] = "bpf-output",
};

static const struct { const char *const *names; size_t n; const char *other; } types[] = {
	[PERF_TYPE_HARDWARE] = { hardware, sizeof(hardware) / sizeof(*hardware), "hardware" },
	[PERF_TYPE_SOFTWARE] = { software, sizeof(software) / sizeof(*software), "software" },
	[PERF_TYPE_TRACEPOINT] = { NULL, 0, "tracepoint" },
	[PERF_TYPE_HW_CACHE] = { NULL, 0, "cache" },
	[PERF_TYPE_RAW] = { NULL, 0, "raw" },
	[PERF_TYPE_BREAKPOINT] = { NULL, 0, "breakpoint" },
};

void perf_data_name_events(struct perf_data_file *f)
{
	for (size_t i = 0; i < f->events.n; i++) {
		struct perf_data_event *e = &f->events.v[i];
		const char *name = "event";
		uint64_t type = e->attr.type, config = e->attr.config;

		if (type < sizeof(types) / sizeof(*types))
			name = config < types[type].n ? types[type].names[config]
						      : types[type].other;
		if (!e->name.n)
			e->name = (struct slice){ name, strlen(name) };
	}
}

static uint32_t command_of(const struct perf_data_file *f, struct profile *p)
{
	char text[COMMAND_MAX];
	size_t used = 0;

	for (size_t i = 0; i < f->command.n; i++) {
		const struct slice word = f->command.v[i];

		if (used + word.n + 1 >= sizeof(text))
			break;
		if (i)
			text[used++] = ' ';
		memcpy(text + used, word.s, word.n);
		used += word.n;
	}
	return slice_string(p, (struct slice){ text, used });
}

void perf_data_describe(const struct perf_data_file *f, struct profile *p, uint64_t begin,
			uint64_t end)
{
	const struct perf_event_attr *first = &f->events.v[0].attr;
	struct profile_meta *m = profile_meta(p);
	char host[512];
	int used = snprintf(host, sizeof(host), "%.*s", f->host.n < 200 ? (int)f->host.n : 200,
			    f->host.s);

	if (f->release.n)
		snprintf(host + used, sizeof(host) - (size_t)used, "%sLinux %.*s %.*s",
			 used ? ", " : "", f->release.n < 100 ? (int)f->release.n : 100,
			 f->release.s, f->arch.n < 40 ? (int)f->arch.n : 40, f->arch.s);
	m->host = slice_string(p, (struct slice){ host, strlen(host) });
	m->command = command_of(f, p);
	m->cpus = f->cpus;
	m->duration = end - begin;
	/* Where both clocks are told of. */
	if (f->wall && begin >= f->clock)
		m->start = f->wall + (begin - f->clock);
	else if (f->wall && f->wall > f->clock - begin)
		m->start = f->wall - (f->clock - begin);
	if (f->events.n == 1 && first->freq) {
		m->frequency = first->sample_freq;
		m->period = 0;
	}
}
