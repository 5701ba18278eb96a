/* SPDX-License-Identifier: MIT */
#include "push/metrics.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "push/metrics_server.h"
#include "push/usage.h"

#define LINE_MOST 256
#define PROCESSES_MOST 8

struct metrics {
	struct metrics_page *page;
	struct metrics_server *server;
	metrics_text text;
};

/* --- The page. ----------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void add(metrics_text *to, const char *fmt, ...)
{
	char line[LINE_MOST];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	for (const char *c = line; *c; c++)
		vec_push(to, *c);
}

static void head(metrics_text *to, const char *name, const char *type, const char *help)
{
	add(to, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

/* Numbers without labels. */
static const struct number {
	const char *name, *help;
	size_t offset;		/* of a uint64_t in struct push_counts */
} numbers[] = {
	{ "ebprof_windows_total", "Windows that ended.", offsetof(struct push_counts, windows) },
	{ "ebprof_window_samples_total", "Samples in these windows.",
	  offsetof(struct push_counts, samples) },
	{ "ebprof_profiles_written_total", "Profiles written to folders.",
	  offsetof(struct push_counts, files) },
	{ "ebprof_profiles_written_bytes_total", "Bytes of these profiles.",
	  offsetof(struct push_counts, bytes) },
	{ "ebprof_profiles_failed_total", "Profiles that could not be written.",
	  offsetof(struct push_counts, failed) },
	{ "ebprof_profiles_failed_samples_total", "Samples of these profiles.",
	  offsetof(struct push_counts, failed_samples) },
};

static void add_reasons(metrics_text *to, const char *name, const char *help,
			const struct profile_reason *r, size_t n)
{
	head(to, name, "counter", help);
	for (size_t i = 0; i < n; i++)
		add(to, "%s{reason=\"%s\"} %" PRIu64 "\n", name, r[i].name, r[i].count);
}

/* What became of requests. */
static const struct outcome {
	const char *name;
	size_t offset;		/* of a struct spool_count in struct spool_counts */
} outcomes[] = {
	{ "sent", offsetof(struct spool_counts, sent) },
	{ "refused", offsetof(struct spool_counts, refused) },
	{ "dropped", offsetof(struct spool_counts, dropped) },
};

