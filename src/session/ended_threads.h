/* SPDX-License-Identifier: MIT */
/*
 * Threads of a profile that have ended, in processes that go on: some programs start one for each
 * request.
 */
#ifndef EBPROF_ENDED_THREADS_H
#define EBPROF_ENDED_THREADS_H

#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"

/*
 * By thread of @p the one that profile_fold() is to make of it: the first of its process and name
 * that ended, or itself. NULL: each is itself. Sets *@nthreads to how many become another one and
 * *@nrows to how many rows they have, themselves and samples. /proc is asked who lives, about
 * processes with many threads. The caller frees it.
 */
uint32_t *ended_threads(const struct profile *p, size_t *nthreads, size_t *nrows);

#endif
