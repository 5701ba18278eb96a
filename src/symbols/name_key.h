/* SPDX-License-Identifier: MIT */
/*
 * What an image's names depend on, so that answers of an earlier run are used only where we
 * would find the same ones again: its build id, the very files that tell (a debug file
 * that came, went or changed makes another key), the options, and this program.
 */
#ifndef EBPROF_NAME_KEY_H
#define EBPROF_NAME_KEY_H

#include <stddef.h>
#include <stdint.h>

#include "symbols/image_files.h"

struct name_key {
	uint8_t bytes[288];
	size_t size;
	/* a name for the file of its answers; another key may have it too */
	char file[64];
};

/* @options: any number that stands for them. 0, or -ENOENT: a file without a build id, or none. */
int name_key_make(struct name_key *k, const struct image *image, const struct image_files *files,
		  uint8_t options);

#endif
