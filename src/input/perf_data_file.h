/* SPDX-License-Identifier: MIT */
/*
 * A perf.data file taken apart: what was measured, where, and its records in the order of time.
 * What was compressed (perf record -z) is unpacked. All that it says of sizes and places is
 * checked; what is handed out lies within the file, or within what was unpacked.
 */
#ifndef EBPROF_PERF_DATA_FILE_H
#define EBPROF_PERF_DATA_FILE_H

#include "base/error.h"
#include "base/vec.h"
#include "input/perf_data_format.h"
#include "input/slice.h"

#define PERF_DATA_EVENTS_MAX 4096

struct perf_data_event {
	struct perf_event_attr attr;
	struct slice name;		/* "": the file does not say */
};

struct perf_data_id {
	struct slice path;
	uint8_t bytes[PERF_DATA_ID_BYTES];
	uint8_t size;
};

struct perf_data_record {
	uint64_t time;			/* ns of the recording's clock; 0: not known */
	const uint8_t *at;		/* its perf_event_header; all of the record is there */
};

struct perf_data_file {
	struct slice bytes;
	VEC(struct perf_data_event) events;
	struct hashmap ids;		/* of events, by the kernel's id */
	VEC(struct perf_data_id) build_ids;
	VEC(struct perf_data_record) records;	/* samples and what tells of processes */
	struct { char *v; size_t n, cap; } unpacked;
	struct slice host, release, arch;
	VEC(struct slice) command;	/* words */
	uint32_t cpus;			/* online; 0: not known */
	/* one moment by the clock of the wall, and by that of the records; 0: not known */
	uint64_t wall, clock;
	int open_ended;			/* perf was killed: nothing stands behind the records */
	/* What was left out because it is damaged, and of all records what comes after that. */
	struct error damage;		/* "": nothing */
};

/* 0, or a negative errno with @e filled; perf_data_file_free() in any case. */
int perf_data_file_open(struct perf_data_file *f, const char *bytes, size_t n, struct error *e);
void perf_data_file_free(struct perf_data_file *f);

/* Bytes at @at of @s; NULL: they are not all there. */
const uint8_t *perf_data_at(struct slice s, uint64_t at, uint64_t n);
/* The text in the first @n bytes of @p, up to a 0. */
struct slice perf_data_text(const void *p, size_t n);

#endif
