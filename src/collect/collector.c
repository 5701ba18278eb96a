/* SPDX-License-Identifier: MIT */
#include "collect/collector.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/vec.h"
#include "collect/features.h"
#include "collect/grace.h"
#include "collect/kernel_text.h"
#include "collect/load_log.h"
#include "collect/map_choice.h"
#include "collect/perf_events.h"
#include "collect/uprobe.h"
#include "ebprof.skel.h"

#define SPREAD_MAX_NS	10000000ul	/* the starts of all CPUs lie within this */
/* arguments of sched_switch before the state, with what every tracepoint has first */
#define SWITCH_STATE	4
/* waits a second that differ in stack or thread, with which maps are made */
#define WAITS_RATE	32768
#define COUNTERS	(sizeof(struct ebp_counters) / sizeof(__u64))
#define COUNTERS_TRIES	10
/* bytes for allocations and their ends, which come in bursts */
#define ALLOC_RING	(16u << 20)
#define BATCH		4096		/* entries of a count map fetched by one system call */

struct collector {
	struct ebprof_bpf *skel;
	struct bpf_program *sampler;	/* of skel: the one that the event runs */
	/* of skel: sees what the kernel skips; NULL: not of this event */
	struct bpf_program *clock_watcher;
	struct perf_events *events;
	VEC(struct bpf_link *) links;
	struct alloc_probes *alloc;	/* borrowed; NULL: none */
	struct alloc_links *alloc_links;	/* NULL: @alloc has perf events */
	struct ring_buffer *ring;
	int count_maps[2];		/* borrowed from skel; bss->use_b says which is in use */
	int barrier;			/* a map to put into barrier_map */
	struct grace *grace;
	int swapping;			/* a swap was begun, and not ended */
	VEC(uint64_t) records;		/* what collector_read() took from the ring */
	int drain_wanted;
	int ncpus_possible;
	size_t ncpus;			/* online, of those that were asked for */
	unsigned long spread_ns;
	struct ebp_key *keys;		/* BATCH of them, and their values */
	struct ebp_count *values;
};

static uint32_t round_up_pow2(uint64_t x, uint32_t least, uint32_t most)
{
	uint32_t p = least;

	while (p < x && p < most)
		p *= 2;
	return p;
}

/* Samples a second on the whole machine, the upper bound for what can be counted. */
static uint64_t sample_rate(const struct collector_options *o, size_t ncpus)
{
	return (o->frequency ? o->frequency : 10000) * ncpus;
}

