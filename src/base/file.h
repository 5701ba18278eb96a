/* SPDX-License-Identifier: MIT */
/*
 * Small text files of /proc and /sys, and the lists of numbers in them; opening what was looked at.
 */
#ifndef EBPROF_FILE_H
#define EBPROF_FILE_H

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the file into @buf, terminated; what does not fit in @size - 1 bytes is
 * left out. Returns the bytes read or a negative errno.
 */
ssize_t file_read(const char *path, char *buf, size_t size);
/*
 * Opens for reading what @path_fd (O_PATH) stands for, without waiting for anybody: for files of
 * others, which are looked at first. The descriptor, or a negative errno.
 */
int file_reopen(int path_fd);
/*
 * The same where it is a regular file: -ENOENT for a FIFO or a device, which is looked at, and not
 * opened.
 */
int file_reopen_regular(int path_fd);
/* The same for the file at @path. */
int file_open_regular(const char *path);
/* A file that holds one decimal number, such as a sysctl. 0 or a negative errno. */
int file_read_long(const char *path, long *value);
/* The number of field @name ("VmHWM", in its unit) in /proc/self/status. 0 or a negative errno. */
int file_own_status(const char *name, long *value);

/*
 * A list of CPUs as the kernel writes it and as -C takes it: "0-3,7\n". Gives
 * the numbers ascending, each once, in a malloc'd array. -EINVAL for anything
 * else, and for numbers over 65535. An empty list is valid.
 */
int list_parse(const char *text, int **numbers, size_t *n);
/* Compares two ints for qsort(3) and bsearch(3). */
int list_compare(const void *a, const void *b);

#endif
