/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking the stacks of the current task: what all sources do when their event fires. Each stack
 * gets an id in the key, and travels to user space when it is new.
 *
 *	capture_begin()		the memory of this CPU
 *	capture_process()	user space learns of the process
 *	capture_kernel()	the kernel stack
 *	capture_user()		the user stack: registers, native frames, then
 *				finish_user_stack(), before which others may append frames
 *
 * A stack that cannot be unwound here is sent as it is (a rescue), and user space finishes it.
 */
#ifndef EBPROF_CAPTURE_BPF_H
#define EBPROF_CAPTURE_BPF_H

#include "bpf/compat.bpf.h"
#include "bpf/config.bpf.h"
#include "bpf/count.bpf.h"
#include "bpf/rescue.bpf.h"
#include "bpf/stack.bpf.h"
#include "bpf/unwind.bpf.h"
#include "bpf/walk.bpf.h"

#define RESCUED 1	/* sent for a rescue: user space makes the stack, and counts a sample */

/* Where the program was called, which decides where the registers of user code are. */
enum capture_at {
	AT_USER,	/* a perf event hit user code: they are in its context */
	AT_KERNEL,	/* somewhere in the kernel: it saved them when it was entered */
	AT_ENTRY,	/* a uprobe at the first instruction of a function, which is left out */
	AT_CODE,	/* a uprobe: its context is the registers */
	AT_RETURN,	/* the same: a function has just returned to what is the leaf */
};

/*
 * Programs without frames of languages are loaded in a third of the time, and each language adds to
 * it. Where another one is met later others succeed them (src/collect/successor.h). For a moment
 * both are attached, and this says which of them act.
 */
__u32 acting;	/* written by user space */

static __always_inline int is_anothers_turn(void)
{
	return config.succeeded && acting != turn.number;
}

/* What a capture works with: memory of this CPU. */
struct capture {
	struct ebp_counters *counters;
	struct ebp_stack *stack;	/* room for one that the kernel unwinds */
	struct unwind_state *unwind;
	__u64 process_id;		/* hash_process() */
};

/* 0 where there is no memory. */
static __always_inline int capture_begin(struct capture *c)
{
	__u32 zero = 0;

	c->counters = bpf_map_lookup_elem(&counters, &zero);
	c->stack = bpf_map_lookup_elem(&scratch, &zero);
	c->unwind = bpf_map_lookup_elem(&unwind_states, &zero);
	return c->counters && c->stack && c->unwind;
}

/* Before the stacks: user space has to know of the process first. */
static __always_inline void capture_process(struct capture *c, const struct ebp_key *key)
{
	c->process_id = hash_process(&key->process);
	announce_process(&key->process, c->process_id);
}

/* --- The kernel stack. --------------------------------------------------------- */

/*
 * The addresses in the scratch, from @first up to @n, into @key. @returned: the first one is a
 * return address. 0, or negative where the stack could not be sent.
 */
static __always_inline int finish_kernel_stack(struct ebp_key *key, struct ebp_stack *s, __u32 n,
					       __u32 first, __u32 returned)
{
	key->kernel_id = hash_scratch(config.seed, n, first, returned);
	s->head.type = EBP_KERNEL_STACK;
	s->head.n = n - first;
	s->id = key->kernel_id;
	s->process = (struct ebp_process){};
	return announce_stack(s, EBP_FRAMES_MAX);
}

static __always_inline int capture_kernel(void *ctx, struct ebp_key *key, struct capture *c)
{
	__u32 n = kernel_frames(ctx, c->stack->frames);

	return n ? finish_kernel_stack(key, c->stack, n, 0, 0) : 0;
}

/* --- The user stack. ----------------------------------------------------------- */

/* The registers of user code. Returns the system call that the task is in, or negative. */
static __always_inline long leaf_registers(const void *ctx, enum capture_at at,
					   struct ebp_registers *to)
{
	const struct bpf_perf_event_data *event = ctx;
	const bpf_user_pt_regs_t *registers = ctx;

