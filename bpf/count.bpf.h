/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counting: every sample exactly once, or lost with its reason.
 *
 * A stack's id is a 64-bit hash of its frames. The first time an id is met its
 * frames go to user space through the ring buffer; only then may it be counted.
 * "Met" is kept in a direct-mapped cache: two ids that share a slot make the
 * frames travel again, which costs a little and loses nothing. So there is no
 * table of stacks that could fill up.
 *
 * The counts are in one of two hash maps; user space switches between them
 * while sampling goes on, waits until no program is in the old one, and empties
 * it. Where a count cannot be inserted the sample itself goes through the ring
 * buffer.
 *
 * NMI: with a PMU this runs in NMI context. The ring buffer's reserve and the
 * preallocated hash try their locks there and may fail; both failures take the
 * paths above. Nothing here takes another lock.
 */
#ifndef EBPROF_COUNT_BPF_H
#define EBPROF_COUNT_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/unwind.bpf.h"

#define EEXIST 17

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);	/* bytes; set by user space */
} ring SEC(".maps");

struct count_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);		/* set by user space */
	__type(key, struct ebp_key);
	__type(value, struct ebp_count);
};

struct count_map counts_a SEC(".maps"), counts_b SEC(".maps");
__u32 use_b;			/* which of them is in use; written by user space */

/*
 * Never looked at: an update of a map of maps returns after a grace period, in
 * which every program that runs now ends (maybe_wait_bpf_programs(), 5.0).
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct {
		__uint(type, BPF_MAP_TYPE_ARRAY);
		__uint(max_entries, 1);
		__type(key, __u32);
		__type(value, __u32);
	});
} barrier_map SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ebp_counters);
} counters SEC(".maps");

/* Direct-mapped caches of ids; user space sets their sizes, powers of two (config.seen_*). */
struct seen_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
};

struct seen_map seen_stacks SEC(".maps"), seen_processes SEC(".maps");
__u64 resent;			/* mixed into their ids; where it changes, all are sent again */

/* What user space reads and resets while we run; exactness is not needed. */
__u64 first_sample;		/* time of the first sample that was kept */
__u32 count_entries;		/* entries inserted since the last swap */
__u32 drain_asked;
__u32 timeline_over;		/* no more times are wanted */

static __always_inline __u64 hash_process(const struct ebp_process *p)
{
	return hash_step(hash_step(config.seed, (__u64)p->tgid << 32 | p->exec_id), p->start);
}

