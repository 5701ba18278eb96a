/* SPDX-License-Identifier: MIT */
#include "collect/uprobe.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"
#include "collect/perf_events.h"

/* union bpf_attr of BPF_LINK_CREATE, as far as these links have it (linux/bpf.h of 6.6). */
struct link_create {
	uint32_t program, target, type, flags;
	struct {
		uint64_t path, offsets, ref_counters, cookies;
		uint32_t n, flags, pid;
		uint32_t reserved;	/* 0: what the kernel does not know has to be */
	} places;
};

/* ... and of a link of an event (5.15). */
struct perf_link_create {
	uint32_t program, event, type, flags;
	uint64_t cookie;
};

#define PERF_EVENT 41	/* BPF_PERF_EVENT */
#define AT_RETURN 1	/* BPF_F_UPROBE_MULTI_RETURN */
#define RETPROBE 1	/* .../uprobe/format/retprobe: config:0 */
#define SEMAPHORE_SHIFT 32	/* .../uprobe/format/ref_ctr_offset: config:32-63 */

int uprobe_open(const char *path, uint64_t offset, pid_t pid, int at_return)
{
	return uprobe_open_counted(path, offset, 0, pid, at_return);
}

int uprobe_open_counted(const char *path, uint64_t offset, uint64_t semaphore, pid_t pid,
			int at_return)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.uprobe_path = (uintptr_t)path,
					.probe_offset = offset };
	long type;
	int err = file_read_long("/sys/bus/event_source/devices/uprobe/type", &type);

	if (err)
		return err;
	if (semaphore >> 32)
		return -EFBIG;
	attr.type = (uint32_t)type;
	attr.config = (at_return ? RETPROBE : 0) | semaphore << SEMAPHORE_SHIFT;
	return perf_event_open(&attr, pid, pid > 0 ? -1 : 0);
}

int kprobe_open(const char *function, uint64_t offset, int at_return)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.kprobe_func = (uintptr_t)function,
					.probe_offset = offset };
	long type;
	int err = file_read_long("/sys/bus/event_source/devices/kprobe/type", &type);

	if (err)
		return err;
	attr.type = (uint32_t)type;
	attr.config = at_return ? RETPROBE : 0;
	return perf_event_open(&attr, -1, 0);
}

int uprobe_attach(int uprobe, int program)
{
	return ioctl(uprobe, PERF_EVENT_IOC_SET_BPF, program) ||
			       ioctl(uprobe, PERF_EVENT_IOC_ENABLE, 0)
		       ? -errno
		       : 0;
}

int event_link(int event, int program, uint64_t cookie)
{
	struct perf_link_create create = {
		.program = (uint32_t)program, .event = (uint32_t)event, .type = PERF_EVENT,
		.cookie = cookie,
	};
	long fd = syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create));

	return fd < 0 ? -errno : (int)fd;
}

int uprobe_link(int program, const struct uprobe_places *p, int at_return)
{
	char path[32];
	struct link_create create = {
		.program = (uint32_t)program, .type = UPROBE_MULTI,
		.places = {
			.path = (uintptr_t)path, .offsets = (uintptr_t)p->offsets,
			.cookies = (uintptr_t)p->cookies,
			.ref_counters = (uintptr_t)p->semaphores,
			.n = p->n, .flags = at_return ? AT_RETURN : 0, .pid = (uint32_t)p->pid,
		},
	};
	long fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->file);
	fd = syscall(SYS_bpf, BPF_LINK_CREATE, &create, sizeof(create));
	return fd < 0 ? -errno : (int)fd;
}
