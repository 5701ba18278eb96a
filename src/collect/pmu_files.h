/* SPDX-License-Identifier: MIT */
/*
 * What the kernel says of its PMUs, below /sys/bus/event_source/devices: a folder for each, with
 * "type", "format/TERM" (where a term's value goes), "events/EVENT" (terms that make one) and
 * "cpumask" or "cpus" (where it counts). @devices is that folder.
 */
#ifndef EBPROF_PMU_FILES_H
#define EBPROF_PMU_FILES_H

#include <stddef.h>
#include <stdint.h>

#define PMU_TEXT 512		/* bytes of a file that is read; longer ones are refused */
#define PMU_CONFIGS 4		/* perf_event_attr: config, config1, config2, config3 */

struct pmu_format {
	int config;		/* which of them */
	uint64_t bits;		/* the value's bits go there, the lowest first */
};

/* A name of a PMU, a term or an event: a file's name that leaves no folder. */
int pmu_is_word(const char *s, size_t len);
/* 1 where there is such a PMU. */
int pmu_exists(const char *devices, const char *pmu);
/*
 * The text of @file ("format/event"), without its newline, which @buf has room for. 0; -EFBIG where
 * that is longer, or another negative errno.
 */
int pmu_read(const char *devices, const char *pmu, const char *file, char buf[PMU_TEXT]);
/* "config1:0-7,32" as a format file has it. 0; -EINVAL for anything else. */
int pmu_format_parse(const char *text, struct pmu_format *f);
/* The largest value of @f. */
uint64_t pmu_format_max(const struct pmu_format *f);
/* @value, which is not larger, as its bits are in the config. */
uint64_t pmu_format_place(const struct pmu_format *f, uint64_t value);

typedef void pmu_name(void *ctx, const char *name);
/*
 * How many bytes of @pmu are the name of a family that it may be one of: "uncore_imc" of
 * "uncore_imc_2" and of "uncore_imc2"; 0: it has no number.
 */
size_t pmu_family(const char *pmu);
/* The PMUs; the names in @folder ("format", "events") of @pmu where it is not NULL. Sorted. */
void pmu_each(const char *devices, const char *pmu, const char *folder, pmu_name *each, void *ctx);

#endif