	if (at == AT_ENTRY) {
		saved_registers(to);
		UNDO_CALL(to->r);
		return -1;
	}
	if (at == AT_CODE || at == AT_RETURN) {
		REGS_TO_DWARF(registers, to->r);
		/* In the call, which may be the last that its function does. */
		to->r[REG_PC] -= at == AT_RETURN;
		barrier();
		return -1;
	}
	if (at == AT_KERNEL)
		return saved_registers(to);
	REGS_TO_DWARF(&event->regs, to->r);
	/*
	 * Else a compiler may make one code of this and the above, of which the verifier says that
	 * it uses different pointers.
	 */
	barrier();
	return -1;
}

/*
 * From the point of no return of an execve() on, the registers are those of a program that has
 * ended, and there is no user stack. Of the new program's memory it is said last where its code is
 * (load_elf_binary()), after its arguments and environment have been walked through.
 */
static __always_inline int is_between_programs(long syscall)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return IS_EXEC(syscall) && !BPF_CORE_READ(task, mm, end_code);
}

/* The same for the rest of the call, by what unwinding led to. */
static __always_inline int is_stale(long syscall, __u32 result)
{
	return IS_EXEC(syscall) &&
	       (result == EBP_NO_PROCESS || result == EBP_NO_MAPPING || result == EBP_UNREADABLE);
}

#define NEWBORN	4000000		/* ns that it has run, as the last tick of the scheduler knew */

/* A function, for what it keeps on the stack is not to be its callers'. */
__noinline int is_young(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return BPF_CORE_READ(task, se.sum_exec_runtime) < NEWBORN;
}

/*
 * Where a thread comes out of the clone() that made it. Its stack may not be in memory yet; that of
 * a process that was forked is, but where the kernel copies it for a page fault.
 */
static __always_inline int may_be_without_stack(enum capture_at at, long syscall)
{
	return at == AT_USER || IS_CLONE(syscall);
}

/* A thread that is about to come out of clone(), or just has: there is nothing above that frame. */
static __always_inline int is_newborn(const struct unwind_state *s, enum capture_at at,
				      long syscall, __u32 result)
{
	return s->n == 1 &&
	       (result == EBP_ZERO_RETURN ||
		(result == EBP_UNREADABLE && may_be_without_stack(at, syscall))) &&
	       is_young();
}

/*
 * Sends the frames of the interpreter by themselves, behind @native ones, which count where there
 * are some of a language among them. Returns their id, or 0 where there are none.
 */
static __always_inline __u64 announce_lang(struct unwind_state *s, __u32 native)
{
	struct ebp_stack *stack = (void *)s->head;

	if (s->n == native && !s->made)
		return 0;
	stack->head.type = EBP_LANG_STACK;
	stack->head.n = s->n;
	stack->process = (struct ebp_process){};
	stack->id = hash_step(s->hash, EBP_LANG_STACK) | 1;
	return announce_stack(stack, EBP_WORDS_MAX) ? 0 : stack->id;
}

/*
 * Where user space is to go on, if frames below have names that only we know; the last of the
 * @native ones is the one that could not be left. Not in what a signal interrupted, which needs all
 * registers.
 */
static __always_inline void mark_stop(struct ebp_rescue *r, const struct unwind_state *s,
				      const struct ebp_key *key, __u32 native)
{
	r->stop = (struct ebp_stop){};
	if (!r->lang_id || !s->made || s->exact || !native)
		return;
	/* The leaf's frame pointer was none. What its code does to the stack tells more. */
	if (native == 2 && s->by_fp && key->result == EBP_NO_MAPPING)
		return;
	r->stop.pc = s->pc;
	r->stop.sp = s->sp;
	r->stop.fp = s->fp;
	r->stop.n = native - 1;
}

/*
 * Sends the registers and the stack to user space, where that may help. 1 where they were sent.
 * @native: frames that are no interpreter's.
 */
static __always_inline int rescue(const void *ctx, enum capture_at at, struct unwind_state *s,
				  struct ebp_key *key, __u32 native)
{
	struct ebp_rescue *r = rescue_room();

	if (!r || !config.rescue || !can_be_rescued(s, key->result))
		return 0;
	r->newborn = may_be_without_stack(at, leaf_registers(ctx, at, &r->regs)) && is_young();
	r->lang_id = announce_lang(s, native);
	mark_stop(r, s, key, native);
	return !send_for_rescue(r, key);
}

/*
 * The frames in @s into @key. What is appended to @s before this call, frames of an interpreter for
 * one, is part of the stack and of its id. 0, or negative where the stack could
 * not be sent.
 */
