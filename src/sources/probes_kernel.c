/* SPDX-License-Identifier: MIT */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "collect/features.h"
#include "collect/load_log.h"
#include "collect/map_choice.h"
#include "collect/successor.h"
#include "collect/uprobe.h"
#include "ebprof.skel.h"
#include "profile/latency.h"
#include "sources/probe_load.h"
#include "sources/probes_links.h"
#include "sources/probes_slices.h"
#include "sources/probes_values.h"

/* of the bound: what is left of it is for traps, where it is of both */
#define STACKS_OF_BOUND 0.5
#define HITS_RATE 20000		/* stacks a second that differ, with which maps are made */

static uint64_t rate(const void *ctx, size_t ncpus)
{
	(void)ctx;
	(void)ncpus;
	return HITS_RATE;
}

/* What serves the places of a kind. */
struct server {
	struct bpf_program *program;
	int user;			/* on uprobes, which links set */
	/* the same without frames of languages, and of who succeeds it; NULL: there is none */
	struct bpf_program *native;
	enum ebp_uprobe_successor slot;
};

static struct server server_of(const struct ebprof_bpf *skel, enum ebp_probe_kind kind)
{
	const struct server servers[EBP_PROBE_KINDS] = {
		[EBP_PROBE_USER] = {
			.program = skel->progs.on_user_probe, .user = 1,
			.native = skel->progs.on_user_probe_native, .slot = EBP_SUCCEEDS_USER_PROBE,
		},
		[EBP_PROBE_USER_RETURN] = {
			.program = skel->progs.on_user_return, .user = 1,
			.native = skel->progs.on_user_return_native,
			.slot = EBP_SUCCEEDS_USER_RETURN,
		},
		[EBP_PROBE_KERNEL] = { .program = skel->progs.on_kernel_probe },
		[EBP_PROBE_TRACEPOINT] = { .program = skel->progs.on_tracepoint_hit },
		[EBP_PROBE_COUNTER] = { .program = skel->progs.on_counter_hit },
		[EBP_PROBE_LATENCY_ENTRY] = { .program = skel->progs.on_latency_entry, .user = 1 },
		[EBP_PROBE_LATENCY_RETURN] = {
			.program = skel->progs.on_latency_return, .user = 1,
		},
		[EBP_PROBE_START_USER] = { .program = skel->progs.on_start_user, .user = 1 },
		[EBP_PROBE_START_KERNEL] = { .program = skel->progs.on_start_kernel },
		[EBP_PROBE_START_TRACEPOINT] = { .program = skel->progs.on_start_tracepoint },
		[EBP_PROBE_END_USER] = { .program = skel->progs.on_end_user, .user = 1 },
		[EBP_PROBE_END_RETURN] = { .program = skel->progs.on_end_return, .user = 1 },
		[EBP_PROBE_END_KERNEL] = { .program = skel->progs.on_end_kernel },
		[EBP_PROBE_END_TRACEPOINT] = { .program = skel->progs.on_end_tracepoint },
	};

	return servers[kind];
}

static struct bpf_program *begins_with(const struct server *s, uint32_t languages)
{
	return languages || !s->native ? s->program : s->native;
}

static int configure_latency(const struct probes *p, struct ebprof_bpf *skel, struct error *e)
{
	int err;

	skel->rodata->config.probes.slower = p->o->slower;
	if (!p->o->latency.n)
		return 0;
	bpf_program__set_autoload(skel->progs.on_latency_switch, true);
	bpf_map__set_autocreate(skel->maps.latencies, true);
	bpf_map__set_autocreate(skel->maps.latency_sums, true);
	bpf_map__set_max_entries(skel->maps.latencies, (uint32_t)p->events.n * LATENCY_BUCKETS);
	err = map_choice_threads(skel->maps.latency_tasks, skel->maps.latency_threads,
				 skel->maps.new_latency_thread);
	return err ? features_explain(e, err, "cannot choose maps for calls") : 0;
}

static void configure_values(const struct probes *p, struct ebprof_bpf *skel)
{
	skel->rodata->config.probes.records = probes_have_values(p);
	/* Kernels before 6.8 verify functions that are never called, and want their maps. */
	bpf_map__set_autocreate(skel->maps.probe_tests, true);
	bpf_map__set_autocreate(skel->maps.probe_records, true);
	bpf_map__set_max_entries(skel->maps.probe_tests, (uint32_t)(p->tests.n + !p->tests.n));
	if (!probes_have_values(p))
		return;
	bpf_map__set_autocreate(skel->maps.probe_places, true);
	bpf_map__set_max_entries(skel->maps.probe_places, (uint32_t)p->places.n);
}

