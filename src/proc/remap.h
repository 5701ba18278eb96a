/* SPDX-License-Identifier: MIT */
/*
 * Code that a program moved to anonymous memory, to have it in huge pages:
 * the kernel calls it anonymous from then on, but it is the file's all the same.
 */
#ifndef EBPROF_REMAP_H
#define EBPROF_REMAP_H

#include <stdint.h>
#include <sys/types.h>

#include "proc/remote.h"

/*
 * 1 where the memory [@start, @end) of @pid holds what the file @fd holds from
 * @offset on, as far as a few places tell; else 0.
 */
int remap_holds_file(struct remote *remote, pid_t pid, uint64_t start, uint64_t end, int fd,
		     uint64_t offset);

#endif
