/* SPDX-License-Identifier: MIT */
/*
 * What a trap on a function costs on this machine.
 *
 * That differs by the first instruction of the function: where the kernel acts for it that is half
 * a microsecond, where it has to run it out of line it may be twenty of them in a virtual machine.
 * So it is measured on two functions of our own.
 */
#ifndef EBPROF_ALLOC_PRICE_H
#define EBPROF_ALLOC_PRICE_H

#include "alloc/alloc_load.h"

/*
 * 0; or -ENOTSUP where this kernel has no uprobe_link(), or it misses threads (Linux 6.6 to 6.9).
 * Needs no other thread.
 */
int alloc_price_measure(struct alloc_price *p);
/*
 * Of probes on a nop of five bytes, trap[0], and on one of ten, trap[1] (preload/nops.h). 0; or
 * -ENOTSUP where they cannot be set, or the kernel has but traps. Needs no other thread.
 */
int alloc_price_of_nops(struct alloc_price *p);
/*
 * 1 where the kernel runs the instruction at @offset of the open @file out of line, and does not
 * act for it (its uprobes.c).
 */
int alloc_price_is_stepped(int file, uint64_t offset);

#endif
