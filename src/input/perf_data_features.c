/* SPDX-License-Identifier: MIT */
#include "input/perf_data_features.h"

#define WORDS_MAX 4096		/* of a command line */
#define IDS_MAX (1u << 20)	/* build ids */

/* Takes @n bytes off the beginning of @s; NULL: they are not there. */
static const uint8_t *take(struct slice *s, uint64_t n)
{
	const uint8_t *p = perf_data_at(*s, 0, n);

	if (p) {
		s->s += n;
		s->n -= n;
	}
	return p;
}

static uint32_t take_u32(struct slice *s)
{
	const uint8_t *p = take(s, 4);

	return p ? load32(p) : 0;
}

/* Its length, with what it was filled up by, then the text. */
static struct slice take_text(struct slice *s)
{
	uint32_t n = take_u32(s);
	const uint8_t *p = take(s, n);

	return p ? perf_data_text(p, n) : (struct slice){ "", 0 };
}

void perf_data_take_build_id(struct perf_data_file *f, struct slice record)
{
	const size_t head = sizeof(struct perf_event_header), fixed = head + 4 + 24;
	struct perf_data_id id = { .size = PERF_DATA_ID_BYTES };
	const uint8_t *p = perf_data_at(record, 0, fixed);

	if (!p || f->build_ids.n >= IDS_MAX)
		return;
	memcpy(id.bytes, p + head + 4, PERF_DATA_ID_BYTES);
	if (perf_data_head(p).misc & PERF_DATA_MISC_ID_SIZE)
		id.size = p[head + 4 + PERF_DATA_ID_BYTES];
	id.path = perf_data_text(p + fixed, record.n - fixed);
	if (id.size && id.size <= PERF_DATA_ID_BYTES && id.path.n)
		vec_push(&f->build_ids, id);
}

static void take_build_ids(struct perf_data_file *f, struct slice body)
{
	const uint8_t *p;

	while ((p = perf_data_at(body, 0, sizeof(struct perf_event_header)))) {
		size_t size = perf_data_head(p).size;

		if (size < sizeof(struct perf_event_header) || !take(&body, size))
			return;
		perf_data_take_build_id(f, (struct slice){ (const char *)p, size });
	}
}

static void take_command(struct perf_data_file *f, struct slice body)
{
	uint32_t n = take_u32(&body);

	for (uint32_t i = 0; i < n && body.n && i < WORDS_MAX; i++)
		vec_push(&f->command, take_text(&body));
}

/* The names of events, by their ids; one without ids is the only one. */
static void take_events(struct perf_data_file *f, struct slice body)
{
	uint32_t n = take_u32(&body), size = take_u32(&body);

	/* As many as there are bytes for, whatever it says: each takes four or more. */
	for (uint32_t i = 0; i < n && body.n >= 4 && take(&body, size); i++) {
		uint32_t ids = take_u32(&body), event = i;
		struct slice name = take_text(&body);
		const uint8_t *id = ids <= body.n / 8 ? take(&body, 8ull * ids) : NULL;

		if (ids && id)
			event = hashmap_get(&f->ids, load64(id));
		if (event < f->events.n && id)
			f->events.v[event].name = name;
	}
}

static void take_host(struct perf_data_file *f, struct slice body)
{
	f->host = take_text(&body);
}

static void take_release(struct perf_data_file *f, struct slice body)
{
	f->release = take_text(&body);
}

static void take_arch(struct perf_data_file *f, struct slice body)
{
	f->arch = take_text(&body);
}

static void take_cpus(struct perf_data_file *f, struct slice body)
{
	take_u32(&body);
	f->cpus = take_u32(&body);
}

static void take_clock(struct perf_data_file *f, struct slice body)
{
	const uint8_t *p = perf_data_at(body, 0, 24);

	if (!p)
		return;
	f->wall = load64(p + 8);
	f->clock = load64(p + 16);
}

void perf_data_feature(struct perf_data_file *f, uint64_t id, struct slice body)
{
	static const struct {
		enum perf_data_feature id;
		void (*take)(struct perf_data_file *f, struct slice body);
	} features[] = {
		{ PERF_DATA_BUILD_ID, take_build_ids }, { PERF_DATA_HOSTNAME, take_host },
		{ PERF_DATA_OSRELEASE, take_release },	{ PERF_DATA_ARCH, take_arch },
		{ PERF_DATA_NRCPUS, take_cpus },	{ PERF_DATA_CMDLINE, take_command },
		{ PERF_DATA_EVENT_DESC, take_events },	{ PERF_DATA_CLOCK_DATA, take_clock },
	};

	for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
		if (features[i].id == id)
			features[i].take(f, body);
}
