/* SPDX-License-Identifier: MIT */
#include <bpf/libbpf.h>
#include <errno.h>

#include "collect/features.h"
#include "collect/load_log.h"
#include "collect/probe.h"
#include "collect/successor.h"
#include "ebprof.skel.h"
#include "sources/probe_load.h"
#include "sources/samples.h"

static uint64_t rate(const void *ctx, size_t ncpus)
{
	return event_part_rate(&((const struct samples *)ctx)->part, ncpus);
}

static int is_tracepoint(const struct samples *s)
{
	return s->part.event->type == PERF_TYPE_TRACEPOINT;
}

static struct bpf_program *on_event(const struct samples *s, const struct collector_options *o,
				    struct ebprof_bpf *skel, int languages)
{
	struct bpf_program *const programs[2][2] = {
		{ skel->progs.on_event_native, skel->progs.on_event_native_in_cgroup },
		{ skel->progs.on_event, skel->progs.on_event_in_cgroup },
	};

	if (is_tracepoint(s))
		return languages ? skel->progs.on_tracepoint : skel->progs.on_tracepoint_native;
	return programs[languages][o->cgroup != 0];
}

static int configure(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		     struct error *e)
{
	struct samples *s = ctx;
	const struct event *event = s->part.event;

	(void)e;
	skel->rodata->config.samples.period = s->part.period ? s->part.period : 1;
	event_part_configure(&s->part, on_event(s, o, skel, o->languages != 0));
	bpf_map__set_autocreate(skel->maps.hits, is_tracepoint(s));
	bpf_map__set_autocreate(skel->maps.tracepoint_successor, is_tracepoint(s));
	/* Where not all of it is wanted, what is skipped looks like what is left out. */
	skel->rodata->config.samples.clock =
		event_is_clock(event) && !event->exclude_user && !event->exclude_kernel;
	if (!skel->rodata->config.samples.clock)
		return 0;
	s->clock_watcher = o->cgroup ? skel->progs.on_timer_in_cgroup : skel->progs.on_timer;
	bpf_program__set_autoload(s->clock_watcher, true);
	bpf_map__set_autocreate(skel->maps.clock_hits, true);
	return 0;
}

static int open_event(void *ctx, const struct collector_options *o, struct ebprof_bpf *skel,
		      struct error *e)
{
	(void)skel;
	return event_part_open(&((struct samples *)ctx)->part, o, e);
}

/* A kernel without that tracepoint skips samples unseen. */
static int watch_clock(struct samples *s, struct ebprof_bpf *skel)
{
	if (!s->clock_watcher)
		return 0;
	s->clock_link = bpf_program__attach(s->clock_watcher);
	if (!s->clock_link)
		return errno == ENOENT ? 0 : -errno;
	skel->bss->clock_watched = 1;
	return 0;
}

static int attach(void *ctx, struct ebprof_bpf *skel, struct error *e)
{
	struct samples *s = ctx;
	int err = watch_clock(s, skel);

	return err ? features_explain(e, err, "cannot watch the clock")
		   : event_part_attach(&s->part, e);
}

/* What the kernel lets pass of a tracepoint is known of one program: so that calls the other. */
static size_t successors(const void *ctx, const struct collector_options *o,
			 struct ebprof_bpf *skel, struct bpf_program *programs[LOADER_PROGRAMS])
{
	programs[0] = on_event(ctx, o, skel, 1);
	return !is_tracepoint(ctx) || successor_can_be_called();
}

static int succeed(void *ctx, struct ebprof_bpf *skel, const int *fds)
{
	return is_tracepoint(ctx) ? successor_call(skel->maps.tracepoint_successor, 0, fds[0])
				  : event_part_succeed(&((struct samples *)ctx)->part, fds);
}

static void settle(void *ctx, struct ebprof_bpf *skel, int succeeded)
{
	if (is_tracepoint(ctx))
		return;
	event_part_settle(&((struct samples *)ctx)->part, succeeded);
	/* It is learned anew, from the next hit. */
	if (succeeded)
		__atomic_store_n(&skel->bss->clock_program, 0, __ATOMIC_RELAXED);
}

static void refresh_cpus(void *ctx)
{
	event_part_refresh_cpus(&((struct samples *)ctx)->part);
}

static size_t cpus(const void *ctx)
{
	return event_part_cpus(&((const struct samples *)ctx)->part);
}

static uint64_t skipped(const void *ctx)
{
	return event_part_skipped(&((const struct samples *)ctx)->part);
}

static void stop(void *ctx, struct ebprof_bpf *skel, uint64_t now)
{
	struct samples *s = ctx;

	(void)skel;
	(void)now;
	event_part_stop(&s->part);
	bpf_link__destroy(s->clock_link);
	s->clock_link = NULL;
}

static void close_event(void *ctx)
{
	struct samples *s = ctx;

	event_part_close(&s->part);
	bpf_link__destroy(s->clock_link);
	s->clock_link = NULL;
}

static const struct load_use uses[] = {
	{ "on_tracepoint", "tracepoints", LOAD_BY_PERF("-g -e EVENT") },
	{ "on_event", "sampling", LOAD_BY_PERF("-g") },
	{ "on_timer", "sampling by a clock", LOAD_BY_PERF("-g") },
	{ 0 }
};

const struct collector_part_ops samples_kernel = {
	.uses = uses,
	.rate = rate,
	.configure = configure,
	.open = open_event,
	.attach = attach,
	.successors = successors,
	.succeed = succeed,
	.settle = settle,
	.refresh_cpus = refresh_cpus,
	.cpus = cpus,
	.skipped = skipped,
	.stop = stop,
	.close = close_event,
};

static void try_programs(struct feature_result *r)
{
	struct event event;
	struct samples s = { .part = { .event = &event, .frequency = 99 } };
	struct error e;

	if (event_parse("cpu-clock", NULL, &event, &e))
		probe_say(r, FEATURE_DEGRADED, "%s", e.text);
	else
		probe_load(r, &samples_kernel, &s, EBP_LANGUAGES_ALL);
}

const struct feature samples_feature = {
	"programs of samples", "no samples, or none with frames of languages",
	"perf record -g, or another kernel", "5.8", try_programs,
};
