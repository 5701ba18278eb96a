/* SPDX-License-Identifier: MIT */
#include "profile/words.h"

#include <stddef.h>
#include <string.h>

#define N(rows) (sizeof(rows) / sizeof(*(rows)))

static const char *const units[PROFILE_UNITS] = {
	[PROFILE_OTHER_UNIT] = "",
	[PROFILE_COUNT] = "count",
	[PROFILE_NANOSECONDS] = "nanoseconds",
	[PROFILE_MICROSECONDS] = "microseconds",
	[PROFILE_MILLISECONDS] = "milliseconds",
	[PROFILE_SECONDS] = "seconds",
	[PROFILE_BYTES] = "bytes",
};

#define OFF_CPU "off-cpu"
#define FAULTS "page-faults"
#define ALLOC "alloc"
#define SAMPLED .verb = "Sampled"

/* The last row is what all other types are. */
static const struct profile_type_words types[] = {
	{ "samples", PROFILE_SAMPLES, SAMPLED },
	{ "cpu", PROFILE_CPU_TIME, PROFILE_TIME, SAMPLED },
	{ "wall", .measure = PROFILE_TIME, .asked = 1, SAMPLED, .event = "wall" },
	{ "waits", .asked = 1, SAMPLED, .event = OFF_CPU },
	{ OFF_CPU, .measure = PROFILE_TIME, .asked = 1, .verb = "Waited", .event = OFF_CPU },
	/* The same, for servers that refuse a type with a dash. */
	{ "off_cpu", .measure = PROFILE_TIME, .asked = 1, .verb = "Waited", .event = OFF_CPU },
	{ "page_faults", .asked = 1, SAMPLED, .event = FAULTS },
	{ "fault_space", .asked = 1, SAMPLED, .event = FAULTS },
	{ "alloc_objects", PROFILE_BLOCKS, .verb = "Allocated", .event = ALLOC },
	{ "alloc_space", PROFILE_BLOCKS, .verb = "Allocated", .event = ALLOC },
	{ "inuse_objects", PROFILE_BLOCKS_NOW, PROFILE_LEVEL, SAMPLED, .event = ALLOC },
	{ "inuse_space", PROFILE_BLOCKS_NOW, PROFILE_LEVEL, SAMPLED, .event = ALLOC },
	{ "peak_objects", PROFILE_BLOCKS_PEAK, PROFILE_LEVEL, SAMPLED },
	{ "peak_space", PROFILE_BLOCKS_PEAK, PROFILE_LEVEL, SAMPLED },
	{ "max_objects", PROFILE_BLOCKS_MAX, PROFILE_LEVEL, SAMPLED },
	{ "max_space", PROFILE_BLOCKS_MAX, PROFILE_LEVEL, SAMPLED },
	{ "lifetime", PROFILE_BLOCKS_LIFETIME, PROFILE_TIME, SAMPLED },
	{ "", SAMPLED },
};

#define SAMPLES .one = "sample", .many = "samples"

/* Clocks by their beginning (kernel/events/core.c calls them so); the last row is all others. */
static const struct profile_event_words events[] = {
	{ "cpu-clock", .clock = 1, SAMPLES },
	{ "task-clock", .clock = 1, SAMPLES },
	{ OFF_CPU, .asked = 1, .one = "interval", .many = "intervals" },
	{ "wall", .asked = 1, SAMPLES },
	{ "context-switches", .asked = 1, SAMPLES },
	{ "cs", .asked = 1, SAMPLES },
	{ "cpu-migrations", .asked = 1, SAMPLES },
	{ "migrations", .asked = 1, SAMPLES },
	{ FAULTS, .asked = 1, SAMPLES },
	{ "faults", .asked = 1, SAMPLES },
	{ "minor-faults", .asked = 1, SAMPLES },
	{ "major-faults", .asked = 1, SAMPLES },
	{ "alignment-faults", .asked = 1, SAMPLES },
	{ "emulation-faults", .asked = 1, SAMPLES },
	{ "cgroup-switches", .asked = 1, SAMPLES },
	/* As Go has it, and who reads heap profiles expects. */
	{ ALLOC, .period = "space", .period_unit = "bytes", .series = "memory", SAMPLES },
	{ "", SAMPLES },
};
static const struct profile_event_words tracepoint = { "", .asked = 1, SAMPLES };

const struct profile_type_words *profile_type_words(const char *name)
{
	size_t i = 0;

	while (i + 1 < N(types) && strcmp(name, types[i].name))
		i++;
	return &types[i];
}

/* A modifier (":u") is one letter, or some; a tracepoint has a name there. */
static int is_tracepoint(const char *event)
{
	const char *colon = strchr(event, ':');

	return colon && strlen(colon) > 4;
}

const struct profile_event_words *profile_event_words(const char *event)
{
	size_t i = 0;

	while (i + 1 < N(events) &&
	       (events[i].clock ? strncmp(event, events[i].name, strlen(events[i].name))
				: strcmp(event, events[i].name)))
		i++;
	return i + 1 == N(events) && is_tracepoint(event) ? &tracepoint : &events[i];
}

enum profile_unit profile_unit_of(const char *word)
{
	size_t i = 0;

	while (i < PROFILE_UNITS && strcmp(word, units[i]))
		i++;
	return i < PROFILE_UNITS ? (enum profile_unit)i : PROFILE_OTHER_UNIT;
}
