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
#include "base/huge.h"
#include "base/vec.h"
#include "bpf/config.h"
#include "collect/bpf_programs.h"
#include "collect/features.h"
#include "collect/grace.h"
#include "collect/kernel_types.h"
#include "collect/load_log.h"
#include "collect/perf_events.h"
#include "collect/successor.h"
#include "ebprof.skel.h"

#define COUNTERS	(sizeof(struct ebp_counters) / sizeof(__u64))
#define COUNTERS_TRIES	10
#define BATCH		4096		/* entries of a count map fetched by one system call */
/*
 * Bytes in the ring buffer for each sample of half a second: of stacks that are new; and of stacks
 * for a rescue, up to 64 KiB each for some 50 ms, as of a program that has just started.
 */
#define STACK_BYTES	512
#define RESCUE_BYTES	4096
#define RESCUES_MOST	(4u << 20)	/* however many CPUs there are */

struct collector {
	struct ebprof_bpf *skel;
	struct collector_part parts[COLLECTOR_PARTS_MAX];
	size_t nparts;
	VEC(struct bpf_link *) links;
	struct ring_buffer *ring;
	int count_maps[2];		/* borrowed from skel; bss->use_b says which is in use */
	int types;			/* kernel_types_open() */
	int barrier;			/* a map to put into barrier_map */
	struct grace *grace;
	int swapping;			/* a swap was begun, and not ended */
	VEC(uint64_t) records;		/* what collector_read() took from the ring */
	int drain_wanted;
	struct successor *successor;	/* NULL: all programs were loaded at once */
	int ncpus_possible;
	size_t ncpus;			/* online, of those that were asked for */
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

static int configure(struct collector *c, const struct collector_options *o, struct error *e)
{
	struct ebp_config *config = &c->skel->rodata->config;
	const struct target_options *target = o->target;
	const struct stack_options *stack = o->stack;
	int subsys = -1;

	if (getrandom(&config->seed, sizeof(config->seed), 0) != sizeof(config->seed))
		return error_set(e, STATUS_ERROR, -errno, "cannot draw random numbers: %s",
				 strerror(errno));
	config->frames = features_frames((uint32_t)stack->max_frames);
	config->user_frames = (uint32_t)stack->max_frames;
	config->rescue = !stack->no_rescue;
	config->native = !!stack->native;
	config->await = !!stack->await;
	config->user = !stack->kernel_only;
	config->kernel = !stack->user_only;
	config->timeline = stack->timeline;
	config->succeeded = o->languages != EBP_LANGUAGES_ALL;
	c->skel->rodata_turn->turn.languages = o->languages;
	config->filter.inherit = !target->no_inherit;
	config->filter.by_process = (o->ntargets && !target->tids.n) || o->command;
	config->filter.by_thread = o->ntargets && target->tids.n;
	for (size_t i = 0; i < EBP_SELF_MAX; i++)
		config->filter.self[i] = (uint32_t)o->self[i];
	config->filter.idle = target->include_idle;
	config->filter.by_comm = target->comm != NULL;
	if (target->comm)
		memcpy(config->filter.comm, target->comm,
		       strnlen(target->comm, EBP_COMM_LEN - 1));
	config->filter.cgroup = o->cgroup;
	if (o->cgroup && *o->cgroup_controller) {
		subsys = features_cgroup_subsys(o->cgroup_controller);
		if (subsys < 0)
			return error_set(e, STATUS_DENIED, subsys,
					 "this kernel's BTF does not tell of "
					 "the cgroup controller '%s'",
					 o->cgroup_controller);
	}
	config->filter.cgroup_subsys = subsys;
	config->filter.by_cpu = target->cpus.n > 0;
	for (size_t i = 0; i < target->cpus.n; i++) {
		int cpu = target->cpus.v[i];

		if (cpu < EBP_CPUS_MAX)
			config->filter.cpus[cpu / 64] |= 1ull << (cpu & 63);
	}
	return 0;
}

/*
 * Maps, as programs, are there only where a part asks for them, but for those that all recordings
 * need.
 */
static void choose_maps(struct ebprof_bpf *s)
{
	const struct bpf_map *const common[] = {
		s->maps.ring,        s->maps.counts_a,       s->maps.counts_b,
		s->maps.barrier_map, s->maps.counters,       s->maps.seen_stacks,
		s->maps.targets,     s->maps.seen_processes, s->maps.sample_scratch,
		s->maps.scratch,     s->maps.rescue_scratch, s->maps.shards,
		s->maps.spaces,      s->maps.unwind_states,  s->maps.user_registers,
		s->maps.codes,         s->maps.lang_walks,
		s->maps.code_records, s->maps.python_knowns, s->maps.hotspot_walks,
		s->maps.hotspot_places,
	};
	struct bpf_map *map;

	bpf_object__for_each_map(map, s->obj) {
		int wanted = bpf_map__is_internal(map);

		for (size_t i = 0; i < sizeof(common) / sizeof(*common); i++)
			wanted |= map == common[i];
		bpf_map__set_autocreate(map, wanted);
	}
}

/* Which programs this recording needs; the others are not loaded. 0, or negative with @e filled. */
static int choose_programs(struct collector *c, const struct collector_options *o, struct error *e)
{
	struct ebprof_bpf *s = c->skel;
	int by_process = s->rodata->config.filter.by_process, err = 0;

	bpf_program__set_autoload(s->progs.on_fork,
				  !o->stack->kernel_only ||
					  (by_process && !o->target->no_inherit));
	bpf_program__set_autoload(s->progs.on_exec, o->command != 0);
	bpf_program__set_autoload(s->progs.on_exit, by_process);
	choose_maps(s);
	for (size_t i = 0; i < c->nparts && !err; i++)
		err = c->parts[i].ops->configure(c->parts[i].ctx, o, s, e);
	return err;
}

/*
 * Sizes follow the rate: a count map holds half a second of samples that are
 * all different, the ring buffer as many stacks of 64 frames. The caches are
 * small where little can happen, for clearing their memory delays the start.
 */
static void size_maps(struct collector *c, const struct collector_options *o)
{
	struct ebprof_bpf *s = c->skel;
	struct ebp_config *config = &s->rodata->config;
	int *cpus = NULL, possible = libbpf_num_possible_cpus();
	size_t ncpus = 1;
	uint32_t entries, ring;
	uint64_t rate = 0, bytes;

	perf_online_cpus(o->target->cpus.v, o->target->cpus.n, &cpus, &ncpus);
	free(cpus);
	c->ncpus = ncpus;
	for (size_t i = 0; i < c->nparts; i++)
		rate += c->parts[i].ops->rate(c->parts[i].ctx, ncpus);
	bytes = rate / 2 * RESCUE_BYTES;
	bytes = bytes < RESCUES_MOST ? bytes : RESCUES_MOST;
	bytes = bytes > rate / 2 * STACK_BYTES ? bytes : rate / 2 * STACK_BYTES;
	for (size_t i = 0; i < c->nparts; i++)
		bytes = bytes > c->parts[i].ops->ring_bytes ? bytes : c->parts[i].ops->ring_bytes;
	entries = round_up_pow2(rate / 2, 4096, 1u << 20);
	ring = round_up_pow2(o->stack->buffer ? o->stack->buffer : bytes,
			     o->stack->buffer ? 4096 : 1u << 20, 64u << 20);
	config->seen_stacks = round_up_pow2(rate * 8, 1u << 13, 1u << 20);
	config->seen_processes = round_up_pow2(rate, 1u << 12, 1u << 16);
	bpf_map__set_max_entries(s->maps.seen_stacks, config->seen_stacks);
	bpf_map__set_max_entries(s->maps.seen_processes, config->seen_processes);
	config->map_wake = entries / 2;
	config->ring_wake = ring / 4;
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

static struct ebprof_bpf *open_programs(struct collector *c)
{
	const void *object;
	size_t size;

	object = ebprof_bpf__elf_bytes(&size);
	c->types = kernel_types_open(KERNEL_TYPES, object, size);
	return bpf_programs_open(c->types);
}

/* Loads the programs with the maps that others have made. 0 or a negative errno. */
static int load(struct collector *c, const struct collector_options *o)
{
	int err = bpf_map__reuse_fd(c->skel->maps.shards, unwind_maps_shards_fd(o->unwind_maps));

	if (!err)
		err = bpf_map__reuse_fd(c->skel->maps.spaces,
					unwind_maps_spaces_fd(o->unwind_maps));
	if (!err)
		err = bpf_map__reuse_fd(c->skel->maps.data_layouts,
					unwind_maps_layouts_fd(o->unwind_maps));
	if (!err)
		err = ebprof_bpf__load(c->skel);
	/*
	 * Where libbpf found, once for this run, no memory to try whether maps can be mapped, it
	 * maps none.
	 */
	if (!err && !c->skel->bss)
		err = -ENOMEM;
	return err ? err : fill_maps(c, o);
}

static void explain_load(const struct collector *c, const struct load_log *log, struct error *e,
			 int err, int trial)
{
	const struct load_use *uses[COLLECTOR_PARTS_MAX + 1] = { NULL };

	for (size_t i = 0; i < c->nparts; i++)
		uses[i] = c->parts[i].ops->uses;
	load_log_explain(log, uses, e, err, trial);
}

/*
 * Room for all that the ring buffer may have, which is touched as it is used: to make it when a
 * program has just started is to wait for the threads that build its tables.
 */
static void reserve_records(struct collector *c)
{
	size_t bytes = bpf_map__max_entries(c->skel->maps.ring);

	c->records.v = aligned_alloc(HUGE_BYTES, bytes);
	if (!c->records.v)
		return;
	c->records.cap = bytes / sizeof(*c->records.v);
	/* What comes a few times in 50 ms does not need it. */
	if (bytes >= RESCUES_MOST)
		huge_wanted(c->records.v, bytes);
}

static int open_parts(struct collector *c, const struct collector_options *o, struct error *e)
{
	int err = 0;

	for (size_t i = 0; i < c->nparts && !err; i++)
		if (c->parts[i].ops->open)
			err = c->parts[i].ops->open(c->parts[i].ctx, o, c->skel, e);
	if (err || o->trial || !c->skel->rodata->config.succeeded)
		return err;
	c->successor = successor_new(o, c->skel, c->types);
	if (!c->successor)
		return error_set(e, STATUS_ERROR, -errno, "cannot start a process: %s",
				 strerror(errno));
	c->skel->bss->own_loader = (__u32)successor_pid(c->successor);
	return 0;
}

struct collector *collector_new(const struct collector_options *options, struct error *e)
{
	struct collector *c = xcalloc(1, sizeof(*c));
	struct collector_options own = *options;
	const struct collector_options *o = &own;
	struct load_log log = { 0 };
	int err;

	c->barrier = c->types = -1;
	memcpy(c->parts, o->parts, sizeof(c->parts));
	c->nparts = o->nparts;
	load_log_into(&log);	/* what matters to a user is in our errors */
	c->ncpus_possible = libbpf_num_possible_cpus();
	c->skel = open_programs(c);
	if (!c->skel || c->ncpus_possible < 1) {
		error_set(e, STATUS_ERROR, -errno, "cannot open the BPF programs: %s",
			  strerror(errno));
		goto fail;
	}
	own.languages = successor_is_possible(o, c->skel)
				? successor_languages(o->languages)
				: EBP_LANGUAGES_ALL;
	err = configure(c, o, e);
	if (!err)
		err = choose_programs(c, o, e);
	if (err)
		goto fail;
	size_maps(c, o);
	err = load(c, o);
	if (err) {
		explain_load(c, &log, e, err, o->trial);
		goto fail;
	}
	load_log_into(NULL);
	c->ring = ring_buffer__new(bpf_map__fd(c->skel->maps.ring), take_record, c, NULL);
	if (!c->ring) {
		error_set(e, STATUS_ERROR, -errno, "cannot map the ring buffer: %s",
			  strerror(errno));
		goto fail;
	}
	reserve_records(c);
	c->grace = grace_new(bpf_map__fd(c->skel->maps.barrier_map), c->barrier);
	if (!c->grace) {
		error_set(e, STATUS_ERROR, -errno, "cannot start a thread: %s", strerror(errno));
		goto fail;
	}
	c->keys = xcalloc(BATCH, sizeof(*c->keys));
	c->values = xcalloc(BATCH, sizeof(*c->values));
	if (!open_parts(c, o, e))
		return c;
fail:
	load_log_into(NULL);
	collector_free(c);
	return NULL;
}

void collector_free(struct collector *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].ops->close)
			c->parts[i].ops->close(c->parts[i].ctx);
	for (size_t i = 0; i < c->links.n; i++)
		bpf_link__destroy(c->links.v[i]);
	vec_free(&c->links);
	ring_buffer__free(c->ring);
	grace_free(c->grace);
	if (c->barrier >= 0)
		close(c->barrier);
	if (c->types >= 0)
		close(c->types);
	successor_free(c->successor);
	ebprof_bpf__destroy(c->skel);
	vec_free(&c->records);
	free(c->keys);
	free(c->values);
	free(c);
}

