/* SPDX-License-Identifier: MIT */
/* What a mapping says of its file. */
#ifndef EBPROF_IMAGE_KEY_H
#define EBPROF_IMAGE_KEY_H

#include <stdint.h>

struct image_key {
	const char *path;	/* raw, from the kernel; " (deleted)" is cut off by images_get */
	uint32_t dev_major, dev_minor;
	uint64_t inode;		/* 0: not known (an MMAP2 event with a build id) */
	const uint8_t *build_id;
	uint8_t build_id_size;	/* 0: not known */
	uint64_t start, end;	/* the mapping, for /proc/PID/map_files */
};

#endif