/* Those that succeed one another are of one kind. */
static void set_multi(const struct server *s)
{
	bpf_program__set_expected_attach_type(s->program, UPROBE_MULTI);
	if (s->native)
		bpf_program__set_expected_attach_type(s->native, UPROBE_MULTI);
}

static int configure(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	struct ebp_probes_config *config = &skel->rodata->config.probes;
	struct probes *p = ctx;
	bool user = false;

	p->target = o->target;
	config->on = 1;
	config->period = p->o->period;
	config->sliced = p->slices.on != 0;
	config->overhead = (uint64_t)(p->bound / 100 * (p->slices.on ? STACKS_OF_BOUND : 1) *
				      4294967296.0);
	config->cookies = (uint8_t)p->cookies;
	for (size_t i = 0; i < p->events.n; i++) {
		enum ebp_probe_kind kind = p->events.v[i].kind;
		struct server server = server_of(skel, kind);

		bpf_program__set_autoload(begins_with(&server, o->languages), true);
		config->only[kind] = EBP_PROBE_PLACE(i, 0);
		user |= server.user != 0;
		if (server.user && p->multi)
			set_multi(&server);
	}
	for (size_t i = p->places.n; i-- && !p->cookies;)
		config->only[p->events.v[p->places.v[i].event].kind] =
			EBP_PROBE_PLACE(p->places.v[i].event, i);
	bpf_map__set_autocreate(skel->maps.probes_busy, true);
	bpf_map__set_autocreate(skel->maps.uprobe_successors, user);
	bpf_map__set_autocreate(skel->maps.probe_hits, p->o->period > 1 || p->bound > 0);
	bpf_map__set_autocreate(skel->maps.probe_paces, p->bound > 0);
	bpf_map__set_autocreate(skel->maps.probe_tasks, p->slices.on);
	bpf_program__set_autoload(skel->progs.list_probe_thread, p->slices.on);
	bpf_program__set_autoload(skel->progs.on_probed_exit, p->slices.on);
	configure_values(p, skel);
	return configure_latency(p, skel, e);
}

/* What is known of the places is told to the programs. */
static int open_maps(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	const struct probes *p = ctx;
	int places = bpf_map__fd(skel->maps.probe_places);
	int tests = bpf_map__fd(skel->maps.probe_tests), err = 0;

	(void)o;
	if (!probes_have_values(p))
		return 0;
	for (uint32_t i = 0; i < p->places.n && !err; i++)
		err = bpf_map_update_elem(places, &i, &p->places.v[i].values, BPF_ANY) ? -errno : 0;
	for (uint32_t i = 0; i < p->tests.n && !err; i++)
		err = bpf_map_update_elem(tests, &i, &p->tests.v[i], BPF_ANY) ? -errno : 0;
	return err ? features_explain(e, err, "cannot fill the maps of probes") : 0;
}

/* A counter of its own on each CPU. */
static int start_counter(struct probes *p, struct probes_place *place, uint64_t cookie, int program)
{
	const struct event *ev = &p->events.v[place->event].counter;
	struct perf_event_attr attr = event_attr(ev, p->o->frequency, p->o->period,
						 p->target->include_idle);

	place->counter = perf_events_new(&attr, ev->also, p->target->cpus.v, p->target->cpus.n,
					 program);
	perf_events_set_pmu(place->counter, ev);
	if (p->cookies)
		perf_events_set_cookie(place->counter, cookie);
	return perf_events_refresh(place->counter, 0);
}

static int set_place(struct probes *p, size_t i, int program)
{
	struct probes_place *place = &p->places.v[i];
	uint64_t cookie = EBP_PROBE_PLACE(place->event, i);

	if (p->events.v[place->event].kind == EBP_PROBE_COUNTER)
		return start_counter(p, place, cookie, program);
	if (!p->cookies)
		return uprobe_attach(place->fd, program);
	place->link = event_link(place->fd, program, cookie);
	return place->link < 0 ? place->link : 0;
}

