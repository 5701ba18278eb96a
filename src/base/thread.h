/* SPDX-License-Identifier: MIT */
/* Threads beside one that samples: that may run at a real-time priority, and takes the signals. */
#ifndef EBPROF_THREAD_H
#define EBPROF_THREAD_H

#include <pthread.h>

/* Of usual priority, whatever the caller's is, and without its signals. 0 or a negative errno. */
int thread_start(pthread_t *thread, void *(*work)(void *), void *arg);

/* A lock whose holder runs when one of a higher priority waits for it. */
void thread_lock_init(pthread_mutex_t *lock);

#endif
