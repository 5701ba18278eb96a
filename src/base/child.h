/* SPDX-License-Identifier: MIT */
/*
 * Processes of ours that get no signals, unless they take them again, and what one needs that has
 * memory in common with its owner.
 */
#ifndef EBPROF_CHILD_H
#define EBPROF_CHILD_H

#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As fork(2). The child ends with its owner, or becomes another program. */
pid_t child_fork(void);
/* Waits until a child has ended, and takes its status away. */
void child_wait(pid_t pid);

/* Zeros that this process and those that it forks have in common. NULL with errno. */
void *child_memory(size_t size);
/*
 * Forks a child that calls @serve with @memory, of child_memory(), and ends with its owner, however
 * that ends. It has no descriptors. Its PID; -1 with errno, and @memory is unmapped.
 */
pid_t child_serve(void (*serve)(void *memory), void *memory, size_t size);

/* A turn of the other process, for as long as it takes. */
void child_turn(sem_t *s);
/* The same up to a time of clock_ns(): 0, or -1 where it has not come. */
int child_turn_until(sem_t *s, uint64_t end);

#endif
