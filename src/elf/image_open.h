/* SPDX-License-Identifier: MIT */
/*
 * Finds and opens the very file that a process has mapped.
 *
 * The target chooses paths and may swap files while we look: each candidate is
 * first opened with O_PATH, which touches nothing, and only a regular file of
 * the right identity is opened for reading. Used by image.c alone.
 */
#ifndef EBPROF_IMAGE_OPEN_H
#define EBPROF_IMAGE_OPEN_H

#include <sys/types.h>

#include "elf/elf_file.h"
#include "elf/image_key.h"

struct image_file {
	int fd;			/* O_RDONLY, an ELF file */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_size;	/* 0: none */
};

/*
 * @path is key->path without a " (deleted)". 0, or why not, a negative errno:
 * -ESTALE only other files were found, -ENOEXEC found, but no ELF file,
 * -ENOENT nothing found, -EMFILE, -ENFILE, -EACCES, ...
 */
int image_open(pid_t pid, const struct image_key *key, const char *path, struct image_file *out);

#endif
