/* SPDX-License-Identifier: MIT */
/*
 * What a perf.data file consists of, as far as we read it: the kernel's
 * tools/perf/Documentation/perf.data-file-format.txt and include/uapi/linux/perf_event.h, of Linux
 * 5.0 to 7.2. All numbers are little-endian.
 */
#ifndef EBPROF_PERF_DATA_FORMAT_H
#define EBPROF_PERF_DATA_FORMAT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <string.h>

#include "base/load.h"

#define PERF_DATA_MAGIC "PERFILE2"
#define PERF_DATA_MAGIC_SWAPPED "2ELIFREP"
#define PERF_DATA_PIPE_HEADER 16	/* bytes of the header of what came through a pipe */
#define PERF_DATA_FILE_HEADER 104	/* of a file, at least */
#define PERF_DATA_ID_BYTES 20		/* of a build id, at most */

struct perf_data_section { uint64_t offset, size; };

struct perf_data_header {
	char magic[8];
	uint64_t size, attr_size;
	struct perf_data_section attrs, data, event_types;
	uint64_t features[4];		/* bits; a section each, behind the data */
};

enum perf_data_feature {
	PERF_DATA_BUILD_ID = 2,
	PERF_DATA_HOSTNAME = 3,
	PERF_DATA_OSRELEASE = 4,
	PERF_DATA_ARCH = 6,
	PERF_DATA_NRCPUS = 7,
	PERF_DATA_CMDLINE = 11,
	PERF_DATA_EVENT_DESC = 12,
	PERF_DATA_CLOCK_DATA = 29,
};
#define PERF_DATA_FEATURES 256

/* A record of the kernel's (6.19) with the user's frames of an earlier sample. */
#define PERF_DATA_DEFERRED 22
#define PERF_DATA_BRANCH_BYTES 24	/* of a branch: from, to, flags */
#define PERF_DATA_BRANCH_COUNTERS (1ull << 19)	/* of branch_sample_type; 6.8 */

/* Records of the tool's own, besides the kernel's. */
enum perf_data_type {
	PERF_DATA_HEADER_ATTR = 64,
	PERF_DATA_HEADER_TRACING = 66,
	PERF_DATA_HEADER_BUILD_ID = 67,
	PERF_DATA_AUXTRACE = 71,
	PERF_DATA_EVENT_UPDATE = 78,
	PERF_DATA_HEADER_FEATURE = 80,
	PERF_DATA_COMPRESSED = 81,
	PERF_DATA_COMPRESSED2 = 83,
};

/* of a build id's record: its size is behind it; else it has all 20 bytes */
#define PERF_DATA_MISC_ID_SIZE (1 << 15)
#define PERF_DATA_UPDATE_NAME 2		/* of PERF_DATA_EVENT_UPDATE */
/* Values of a call chain from here on say of which side the ones behind them are. */
#define PERF_DATA_CONTEXT_FIRST ((uint64_t)-4095)
#define PERF_DATA_CONTEXT_DEFERRED ((uint64_t)-640)	/* then a cookie; 6.19 */

static inline struct perf_event_header perf_data_head(const void *record)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	return h;
}

#endif