static int configure(struct collector *c, const struct collector_options *o, struct error *e)
{
	struct ebprof_bpf__rodata *ro = c->skel->rodata;
	int subsys = -1;

	if (o->off_cpu && features_old_rt())
		return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
				 "no waits can be measured on PREEMPT_RT before Linux 6.4: "
				 "that kernel would stand still");
	if (o->event && o->event->pages && features_old_rt())
		return error_set(e, STATUS_DENIED, -EOPNOTSUPP,
				 "no page faults can be followed on PREEMPT_RT before Linux 6.4: "
				 "that kernel once stood still; try ebprof alloc -p PID");
	if (getrandom(&ro->cfg_seed, sizeof(ro->cfg_seed), 0) != sizeof(ro->cfg_seed))
		return error_set(e, STATUS_ERROR, -errno, "cannot draw random numbers: %s",
				 strerror(errno));
	ro->cfg_frames = features_frames(o->max_frames);
	ro->cfg_user_frames = o->max_frames;
	ro->cfg_rescue = o->rescue;
	ro->cfg_user = o->user;
	ro->cfg_kernel = o->kernel;
	ro->cfg_timeline = o->timeline;
	if (o->off_cpu)
		kernel_text_find(ro->cfg_sched_text, ro->cfg_irq_text, ro->cfg_wake_text);
	ro->cfg_wall = o->wall;
	ro->cfg_wakers = o->wakers;
	ro->cfg_min_block = o->min_block;
	ro->cfg_states = (uint8_t)o->states;
	ro->cfg_overhead = (uint64_t)(o->overhead * 4294967296.0);
	ro->cfg_switch_state = o->off_cpu &&
			       features_func_args("btf_trace_sched_switch") > SWITCH_STATE;
	ro->cfg_alloc = o->alloc != NULL;
	ro->cfg_alloc_interval = o->alloc ? o->alloc->interval : 0;
	ro->cfg_inherit = o->inherit;
	ro->cfg_by_process = (o->ntargets && !o->by_thread) || o->command;
	ro->cfg_by_thread = o->ntargets && o->by_thread;
	for (size_t i = 0; i < EBP_SELF_MAX; i++)
		ro->cfg_self[i] = (uint32_t)o->self[i];
	ro->cfg_idle = o->idle;
	/* Where not all of it is wanted, what is skipped looks like what is left out. */
	ro->cfg_clock = o->event && event_is_clock(o->event) && !o->event->exclude_user &&
			!o->event->exclude_kernel;
	ro->cfg_period = o->period ? o->period : 1;
	ro->cfg_by_comm = o->comm != NULL;
	if (o->comm)
		memcpy(ro->cfg_comm, o->comm, strnlen(o->comm, sizeof(ro->cfg_comm) - 1));
	ro->cfg_cgroup = o->cgroup;
	if (o->cgroup && *o->cgroup_controller) {
		subsys = features_cgroup_subsys(o->cgroup_controller);
		if (subsys < 0)
			return error_set(e, STATUS_DENIED, subsys,
					 "this kernel's BTF does not tell of "
					 "the cgroup controller '%s'",
					 o->cgroup_controller);
	}
	ro->cfg_cgroup_subsys = subsys;
	ro->cfg_by_cpu = o->cpus != NULL;
	for (size_t i = 0; o->cpus && i < o->ncpus; i++)
		if (o->cpus[i] < EBP_CPUS_MAX)
			ro->cfg_cpus[o->cpus[i] / 64] |= 1ull << (o->cpus[i] & 63);
	return 0;
}

/* Loads @program for uprobe_link(). */
static void load_for_links(struct bpf_program *program)
{
	bpf_program__set_autoload(program, true);
	bpf_program__set_expected_attach_type(program, UPROBE_MULTI);
}

static struct bpf_program *probe_program(const struct collector *c, enum alloc_probe_kind kind)
{
	struct bpf_program *const programs[PROBE_KINDS] = {
		[PROBE_BLOCK] = c->skel->progs.on_block,
		[PROBE_BLOCK_END] = c->skel->progs.on_block_end,
		[PROBE_MALLOC] = c->skel->progs.on_malloc,
		[PROBE_CALLOC] = c->skel->progs.on_calloc,
		[PROBE_REALLOC] = c->skel->progs.on_realloc,
		[PROBE_MEMALIGN] = c->skel->progs.on_memalign,
		[PROBE_POSIX_MEMALIGN] = c->skel->progs.on_posix_memalign,
		[PROBE_FREE] = c->skel->progs.on_free,
		[PROBE_RETURNED] = c->skel->progs.on_returned,
	};

	return programs[kind];
}

/* Which programs this recording needs; the others are not loaded. 0 or a negative errno. */
static int choose_programs(struct collector *c, const struct collector_options *o)
{
	struct ebprof_bpf *s = c->skel;
	struct bpf_program *const waits[] = {
		s->progs.on_switch,  s->progs.on_waking, s->progs.on_new_task,
		s->progs.begin_task, s->progs.end_task,
	};
	int by_process = s->rodata->cfg_by_process, any_alloc, err;

	if (o->event) {
		c->sampler = o->event->type == PERF_TYPE_TRACEPOINT ? s->progs.on_tracepoint :
			     o->event->pages ? s->progs.on_page_fault :
			     o->cgroup ? s->progs.on_event_in_cgroup : s->progs.on_event;
		bpf_program__set_autoload(c->sampler, true);
	}
	if (s->rodata->cfg_clock) {
		c->clock_watcher = o->cgroup ? s->progs.on_timer_in_cgroup : s->progs.on_timer;
		bpf_program__set_autoload(c->clock_watcher, true);
	}
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++)
		bpf_program__set_autoload(waits[i], o->off_cpu);
	for (size_t i = 0; o->alloc && i < o->alloc->n; i++)
		bpf_program__set_autoload(probe_program(c, o->alloc->v[i].kind), true);
	if (o->alloc && o->alloc->by_link) {
		load_for_links(s->progs.on_any_call);
		load_for_links(s->progs.on_returned);
	}
	bpf_program__set_autoload(s->progs.list_alloc_thread, o->alloc && o->alloc->paused);
	any_alloc = bpf_program__autoload(s->progs.on_returned);
	bpf_map__set_autocreate(s->maps.live_blocks, any_alloc);
	bpf_program__set_autoload(s->progs.on_fork, o->user || (by_process && o->inherit));
	bpf_program__set_autoload(s->progs.on_exec, o->command != 0);
	bpf_program__set_autoload(s->progs.on_exit, by_process);
	err = map_choice_threads(s->maps.off_tasks, s->maps.off_threads, s->maps.new_off_thread,
				 o->off_cpu);
	if (!err)
		err = map_choice_threads(s->maps.alloc_tasks, s->maps.alloc_threads,
					 s->maps.new_alloc_thread, any_alloc);
	return err || !any_alloc ? err : map_choice_hash(s->maps.live_blocks);
}

