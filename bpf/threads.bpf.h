/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a source knows of each thread: in the storage of its task, so no table can fill up; before
 * Linux 5.11, which brought that, in a hash map by TID. User space makes the maps that this kernel
 * has a use for (map_choice_threads()).
 */
#ifndef EBPROF_THREADS_BPF_H
#define EBPROF_THREADS_BPF_H

#include "bpf/compat.bpf.h"

/*
 * Declares the maps NAME_tasks, NAME_threads (a map of type @hash, whose size user space sets) and
 * new_NAME_thread (zeros), with values of type @what.
 */
#define THREAD_MAPS(name, hash, what)                         \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_TASK_STORAGE);      \
		__uint(map_flags, BPF_F_NO_PREALLOC);         \
		__type(key, int);                             \
		__type(value, what);                          \
	} name##_tasks SEC(".maps");                          \
	struct {                                              \
		__uint(type, hash);                           \
		__uint(max_entries, 1);                       \
		__type(key, __u32);                           \
		__type(value, what);                          \
	} name##_threads SEC(".maps");                        \
	struct {                                              \
		__uint(type, BPF_MAP_TYPE_ARRAY);             \
		__uint(max_entries, 1);                       \
		__type(key, __u32);                           \
		__type(value, what);                          \
	} new_##name##_thread SEC(".maps")

/* Key of the hash map; NULL: of the current task. Each CPU has an idle task of TID 0. */
static __always_inline __u32 thread_number(const struct task_struct *task)
{
	__u32 tid = task ? (__u32)task->pid : (__u32)bpf_get_current_pid_tgid();

	return tid ? tid : 1u << 31 | bpf_get_smp_processor_id();
}

static __always_inline void *thread_value(void *tasks, void *threads, void *zeros,
					  struct task_struct *task, int make)
{
	__u32 number, zero = 0;
	void *value, *none;

	if (has_task_storage())
		return bpf_task_storage_get(tasks, task ? task : bpf_get_current_task_btf(), 0,
					    make ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0);
	number = thread_number(task);
	value = bpf_map_lookup_elem(threads, &number);
	if (value || !make)
		return value;
	none = bpf_map_lookup_elem(zeros, &zero);
	if (!none || bpf_map_update_elem(threads, &number, none, BPF_NOEXIST))
		return NULL;
	return bpf_map_lookup_elem(threads, &number);
}

/*
 * The value of @task, or of the current one where that is the constant NULL. NULL where it has
 * none: it is not to be made, or there is no room.
 */
#define THREAD_VALUE(name, task, make) \
	thread_value(&name##_tasks, &name##_threads, &new_##name##_thread, task, make)

/* @task has ended; storage would go with it. */
static __always_inline void forget_thread(void *threads, const struct task_struct *task)
{
	__u32 number;

	if (has_task_storage())
		return;
	number = thread_number(task);
	bpf_map_delete_elem(threads, &number);
}

#endif
