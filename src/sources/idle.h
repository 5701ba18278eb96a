/* SPDX-License-Identifier: MIT */
/* Threads that do nothing but wait. */
#ifndef EBPROF_IDLE_H
#define EBPROF_IDLE_H

#include <stdint.h>

#include "profile/profile.h"

/*
 * Takes the waits of threads out of @p that ran for less than a thousandth of the time that they
 * waited; waits are the samples with a label. @type: of time. How many threads; *@ns: how long
 * their waits were.
 */
uint64_t idle_hide(struct profile *p, uint32_t type, uint64_t *ns);

#endif