/*
 * Sizes follow the rate: a count map holds half a second of samples that are
 * all different, the ring buffer as many stacks of 64 frames. The caches are
 * small where little can happen, for clearing their memory delays the start.
 */
static void size_maps(struct collector *c, const struct collector_options *o)
{
	struct ebprof_bpf *s = c->skel;
	int *cpus = NULL, possible = libbpf_num_possible_cpus();
	size_t ncpus = 1;
	uint32_t entries, ring;
	uint64_t rate;

	perf_online_cpus(o->cpus, o->ncpus, &cpus, &ncpus);
	free(cpus);
	c->ncpus = ncpus;
	rate = sample_rate(o, ncpus) + (o->off_cpu ? WAITS_RATE : 0);
	entries = round_up_pow2(rate / 2, 4096, 1u << 20);
	ring = round_up_pow2(o->ring_bytes ? o->ring_bytes : o->alloc ? ALLOC_RING : rate / 2 * 512,
			     o->ring_bytes ? 4096 : 1u << 20, 64u << 20);
	s->rodata->cfg_seen_stacks = round_up_pow2(rate * 8, 1u << 13, 1u << 20);
	s->rodata->cfg_seen_processes = round_up_pow2(rate, 1u << 12, 1u << 16);
	bpf_map__set_max_entries(s->maps.seen_stacks, s->rodata->cfg_seen_stacks);
	bpf_map__set_max_entries(s->maps.seen_processes, s->rodata->cfg_seen_processes);
	s->rodata->cfg_map_wake = entries / 2;
	s->rodata->cfg_ring_wake = ring / 4;
	if (o->event && o->event->type != PERF_TYPE_TRACEPOINT && o->frequency)
		c->spread_ns = 1000000000ul / o->frequency < SPREAD_MAX_NS
				       ? 1000000000ul / o->frequency
				       : SPREAD_MAX_NS;
	bpf_map__set_max_entries(s->maps.ring, ring);
	bpf_map__set_max_entries(s->maps.rescue_scratch, possible > 0 ? (uint32_t)possible : 1);
	/*
	 * Every process there can be; on most machines 32,768, and only where we filter by process.
	 */
	bpf_map__set_max_entries(s->maps.targets,
				 o->ntargets || o->command ? 32768 + (uint32_t)o->ntargets : 1);
	bpf_map__set_max_entries(s->maps.counts_a, entries);
	bpf_map__set_max_entries(s->maps.counts_b, entries);
}

static int set_target(struct collector *c, pid_t id, uint32_t value)
{
	struct ebprof_bpf__bss *bss = c->skel->bss;

	bss->target_bytes[(uint32_t)id % sizeof(bss->target_bytes)] = 1;
	return bpf_map_update_elem(bpf_map__fd(c->skel->maps.targets), &id, &value, BPF_ANY)
		       ? -errno
		       : 0;
}

int collector_add_target(struct collector *c, pid_t id)
{
	return set_target(c, id, EBP_TARGET);
}