static int open_slices(struct probes *p, struct ebprof_bpf *skel)
{
	const struct probes_switches on = { &skel->bss->probes_paused, &skel->bss->probes_window,
					    &skel->bss->probes_resumed };

	return probes_slices_open(p, bpf_program__fd(skel->progs.list_probe_thread),
				  bpf_program__fd(skel->progs.on_probed_exit),
				  p->o->latency.n ? bpf_map__fd(skel->maps.latencies) : -1, &on);
}

static int attach(void *ctx, struct ebprof_bpf *skel, struct error *e)
{
	struct probes *p = ctx;
	int err = p->slices.on ? open_slices(p, skel) : 0;

	for (size_t i = 0; i < p->places.n && !err;) {
		enum ebp_probe_kind kind = p->events.v[p->places.v[i].event].kind;
		struct server server = server_of(skel, kind);
		int program = bpf_program__fd(
			begins_with(&server, skel->rodata_turn->turn.languages));

		if (server.user && p->multi)
			i += probes_links_add(p, i, program);
		else
			err = set_place(p, i++, program);
	}
	if (!err)
		err = probes_links_set(p);
	if (!err && p->o->latency.n) {
		p->switches = bpf_program__attach(skel->progs.on_latency_switch);
		err = p->switches ? 0 : -errno;
	}
	if (err)
		return features_explain(e, err, "cannot set the probes");
	__atomic_store_n(&skel->bss->probes_on, 1, __ATOMIC_RELEASE);
	return 0;
}

static void look_for_kinds(const struct probes *p, int there[EBP_PROBE_KINDS])
{
	memset(there, 0, EBP_PROBE_KINDS * sizeof(*there));
	for (size_t i = 0; i < p->events.n; i++)
		there[p->events.v[i].kind] = 1;
}

/* Of each kind that is there: all of them can be, or none. */
static size_t successors(const void *ctx, const struct collector_options *o,
			 struct ebprof_bpf *skel, struct bpf_program *programs[LOADER_PROGRAMS])
{
	int there[EBP_PROBE_KINDS];
	size_t n = 0;

	(void)o;
	if (!successor_can_be_called())
		return 0;
	look_for_kinds(ctx, there);
	for (enum ebp_probe_kind kind = 0; kind < EBP_PROBE_KINDS; kind++) {
		struct server server = server_of(skel, kind);

		if (there[kind] && !server.native)
			return 0;
		if (there[kind])
			programs[n++] = server.program;
	}
	return n;
}

static int succeed(void *ctx, struct ebprof_bpf *skel, const int *fds)
{
	int there[EBP_PROBE_KINDS], err = 0;

	look_for_kinds(ctx, there);
	for (enum ebp_probe_kind kind = 0; kind < EBP_PROBE_KINDS && !err; kind++)
		if (there[kind])
			err = successor_call(skel->maps.uprobe_successors,
					     server_of(skel, kind).slot, *fds++);
	return err;
}

static void refresh_cpus(void *ctx)
{
	struct probes *p = ctx;

	for (size_t i = 0; i < p->places.n; i++)
		if (p->places.v[i].counter)
			perf_events_refresh(p->places.v[i].counter, 0);
}

static void close_all(void *ctx)
{
	struct probes *p = ctx;

	probes_links_close(p);
	for (size_t i = 0; i < p->places.n; i++) {
		struct probes_place *place = &p->places.v[i];

		if (place->link >= 0)
			close(place->link);
		if (place->fd >= 0)
			close(place->fd);
		if (place->counter)
			perf_events_stop(place->counter);
		place->link = place->fd = -1;
	}
}

static void close_kernel(void *ctx)
{
	struct probes *p = ctx;

	close_all(ctx);
	probes_slices_close(p);
	bpf_link__destroy(p->switches);
	p->switches = NULL;
}

/*
 * Of an array with @words of each CPU: the sum of the first ones at @at; @each has room for those
 * of all CPUs.
 */
static uint64_t sum_of(int map, uint32_t at, size_t words, uint64_t *each, int cpus)
{
	uint64_t sum = 0;

	if (map < 0 || bpf_map_lookup_elem(map, &at, each))
		return 0;
	for (int cpu = 0; cpu < cpus; cpu++)
		sum += each[(size_t)cpu * words];
	return sum;
}

