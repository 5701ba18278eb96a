/* SPDX-License-Identifier: MIT */
/*
 * Who asked: for each function of the kernel, the functions of programs that called it, at whatever
 * depth. What waits, or is hit by an event, is mostly in the kernel, and its name does not say
 * whose doing it is.
 */
#ifndef EBPROF_ASKERS_H
#define EBPROF_ASKERS_H

#include "profile/profile.h"

struct askers;

/* NULL where the profile is of time on CPUs and the like: there a function's own row says it. */
struct askers *askers_new(const struct profile *p);
/* Takes NULL. */
void askers_free(struct askers *a);

/*
 * "read", or "read, +2 more": the one with the most of what @function (of the profile) has in all,
 * and how many others. "" where it is none of the kernel's, or nobody asked. Lives as long as @a.
 */
const char *askers_text(const struct askers *a, size_t function);

#endif
