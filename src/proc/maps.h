/* SPDX-License-Identifier: MIT */
/*
 * Lines of /proc/PID/maps (proc(5); fs/proc/task_mmu.c, show_map_vma).
 */
#ifndef EBPROF_MAPS_H
#define EBPROF_MAPS_H

#include <stdint.h>

struct maps_line {
	uint64_t start, end;	/* bytes; end exclusive */
	uint64_t offset;	/* of @start in the file, bytes */
	uint32_t dev_major, dev_minor;
	uint64_t inode;		/* 0: no file */
	int executable;
	const char *path;	/* inside the line, "" where there is none; \ooo escapes undone */
};

/*
 * Parses one line in place (@line is changed: terminated at the newline, octal
 * escapes of the path undone). Returns 0, or -EINVAL for a line that is not of
 * that form or describes an empty or inverted range.
 */
int maps_parse_line(char *line, struct maps_line *out);

#endif
