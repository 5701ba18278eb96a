/* SPDX-License-Identifier: MIT */
#include "collect/uprobe.h"

#include <linux/perf_event.h>
#include <string.h>

#include "base/file.h"
#include "collect/perf_events.h"

#define RETPROBE 1	/* .../uprobe/format/retprobe: config:0 */

int uprobe_open(const char *path, uint64_t offset, pid_t pid, int at_return)
{
	struct perf_event_attr attr = { .size = sizeof(attr), .uprobe_path = (uintptr_t)path, .probe_offset = offset };
	long type;
	int err = file_read_long("/sys/bus/event_source/devices/uprobe/type", &type);

	if (err)
		return err;
	attr.type = (uint32_t)type;
	attr.config = at_return ? RETPROBE : 0;
	return perf_event_open(&attr, pid, pid > 0 ? -1 : 0);
}
