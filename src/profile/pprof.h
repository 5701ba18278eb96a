/* SPDX-License-Identifier: MIT */
/*
 * What the writer and the reader of pprof's profiles share: the numbers of the fields
 * (proto/profile.proto of github.com/google/pprof), and how we say in it what it has no
 * field for. In order of preference:
 *
 * - a sample's thread and process are labels: thread, tid, process, pid, incarnation;
 * - what describes the profile as a whole is comments, "ebprof: KEY=VALUE", which `go tool pprof
 *   -comments` shows and other tools keep;
 * - what only we need to be exact is fields of our own, which all others skip; none above 15, for
 *   the key of those is more than the one byte that some readers know (pprof-format of npm). They
 *   are
 *   heeded in profiles of ours alone, and what they say is guessed where another tool dropped them.
 */
#ifndef EBPROF_PPROF_H
#define EBPROF_PPROF_H

#include "profile/profile.h"

enum pprof_profile_field {
	PPROF_SAMPLE_TYPE = 1,
	PPROF_SAMPLE = 2,
	PPROF_MAPPING = 3,
	PPROF_LOCATION = 4,
	PPROF_FUNCTION = 5,
	PPROF_STRING = 6,
	PPROF_TIME = 9,
	PPROF_DURATION = 10,
	PPROF_PERIOD_TYPE = 11,
	PPROF_PERIOD = 12,
	PPROF_COMMENT = 13,
	PPROF_DEFAULT_TYPE = 14,
	PPROF_FIELDS = 16, /* of any message: all are below */
};

enum pprof_type_field { PPROF_TYPE_NAME = 1, PPROF_TYPE_UNIT = 2 };

enum pprof_sample_field {
	PPROF_SAMPLE_LOCATION = 1, PPROF_SAMPLE_VALUE = 2, PPROF_SAMPLE_LABEL = 3,
	/* Ours, of the file's first sample: the ticks of all (timeline.h), by their order in it. */
	PPROF_SAMPLE_TIMELINE = 14,
};

enum pprof_label_field {
	PPROF_LABEL_KEY = 1,
	PPROF_LABEL_TEXT = 2,
	PPROF_LABEL_NUMBER = 3,
	PPROF_LABEL_UNIT = 4
};

enum pprof_mapping_field {
	PPROF_MAPPING_ID = 1,
	PPROF_MAPPING_START = 2,
	PPROF_MAPPING_LIMIT = 3,
	PPROF_MAPPING_OFFSET = 4,
	PPROF_MAPPING_FILE = 5,
	PPROF_MAPPING_BUILD_ID = 6,
	PPROF_MAPPING_HAS = 7,
	PPROF_MAPPING_HAS_LAST = 10,
	PPROF_MAPPING_NAME = 15, /* ours; string: of the module */
};

enum pprof_location_field {
	PPROF_LOCATION_ID = 1,
	PPROF_LOCATION_MAPPING = 2,
	PPROF_LOCATION_ADDRESS = 3,
	PPROF_LOCATION_LINE = 4,
	PPROF_LOCATION_KIND = 14, /* ours; enum frame_kind */
	PPROF_LOCATION_WHY = 15,  /* ours; string */
};

enum pprof_line_field { PPROF_LINE_FUNCTION = 1, PPROF_LINE_LINE = 2 };

enum pprof_function_field {
	PPROF_FUNCTION_ID = 1,
	PPROF_FUNCTION_NAME = 2,
	PPROF_FUNCTION_SYSTEM_NAME = 3,
	PPROF_FUNCTION_FILE = 4,
	PPROF_FUNCTION_KIND = 14,   /* ours; enum frame_kind */
	PPROF_FUNCTION_MODULE = 15, /* ours; string */
};

/* Labels of a sample that are its thread's and its process's. */
#define PPROF_THREAD "thread"
#define PPROF_TID "tid"
#define PPROF_PROCESS "process"
#define PPROF_PID "pid"
#define PPROF_INCARNATION "incarnation"		/* only where two programs had one pid */

/* the member of a JSON object that holds all of a profile, gzip in base64 */
#define PPROF_EMBEDDED "pprof"

/* the frame, without a mapping, of a stack that has none */
#define PPROF_NO_STACK "[no stack]"

/*
 * Calls @add for each comment that describes @p, and for its own comments. @text is of that call
 * alone.
 */
void pprof_describe(const struct profile *p, void (*add)(void *ctx, const char *text), void *ctx);
/*
 * Takes back what a comment says, clean text: 1; or 0 where it is no remark of ours, and nothing is
 * done. The types of values are there before.
 */
int pprof_take_comment(struct profile *p, const char *text);

#endif
