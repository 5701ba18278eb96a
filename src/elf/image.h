/* SPDX-License-Identifier: MIT */
/*
 * Images: the executable files that are mapped on this machine, each once.
 *
 * An image is known by its build id and path where the kernel tells the build
 * id, else by device, inode and path, so that 200 processes of one binary
 * share it. Its ELF file is opened when a mapping of it is first seen and stays
 * open (O_RDONLY, never by the symbolizer): a process that has exited, and a file that was
 * deleted or replaced, are named all the same. Where that failed, a later
 * mapping of the same image may succeed: @fd, @why and @build_id change then.
 * Owned by `struct images`, alone: all others borrow @fd, until images_retire(). An image never
 * moves, and is there until images_reuse().
 */
#ifndef EBPROF_IMAGE_H
#define EBPROF_IMAGE_H

#include <stdint.h>
#include <sys/types.h>

#include "elf/elf_file.h"
#include "elf/image_key.h"

#define IMAGE_NONE UINT32_MAX	/* memory with no file behind it: JIT code, [heap], //anon */

enum image_kind {
	IMAGE_FILE,
	IMAGE_VDSO,		/* [vdso]: one ELF image, in our own memory too */
	/* other code of the kernel's: [vsyscall], [uprobes], [vdso32]: no file */
	IMAGE_SPECIAL,
};

enum image_state {
	IMAGE_LIVE,
	IMAGE_RETIRED,		/* its file is closed; no mapping is this image any more */
	IMAGE_UNUSED,		/* nothing: the next new image has its id */
};

struct image {
	uint32_t id;		/* its index in struct images */
	enum image_kind kind;
	enum image_state state;
	/* as the target's mount namespace calls it, cleaned (base/text.h) */
	const char *path;
	const char *name;	/* last part of the path, cleaned */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	uint8_t build_id_size;	/* 0: none */
	/* of the process that it was first seen in; it may be gone, and the PID used again */
	pid_t pid;
	int fd;			/* -1: could not be opened; then @why says so */
	/*
	 * 0, or a negative errno: -ESTALE another file now has that name, -ENOEXEC not an ELF file,
	 * -ENOENT not found, -EMFILE no descriptor left
	 */
	int why;
};

struct images;

struct images *images_new(void);
void images_free(struct images *all);

/*
 * The image that @key describes, opened at first sight through process @pid's
 * root (/proc/PID/root/PATH), else its map_files, else our own root; what was
 * opened must be a regular file with the same build id, or the same inode. No
 * FIFO or device is ever opened for reading. A known image costs one look-up.
 * Returns its id, or IMAGE_NONE for anonymous memory.
 */
uint32_t images_get(struct images *all, pid_t pid, const struct image_key *key);

/* What is IMAGE_UNUSED has no path. */
const struct image *images_at(const struct images *all, uint32_t id);
/* All ids are less. */
uint32_t images_count(const struct images *all);

/*
 * Closes the files of those for which @which, by id, is 1: no process maps them, and nobody reads
 * them any more. Where such a file is mapped again that is another image. Else they stay as they
 * are, without a file.
 */
void images_retire(struct images *all, const unsigned char *which);
/* Nobody names these, which were retired, any more: their ids are used again. */
void images_reuse(struct images *all, const unsigned char *which);

#endif
