/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a hit of a probe holds: whether it passes its filter, and what it is worth. */
#ifndef EBPROF_PROBE_VALUES_BPF_H
#define EBPROF_PROBE_VALUES_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/probe_record.h"
#include "bpf/unwind.bpf.h"

/* By the number of the place, and all tests; sized and filled by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ebp_place);
} probe_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ebp_test);
} probe_tests SEC(".maps");

struct probe_record {
	__u8 bytes[EBP_RECORD];
	char text[EBP_TEXT];
	struct ebp_like like;
	__u32 length;		/* of @text */
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct probe_record);
} probe_records SEC(".maps");

/* A text of the record to where it is compared; its length. */
static __always_inline __u32 record_text(struct probe_record *r, __u32 offset, __u32 length)
{
	if (offset >= EBP_RECORD)
		return 0;
	if (offset > EBP_RECORD - EBP_TEXT) {
		__u32 beyond = offset - (EBP_RECORD - EBP_TEXT);

		length = length < EBP_TEXT - beyond ? length : EBP_TEXT - beyond;
	}
	if (length > EBP_TEXT)
		length = EBP_TEXT;
	for (__u32 i = 0; i < EBP_TEXT; i++)
		r->text[i] = r->bytes[(offset + i) & (EBP_RECORD - 1)];
	return length;
}

static __always_inline __u32 text_of(const struct ebp_test *t, struct probe_record *r)
{
	__u32 place;

	if (t->operand == EBP_COMM) {
		bpf_get_current_comm(r->text, 16);
		return 16;
	}
	if (t->operand == EBP_TEXT_ARRAY)
		return record_text(r, t->offset, t->length);
	place = probe_field(r->bytes, t->offset, 4, 0);
	return record_text(r, place & 0xffff, place >> 16);
}

static __always_inline __u64 number_of(const struct ebp_test *t, const struct probe_record *r)
{
	if (t->operand == EBP_PID)
		return (__u32)bpf_get_current_pid_tgid();
	if (t->operand == EBP_CPU)
		return bpf_get_smp_processor_id();
	return probe_field(r->bytes, t->offset, t->size, t->is_signed);
}

/* One step of the test at @at. The verifier looks at it once, not in each step. */
__noinline __u32 probe_text_step(__u32 at)
{
	__u32 zero = 0;
	struct ebp_test *t = bpf_map_lookup_elem(&probe_tests, &at);
	struct probe_record *r = bpf_map_lookup_elem(&probe_records, &zero);

	if (!t || !r)
		return EBP_LIKE_NO;
	return probe_like_step(&r->like, t->text, t->pattern, r->text, r->length);
}

static __always_inline int is_like(__u32 at, struct probe_record *r)
{
	__u32 result = EBP_LIKE_ON;

	probe_like_begin(&r->like);
	for (int i = 0; i < EBP_LIKE_STEPS && result == EBP_LIKE_ON; i++)
		result = probe_text_step(at);
	return result == EBP_LIKE_YES;
}

/* The test behind that at @at, by the record of this CPU. The verifier looks at it once. */
__noinline __u32 probe_test(__u32 at)
{
	__u32 zero = 0;
	struct ebp_test *t = bpf_map_lookup_elem(&probe_tests, &at);
	struct probe_record *r = bpf_map_lookup_elem(&probe_records, &zero);
	int holds;

	if (!t || !r)
		return EBP_TEST_FAIL;
	if (t->compare == EBP_LIKE) {
		r->length = text_of(t, r);
		holds = is_like(at, r);
	} else {
		holds = probe_compare(t, number_of(t, r));
	}
	return holds ? t->yes : t->no;
}

static __always_inline __u64 read_slot(const struct ebp_slot *s, const struct ebp_registers *r)
{
	__u32 reg = s->reg, size = s->size;
	__u64 x = s->offset, from;

	if (s->kind != EBP_SLOT_CONSTANT) {
		barrier_var(reg);
		if (reg >= sizeof(r->r) / sizeof(*r->r))
			return 0;
		from = r->r[reg];
		if (s->kind == EBP_SLOT_REGISTER) {
			x = from;
		} else {
			from += x;
			x = 0;
			barrier_var(size);
			if (size > sizeof(x) || bpf_probe_read_user(&x, size, (void *)from))
				return 0;
		}
	}
	return probe_number(x, s->size, s->is_signed);
}

/* The operands of a probe in user code become the record. */
static __always_inline void read_slots(const struct ebp_place *p, struct probe_record *r,
				       const struct ebp_registers *registers)
{
	for (__u32 i = 0; i < EBP_SLOTS; i++)
		if (i < p->slots)
			((__u64 *)r->bytes)[i] = read_slot(&p->slot[i], registers);
}

static __always_inline int passes(const struct ebp_place *p)
{
	__u32 at = p->test;

	for (int i = 0; i < EBP_TESTS && at < EBP_TEST_FAIL; i++)
		at = probe_test(at);
	return at == EBP_TEST_PASS;
}

/*
 * Whether the hit of @key->class (EBP_PROBE_PLACE) counts, and what for: into *@worth, of which
 * nothing is left where that is negative. What it is told apart by goes into the key. @record: the
 * tracepoint's; NULL: @registers are those of user code.
 */
static __always_inline int probe_counts(struct ebp_key *key, const void *record,
					const struct ebp_registers *registers,
					struct ebp_count *worth)
{
	__u32 zero = 0, number = EBP_PROBE_INDEX(key->class), size;
	struct ebp_place *p;
	struct probe_record *r;
	__s64 value;

	if (!config.probes.records)
		return 1;
	p = bpf_map_lookup_elem(&probe_places, &number);
	r = bpf_map_lookup_elem(&probe_records, &zero);
	if (!p || !r)
		return 0;
	size = p->record;
	barrier_var(size);
	if (record && size < EBP_RECORD)
		bpf_probe_read_kernel(r->bytes, size, record);
	else if (registers)
		read_slots(p, r, registers);
	if (!passes(p))
		return 0;
	if (p->by_size)
		key->waker = probe_field(r->bytes, p->by_offset, p->by_size, p->by_signed);
	if (!p->value_size)
		return 1;
	value = probe_field(r->bytes, p->value_offset, p->value_size, p->value_signed);
	worth->ns = value > 0 || !p->value_signed ? value : 0;
	return 1;
}

#endif
