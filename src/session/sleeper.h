/* SPDX-License-Identifier: MIT */
/*
 * The stack of a thread that sleeps. BPF cannot read the memory of another
 * process; we can, while the thread does not run.
 */
#ifndef EBPROF_SLEEPER_H
#define EBPROF_SLEEPER_H

#include "bpf/unwind.h"
#include "lang/langs.h"
#include "proc/remote.h"

/*
 * @sample, which came without stack, with what is on the stack; as much of it as can be had. The
 * caller frees it.
 */
struct ebp_rescue *sleeper_fetch(struct remote *remote, const struct ebp_rescue *sample);
/*
 * The frames of the interpreter that it runs, by layout @number and the @bias of its mapping, as a
 * record EBP_LANG_STACK, which the caller frees; NULL: there are none, or it has run since. @await:
 * as in struct lang_walk.
 */
struct ebp_stack *sleeper_frames(struct langs *langs, const struct ebp_rescue *sample,
				 uint32_t number, uint64_t bias, int await);

#endif