static __always_inline int finish_user_stack(struct ebp_key *key, struct unwind_state *s,
					     const struct capture *c)
{
	struct ebp_stack *stack = (void *)s->head;

	stack->head.type = EBP_STACK;
	stack->head.n = s->n;
	stack->process = (struct ebp_process){};
	if (s->raw) {
		s->hash = hash_step(s->hash, c->process_id);
		stack->process = key->process;
	}
	key->user_id = stack->id = s->hash ? s->hash : 1;
	stack->result = key->result;
	return announce_stack(stack, EBP_WORDS_MAX);
}

static __always_inline int user_stack(const void *ctx, enum capture_at at, struct ebp_key *key,
				      const struct capture *c, int languages)
{
	struct unwind_state *s = c->unwind;
	long syscall = leaf_registers(ctx, at, &s->regs);
	__u32 native, list = EBP_COMPLETE;

	if (is_between_programs(syscall))
		return 0;
	if (languages)
		walk_process(&key->process, c->process_id);
	key->result = unwind_user(s, key->process.start, languages);
	if (is_stale(syscall, key->result)) {
		key->result = EBP_COMPLETE;
		return 0;
	}
	if (is_newborn(s, at, syscall, key->result))
		key->result = EBP_COMPLETE;
	c->counters->frames += s->n;
	c->counters->fp_frames += s->fp_frames;
	c->counters->untabled += key->result >= EBP_NO_PROCESS && key->result <= EBP_NO_TABLE;
	native = s->n;
	if (languages)
		list = list_frames(0);
	if (key->result == EBP_COMPLETE)
		key->result = list;
	else if (rescue(ctx, at, s, key, native))
		return RESCUED;
	if (key->result == EBP_NO_MAPPING && s->by_fp)
		key->result = EBP_NO_CFI;
	return finish_user_stack(key, s, c);
}

/* The same for a 32-bit program. */
static __always_inline int user_stack32(void *ctx, struct ebp_key *key, const struct capture *c)
{
	struct ebp_stack *s = c->stack;
	__u32 result, n = user_frames32(ctx, s->frames, &result);

	key->result = result;
	if (!n)
		return 0;
	s->head.type = EBP_STACK;
	s->head.n = n;
	s->result = result;
	s->process = key->process;
	s->id = key->user_id = hash_scratch(c->process_id, n, 0, 0);
	return announce_stack(s, EBP_FRAMES_MAX);
}

/*
 * The user stack of @task, the current one, into @key. 0, RESCUED, or negative: it was not sent.
 * @languages: a constant, 0 where no frames of languages are taken.
 */
static __always_inline int capture_user_as(void *ctx, enum capture_at at, struct ebp_key *key,
					   const struct capture *c, const struct task_facts *task,
					   int languages)
{
	return task->is32 ? user_stack32(ctx, key, c) : user_stack(ctx, at, key, c, languages);
}

static __always_inline int capture_user(void *ctx, enum capture_at at, struct ebp_key *key,
					const struct capture *c, const struct task_facts *task)
{
	return capture_user_as(ctx, at, key, c, task, 1);
}

/*
 * The same, with the unwinding left to user space: a second program that unwinds would take as
 * long to load as all others together.
 */
static __always_inline int capture_user_later(void *ctx, struct ebp_key *key,
					      const struct capture *c,
					      const struct task_facts *task)
{
	__u32 tgid = key->process.tgid;
	const struct ebp_space *space;
	struct ebp_rescue *r;
	long syscall;

	if (task->is32)
		return user_stack32(ctx, key, c);
	r = rescue_room();
	space = bpf_map_lookup_elem(&spaces, &tgid);
	syscall = r ? saved_registers(&r->regs) : NO_REGISTERS;
	if (r) {
		r->lang_id = r->newborn = 0;
		r->stop.n = 0;
	}
	if (is_between_programs(syscall))
		return 0;
	key->result = EBP_NO_PROCESS;
	if (!r || !config.rescue || (space && space->flags & EBP_SPACE_NO_RESCUE) ||
	    syscall == NO_REGISTERS)
		return 0;
	if (!send_for_rescue(r, key))
		return RESCUED;
	key->user_id = 0;
	key->result = EBP_UNSENT;
	return 0;
}

#endif