/* Waking the reader costs more than a sample: only where it must not wait for its timer. */
static __always_inline int send(const void *record, __u64 size, int urgent)
{
	urgent |= bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= config.ring_wake;
	return bpf_ringbuf_output(&ring, (void *)record, size,
				  urgent ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

/*
 * 1 where process @id was not met before. User space then reads its mappings
 * before it exits, so that is @urgent; except where another one is in its
 * slot: then these may be two that alternate in it.
 */
static __always_inline int first_sight(__u64 id, int *urgent)
{
	__u32 at = id & (config.seen_processes - 1);
	__u64 *slot = bpf_map_lookup_elem(&seen_processes, &at);

	if (!slot || *slot == id)
		return 0;
	*urgent = !*slot;
	*slot = id;
	return 1;
}

/* Process @id could not be told of: its next sample tries again. */
static __always_inline void forget_sight(__u64 id)
{
	__u32 at = id & (config.seen_processes - 1);
	__u64 *slot = bpf_map_lookup_elem(&seen_processes, &at);

	if (slot)
		*slot = 0;
}

/* Tells user space of a process that was not met before. */
static __always_inline void announce_process(const struct ebp_process *p, __u64 id)
{
	struct ebp_sighting s = { .head.type = EBP_PROCESS, .process = *p };
	int urgent = 0;

	if (!first_sight(id, &urgent))
		return;
	s.time = bpf_ktime_get_ns();
	if (send(&s, sizeof(s), urgent))
		forget_sight(id);
}

/*
 * Sends the frames of @s, at most @most (all ones), unless they were sent before. 0, or negative
 * where they could not be sent.
 */
static __always_inline int announce_stack(struct ebp_stack *s, __u32 most)
{
	__u32 at = s->id & (config.seen_stacks - 1);
	__u64 *slot = bpf_map_lookup_elem(&seen_stacks, &at);
	int err;

	if (!slot || (*slot ^ resent) == s->id)
		return 0;
	s->time = bpf_ktime_get_ns();
	err = send(s, sizeof(*s) + (s->head.n & most) * sizeof(__u64), 0);
	if (!err)
		*slot = s->id ^ resent;
	return err;
}

static __always_inline int count_in_map(const struct ebp_key *key, struct ebp_count add)
{
	void *map = use_b ? &counts_b : &counts_a;
	struct ebp_count *n;
	long err;

	n = bpf_map_lookup_elem(map, key);
	if (!n) {
		err = bpf_map_update_elem(map, key, &add, BPF_NOEXIST);
		if (!err) {
			__sync_fetch_and_add(&count_entries, 1);
			return 0;
		}
		/* Another CPU was faster. */
		n = err == -EEXIST ? bpf_map_lookup_elem(map, key) : NULL;
		if (!n)
			return -1;
	}
	__sync_fetch_and_add(&n->n, add.n);
	if (add.ns)
		__sync_fetch_and_add(&n->ns, add.ns);
	return 0;
}

/*
 * Too big for BPF's own stack, of which Linux 6.1 gives 512 bytes to a program and all that it
 * calls.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ebp_sample);
} sample_scratch SEC(".maps");

/* By itself: a sample of that @time, or (0) a count. 0, or negative where it could not be sent. */
static __always_inline int send_sample(const struct ebp_key *key, struct ebp_count add, __u64 time,
				       int urgent)
{
	__u32 zero = 0;
	struct ebp_sample *s = bpf_map_lookup_elem(&sample_scratch, &zero);

	if (!s)
		return -1;
	s->head.type = EBP_SAMPLE;
	s->time = time ? time : bpf_ktime_get_ns();
	s->key = *key;
	s->count = add;
	s->cpu = bpf_get_smp_processor_id();
	s->timed = time != 0;
	return send(s, sizeof(*s), urgent);
}

static __always_inline int count(const struct ebp_key *key, struct ebp_count add)
{
	if (count_in_map(key, add))
		return send_sample(key, add, 0, 1);
	if (count_entries >= config.map_wake && !drain_asked) {
		struct ebp_head h = { .type = EBP_DRAIN };

		drain_asked = !send(&h, sizeof(h), 1);
	}
	return 0;
}

/* To one of this CPU's counters: a program may be interrupted by one that adds, too. */
static __always_inline void add_to(__u64 *counter, __u64 n)
{
	__sync_fetch_and_add(counter, n);
}

static __always_inline void keep(struct ebp_counters *c, __u64 n)
{
	add_to(&c->kept, n);
	if (!first_sample)
		first_sample = bpf_ktime_get_ns();
}

/*
 * With its time, where that is wanted; where the ring buffer is full it counts without. 0, or
 * negative where there is no room for it at all.
 */
static __always_inline int count_at(const struct ebp_key *key, struct ebp_count add, __u64 time)
{
	if (config.timeline && !timeline_over && !send_sample(key, add, time, 0))
		return 0;
	return count(key, add);
}

/* What became of @n, by what counting them gave. */
static __always_inline void keep_or_lose(struct ebp_counters *c, __u64 n, int err)
{
	if (err)
		add_to(&c->lost[EBP_LOST_MAP], n);
	else
		keep(c, n);
}

/* Counts it, and what becomes of it. @time: when it was, or began. */
static __always_inline void record(struct ebp_counters *c, const struct ebp_key *key,
				   struct ebp_count add, __u64 time)
{
	keep_or_lose(c, add.n, count_at(key, add, time));
}

#endif
