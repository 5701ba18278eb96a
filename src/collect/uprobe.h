/* SPDX-License-Identifier: MIT */
/*
 * A uprobe as a perf event (perf_event_open(2), /sys/bus/event_source/devices/uprobe): no name in tracefs is
 * made that would stay when we are killed.
 */
#ifndef EBPROF_UPROBE_H
#define EBPROF_UPROBE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * On the instruction at @offset of the file at @path, in all processes (-1) or in @pid; or where the function that begins
 * there returns. It is set at once, and
 * until it is closed; a program is attached later. Needs CAP_SYS_ADMIN, unlike other events: so it is to be opened
 * before that is dropped. A descriptor, or a negative errno.
 */
int uprobe_open(const char *path, uint64_t offset, pid_t pid, int at_return);

#endif
