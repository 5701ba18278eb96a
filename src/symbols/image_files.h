/* SPDX-License-Identifier: MIT */
/* The ELF files in which an image's names are: its own, and those that were split from it. */
#ifndef EBPROF_IMAGE_FILES_H
#define EBPROF_IMAGE_FILES_H

#include "elf/debug_file.h"
#include "elf/debuginfod.h"
#include "elf/image.h"

/*
 * In the order of what they tell: a debug file, what is packed in .gnu_debugdata, the file itself.
 */
enum { IMAGE_DEBUG, IMAGE_MINI, IMAGE_OWN, IMAGE_FILES };

struct image_files {
	struct elf_file *elf[IMAGE_FILES];	/* NULL: there is none */
	struct elf_file *alt;			/* what dwz took out of the debug file */
	struct elf_file *package;		/* of split DWARF */
	int debug_fd, alt_fd, package_fd;	/* ours; -1: none */
	/* of those that are not files: the vDSO, what was unpacked */
	void *memory[IMAGE_FILES];
};

/*
 * What all images together may still cost: a target can map any number of files that were made to
 * be costly.
 */
struct image_budget {
	uint64_t crc;		/* bytes read for the CRCs of debug files */
	/* bytes of .gnu_debugdata, packed and unpacked: most of it stays in memory */
	uint64_t unpacked;
};

/*
 * 0, or why the image itself cannot be read: image->why, -ENOENT, -ENOEXEC, ... Others
 * may be missing; they are looked for in @places, then in the root of the image's process, then
 * asked for from @debuginfod, unless that is NULL. What that costs is taken off @budget.
 */
int image_files_open(struct image_files *f, const struct image *image,
		     const struct debug_places *places, struct debuginfod *debuginfod,
		     struct image_budget *budget);
void image_files_close(struct image_files *f);

#endif
