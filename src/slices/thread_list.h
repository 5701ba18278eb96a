/* SPDX-License-Identifier: MIT */
/*
 * Reading what an iterator over threads writes (list_alloc_thread(),
 * bpf/sources/allocations_any.bpf.h).
 */
#ifndef EBPROF_SLICES_THREAD_LIST_H
#define EBPROF_SLICES_THREAD_LIST_H

#include "bpf/ebprof.h"

typedef void thread_list_entry(void *ctx, const struct ebp_sliced_thread *thread);
/*
 * Runs the iterator of @link (a descriptor). 0 or a negative errno: then some threads may be
 * missing.
 */
int thread_list_read(int link, thread_list_entry *fn, void *ctx);

#endif
