/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one home of differences between kernels and architectures. Floor: 5.8
 * (ring buffer, CAP_BPF). Raw facts only; no policy.
 */
#ifndef EBPROF_COMPAT_BPF_H
#define EBPROF_COMPAT_BPF_H

#include "vmlinux.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define PF_KTHREAD 0x00200000	/* include/linux/sched.h: a kernel thread */

#if defined(__TARGET_ARCH_x86)
#define REGS_PC(regs) ((regs)->ip)
#elif defined(__TARGET_ARCH_arm64)
#define REGS_PC(regs) ((regs)->pc)
#endif

/*
 * Whether the event hit kernel code. Kernel addresses are the upper half on
 * both architectures; regs.cs would say it too, but 6.18 made that a union
 * that the verifier does not let us read.
 */
static __always_inline int hit_kernel(const struct bpf_perf_event_data *ctx)
{
	return (__s64)REGS_PC(&ctx->regs) < 0;
}

#endif