static int fill_maps(struct collector *c, const struct collector_options *o)
{
	int err = 0;

	c->count_maps[0] = bpf_map__fd(c->skel->maps.counts_a);
	c->count_maps[1] = bpf_map__fd(c->skel->maps.counts_b);
	c->barrier = bpf_map_create(BPF_MAP_TYPE_ARRAY, "ebprof_barrier", sizeof(uint32_t),
				    sizeof(uint32_t), 1, NULL);
	if (c->barrier < 0)
		return -errno;
	for (size_t i = 0; i < o->ntargets && !err; i++)
		err = collector_add_target(c, o->targets[i]);
	if (!err && o->command)
		err = set_target(c, o->command, EBP_TARGET_AT_EXEC);
	return err;
}

/* The ring buffer's reader: copies each record behind the last, 8-aligned, its size before it. */
static int take_record(void *ctx, void *data, size_t size)
{
	struct collector *c = ctx;
	const struct ebp_head *head = data;
	size_t words = (size + 7) / 8;

	if (size < sizeof(*head))
		return 0;
	if (head->type == EBP_DRAIN) {
		c->drain_wanted = 1;
		return 0;
	}
	vec_reserve(&c->records, c->records.n + 1 + words);
	c->records.v[c->records.n] = size;
	memcpy(&c->records.v[c->records.n + 1], data, size);
	c->records.n += 1 + words;
	return 0;
}

static struct perf_events *make_events(struct collector *c, const struct collector_options *o)
{
	struct perf_event_attr attr = event_attr(o->event, o->frequency, o->period, o->idle);
	int first = 0, program = bpf_program__fd(c->sampler);

	if (o->event->pages)
		attr.sample_type |= PERF_SAMPLE_ADDR | PERF_SAMPLE_DATA_PAGE_SIZE;
	/*
	 * A program on a tracepoint runs for its hits on all CPUs, once for each
	 * event it is set on: one event is right, cfg_cpus does the rest.
	 */
	if (o->event->type == PERF_TYPE_TRACEPOINT)
		return perf_events_new(&attr, 0, &first, 1, program);
	return perf_events_new(&attr, o->event->also, o->cpus, o->ncpus, program);
}

struct collector *collector_new(const struct collector_options *o, struct error *e)
{
	struct collector *c = xcalloc(1, sizeof(*c));
	struct load_log log = { 0 };
	int err;

	c->barrier = -1;
	c->alloc = o->alloc;
	load_log_into(&log);	/* what matters to a user is in our errors */
	c->ncpus_possible = libbpf_num_possible_cpus();
	c->skel = ebprof_bpf__open();
	if (!c->skel || c->ncpus_possible < 1) {
		error_set(e, STATUS_ERROR, -errno, "cannot open the BPF programs: %s",
			  strerror(errno));
		goto fail;
	}
	err = configure(c, o, e);
	if (err)
		goto fail;
	size_maps(c, o);
	err = choose_programs(c, o);
	if (!err)
		err = bpf_map__reuse_fd(c->skel->maps.shards,
					unwind_maps_shards_fd(o->unwind_maps));
	if (!err)
		err = bpf_map__reuse_fd(c->skel->maps.spaces,
					unwind_maps_spaces_fd(o->unwind_maps));
	if (!err)
		err = ebprof_bpf__load(c->skel);
	/*
	 * Where libbpf found, once for this run, no memory to try whether maps can be mapped, it
	 * maps none.
	 */
	if (!err && !c->skel->bss)
		err = -ENOMEM;
	if (!err)
		err = fill_maps(c, o);
	if (err) {
		load_log_explain(&log, e, err, o->trial);
		goto fail;
	}
	load_log_into(NULL);
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.ring), take_record, c, NULL);
	if (!c->ring) {
		error_set(e, STATUS_ERROR, -errno, "cannot map the ring buffer: %s",
			  strerror(errno));
		goto fail;
	}
	c->grace = grace_new(bpf_map__fd(c->skel->maps.barrier_map), c->barrier);
	if (!c->grace) {
		error_set(e, STATUS_ERROR, -errno, "cannot start a thread: %s", strerror(errno));
		goto fail;
	}
	c->keys = xcalloc(BATCH, sizeof(*c->keys));
	c->values = xcalloc(BATCH, sizeof(*c->values));
	c->events = o->event ? make_events(c, o) : NULL;
	/* Now, while the reason of a failure can be found out. */
	err = c->events ? perf_events_try(c->events) : 0;
	if (!err)
		return c;
	features_explain(e, err, "cannot open the event");
