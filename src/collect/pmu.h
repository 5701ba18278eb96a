/* SPDX-License-Identifier: MIT */
/*
 * perf's syntax for the events of a PMU, PMU/TERM[,TERM...]/:
 *
 *	EVENT			one that the kernel names
 *	TERM=VALUE, TERM	a field of the PMU's own; without a value 1
 *	config=, config1=, config2=, config3=	as they are
 *	period=N, name=X	a sample every N, and the name that is shown
 *
 * What there is says sysfs (pmu_files.h). Of several PMUs that differ by a number alone, as
 * uncore_imc_0 and uncore_imc_1, the name before it stands for all.
 */
#ifndef EBPROF_PMU_H
#define EBPROF_PMU_H

#include "base/error.h"
#include "collect/event.h"

#define PMU_DEVICES "/sys/bus/event_source/devices"

/*
 * Parses @text up to the slash that ends it; *@rest is behind it. 0; -EINVAL for what is malformed,
 * or not there: @e names what there is.
 */
int pmu_parse(const char *text, const char *devices, struct event *out, const char **rest,
	      struct error *e);

/*
 * What @ev is on each of its PMUs, in a malloc'd array of which the number is returned, 1 at least:
 * itself, or those of a family, but for PMUs that do not have it.
 */
size_t pmu_events(const struct event *ev, const char *devices, struct event **each);

/* @ev: NULL for a term, and for an event that is not whole without another term. */
typedef void pmu_show(void *ctx, const char *name, const char *what, const struct event *ev);
/* Calls @show for each event and each term of each PMU. */
void pmu_list(const char *devices, pmu_show *show, void *ctx);

/*
 * The CPUs, ascending, in a malloc'd array, on which @ev counts; *@cpus is NULL where it is all.
 */
void pmu_cpus(const struct event *ev, const char *devices, int **cpus, size_t *n);

/*
 * 0; -EINVAL, with @e, where @ev counts for a socket, and only the whole machine can be asked.
 * @what is the option, as "-e ", before its name.
 */
int pmu_refuse_uncore(const struct event *ev, const char *what, struct error *e);
/* The same where @ev cannot be sampled: it is one of those, or of several PMUs. */
int pmu_refuse_samples(const struct event *ev, const char *what, struct error *e);

#endif
