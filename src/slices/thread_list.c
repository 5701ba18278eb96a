/* SPDX-License-Identifier: MIT */
#include "slices/thread_list.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#define ENTRIES 512	/* by one system call */

int thread_list_read(int link, thread_list_entry *fn, void *ctx)
{
	struct ebp_sliced_thread list[ENTRIES];
	int fd = bpf_iter_create(link);
	size_t have = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	/* What one read() gives may end in the middle of an entry. */
	while ((n = read(fd, (char *)list + have, sizeof(list) - have)) > 0) {
		size_t entries = (have + (size_t)n) / sizeof(*list);

		for (size_t i = 0; i < entries; i++)
			fn(ctx, &list[i]);
		have = have + (size_t)n - entries * sizeof(*list);
		memmove(list, list + entries, have);
	}
	n = n < 0 ? -errno : 0;
	close(fd);
	return (int)n;
}