/* What all recordings follow. */
static int watch_processes(struct collector *c, struct error *e)
{
	struct bpf_program *const watchers[] = {
		c->skel->progs.on_fork, c->skel->progs.on_exec, c->skel->progs.on_exit,
	};

	for (size_t i = 0; i < sizeof(watchers) / sizeof(*watchers); i++) {
		struct bpf_link *link;

		if (!bpf_program__autoload(watchers[i]))
			continue;
		link = bpf_program__attach(watchers[i]);
		if (!link)
			return features_explain(e, -errno, "cannot follow forks and exits");
		vec_push(&c->links, link);
	}
	return 0;
}

int collector_start(struct collector *c, struct error *e)
{
	int err = watch_processes(c, e);
	uint64_t now;

	for (size_t i = c->nparts; i-- && !err;)
		err = c->parts[i].ops->attach(c->parts[i].ctx, c->skel, e);
	if (err)
		return err;
	now = clock_ns();
	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].ops->began)
			c->parts[i].ops->began(c->parts[i].ctx, c->skel, now);
	return 0;
}

void collector_refresh_cpus(struct collector *c)
{
	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].ops->refresh_cpus)
			c->parts[i].ops->refresh_cpus(c->parts[i].ctx);
}

void collector_stop(struct collector *c)
{
	uint64_t now = clock_ns();

	for (size_t i = 0; i < c->nparts; i++)
		c->parts[i].ops->stop(c->parts[i].ctx, c->skel, now);
	while (c->links.n)
		bpf_link__destroy(c->links.v[--c->links.n]);
}

struct successor *collector_successor(const struct collector *c)
{
	return c->successor;
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

void collector_resend_stacks(struct collector *c)
{
	struct ebprof_bpf__bss *bss = c->skel->bss;

	__atomic_store_n(&bss->resent, bss->resent + 1, __ATOMIC_SEQ_CST);
}

void collector_end_timeline(struct collector *c)
{
	__atomic_store_n(&c->skel->bss->timeline_over, 1, __ATOMIC_RELAXED);
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
	uint64_t n = 0;

	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].ops->skipped)
			n += c->parts[i].ops->skipped(c->parts[i].ctx);
	return n;
}

size_t collector_cpus(const struct collector *c)
{
	for (size_t i = 0; i < c->nparts; i++)
		if (c->parts[i].ops->cpus)
			return c->parts[i].ops->cpus(c->parts[i].ctx);
	return c->ncpus;
}
