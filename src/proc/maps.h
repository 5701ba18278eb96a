/* SPDX-License-Identifier: MIT */
/*
 * Lines of /proc/PID/maps (proc(5); fs/proc/task_mmu.c, show_map_vma).
 */
#ifndef EBPROF_MAPS_H
#define EBPROF_MAPS_H

#include <stdint.h>
#include <sys/types.h>

struct maps_line {
	uint64_t start, end;	/* bytes; end exclusive */
	uint64_t offset;	/* of @start in the file, bytes */
	uint32_t dev_major, dev_minor;
	uint64_t inode;		/* 0: no file */
	int executable;
	const char *path;	/* inside the line, "" where there is none; \012 undone */
};

/*
 * Parses one line in place (@line is changed: terminated at the newline, a
 * \012 in the path made a newline again; the kernel escapes nothing else there,
 * not even the backslash). Returns 0, or -EINVAL for a line that is not of
 * that form, or whose range is empty, inverted or beyond the end of its file's
 * offsets.
 */
int maps_parse_line(char *line, struct maps_line *out);

/*
 * Calls @fn for each executable mapping of @pid, in the order of addresses; a
 * line that cannot be parsed is passed over. Where the leader has exited and
 * other threads run on, their maps are read. 0, -ESRCH where the process is
 * gone or has no memory (a zombie, a kernel thread), or another negative errno.
 */
typedef void (*maps_fn)(const struct maps_line *line, void *arg);
int maps_for_each_executable(pid_t pid, maps_fn fn, void *arg);

#endif
