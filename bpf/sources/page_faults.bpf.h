/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Page faults: a sample of who touches a page that was not there. */
#ifndef EBPROF_PAGE_FAULTS_BPF_H
#define EBPROF_PAGE_FAULTS_BPF_H

#include "bpf/sample.bpf.h"

/* A page is there. User code touched it, or the kernel for it: the registers are of who did. */
SEC("?perf_event")
int on_page_fault(struct bpf_perf_event_data *ctx)
{
	struct sample x;

	if (!sample_begin(&x, 1))
		return 0;
	x.key.kind = EBP_PAGE_FAULT;
	x.key.class = page_size(ctx);
	sample_stacks(ctx, hit_kernel(ctx) ? AT_KERNEL : AT_USER, &x);
	return 0;
}

#endif
