/* SPDX-License-Identifier: MIT */
/*
 * What a growing profile got since the last time: windows that are complete and disjoint. The sum
 * of all that was taken is the profile's own total, of each of its types, whatever is folded
 * between (profile/profile_fold.h). Of a level (PROFILE_LEVEL), which has no such sum, a window has
 * what there is when it ends. Costs 16 bytes a sample and type of the profile; what a window
 * became is the caller's. Not thread safe.
 */
#ifndef EBPROF_INCREMENT_H
#define EBPROF_INCREMENT_H

#include "profile/profile.h"
#include "profile/timeline.h"

struct increment;

struct increment *increment_new(void);
void increment_free(struct increment *i);

/*
 * Takes what came since the last time, by the values of now; @p may grow, but not be folded, until
 * increment_clear(). Its frequency may become another one: what was taken has that of now.
 */
void increment_take(struct increment *i, const struct profile *p);
/* The sum of all values that were taken this time. */
uint64_t increment_total(const struct increment *i);
/* 1 where @p has nothing yet that was not taken. */
int increment_has_all(const struct increment *i, const struct profile *p);
/* After increment_clear(): the next profile is another one, which has nothing from before. */
void increment_renew(struct increment *i);
/* 1 where all locations that there were at increment_take() have names. */
int increment_is_named(const struct increment *i, const struct profile *p);
/* Sets @ran, by process, to 1 where a process has some of them; the rest stays. */
void increment_processes(const struct increment *i, const struct profile *p, unsigned char *ran);
/* What of it is wanted. */
struct increment_choice {
	/* of processes whose @groups, by process, is @group; NULL: of all of them */
	const uint32_t *groups;
	uint32_t group;
	/*
	 * So many types from @type on; the last is shown where none of them was. 0: the one that is
	 * shown.
	 */
	uint32_t type, ntypes;
	/*
	 * Ticks that the part gets, of samples of the profile, whether these have a value or not;
	 * NULL: none.
	 */
	const struct timeline *ticks[2];
};

/*
 * That, in a profile of its own with its time and account, the caller's. What has no name yet gets
 * its address. NULL where there is nothing.
 */
struct profile *increment_part(const struct increment *i, const struct profile *p,
			       const struct increment_choice *choice);
/*
 * The sum of all that was taken of the type that is shown, this time included, the same way; of
 * @choice the ticks count.
 */
struct profile *increment_so_far(const struct increment *i, const struct profile *p,
				 const struct increment_choice *choice);
/* They were taken care of. @p may be folded, once, before the next increment_take(). */
void increment_clear(struct increment *i);

#endif