/* What no stack stands for any more is lost, and has been taken. */
static void count_unsampled(const struct probes *p, const struct ebprof_bpf *skel, int cpus)
{
	struct ebp_counters *each = xcalloc((size_t)cpus, sizeof(*each));
	int counters = bpf_map__fd(skel->maps.counters);
	uint32_t zero = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < p->events.n; i++)
		n += p->events.v[i].unsampled / p->o->period;
	if (n && !bpf_map_lookup_elem(counters, &zero, each)) {
		each->taken += n;
		each->lost[EBP_LOST_PACE] += n;
		bpf_map_update_elem(counters, &zero, each, BPF_EXIST);
	}
	free(each);
}

/* How long calls took, and the hits that no sample stands for. */
static void take_sums(struct probes *p, const struct ebprof_bpf *skel, int cpus)
{
	enum { WORDS = sizeof(struct ebp_latency_sum) / sizeof(uint64_t) };
	uint64_t *each = xcalloc((size_t)cpus * WORDS, sizeof(*each));
	uint64_t calls[LATENCY_BUCKETS];
	int hits = bpf_map__fd(skel->maps.probe_hits);

	_Static_assert(LATENCY_PARTS == EBP_LATENCY_PARTS, "the kernel's side has these buckets");
	for (uint32_t i = 0; i < p->events.n; i++) {
		struct probes_event *ev = &p->events.v[i];

		if (ev->role == PROBES_HIT)
			ev->unsampled = sum_of(hits, i, 1, each, cpus);
		if (ev->role != PROBES_END || ev->timed)
			continue;
		ev->unsampled = sum_of(bpf_map__fd(skel->maps.latency_sums), i, WORDS, each, cpus);
		for (uint32_t k = 0; k < LATENCY_BUCKETS; k++)
			calls[k] = sum_of(bpf_map__fd(skel->maps.latencies),
					  i * LATENCY_BUCKETS + k, 1, each, cpus);
		profile_add_latency(p->source.host->profile, ev->name, calls);
		ev->timed = 1;
	}
	free(each);
}

static void stop(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	struct probes *p = ctx;
	int cpus = libbpf_num_possible_cpus();

	(void)now;
	skel->bss->probes_on = 0;
	close_all(ctx);
	bpf_link__destroy(p->switches);
	p->switches = NULL;
	if (cpus <= 0)
		return;
	take_sums(p, skel, cpus);
	if (p->bound > 0)
		count_unsampled(p, skel, cpus);
}

#define INSTEAD "sampling works without; try bpftrace, or perf probe"

static const struct load_use uses[] = {
	{ "on_user_", "probes", INSTEAD },
	{ "on_kernel_probe", "probes", INSTEAD },
	{ "on_tracepoint_hit", "tracepoints", LOAD_BY_PERF("-g -e EVENT") },
	{ "on_latency_", "times of calls", INSTEAD },
	{ "on_start_", "times between probes", INSTEAD },
	{ "on_end_", "times between probes", INSTEAD },
	{ "on_counter_hit", "several events", LOAD_BY_PERF("-g") },
	{ 0 }
};

const struct collector_part_ops probes_kernel = {
	.uses = uses,
	.rate = rate,
	.configure = configure,
	.open = open_maps,
	.attach = attach,
	.successors = successors,
	.succeed = succeed,
	.refresh_cpus = refresh_cpus,
	.stop = stop,
	.close = close_kernel,
};

static void try_events(struct feature_result *r, struct probes_event *events, size_t n)
{
	static const struct probes_options options = { .period = 1 };
	struct probes p = { .o = &options, .cookies = features_linux(5, 15) };

	p.events.v = events;
	p.events.n = n;
	probe_load(r, &probes_kernel, &p, 0);
}

static void try_programs(struct feature_result *r)
{
	struct probes_event user[] = {
		{ .kind = EBP_PROBE_USER }, { .kind = EBP_PROBE_USER_RETURN },
	};
	struct probes_event tracepoint = { .kind = EBP_PROBE_TRACEPOINT };

	try_events(r, user, sizeof(user) / sizeof(*user));
	if (r->state == FEATURE_OK)
		try_events(r, &tracepoint, 1);
}

const struct feature probes_feature = {
	"programs of probes", "no -e uprobe:, usdt:, kprobe: and patterns of tracepoints",
	"bpftrace, or another kernel", "5.8", try_programs,
};
