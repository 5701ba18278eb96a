/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel types that the BPF programs use, and no more.
 *
 * Only the fields that are read are listed: `preserve_access_index` makes each
 * access a CO-RE relocation, so libbpf patches in the running kernel's
 * offsets, and order and padding here mean nothing. `make vmlinux` writes the
 * whole header of a running kernel to build/vmlinux.h, to look things up in.
 */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef signed char __s8;
typedef short __s16;
typedef int __s32;
typedef long long __s64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s32 s32;
typedef __s64 s64;
/* bpf_helper_defs.h declares network helpers with these. */
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;

/* include/uapi/linux/bpf.h: stable numbers. */
enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_PROG_ARRAY = 3,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_ARRAY_OF_MAPS = 12,
	BPF_MAP_TYPE_RINGBUF = 27,
	BPF_MAP_TYPE_TASK_STORAGE = 29,
};
enum { BPF_ANY = 0, BPF_NOEXIST = 1, BPF_EXIST = 2 };
enum { BPF_F_USER_STACK = 1U << 8 };
enum { BPF_RB_NO_WAKEUP = 1, BPF_RB_FORCE_WAKEUP = 2 };
enum { BPF_RB_AVAIL_DATA = 0 };
enum { BPF_F_NO_PREALLOC = 1U << 0, BPF_F_MMAPABLE = 1U << 10 };
enum { BPF_LOCAL_STORAGE_GET_F_CREATE = 1 };

#pragma clang attribute push (__attribute__((preserve_access_index)), apply_to = record)

/* Only asked whether it exists: a helper that a kernel has, it has an enumerator for. */
enum bpf_func_id {
	BPF_FUNC_task_storage_get = 156,
	BPF_FUNC_get_current_task_btf = 158,
	BPF_FUNC_get_attach_cookie = 174,
	BPF_FUNC_task_pt_regs = 175,
};

struct kernfs_node {
	u64 id;				/* 5.5+: a plain number; what cgroupfs shows as the inode */
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

typedef struct { int counter; } atomic_t;

struct signal_struct {
	atomic_t live;
	unsigned long long sum_sched_runtime;
};

struct thread_info {
	unsigned long flags;
};

struct return_instance {
	unsigned long orig_ret_vaddr, stack;
	struct return_instance *next;
};

struct uprobe_task {
	struct return_instance *return_instances;
};

struct mm_struct {
	unsigned long start_stack;
	unsigned long end_code;
};

struct sched_entity {
	u64 sum_exec_runtime;
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#else
struct thread_struct {
	struct {
		unsigned long tp_value;
	} uw;
};
#endif

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	struct mm_struct *mm;
	struct uprobe_task *utask;
	unsigned int flags;
	struct sched_entity se;
	unsigned int on_cpu;		/* a byte since 7.2; signed, it could not be fitted to that */
	unsigned int __state;		/* since 5.14; before: state */
	unsigned int in_iowait : 1;
	int pid;
	int tgid;
	unsigned long nivcsw;
	u64 start_boottime;		/* 5.5+ */
	u64 self_exec_id;		/* 64 bits since 5.7 */
	struct task_struct *group_leader;
	struct signal_struct *signal;
	struct css_set *cgroups;
	char comm[16];
	struct thread_struct thread;
};

/* Before 5.14 (2f064a59a11f). */
struct task_struct___before_5_14 {
	long state;
};

struct perf_sample_data {
	u64 sample_flags;		/* since 6.1 */
	u64 data_page_size;		/* since 5.11 */
};

struct bpf_perf_event_data_kern {
	struct perf_sample_data *data;
};

struct hrtimer {
};

struct hw_perf_event {
	struct hrtimer hrtimer;
};

struct bpf_prog;

enum perf_event_state {
	PERF_EVENT_STATE_ACTIVE = 1,
};

struct perf_event {
	enum perf_event_state state;
	struct hw_perf_event hw;
	struct bpf_prog *prog;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* Contexts, and what user space sees of registers: their layout is ABI, not relocated. */
struct bpf_raw_tracepoint_args {
	__u64 args[0];
};

#if defined(__TARGET_ARCH_x86)
struct pt_regs {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax;
	unsigned long ip, cs, flags, sp, ss;
};
typedef struct pt_regs bpf_user_pt_regs_t;
#elif defined(__TARGET_ARCH_arm64)
struct user_pt_regs {
	__u64 regs[31], sp, pc, pstate;
};
typedef struct user_pt_regs bpf_user_pt_regs_t;
#else
#error "unknown target architecture"
#endif

struct bpf_perf_event_data {
	bpf_user_pt_regs_t regs;
	__u64 sample_period;
	__u64 addr;
};

#endif
