/* SPDX-License-Identifier: MIT */
#include "input/perf_data_sample.h"

#include <errno.h>

/* A record being read; once something was not there, all is 0. */
struct cursor {
	const uint8_t *at;
	uint64_t left;
	int bad;
};

static const uint8_t *take(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->at;

	if (n > c->left) {
		c->bad = 1;
		c->left = 0;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return p;
}

static uint64_t take_u64(struct cursor *c)
{
	const uint8_t *p = take(c, 8);

	return p ? load64(p) : 0;
}

/* @n parts of @size bytes each. */
static const uint8_t *take_many(struct cursor *c, uint64_t n, uint64_t size)
{
	return take(c, n > c->left / size ? UINT64_MAX : n * size);
}

/* The event that the kernel's @id is of; the first where there is no such. */
static uint32_t event_of(const struct perf_data_file *f, uint64_t id)
{
	uint32_t event = hashmap_get(&f->ids, id);

	return event < f->events.n ? event : 0;
}

/* The event of a sample. All have its id in the same place, as far as there are several. */
static uint32_t sample_event(const struct perf_data_file *f, const uint8_t *record)
{
	static const uint64_t before[] = { PERF_SAMPLE_IP, PERF_SAMPLE_TID, PERF_SAMPLE_TIME,
					   PERF_SAMPLE_ADDR };
	uint64_t types = f->events.v[0].attr.sample_type, at = sizeof(struct perf_event_header);

	if (f->events.n < 2 || !(types & (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_ID)))
		return 0;
	for (size_t i = 0; !(types & PERF_SAMPLE_IDENTIFIER) && i < 4; i++)
		at += types & before[i] ? 8 : 0;
	if (at + 8 > perf_data_head(record).size)
		return 0;
	return event_of(f, load64(record + at));
}

static void skip_read(struct cursor *c, uint64_t format)
{
	uint64_t times = 8ull * (!!(format & PERF_FORMAT_TOTAL_TIME_ENABLED) +
				 !!(format & PERF_FORMAT_TOTAL_TIME_RUNNING));
	uint64_t each = 8ull * (1 + !!(format & PERF_FORMAT_ID) + !!(format & PERF_FORMAT_LOST));
	uint64_t n = format & PERF_FORMAT_GROUP ? take_u64(c) : 1;

	take(c, times);
	take_many(c, n, each);
}

/* Of branches only a stack of calls is of use. */
static void take_branches(struct cursor *c, uint64_t type, struct perf_data_sample *s)
{
	uint64_t n = take_u64(c);
	const uint8_t *entries;

	if (type & PERF_SAMPLE_BRANCH_HW_INDEX)
		take(c, 8);
	entries = take_many(c, n, PERF_DATA_BRANCH_BYTES);
	if (type & PERF_DATA_BRANCH_COUNTERS)
		take_many(c, n, 8);
	if (entries && type & PERF_SAMPLE_BRANCH_CALL_STACK) {
		s->branches = entries;
		s->nbranches = n;
	}
}

/* What the event's sample type lists first. */
static void take_fixed(struct cursor *c, uint64_t type, struct perf_data_sample *s)
{
	uint64_t word;

	if (type & PERF_SAMPLE_IDENTIFIER)
		take_u64(c);
	if (type & PERF_SAMPLE_IP)
		s->ip = take_u64(c);
	if (type & PERF_SAMPLE_TID) {
		word = take_u64(c);
		s->pid = (uint32_t)word;
		s->tid = (uint32_t)(word >> 32);
	}
	if (type & PERF_SAMPLE_TIME)
		s->time = take_u64(c);
	if (type & PERF_SAMPLE_ADDR)
		take_u64(c);
	if (type & PERF_SAMPLE_ID)
		take_u64(c);
	if (type & PERF_SAMPLE_STREAM_ID)
		take_u64(c);
	if (type & PERF_SAMPLE_CPU)
		s->cpu = (uint32_t)take_u64(c);
	if (type & PERF_SAMPLE_PERIOD)
		s->period = take_u64(c);
}

static void take_registers(struct cursor *c, uint64_t mask, struct perf_data_sample *s)
{
	s->abi = take_u64(c);
	if (s->abi == PERF_SAMPLE_REGS_ABI_NONE)
		return;
	s->mask = mask;
	s->registers = take_many(c, (uint64_t)__builtin_popcountll(mask), 8);
}

static void take_stack(struct cursor *c, struct perf_data_sample *s)
{
	uint64_t size = take_u64(c), used;

	if (!size)
		return;
	s->stack = take(c, size);
	used = take_u64(c);
	s->nstack = !s->stack || c->bad ? 0 : used < size ? used : size;
}

int perf_data_sample(const struct perf_data_file *f, const uint8_t *record,
		     struct perf_data_sample *s)
{
	const size_t head = sizeof(struct perf_event_header);
	struct cursor c = { record + head, perf_data_head(record).size - head, 0 };
	const struct perf_event_attr *attr;
	const uint8_t *raw;

	*s = (struct perf_data_sample){ .event = sample_event(f, record) };
	attr = &f->events.v[s->event].attr;
	take_fixed(&c, attr->sample_type, s);
	if (attr->sample_type & PERF_SAMPLE_READ)
		skip_read(&c, attr->read_format);
	if (attr->sample_type & PERF_SAMPLE_CALLCHAIN) {
		s->nchain = take_u64(&c);
		s->chain = take_many(&c, s->nchain, 8);
	}
	if (attr->sample_type & PERF_SAMPLE_RAW) {
		raw = take(&c, 4);
		take(&c, raw ? load32(raw) : 0);
	}
	if (attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		take_branches(&c, attr->branch_sample_type, s);
	if (attr->sample_type & PERF_SAMPLE_REGS_USER)
		take_registers(&c, attr->sample_regs_user, s);
	if (attr->sample_type & PERF_SAMPLE_STACK_USER)
		take_stack(&c, s);
	return c.bad ? -EBADMSG : 0;
}

/* What stands at the end of a record that is no sample, from its end on. */
static uint64_t trailing_time(const struct perf_event_attr *attr, const uint8_t *record,
			      uint64_t size)
{
	static const uint64_t behind[] = { PERF_SAMPLE_IDENTIFIER, PERF_SAMPLE_CPU,
					   PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_ID };
	uint64_t at = size;

	if (!attr->sample_id_all || !(attr->sample_type & PERF_SAMPLE_TIME))
		return 0;
	for (size_t i = 0; i < 4; i++)
		at -= attr->sample_type & behind[i] && at >= 8 ? 8 : 0;
	return at >= sizeof(struct perf_event_header) + 8 ? load64(record + at - 8) : 0;
}

/* The id of an event is the last thing in a record, or comes before the CPU. */
static uint32_t other_event(const struct perf_data_file *f, const uint8_t *record, uint64_t size)
{
	uint64_t types = f->events.v[0].attr.sample_type;

	if (f->events.n < 2 || !(types & PERF_SAMPLE_IDENTIFIER) ||
	    size < sizeof(struct perf_event_header) + 8)
		return 0;
	return event_of(f, load64(record + size - 8));
}

uint64_t perf_data_time(const struct perf_data_file *f, const uint8_t *record)
{
	const struct perf_event_header h = perf_data_head(record);
	struct perf_data_sample s = { 0 };
	struct cursor c = { record + sizeof(h), h.size - sizeof(h), 0 };

	if (!f->events.n)
		return 0;
	if (h.type == PERF_RECORD_SAMPLE) {
		take_fixed(&c, f->events.v[sample_event(f, record)].attr.sample_type, &s);
		return s.time;
	}
	return trailing_time(&f->events.v[other_event(f, record, h.size)].attr, record, h.size);
}
