/* SPDX-License-Identifier: MIT */
#include "input/perf_data_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/sort.h"
#include "base/xalloc.h"
#include "input/perf_data_features.h"
#include "input/perf_data_sample.h"
#include "input/perf_data_unpack.h"
#include "input/room.h"

#define IDS_MAX (1u << 22)		/* the kernel's ids of all events */

const uint8_t *perf_data_at(struct slice s, uint64_t at, uint64_t n)
{
	return at <= s.n && n <= s.n - at ? (const uint8_t *)s.s + at : NULL;
}

struct slice perf_data_text(const void *p, size_t n)
{
	return (struct slice){ p, strnlen(p, n) };
}

static int damaged(struct error *e, const char *what, uint64_t at)
{
	return error_set(e, STATUS_ERROR, -EBADMSG,
			 "damaged, or cut off: %s at byte %" PRIu64 " would end behind it", what,
			 at);
}

/* --- Events. -------------------------------------------------------------------- */

/* An event: @size bytes of its attributes, and @n ids. */
static int add_event(struct perf_data_file *f, const uint8_t *attr, size_t size,
		     const uint8_t *ids, uint64_t n, struct error *e)
{
	struct perf_data_event event = { .name = { "", 0 } };

	if (f->events.n == PERF_DATA_EVENTS_MAX || n > IDS_MAX - f->ids.n)
		return error_set(e, STATUS_ERROR, -E2BIG, "it has too many events");
	memcpy(&event.attr, attr, size < sizeof(event.attr) ? size : sizeof(event.attr));
	for (uint64_t i = 0; i < n; i++)
		hashmap_set(&f->ids, load64(ids + 8 * i), (uint32_t)f->events.n);
	vec_push(&f->events, event);
	return 0;
}

static int read_events(struct perf_data_file *f, const struct perf_data_header *h,
		       struct error *e)
{
	const uint64_t section = sizeof(struct perf_data_section), stride = h->attr_size;
	int err = 0;

	if (stride < PERF_ATTR_SIZE_VER0 + section || stride > 4096 ||
	    !perf_data_at(f->bytes, h->attrs.offset, h->attrs.size) || h->attrs.size < stride)
		return damaged(e, "the events", h->attrs.offset);
	for (uint64_t at = 0; !err && h->attrs.size - at >= stride; at += stride) {
		const uint8_t *p = perf_data_at(f->bytes, h->attrs.offset + at, stride), *ids;
		struct perf_data_section s;

		memcpy(&s, p + stride - section, section);
		ids = perf_data_at(f->bytes, s.offset, s.size);
		err = ids ? add_event(f, p, stride - section, ids, s.size / 8, e)
			  : damaged(e, "the ids of an event", s.offset);
	}
	return err;
}

/* --- Records. ------------------------------------------------------------------- */
struct walk {
	struct perf_data_file *f;
	struct slice bytes;
	uint64_t at;			/* of the record that is looked at */
	int unpacked;			/* they were compressed */
	struct perf_data_unpack *unpack;
	struct error *e;
};

static int take_attr(struct walk *w, struct slice r)
{
	const size_t head = sizeof(struct perf_event_header);
	const uint8_t *p = perf_data_at(r, head, PERF_ATTR_SIZE_VER0);
	uint32_t size = p ? load32(p + 4) : 0;
	const uint8_t *ids = perf_data_at(r, head + (uint64_t)size, 0);

	if (size < PERF_ATTR_SIZE_VER0 || !ids)
		return damaged(w->e, "an event", w->at);
	return add_event(w->f, p, size, ids, (r.n - head - size) / 8, w->e);
}

static int take_build_id(struct walk *w, struct slice r)
{
	perf_data_take_build_id(w->f, r);
	return 0;
}

/* An event is given its name. */
static int take_update(struct walk *w, struct slice r)
{
	const size_t fixed = sizeof(struct perf_event_header) + 16;
	const uint8_t *p = perf_data_at(r, 0, fixed);
	uint32_t event = p ? hashmap_get(&w->f->ids, load64(p + fixed - 8)) : HASHMAP_NONE;

	if (p && event < w->f->events.n && load64(p + fixed - 16) == PERF_DATA_UPDATE_NAME)
		w->f->events.v[event].name = perf_data_text(p + fixed, r.n - fixed);
	return 0;
}

static int take_feature(struct walk *w, struct slice r)
{
	const size_t fixed = sizeof(struct perf_event_header) + 8;
	const uint8_t *p = perf_data_at(r, 0, fixed);

	if (p)
		perf_data_feature(w->f, load64(p + fixed - 8),
				  (struct slice){ r.s + fixed, r.n - fixed });
	return 0;
}

static int unpack(struct walk *w, struct slice part)
{
	int err = perf_data_unpack(&w->unpack, w->f, part);

	if (!err)
		return 0;
	return error_set(w->e, STATUS_ERROR, err,
			 err == -EFBIG ? "unpacked, it is larger than 1 GiB"
				       : "the compressed record at byte %" PRIu64 " is damaged",
			 w->at);
}

