/* SPDX-License-Identifier: MIT */
/*
 * Nops of x86-64 on which a kernel may put a probe that is a call in place of a trap
 * (arch/x86/kernel/uprobes.c): first of five bytes (Linux 6.18), later of ten, which has room for
 * what keeps the call off the red zone below the stack pointer. Functions that are to be probed
 * begin with both; the running kernel's is found by measuring (alloc_price_of_nops()).
 */
#ifndef EBPROF_PRELOAD_NOPS_H
#define EBPROF_PRELOAD_NOPS_H

#define NOP5		".byte 0x0f, 0x1f, 0x44, 0x00, 0x00"
#define NOP5_SIZE	5
#define NOP10		".byte 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00"

#endif