static uint64_t now(const uint64_t *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void add_servers(metrics_text *to, const char *name, const char *help, size_t offset,
			const struct metrics_values *v)
{
	head(to, name, "counter", help);
	for (size_t i = 0; i < v->nservers; i++)
		for (size_t k = 0; k < sizeof(outcomes) / sizeof(*outcomes); k++) {
			const char *at = (const char *)v->servers[i] + outcomes[k].offset + offset;

			add(to, "%s{server=\"%zu\",outcome=\"%s\"} %" PRIu64 "\n", name,
			    i + 1, outcomes[k].name, now((const uint64_t *)at));
		}
}

/* What is in a spool: all that came to it, without what became of that. */
static void add_spools(metrics_text *to, const char *name, const char *help, size_t offset,
		       const struct metrics_values *v)
{
	head(to, name, "gauge", help);
	for (size_t i = 0; i < v->nservers; i++) {
		const char *counts = (const char *)v->servers[i] + offset;
		uint64_t gone = 0, all;

		for (size_t k = 0; k < sizeof(outcomes) / sizeof(*outcomes); k++)
			gone += now((const uint64_t *)(counts + outcomes[k].offset));
		all = now((const uint64_t *)(counts + offsetof(struct spool_counts, spooled)));
		add(to, "%s{server=\"%zu\"} %" PRIu64 "\n", name, i + 1,
		    all > gone ? all - gone : 0);
	}
}

void metrics_format(metrics_text *to, const struct metrics_values *v)
{
	head(to, "ebprof_build_info", "gauge", "The version of ebprof.");
	add(to, "ebprof_build_info{version=\"%s\"} 1\n", EBPROF_VERSION);
	head(to, "ebprof_samples_total", "counter", "Samples taken, as of the last window.");
	add(to, "ebprof_samples_total %" PRIu64 "\n", v->account->taken);
	if (v->frequency) {
		head(to, "ebprof_frequency_hertz", "gauge",
		     "Samples a second and CPU, which --max-overhead lowers.");
		add(to, "ebprof_frequency_hertz %" PRIu64 "\n", v->frequency);
	}
	add_reasons(to, "ebprof_samples_lost_total", "Of these, lost.", v->account->lost,
		    v->account->nlost);
	add_reasons(to, "ebprof_samples_truncated_total", "Of these, with a stack that is cut.",
		    v->account->truncated, v->account->ntruncated);
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		const struct number *n = &numbers[i];

		head(to, n->name, "counter", n->help);
		add(to, "%s %" PRIu64 "\n", n->name,
		    *(const uint64_t *)((const char *)&v->counts + n->offset));
	}
	if (v->nservers) {
		add_servers(to, "ebprof_requests_total", "What became of requests.",
			    offsetof(struct spool_count, bodies), v);
		add_servers(to, "ebprof_requests_bytes_total", "Bytes of these requests.",
			    offsetof(struct spool_count, bytes), v);
		add_spools(to, "ebprof_spool_requests", "Requests that wait to be sent.",
			   offsetof(struct spool_count, bodies), v);
		add_spools(to, "ebprof_spool_bytes", "Bytes of these requests.",
			   offsetof(struct spool_count, bytes), v);
	}
	head(to, "ebprof_cpu_seconds_total", "counter", "CPU time of a process of ebprof.");
	for (size_t i = 0; i < v->nprocesses; i++)
		add(to, "ebprof_cpu_seconds_total{process=\"%s\"} %.2f\n", v->processes[i].name,
		    v->processes[i].cpu);
	head(to, "ebprof_resident_memory_bytes", "gauge",
	     "Memory of a process of ebprof, with what it shares with the others.");
	for (size_t i = 0; i < v->nprocesses; i++)
		add(to, "ebprof_resident_memory_bytes{process=\"%s\"} %" PRIu64 "\n",
		    v->processes[i].name, v->processes[i].resident);
}

/* --- Our processes. ------------------------------------------------------------ */

/* 0, or -1 where it is not there. */
static int look(const struct metrics_member *m, struct metrics_process *p)
{
	struct usage u;

	if (usage_of(m->pid, &u))
		return -1;
	*p = (struct metrics_process){ .name = m->name, .cpu = u.cpu, .resident = u.resident };
	return 0;
}

void metrics_update(struct metrics *m, struct profile *profile, const struct push *push,
		    const struct metrics_member *members, size_t n)
{
	const struct metrics_member server = { "metrics", metrics_server_pid(m->server) };
	const place_vec *places = push_places(push);
	const struct spool_counts *servers[PLACE_SERVERS_MAX];
	struct metrics_process processes[PROCESSES_MOST];
	struct metrics_values v = { .account = profile_account(profile),
				    .frequency = profile_meta(profile)->frequency,
				    .counts = push_counts(push), .servers = servers,
				    .processes = processes };

	for (size_t i = 0; i <= n && v.nprocesses < PROCESSES_MOST; i++)
		v.nprocesses += !look(i < n ? &members[i] : &server, &processes[v.nprocesses]);
	for (size_t i = 0; i < places->n && v.nservers < PLACE_SERVERS_MAX; i++) {
		servers[v.nservers] = place_sent(places->v[i]);
		v.nservers += servers[v.nservers] != NULL;
	}
	m->text.n = 0;
	metrics_format(&m->text, &v);
	metrics_page_write(m->page, m->text.v, m->text.n);
}

/* --- Its beginning and end. ---------------------------------------------------- */

struct metrics *metrics_new(const char *address, struct error *e)
{
	struct metrics *m = xcalloc(1, sizeof(*m));

	m->page = metrics_page_new();
	if (m->page)
		m->server = metrics_server_new(address, m->page, e);
	else
		error_set(e, STATUS_ERROR, -errno, "--metrics: %s", strerror(errno));
	if (m->server)
		return m;
	metrics_free(m);
	return NULL;
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	metrics_server_free(m->server);
	metrics_page_free(m->page);
	vec_free(&m->text);
	free(m);
}
