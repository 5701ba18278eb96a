/* SPDX-License-Identifier: MIT */
/* perf.data files, made by hand: bytes grow in a buffer. */
#ifndef EBPROF_PERF_DATA_IMAGE_H
#define EBPROF_PERF_DATA_IMAGE_H

#include <stdint.h>
#include <string.h>
#include <zstd.h>

#include "input/perf_data_format.h"

struct perf_image {
	uint8_t v[65536];
	size_t n;
	size_t record;			/* where the record that grows began */
};

static inline void image_put(struct perf_image *f, const void *bytes, size_t n)
{
	if (n)
		memcpy(f->v + f->n, bytes, n);
	f->n += n;
}

static inline void image_u64(struct perf_image *f, uint64_t n)
{
	image_put(f, &n, sizeof(n));
}

/* Two numbers of 32 bits. */
static inline void image_pair(struct perf_image *f, uint32_t a, uint32_t b)
{
	image_u64(f, (uint64_t)b << 32 | a);
}

/* A text, filled up with zeros to a multiple of 8 bytes. */
static inline void image_text(struct perf_image *f, const char *text)
{
	static const char zeros[8];

	image_put(f, text, strlen(text) + 1);
	image_put(f, zeros, (size_t)-f->n % 8);
}

static inline void image_begin(struct perf_image *f, uint32_t type, uint16_t misc)
{
	const struct perf_event_header h = { .type = type, .misc = misc };

	f->record = f->n;
	image_put(f, &h, sizeof(h));
}

static inline void image_end(struct perf_image *f)
{
	struct perf_event_header h = perf_data_head(f->v + f->record);

	h.size = (uint16_t)(f->n - f->record);
	memcpy(f->v + f->record, &h, sizeof(h));
}

#define IMAGE_TYPES                                                                            \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |        \
	 PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN)

static inline struct perf_event_attr image_attr(uint32_t type, uint64_t config)
{
	return (struct perf_event_attr){ .type = type,
					 .size = sizeof(struct perf_event_attr),
					 .config = config,
					 .sample_freq = 99,
					 .freq = 1,
					 .sample_type = IMAGE_TYPES,
					 .sample_id_all = 1 };
}

/* What stands behind a record that is no sample. */
static inline void image_id(struct perf_image *f, uint64_t time)
{
	image_pair(f, 7, 7);
	image_u64(f, time);
	image_pair(f, 0, 0);
	image_u64(f, 1);
	image_end(f);
}

static inline void image_comm(struct perf_image *f, const char *comm, uint64_t time)
{
	image_begin(f, PERF_RECORD_COMM, 0);
	image_pair(f, 7, 7);
	image_text(f, comm);
	image_id(f, time);
}

static inline void image_mmap2(struct perf_image *f, uint16_t misc, uint64_t start, uint64_t size,
			       uint64_t offset, const char *path, uint64_t time)
{
	image_begin(f, PERF_RECORD_MMAP2, misc);
	image_pair(f, 7, 7);
	image_u64(f, start);
	image_u64(f, size);
	image_u64(f, offset);
	image_pair(f, 8, 1);
	image_u64(f, 4242);
	image_u64(f, 0);
	image_pair(f, 5, 2);
	image_text(f, path);
	image_id(f, time);
}

static inline void image_ksymbol(struct perf_image *f, uint64_t start, uint32_t size,
				 uint16_t flags, const char *name, uint64_t time)
{
	image_begin(f, PERF_RECORD_KSYMBOL, 0);
	image_u64(f, start);
	image_pair(f, size, PERF_RECORD_KSYMBOL_TYPE_BPF | (uint32_t)flags << 16);
	image_text(f, name);
	image_id(f, time);
}

