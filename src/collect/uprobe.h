/* SPDX-License-Identifier: MIT */
/*
 * A uprobe as a perf event (perf_event_open(2), /sys/bus/event_source/devices/uprobe): no name in
 * tracefs is made that would stay when we are killed.
 */
#ifndef EBPROF_UPROBE_H
#define EBPROF_UPROBE_H

#include <stdint.h>
#include <sys/types.h>

/*
 * On the instruction at @offset of the file at @path, in all processes (-1) or in @pid; or where
 * the function that begins there returns. It is set at once, and until it is closed; a program is
 * attached later. Needs CAP_SYS_ADMIN, unlike other events: so it is to be opened before that is
 * dropped. A descriptor, or a negative errno.
 */
int uprobe_open(const char *path, uint64_t offset, pid_t pid, int at_return);

/*
 * The same for a static probe whose counter of who looks, @semaphore, lies there in the file: it is
 * counted up in each process while the probe is set. 0: it has none.
 */
int uprobe_open_counted(const char *path, uint64_t offset, uint64_t semaphore, pid_t pid,
			int at_return);
/* On an instruction of a kernel function, or where it returns. As uprobe_open(). */
int kprobe_open(const char *function, uint64_t offset, int at_return);

/*
 * @program on @event, both descriptors, by a link, which keeps the event: @cookie is what
 * bpf_get_attach_cookie() gives there. Linux 5.15. A descriptor, or a negative errno.
 */
int event_link(int event, int program, uint64_t cookie);

/*
 * @program (a descriptor) on a uprobe. By its event and not by a link of it, for which libbpf would
 * load a program to learn whether there are such links, and the sandbox refuses that. 0 or a
 * negative errno.
 */
int uprobe_attach(int uprobe, int program);

/* BPF_TRACE_UPROBE_MULTI: what a program for uprobe_link() is loaded for */
#define UPROBE_MULTI 48

/* Places in one file. */
struct uprobe_places {
	int file;			/* open; it may have no name any more */
	pid_t pid;			/* of a process, all its threads; 0: all processes */
	/* @n of each; what bpf_get_attach_cookie() gives there */
	const uint64_t *offsets, *cookies;
	const uint64_t *semaphores;	/* of static probes, 0: none; NULL: of none */
	uint32_t n;
};

/*
 * @program (a descriptor) on all of them by one link, at their entry or @at_return. They are all
 * set when this returns, and all gone when the link is closed, which one grace period ends and not
 * one for each. Linux 6.6; needs what loading programs needs. A descriptor, or a negative errno.
 */
int uprobe_link(int program, const struct uprobe_places *p, int at_return);

#endif
