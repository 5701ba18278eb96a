/* SPDX-License-Identifier: MIT */
/* malloc()'s memory in programs that run for months. glibc. */
#ifndef EBPROF_HEAP_H
#define EBPROF_HEAP_H

/*
 * From now on what is large goes back to the system when it is freed (by default glibc keeps ever
 * more of it), and threads do not each have a heap of their own. Before the first thread.
 */
void heap_keep_small(void);
/* Gives back what is free. Takes some ms where much is. */
void heap_trim(void);

#endif