static int take_compressed(struct walk *w, struct slice r)
{
	const size_t head = sizeof(struct perf_event_header);

	return unpack(w, (struct slice){ r.s + head, r.n - head });
}

/* Filled up to 8 bytes, so it says how much of it counts. */
static int take_compressed2(struct walk *w, struct slice r)
{
	const size_t fixed = sizeof(struct perf_event_header) + 8;
	const uint8_t *p = perf_data_at(r, 0, fixed);
	uint64_t size = p ? load64(p + fixed - 8) : 0;

	if (!perf_data_at(r, fixed, size))
		return damaged(w->e, "a compressed record", w->at);
	return unpack(w, (struct slice){ r.s + fixed, size });
}

static int take_record(struct walk *w, struct slice r)
{
	struct perf_data_file *f = w->f;
	const uint8_t *at = (const uint8_t *)r.s;

	if (f->records.n >= ROOM_MAX)
		return error_set(w->e, STATUS_ERROR, -E2BIG, "it has too many records");
	vec_push(&f->records, (struct perf_data_record){ perf_data_time(f, at), at });
	return 0;
}

/* What stands behind a record, and is not read. */
static int skip(struct walk *w, struct slice r, uint64_t n)
{
	if (!perf_data_at(w->bytes, w->at + r.n, n))
		return damaged(w->e, "traces", w->at);
	w->at += n;
	return 0;
}

static int take_tracing(struct walk *w, struct slice r)
{
	const uint8_t *p = perf_data_at(r, sizeof(struct perf_event_header), 4);

	return skip(w, r, p ? (load32(p) + 7ull) & ~7ull : 0);
}

static int take_auxtrace(struct walk *w, struct slice r)
{
	const uint8_t *p = perf_data_at(r, sizeof(struct perf_event_header), 8);

	return skip(w, r, p ? load64(p) : 0);
}

/* Records of other types are passed over. */
static const struct taker {
	int (*take)(struct walk *w, struct slice r);
	int packed;			/* may stand among what was compressed, too */
} takers[] = {
	[PERF_RECORD_MMAP] = { take_record, 1 },
	[PERF_RECORD_LOST] = { take_record, 1 },
	[PERF_RECORD_COMM] = { take_record, 1 },
	[PERF_RECORD_EXIT] = { take_record, 1 },
	[PERF_RECORD_FORK] = { take_record, 1 },
	[PERF_RECORD_SAMPLE] = { take_record, 1 },
	[PERF_RECORD_MMAP2] = { take_record, 1 },
	[PERF_RECORD_LOST_SAMPLES] = { take_record, 1 },
	[PERF_RECORD_KSYMBOL] = { take_record, 1 },
	[PERF_DATA_DEFERRED] = { take_record, 1 },
	[PERF_DATA_HEADER_ATTR] = { take_attr, 0 },
	[PERF_DATA_HEADER_TRACING] = { take_tracing, 0 },
	[PERF_DATA_HEADER_BUILD_ID] = { take_build_id, 0 },
	[PERF_DATA_AUXTRACE] = { take_auxtrace, 0 },
	[PERF_DATA_EVENT_UPDATE] = { take_update, 0 },
	[PERF_DATA_HEADER_FEATURE] = { take_feature, 0 },
	[PERF_DATA_COMPRESSED] = { take_compressed, 0 },
	[PERF_DATA_COMPRESSED2] = { take_compressed2, 0 },
};

static int walk_records(struct walk *w)
{
	const size_t head = sizeof(struct perf_event_header);
	int err = 0;

	while (!err && w->at < w->bytes.n) {
		const uint8_t *p = perf_data_at(w->bytes, w->at, head);
		const struct perf_event_header h = p ? perf_data_head(p)
						     : (struct perf_event_header){ 0 };
		const struct taker *t = h.type < sizeof(takers) / sizeof(*takers)
						? &takers[h.type]
						: &(struct taker){ 0 };

		if (h.size < head || !perf_data_at(w->bytes, w->at, h.size))
			return damaged(w->e, w->unpacked ? "unpacked records" : "records", w->at);
		if (t->take && (t->packed || !w->unpacked))
			err = t->take(w, (struct slice){ (const char *)p, h.size });
		w->at += h.size;
	}
	return err;
}

