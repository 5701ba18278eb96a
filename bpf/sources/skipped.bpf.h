/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Samples that the kernel skips. A perf event's program does not run where, on its CPU, another
 * program does that was called by a kprobe, a tracepoint or a perf event, nor while a map is
 * changed by bpf(2): of such hits nobody is told (bpf_prog_active in bpf_overflow_handler(),
 * kernel/events/core.c). What a tracer costs would be in no profile.
 *
 * But a clock's event is a timer's, and behind each timer comes a tracepoint whose programs always
 * run. There the sample is taken, where it was not: in the same interrupt, so nothing but some
 * frames of that is to be left out. Of our own programs one on a probe may be what is interrupted:
 * see at_work.bpf.h.
 *
 * Hardware events have no such place.
 */
#ifndef EBPROF_SKIPPED_BPF_H
#define EBPROF_SKIPPED_BPF_H

#include "bpf/at_work.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/stack.bpf.h"

#define ENTRY_FRAMES 32		/* from the tracepoint to where its interrupt came in, at most */

__u8 clock_watched;		/* on_timer() is there; written by user space */
/* Learned of the first hits that were not skipped; 0: not known yet. */
__u64 clock_program;		/* struct bpf_prog of the event */
/* into the code by which interrupts enter: the frame behind is what they interrupted */
__u64 entry_return;

/* Where the last hit found the CPU; 0: the tracepoint behind it has seen that. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} clock_hits SEC(".maps");

static __always_inline void note_hit(__u64 pc)
{
	__u32 zero = 0;
	__u64 *hit = NULL;

	if (config.samples.clock && clock_watched)
		hit = bpf_map_lookup_elem(&clock_hits, &zero);

	if (hit)
		*hit = pc;
}

/* Where @address is among the first of the @n frames in the scratch; ENTRY_FRAMES: nowhere. */
__noinline __u32 find_frame(__u64 address, __u32 n)
{
	__u32 zero = 0;
	struct ebp_stack *s = bpf_map_lookup_elem(&scratch, &zero);

	for (__u32 i = 0; s && i < ENTRY_FRAMES && i < n; i++)
		if (s->frames[i] == address)
			return i;
	return ENTRY_FRAMES;
}

static __always_inline void learn_entry(void *ctx, __u64 pc)
{
	__u32 zero = 0, at;
	struct ebp_stack *s = bpf_map_lookup_elem(&scratch, &zero);

	if (!s || (__s64)pc >= 0 || is_probe_at_work())
		return;
	at = find_frame(pc, kernel_frames(ctx, s->frames));
	if (at && at < ENTRY_FRAMES)
		entry_return = s->frames[at - 1];
}

/*
 * Of the @n frames from the tracepoint on: the first that the interrupt found in the kernel, @n
 * where it found none.
 */
static __always_inline __u32 first_interrupted(__u32 n)
{
	__u32 at = find_frame(entry_return, n);

	return at < ENTRY_FRAMES ? at + 1 : 0;
}

static __always_inline int is_active(const struct perf_event *event)
{
	return BPF_CORE_READ(event, state) == PERF_EVENT_STATE_ACTIVE;
}

/* Behind a @timer: 1 where it was our clock, and its hit was skipped. */
static __always_inline int was_skipped(void *ctx, const void *timer)
{
	const struct perf_event *event = timer -
					 bpf_core_field_offset(struct perf_event, hw.hrtimer);
	__u32 zero = 0;
	__u64 *hit = bpf_map_lookup_elem(&clock_hits, &zero);

	if (!hit)
		return 0;
	if (!*hit)
		return clock_program && (__u64)BPF_CORE_READ(event, prog) == clock_program &&
		       is_active(event);
	/* Of another timer, where the one that was hit was not seen, this is no event. */
	if (!clock_program && is_active(event))
		clock_program = (__u64)BPF_CORE_READ(event, prog);
	if (!entry_return)
		learn_entry(ctx, *hit);
	*hit = 0;
	return 0;
}

#endif
