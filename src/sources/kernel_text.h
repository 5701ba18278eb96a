/* SPDX-License-Identifier: MIT */
/* Where the kernel's own code lies that tells a wait from an interrupt (/proc/kallsyms). */
#ifndef EBPROF_KERNEL_TEXT_H
#define EBPROF_KERNEL_TEXT_H

#include <linux/types.h>

/*
 * From its beginning to its end: the scheduler's, where interrupts come in, try_to_wake_up(). What
 * the kernel hides from us stays as it is.
 */
void kernel_text_find(__u64 sched[2], __u64 irq[2], __u64 wake[2]);

#endif