/* They come in the order of the file, what was unpacked behind the rest; so do equals. */
static void sort_records(struct perf_data_file *f)
{
	struct perf_data_record *from = f->records.v, *to;
	struct sort_key *keys;
	size_t sorted = 1;

	while (sorted < f->records.n && from[sorted - 1].time <= from[sorted].time)
		sorted++;
	if (sorted >= f->records.n)
		return;
	keys = xreallocarray(NULL, f->records.n, sizeof(*keys));
	for (uint32_t i = 0; i < f->records.n; i++)
		keys[i] = (struct sort_key){ from[i].time, i };
	keys = sort_keys(keys, f->records.n);
	to = xreallocarray(NULL, f->records.n, sizeof(*to));
	for (size_t i = 0; i < f->records.n; i++)
		to[i] = from[keys[i].place];
	free(keys);
	free(from);
	f->records.v = to;
	f->records.cap = f->records.n;
}

/* What comes before a damage counts; @err is that of a part of the file. */
static int take_note(struct perf_data_file *f, int err, const struct error *e)
{
	if (err != -EBADMSG)
		return err;
	if (!*f->damage.text)
		f->damage = *e;
	return 0;
}

/* The records from @at to @end of the file, and what they unpack to. */
static int read_records(struct perf_data_file *f, uint64_t at, uint64_t end, struct error *e)
{
	struct walk w = { .f = f, .bytes = { f->bytes.s, end }, .at = at, .e = e };
	int err = take_note(f, walk_records(&w), e);

	if (!err) {
		w.bytes = (struct slice){ f->unpacked.v, f->unpacked.n };
		w.unpacked = 1;
		w.at = 0;
		err = take_note(f, walk_records(&w), e);
	}
	perf_data_unpack_free(w.unpack);
	if (!err && !f->events.n && *f->damage.text)
		*e = f->damage;
	else if (!err && !f->events.n)
		error_set(e, STATUS_ERROR, -ENODATA, "it does not say what was measured");
	if (!err && !f->events.n)
		err = -ENODATA;
	if (!err)
		sort_records(f);
	return err;
}

/* --- The file. ------------------------------------------------------------------ */
static int read_features(struct perf_data_file *f, const struct perf_data_header *h,
			 struct error *e)
{
	uint64_t at = h->data.offset + h->data.size;

	for (uint64_t id = 0; id < PERF_DATA_FEATURES; id++) {
		const uint8_t *p;
		struct perf_data_section s;

		if (!(h->features[id / 64] >> id % 64 & 1))
			continue;
		p = perf_data_at(f->bytes, at, sizeof(s));
		if (!p)
			return damaged(e, "its features", at);
		memcpy(&s, p, sizeof(s));
		p = perf_data_at(f->bytes, s.offset, s.size);
		if (!p)
			return damaged(e, "its features", s.offset);
		perf_data_feature(f, id, (struct slice){ (const char *)p, s.size });
		at += sizeof(s);
	}
	return 0;
}

/* Of what was killed the size of the records is not filled in. */
static int read_file(struct perf_data_file *f, struct error *e)
{
	const uint8_t *p = perf_data_at(f->bytes, 0, PERF_DATA_FILE_HEADER);
	struct perf_data_header h;
	int err;

	if (!p)
		return damaged(e, "its header", 0);
	memcpy(&h, p, sizeof(h));
	f->open_ended = !h.data.size;
	if (h.data.offset > f->bytes.n)
		return damaged(e, "its records", h.data.offset);
	if (!f->open_ended && h.data.size > f->bytes.n - h.data.offset)
		take_note(f, damaged(e, "its records", h.data.offset), e);
	if (f->open_ended || *f->damage.text)
		h.data.size = f->bytes.n - h.data.offset;
	err = read_events(f, &h, e);
	if (!err && !f->open_ended && !*f->damage.text)
		err = take_note(f, read_features(f, &h, e), e);
	return err ? err
		   : read_records(f, h.data.offset, h.data.offset + h.data.size, e);
}

int perf_data_file_open(struct perf_data_file *f, const char *bytes, size_t n, struct error *e)
{
	const struct slice empty = { "", 0 };
	const uint8_t *p;
	uint64_t size;

	*f = (struct perf_data_file){
		.bytes = { bytes, n }, .host = empty, .release = empty, .arch = empty
	};
	if (n >= 8 && !memcmp(bytes, PERF_DATA_MAGIC_SWAPPED, 8))
		return error_set(e, STATUS_ERROR, -EINVAL,
				 "it is from a big-endian machine; read it there: perf script");
	p = perf_data_at(f->bytes, 8, 8);
	if (!p)
		return damaged(e, "its header", 0);
	size = load64(p);
	if (size == PERF_DATA_PIPE_HEADER)
		return read_records(f, PERF_DATA_PIPE_HEADER, n, e);
	if (size < PERF_DATA_FILE_HEADER)
		return error_set(e, STATUS_ERROR, -EINVAL,
				 "its form is not known (a header of %" PRIu64 " bytes)", size);
	return read_file(f, e);
}

void perf_data_file_free(struct perf_data_file *f)
{
	vec_free(&f->events);
	hashmap_free(&f->ids);
	vec_free(&f->build_ids);
	vec_free(&f->records);
	vec_free(&f->unpacked);
	vec_free(&f->command);
}
