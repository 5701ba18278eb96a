/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which cgroup a task is in, of v1 and of v2, which the kernel's own helpers do not both know. */
#ifndef EBPROF_CGROUP_BPF_H
#define EBPROF_CGROUP_BPF_H

#include "bpf/compat.bpf.h"

#define CGROUP_DEPTH_MAX 32

/* @subsys: which hierarchy of v1 (a place in css_set.subsys[]); -1: v2. */
static __always_inline struct cgroup *task_cgroup(struct task_struct *task, __s32 subsys)
{
	struct css_set *set = BPF_CORE_READ(task, cgroups);
	struct cgroup_subsys_state *css;

	if (subsys < 0)
		return BPF_CORE_READ(set, dfl_cgrp);
	bpf_core_read(&css, sizeof(css), &set->subsys[subsys & 15]);
	return BPF_CORE_READ(css, cgroup);
}

/*
 * 1 where the kernfs node of @cgroup, or of one above it, is @id. Walks up by self.parent rather
 * than by the array of ancestors, whose name changed in 6.0.
 */
static __always_inline int cgroup_is_below(struct cgroup *cgroup, __u64 id)
{
	/* Outside of what CO-RE relocates: this structure is none of the kernel's. */
	struct cgroup_subsys_state *css = (void *)cgroup +
					  bpf_core_field_offset(struct cgroup, self);

	for (int i = 0; i < CGROUP_DEPTH_MAX && css; i++) {
		cgroup = (void *)css - bpf_core_field_offset(struct cgroup, self);
		if (BPF_CORE_READ(cgroup, kn, id) == id)
			return 1;
		css = BPF_CORE_READ(cgroup, self.parent);
	}
	return 0;
}

#endif
