/* SPDX-License-Identifier: MIT */
/*
 * Where the kernel's own code lies that tells a wait from an interrupt (/proc/kallsyms). To read
 * that takes 45 ms, so it is done by a thread while programs are loaded.
 */
#ifndef EBPROF_KERNEL_TEXT_H
#define EBPROF_KERNEL_TEXT_H

#include <pthread.h>
#include <stdio.h>

#include "bpf/config.h"

struct kernel_text {
	FILE *file;		/* NULL: nobody looks */
	int threaded;
	pthread_t thread;
	struct ebp_kernel_text found;	/* what the kernel hides from us stays 0 */
};

/* Opens it with the rights that we have now. */
void kernel_text_begin(struct kernel_text *k);
/* Waits for what was begun, if it was; then @k->found is true. */
void kernel_text_end(struct kernel_text *k);

#endif
