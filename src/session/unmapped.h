/* SPDX-License-Identifier: MIT */
/*
 * Which images may go: an open file keeps the space of one that was deleted and its file system
 * from being unmounted, and there are only so many descriptors. What runs now and then, such as a
 * compiler, is not to be opened anew each time.
 */
#ifndef EBPROF_UNMAPPED_H
#define EBPROF_UNMAPPED_H

#include <stdint.h>

#include "elf/image.h"

#define UNMAPPED_SETTLED 5000000000u	/* ns that frames of it may still be under way */
#define UNMAPPED_MAX_AGE 60000000000u	/* ns that one is kept for the next process */
#define UNMAPPED_KEPT	 128		/* so many, at most */

struct unmapped;

struct unmapped *unmapped_new(void);
void unmapped_free(struct unmapped *u);

/*
 * @mapped and @due have a byte for each image id. Sets @due to 1 for those images that nobody has
 * mapped for long, as of @now (CLOCK_MONOTONIC ns), or not for a moment where the file was deleted
 * or there are too many of them; else to 0. Returns how many. One that is due is so again until it
 * is no IMAGE_LIVE any more.
 */
size_t unmapped_choose(struct unmapped *u, const struct images *images,
		       const unsigned char *mapped, uint64_t now, unsigned char *due);

#endif
