/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwinding the user stack of the current task: maps, registers, and one frame by unwind_step.h.
 * The loop over frames is in walk.bpf.h.
 *
 * The step is a global function, so the verifier looks at it once and not for
 * each of 511 frames; such functions take scalars only before 5.12, so the state
 * is in a per-CPU map.
 *
 * NMI: map look-ups of arrays, reads of user memory that may fault and then
 * fail (they do not sleep), and loads; no lock is taken.
 */
#ifndef EBPROF_UNWIND_BPF_H
#define EBPROF_UNWIND_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/unwind.h"

struct shard_map {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, EBP_SHARD_BYTES + EBP_SHARD_SLACK);
	__uint(map_flags, BPF_F_MMAPABLE);
};

/* Both are made by user space, before the programs are loaded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct shard_map);
} shards SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ebp_space);
} spaces SEC(".maps");

#define TABLE16(p) (*(const __u16 *)(p))
#define TABLE32(p) (*(const __u32 *)(p))
#define TABLE64(p) (*(const __u64 *)(p))
/* both architectures allow it, and so does their verifier */
#define TABLE8X8(p) TABLE64(p)
#define ROWS_STEPS(env) EBP_ROWS_SHIFT

struct unwind_env;
struct unwind_state;
static const __u8 *env_shard(struct unwind_env *env, __u64 index);
static const __u8 *env_rows(struct unwind_env *env, struct unwind_state *s, __u64 *offset);
static int env_read(struct unwind_env *env, void *dst, __u32 size, __u64 address);
static __u64 env_uprobe(struct unwind_env *env, struct unwind_state *s, __u64 slot);

/* To follow code takes too many instructions here. */
static __always_inline int env_code(struct unwind_env *env __attribute__((unused)),
				    struct unwind_state *s __attribute__((unused)))
{
	return 0;
}

#include "bpf/unwind_step.h"

static __always_inline const __u8 *env_shard(struct unwind_env *env __attribute__((unused)),
					     __u64 index)
{
	__u32 at = index, zero = 0;
	void *shard = bpf_map_lookup_elem(&shards, &at);

	return shard ? bpf_map_lookup_elem(shard, &zero) : NULL;
}

static __always_inline const __u8 *env_rows(struct unwind_env *env, struct unwind_state *s,
					    __u64 *offset)
{
	*offset = ref_offset(s->rows);
	return s->nrows ? env_shard(env, ref_shard(s->rows)) : NULL;
}

static __always_inline int env_read(struct unwind_env *env __attribute__((unused)), void *dst,
				    __u32 size, __u64 address)
{
	return bpf_probe_read_user(dst, size, (void *)address);
}

/*
 * A return probe replaces the return address on the stack; the kernel keeps
 * the real one in a list of the task's, the innermost first (kernel/events/uprobes.c).
 */
static __always_inline __u64 env_uprobe(struct unwind_env *env __attribute__((unused)),
					struct unwind_state *s, __u64 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *ri = (void *)s->uprobe;

	if (!ri)
		ri = BPF_CORE_READ(task, utask, return_instances);
#pragma unroll
	for (int i = 0; i < UPROBES_PASSED; i++) {
		if (ri && BPF_CORE_READ(ri, stack) < slot)
			ri = BPF_CORE_READ(ri, next);
	}
	if (!ri || BPF_CORE_READ(ri, stack) != slot)
		return 0;
	s->uprobe = (__u64)BPF_CORE_READ(ri, next);
	return BPF_CORE_READ(ri, orig_ret_vaddr);
}

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct unwind_state);
} unwind_states SEC(".maps");

/*
 * One frame of the state of this CPU. @frame is not looked at, but a global function needs an
 * argument that is used.
 */
__noinline int unwind_frame(__u32 frame)
{
	__u32 zero = 0;
	struct unwind_state *s = bpf_map_lookup_elem(&unwind_states, &zero);

	if (!s || frame > EBP_FRAMES_MAX)
		return STEP_DONE(EBP_DEPTH);
	return unwind_one(NULL, s);
}

/* What is to follow STEP_GAP. @frame as above. */
__noinline int unwind_gap(__u32 frame)
{
	__u32 zero = 0;
	struct unwind_state *s = bpf_map_lookup_elem(&unwind_states, &zero);

	if (!s || frame > EBP_FRAMES_MAX)
		return STEP_DONE(EBP_DEPTH);
	return leave_gap(NULL, s);
}

/* Too big for BPF's own stack: its 512 bytes are for a program and two functions below it. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, bpf_user_pt_regs_t);
} user_registers SEC(".maps");

#define NO_REGISTERS (-4096l)	/* no system call's number, nor -1, which stands for none */

/*
 * The user registers of a task that is in the kernel lie at the top of its
 * kernel stack. Returns the system call that it is in, -1 where none, or NO_REGISTERS.
 */
static __always_inline long registers_at(const void *from, struct ebp_registers *to)
{
	__u32 zero = 0;
	bpf_user_pt_regs_t *regs = bpf_map_lookup_elem(&user_registers, &zero);

	if (!regs || bpf_probe_read_kernel(regs, sizeof(*regs), from))
		return NO_REGISTERS;
	REGS_TO_DWARF(regs, to->r);
	return SYSCALL_OF(regs);
}

/* Where they are of the current task. */
static __always_inline const void *registers_place(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return BPF_CORE_READ(task, stack) + KERNEL_STACK - sizeof(bpf_user_pt_regs_t);
}

static __always_inline long saved_registers(struct ebp_registers *to)
{
	return registers_at(registers_place(), to);
}

/* The same of another task, which does not run; a pointer that the verifier trusts. */
static __always_inline long registers_of(struct task_struct *task, struct ebp_registers *to)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return registers_at((void *)bpf_task_pt_regs(task), to);
	return registers_at(BPF_CORE_READ(task, stack) + KERNEL_STACK - sizeof(bpf_user_pt_regs_t),
			    to);
}

/* @languages: a constant, 0 where their frames are native ones. */
static __always_inline void unwind_reset(struct unwind_state *s, const struct ebp_space *space,
					 int languages)
{
	s->row.start = s->row.end = 0;
	s->window = s->window_end = 0;
	s->rows = space ? space->rows : 0;
	s->nrows = space ? space->nrows : 0;
	s->no_rescue = space ? space->flags & EBP_SPACE_NO_RESCUE : 0;
	s->lang = space && languages ? space->lang : 0;
	s->lang_bias = space ? space->lang_bias : 0;
	s->machine = space && languages ? space->machine : 0;
	s->machine_bias = space ? space->machine_bias : 0;
	s->asked = s->made = s->begun = s->inside = s->apart = 0;
	s->uprobe = 0;
	s->jumps = s->n = s->fp_frames = s->raw = 0;
	s->max = config.user_frames;
	s->hash = config.seed;
	begin(s);
}

#endif
