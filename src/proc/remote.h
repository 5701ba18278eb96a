/* SPDX-License-Identifier: MIT */
/*
 * The memory of other processes, read by a process of ours that may be lost.
 *
 * Whose memory it is may be who answers its page faults, too (userfaultfd(2), or FUSE, behind a
 * file that it maps), and need not answer. No signal but SIGKILL ends that wait, and where a FUSE
 * daemon has taken the question, not even that: who waits cannot exit, so it must be no thread of
 * ours. It answers in time or is given up, and its process is not asked again.
 *
 * Fork it before there are threads. It gets no signals, and ends with its owner, however that ends.
 */
#ifndef EBPROF_REMOTE_H
#define EBPROF_REMOTE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#define REMOTE_PLACES	17	/* of one question, at most */
#define REMOTE_BYTES	65536	/* of them all */

struct remote;

/* As process_vm_readv(2). */
typedef ssize_t remote_fn(pid_t pid, const struct iovec *local, unsigned long nlocal,
			  const struct iovec *remote, unsigned long nremote, unsigned long flags);

/* Forks. @fn reads, in that process. NULL with errno. */
struct remote *remote_new(remote_fn *fn);
/* Waits for the process, unless it is lost. Takes NULL. */
void remote_free(struct remote *r);
pid_t remote_pid(const struct remote *r);

/*
 * What @pid has in @places, one after the other: as many bytes as are returned, up to the first
 * place that cannot be read. 0 where it does not answer in time, or did not before; nobody is asked
 * any more where answers took too long in all, nor where @r is NULL.
 */
size_t remote_read(struct remote *r, pid_t pid, const struct iovec *places, size_t n, void *to);
/* The same of one place, with the struct remote as @ctx: 0, or -EFAULT. */
int remote_place(void *ctx, pid_t pid, uint64_t address, void *to, size_t size);
/*
 * From @address on, up to the first page that cannot be read, @size and REMOTE_BYTES at most; ctx
 * as above. Returns how many bytes.
 */
size_t remote_pages(void *ctx, pid_t pid, uint64_t address, void *to, size_t size);

#endif
