/* SPDX-License-Identifier: MIT */
/*
 * What this kernel and this user can do for a profiler.
 *
 * One const table; a row is one thing that can be there or not, with what it
 * costs where it is not, the fix, and since when Linux has it. `ebprof doctor`
 * shows all rows; the recorder asks features_explain() why something failed.
 * A probe tries the thing itself where it can, leaves nothing behind, and
 * takes a missing /proc or /sys file as an answer. All rows take a few ms, but for those that load
 * programs: some 100 ms.
 */
#ifndef EBPROF_FEATURES_H
#define EBPROF_FEATURES_H

#include <stdint.h>

#include "base/error.h"

enum feature_state {
	FEATURE_OK,
	FEATURE_DEGRADED,	/* profiling works, with less */
	FEATURE_MISSING,	/* no profiling without it */
	/* cannot be told, or does not matter, until another row is mended */
	FEATURE_SKIPPED,
};

struct feature_result {
	enum feature_state state;
	char detail[192];	/* what was found; one line, cleaned */
	/* a command or one line of advice; "" where the state is ok or skipped */
	char fix[320];
};

struct feature {
	const char *name;
	const char *costs;	/* what is lost without it */
	const char *fix;	/* the usual fix; a probe may know a better one */
	const char *since;	/* Linux version and commit, "" where that tells nothing */
	void (*probe)(struct feature_result *r);
};

/* Ends with a row whose name is NULL. What makes later rows pointless comes first. */
extern const struct feature features[];

void feature_probe(const struct feature *f, struct feature_result *r);

/*
 * 0 where the row called @name is not missing. Else -EOPNOTSUPP with @e filled:
 * for what would not fail, but give wrong results.
 */
int feature_require(const char *name, struct error *e);

/* "ok", "degraded", "missing", "skipped". */
const char *feature_state_name(enum feature_state state);

/*
 * @what failed ("cannot load the sampler") with @err, a negative errno: finds
 * the row that stands in the way and fills @e with it and its fix, as status
 * STATUS_DENIED. Where no row does, @e tells the errno, as STATUS_DENIED for
 * those that mean "not permitted" or "not supported", else STATUS_ERROR.
 * Returns @err.
 */
int features_explain(struct error *e, int err, const char *what);

/* The same, where a row stands in the way: returns 1. Else 0, and @e is as it was. */
int features_blame(struct error *e, int err, const char *what);

/*
 * How many arguments a function has whose pointer is the typedef @name of this kernel; negative
 * errno.
 */
int features_func_args(const char *name);

/*
 * What @enumerator of `enum @enumeration` is in the running kernel, by its BTF:
 * the numbers of cgroup subsystems differ by configuration. -ENOENT where it
 * has none such, or another negative errno. Takes some ms.
 */
int features_enum_value(const char *enumeration, const char *enumerator);

/* The place of a cgroup v1 controller in css_set.subsys[], or a negative errno. */
int features_cgroup_subsys(const char *controller);

/* Whether the running kernel has `struct @name`, by its BTF. */
int features_has_struct(const char *name);

/* Whether the running kernel is that version, or newer. */
int features_linux(unsigned int major, unsigned int minor);

/*
 * PREEMPT_RT must not take memory from the slab while it switches threads, or it may stand still.
 * Task storage did so before 6.4 gave it memory of BPF's own.
 */
int features_old_rt(void);

/*
 * Frames of a stack that a kernel gives of @wanted: to ask for more is silently cut, so it must be
 * known.
 */
uint32_t features_frames(uint32_t wanted);

#endif
