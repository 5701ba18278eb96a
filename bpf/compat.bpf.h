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
#define REGS_SP(regs) ((regs)->sp)
#define REGS_FP(regs) ((regs)->bp)
#define SYSCALL_OF(regs) ((long)(regs)->orig_ax)
#define IS_EXEC(nr) ((nr) == 59 || (nr) == 322)	/* execve, execveat */
#define IS_CLONE(nr) ((nr) == 56 || (nr) == 435)	/* clone, clone3 */
#define TIF_32BIT (1ul << 29)			/* TIF_ADDR32 */
#define THREAD_POINTER thread.fsbase
/* At the first instruction of a function: as its caller has them, in its call instruction. */
#define UNDO_CALL(r) do { \
	__u64 back_; \
	if (!bpf_probe_read_user(&back_, sizeof(back_), (void *)(r)[7])) { \
		(r)[16] = back_ - 1; \
		(r)[7] += sizeof(back_); \
	} \
} while (0)
/* THREAD_SIZE, where no helper finds the registers (before 5.15) */
#define KERNEL_STACK 16384

/* By DWARF's numbers (psABI, figure 3.36). */
#define REGS_TO_DWARF(regs, r)         \
	do {                           \
		(r)[0] = (regs)->ax;   \
		(r)[1] = (regs)->dx;   \
		(r)[2] = (regs)->cx;   \
		(r)[3] = (regs)->bx;   \
		(r)[4] = (regs)->si;   \
		(r)[5] = (regs)->di;   \
		(r)[6] = (regs)->bp;   \
		(r)[7] = (regs)->sp;   \
		(r)[8] = (regs)->r8;   \
		(r)[9] = (regs)->r9;   \
		(r)[10] = (regs)->r10; \
		(r)[11] = (regs)->r11; \
		(r)[12] = (regs)->r12; \
		(r)[13] = (regs)->r13; \
		(r)[14] = (regs)->r14; \
		(r)[15] = (regs)->r15; \
		(r)[16] = (regs)->ip;  \
	} while (0)
#elif defined(__TARGET_ARCH_arm64)
#define REGS_PC(regs) ((regs)->pc)
#define REGS_SP(regs) ((regs)->sp)
#define REGS_FP(regs) ((regs)->regs[29])
#define SYSCALL_OF(user) ((long)(user)->regs[8])
#define IS_EXEC(nr) ((nr) == 221 || (nr) == 281)
#define IS_CLONE(nr) ((nr) == 220 || (nr) == 435)
#define TIF_32BIT (1ul << 22)
#define THREAD_POINTER thread.uw.tp_value
#define UNDO_CALL(r) ((r)[32] = (r)[30] - 1)
#define KERNEL_STACK 16384

/* x0-x30, sp, pc: in this order in struct user_pt_regs, too (AADWARF64, 4.1). */
#define REGS_TO_DWARF(regs, r) __builtin_memcpy((r), (regs), 33 * sizeof(__u64))
#endif

/*
 * Whether a task can have storage of its own (5.11, 4cf1bc1f1045). User space asks the same, by the
 * same enumerator, to make the maps that are used.
 */
static __always_inline int has_task_storage(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_storage_get);
}

/* What a sample wants to know of the task that it hit. */
struct task_facts {
	__u64 start;		/* of its leader: CLOCK_BOOTTIME ns */
	__u32 exec_id;
	__u32 userless;		/* a kernel thread, or one without memory: it is exiting */
	__u32 is32;		/* a 32-bit program on a 64-bit kernel */
};

/* Of the current task: what its thread-local storage is found by. */
static __always_inline __u64 thread_pointer(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, THREAD_POINTER);
}

/*
 * Since 5.11 (3ca1032ab7ab) the current task can be had as a typed pointer, whose fields are plain
 * loads; before, each field is a call of a helper. What it points to is so everywhere: to know
 * whether to trust such a pointer the verifier looks through all types of the kernel, by name.
 */
static __always_inline void read_task(struct task_facts *f)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	f->start = BPF_CORE_READ(task, group_leader, start_boottime);
	f->userless = !BPF_CORE_READ(task, mm);
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_current_task_btf)) {
		struct task_struct *typed = bpf_get_current_task_btf();

		f->exec_id = typed->self_exec_id;
		f->userless |= !!(typed->flags & PF_KTHREAD);
		f->is32 = !!(typed->thread_info.flags & TIF_32BIT);
	} else {
		f->exec_id = BPF_CORE_READ(task, self_exec_id);
		f->userless |= !!(BPF_CORE_READ(task, flags) & PF_KTHREAD);
		f->is32 = !!(BPF_CORE_READ(task, thread_info.flags) & TIF_32BIT);
	}
}

/*
 * Whether the event hit kernel code. Kernel addresses are the upper half on
 * both architectures; regs.cs would say it too, but 6.18 made that a union
 * that the verifier does not let us read.
 */
static __always_inline int hit_kernel(const struct bpf_perf_event_data *ctx)
{
	return (__s64)REGS_PC(&ctx->regs) < 0;
}

#define PERF_SAMPLE_DATA_PAGE_SIZE (1ull << 22)	/* include/uapi/linux/perf_event.h */

/*
 * Bytes of the page at the address of the event, which asks for that; 0 where the kernel has not
 * looked. It does so before a program runs since 6.3. A program's own view of its context has no
 * such field, so it is read as what it is.
 */
static __always_inline __u64 page_size(const struct bpf_perf_event_data *ctx)
{
	const struct bpf_perf_event_data_kern *event = (const void *)ctx;
	struct perf_sample_data *data = NULL;

	if (!bpf_core_field_exists(data->sample_flags) ||
	    !bpf_core_field_exists(data->data_page_size) ||
	    bpf_core_read(&data, sizeof(data), &event->data) ||
	    !(BPF_CORE_READ(data, sample_flags) & PERF_SAMPLE_DATA_PAGE_SIZE))
		return 0;
	return BPF_CORE_READ(data, data_page_size);
}

#endif