fail:
	load_log_into(NULL);
	collector_free(c);
	return NULL;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	perf_events_free(c->events);
	alloc_links_free(c->alloc_links);
	for (size_t i = 0; i < c->links.n; i++)
		bpf_link__destroy(c->links.v[i]);
	vec_free(&c->links);
	ring_buffer__free(c->ring);
	grace_free(c->grace);
	if (c->barrier >= 0)
		close(c->barrier);
	ebprof_bpf__destroy(c->skel);
	vec_free(&c->records);
	free(c->keys);
	free(c->values);
	free(c);
}

/*
 * Runs @program, an iterator, for each thread that there is; nothing where it is not loaded. 0 or a
 * negative errno.
 */
static int for_each_task(const struct bpf_program *program)
{
	struct bpf_link *link;
	char buf[64];
	int fd, err;

	if (!bpf_program__autoload(program))
		return 0;
	link = bpf_program__attach_iter(program, NULL);
	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	err = fd < 0 || read(fd, buf, sizeof(buf)) < 0 ? -errno : 0;
	if (fd >= 0)
		close(fd);
	bpf_link__destroy(link);
	return err;
}

/* They are hit in all processes that have the library; the programs look whose it is. */
static int attach_alloc(struct collector *c, struct error *e)
{
	int err;

	for (size_t i = 0; c->alloc && i < c->alloc->n; i++) {
		err = uprobe_attach(c->alloc->v[i].fd,
				    bpf_program__fd(probe_program(c, c->alloc->v[i].kind)));
		if (err)
			return features_explain(e, err, "cannot attach to a uprobe");
	}
	if (c->alloc && c->alloc->by_link) {
		const struct alloc_switches on = { &c->skel->bss->alloc_paused,
						   &c->skel->bss->alloc_endless,
						   &c->skel->bss->alloc_window };

		c->alloc_links = alloc_links_new(
			c->alloc, bpf_program__fd(c->skel->progs.on_any_call),
			bpf_program__fd(c->skel->progs.on_returned),
			bpf_program__fd(c->skel->progs.list_alloc_thread), &on);
		err = c->alloc_links ? alloc_links_begin(c->alloc_links) : -errno;
		if (err)
			return features_explain(e, err, "cannot set uprobes");
	}
	__atomic_store_n(&c->skel->bss->alloc_on, 1, __ATOMIC_RELEASE);
	return 0;
}

struct alloc_links *collector_alloc_links(struct collector *c)
{
	return c->alloc_links;
}

/* A kernel without that tracepoint skips samples unseen. */
static int watch_clock(struct collector *c)
{
	struct bpf_link *link;

	if (!c->clock_watcher)
		return 0;
	link = bpf_program__attach(c->clock_watcher);
	if (!link)
		return errno == ENOENT ? 0 : -errno;
	vec_push(&c->links, link);
	c->skel->bss->clock_watched = 1;
	return 0;
}

int collector_start(struct collector *c, struct error *e)
{
	struct bpf_program *const watchers[] = {
		c->skel->progs.on_fork, c->skel->progs.on_exec, c->skel->progs.on_exit,
		c->skel->progs.on_waking, c->skel->progs.on_switch, c->skel->progs.on_new_task,
	};
	int err = for_each_task(c->skel->progs.begin_task);

	if (err)
		return features_explain(e, err, "cannot look at the threads that wait");
	for (size_t i = 0; i < sizeof(watchers) / sizeof(*watchers); i++) {
		struct bpf_link *link;

		if (!bpf_program__autoload(watchers[i]))
			continue;
		link = bpf_program__attach(watchers[i]);
		if (!link)
			return features_explain(e, -errno,
						"cannot follow forks, exits and switches");
		vec_push(&c->links, link);
	}
	err = watch_clock(c);
	if (err)
		return features_explain(e, err, "cannot watch the clock");
	err = attach_alloc(c, e);
	if (err)
		return err;
	err = c->events ? perf_events_refresh(c->events, c->spread_ns) : 0;
	if (err)
		return features_explain(e, err, "cannot open the event");
	c->skel->bss->off_began = clock_ns();
	return 0;
}

