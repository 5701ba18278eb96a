/* SPDX-License-Identifier: MIT */
/* The BPF programs and maps that are part of ebprof (bpf/), to be configured and loaded. */
#ifndef EBPROF_BPF_PROGRAMS_H
#define EBPROF_BPF_PROGRAMS_H

struct ebprof_bpf;	/* ebprof.skel.h */

/*
 * To be relocated by the few of the kernel's types that they need, which @types has
 * (kernel_types.h); where it is negative, by all of them. NULL with errno.
 */
struct ebprof_bpf *bpf_programs_open(int types);

#endif
