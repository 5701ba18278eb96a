/* SPDX-License-Identifier: MIT */
/*
 * read(2), pread(2) and write(2), again where a signal came between, and for all bytes where one
 * call takes fewer. SIGPIPE is expected to be ignored or blocked. Errors are negative errnos.
 */
#ifndef EBPROF_IO_H
#define EBPROF_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What one call reads: its bytes, 0 at the end. */
ssize_t io_read(int fd, void *to, size_t size);
/* Up to @size bytes, less only where the end comes before: how many. */
ssize_t io_read_full(int fd, void *to, size_t size);
/*
 * All @size bytes, before it is @end (clock_ns()). 0, -ETIMEDOUT, -EBADMSG where the end comes
 * before, or why they cannot be read.
 */
int io_read_until(int fd, void *to, size_t size, uint64_t end);
/* io_read_full() at @offset. */
ssize_t io_pread_full(int fd, void *to, size_t size, uint64_t offset);
/* What one call writes: its bytes. */
ssize_t io_write(int fd, const void *from, size_t size);
/* All bytes; waits where @fd is not blocking and cannot take them now. 0, or why not all were. */
int io_write_full(int fd, const void *from, size_t size);

#endif