void collector_refresh_cpus(struct collector *c)
{
	/* A CPU that cannot be sampled now is tried again the next time. */
	if (c->events)
		perf_events_refresh(c->events, 0);
}

void collector_stop(struct collector *c)
{
	c->skel->bss->off_ended = clock_ns();
	if (c->events)
		perf_events_stop(c->events);
	c->skel->bss->alloc_on = 0;
	if (c->alloc_links)
		alloc_links_end(c->alloc_links);
	if (c->alloc)
		alloc_probes_close(c->alloc);
	while (c->links.n)
		bpf_link__destroy(c->links.v[--c->links.n]);
	for_each_task(c->skel->progs.end_task);
}

int collector_fd(const struct collector *c)
{
	return ring_buffer__epoll_fd(c->ring);
}

void collector_read(struct collector *c)
{
	c->records.n = 0;
	ring_buffer__consume(c->ring);
}

const struct ebp_head *collector_next(const struct collector *c, size_t *at)
{
	const uint64_t *r = c->records.v + *at;

	if (*at >= c->records.n)
		return NULL;
	*at += 1 + (r[0] + 7) / 8;
	return (const struct ebp_head *)(r + 1);
}

int collector_drain_wanted(const struct collector *c)
{
	return c->drain_wanted;
}

void collector_swap(struct collector *c)
{
	struct ebprof_bpf__bss *bss = c->skel->bss;

	if (c->swapping)
		return;
	__atomic_store_n(&bss->use_b, !bss->use_b, __ATOMIC_SEQ_CST);
	c->swapping = 1;
	c->drain_wanted = 0;
	grace_begin(c->grace);
}

int collector_swap_fd(const struct collector *c)
{
	return grace_fd(c->grace);
}

int collector_swapped(struct collector *c, int wait)
{
	struct ebprof_bpf__bss *bss = c->skel->bss;
	int over = c->swapping ? grace_end(c->grace, wait) : 0;

	if (!over)
		return 0;
	c->swapping = 0;
	bss->count_entries = 0;
	bss->drain_asked = 0;
	return over;
}

int collector_counts(struct collector *c, collector_count *fn, void *ctx)
{
	int fd = c->count_maps[!c->skel->bss->use_b], err = 0;
	uint32_t batch = 0, n;
	void *in = NULL;

	while (!err) {
		n = BATCH;
		if (bpf_map_lookup_and_delete_batch(fd, in, &batch, c->keys, c->values, &n, NULL))
			err = -errno;
		if (err && err != -ENOENT)	/* ENOENT: that was the last batch */
			return err;
		for (uint32_t i = 0; i < n; i++)
			fn(ctx, &c->keys[i], &c->values[i]);
		in = &batch;
	}
	return 0;
}

void collector_counters(const struct collector *c, struct ebp_counters *sum)
{
	struct ebp_counters *each = xcalloc((size_t)c->ncpus_possible, sizeof(*each));
	int fd = bpf_map__fd(c->skel->maps.counters), err = 0;
	__u64 *total = (__u64 *)sum;
	uint32_t zero = 0;

	*sum = (struct ebp_counters){ 0 };
	/* The kernel needs some memory for that, and all of the account stands on it. */
	for (int i = 0; !i || (err && i < COUNTERS_TRIES); i++)
		err = bpf_map_lookup_elem(fd, &zero, each);
	for (size_t i = 0; !err && i < (size_t)c->ncpus_possible * COUNTERS; i++)
		total[i % COUNTERS] += ((const __u64 *)each)[i];
	free(each);
}

uint64_t collector_first_sample(const struct collector *c)
{
	return c->skel->bss->first_sample;
}

uint64_t collector_skipped(const struct collector *c)
{
	struct bpf_prog_info info = { 0 };
	uint32_t size = sizeof(info);

	if (!c->sampler || bpf_program__type(c->sampler) != BPF_PROG_TYPE_TRACEPOINT ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(c->sampler), &info, &size))
		return 0;
	return info.recursion_misses;
}

size_t collector_cpus(const struct collector *c)
{
	return c->events ? perf_events_count(c->events) : c->ncpus;
}