/* Of event @id, with what @chain says (leaf first). */
static inline void image_sample(struct perf_image *f, uint64_t id, uint64_t time, uint64_t period,
				const uint64_t *chain, size_t n)
{
	image_begin(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
	image_u64(f, id);
	image_u64(f, n > 1 ? chain[1] : 0);
	image_pair(f, 7, 7);
	image_u64(f, time);
	image_pair(f, 3, 0);
	image_u64(f, period);
	image_u64(f, n);
	image_put(f, chain, 8 * n);
	image_end(f);
}

/* The same, from the kernel: all that stands behind the chain is the caller's, who ends it. */
static inline void image_sample_begin(struct perf_image *f, uint64_t ip, uint64_t time,
				      const uint64_t *chain, size_t n)
{
	image_begin(f, PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL);
	image_u64(f, 1);
	image_u64(f, ip);
	image_pair(f, 7, 7);
	image_u64(f, time);
	image_pair(f, 3, 0);
	image_u64(f, 1);
	image_u64(f, n);
	image_put(f, chain, 8 * n);
}

/* Two processes' worth of records: a mapped file, the kernel, memory without a file. */
static inline void image_records(struct perf_image *f)
{
	static const uint64_t kernel[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000010,
					   0xffffffff81000100, PERF_CONTEXT_USER, 0x401010,
					   0x401101 };
	static const uint64_t user[] = { PERF_CONTEXT_USER, 0x401010, 0x401101 };
	static const uint64_t made[] = { PERF_CONTEXT_USER, 0x7f0000000010, 0x401101, 0x10 };

	/* perf writes buffers one after the other: not in the order of time. */
	image_sample(f, 1, 3000, 10, user, 3);
	image_comm(f, "demo", 1000);
	image_mmap2(f, PERF_RECORD_MISC_USER, 0x401000, 0x1000, 0x1000, "/nowhere/demo", 1001);
	image_mmap2(f, PERF_RECORD_MISC_USER, 0x7f0000000000, 0x1000, 0, "//anon", 1002);
	image_sample(f, 1, 2000, 10, kernel, 6);
	image_sample(f, 1, 4000, 12, made, 4);
}

/* As it comes through a pipe, of that event. */
static inline void image_pipe_of(struct perf_image *f, const struct perf_event_attr *attr)
{
	image_put(f, PERF_DATA_MAGIC, 8);
	image_u64(f, PERF_DATA_PIPE_HEADER);
	image_begin(f, PERF_DATA_HEADER_ATTR, 0);
	image_put(f, attr, sizeof(*attr));
	image_u64(f, 1);
	image_end(f);
}

static inline void image_pipe(struct perf_image *f)
{
	const struct perf_event_attr attr = image_attr(PERF_TYPE_HARDWARE, 0);

	image_pipe_of(f, &attr);
}

/* A record that holds @records, compressed. */
static inline void image_packed(struct perf_image *f, const struct perf_image *records)
{
	image_begin(f, PERF_DATA_COMPRESSED, 0);
	f->n += ZSTD_compress(f->v + f->n, sizeof(f->v) - f->n, records->v, records->n, 1);
	image_end(f);
}

/* As a file, with two events and their names. */
static inline void image_file(struct perf_image *f, const struct perf_image *records)
{
	const struct perf_event_attr attrs[] = { image_attr(PERF_TYPE_HARDWARE, 0),
						 image_attr(PERF_TYPE_SOFTWARE, 0) };
	const uint64_t section = sizeof(attrs[0]) + 16, ids = 104, at = ids + 16,
		       data = at + 2 * section;
	struct perf_data_header h = { .magic = PERF_DATA_MAGIC,
				      .size = 104,
				      .attr_size = section,
				      .attrs = { at, 2 * section },
				      .data = { data, records->n },
				      .features = { 1u << PERF_DATA_HOSTNAME |
						    1u << PERF_DATA_EVENT_DESC } };

	memcpy(h.magic, PERF_DATA_MAGIC, 8);
	image_put(f, &h, sizeof(h));
	image_u64(f, 1);
	image_u64(f, 2);
	for (uint64_t i = 0; i < 2; i++) {
		image_put(f, &attrs[i], sizeof(attrs[i]));
		image_u64(f, ids + 8 * i);
		image_u64(f, 8);
	}
	image_put(f, records->v, records->n);
	image_u64(f, data + records->n + 32);
	image_u64(f, 4 + 8);
	image_u64(f, data + records->n + 32 + 12);
	image_u64(f, 8);
	image_put(f, "\10\0\0\0host\0\0\0\0", 12);
	/* Four thousand million events of no bytes each. */
	image_pair(f, UINT32_MAX, 0);
}

#endif
