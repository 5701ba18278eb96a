/* SPDX-License-Identifier: MIT */
/*
 * What an ELF file says of where its debug information is (GDB manual, "Separate Debug Files").
 * Hostile words.
 */
#ifndef EBPROF_DEBUG_LINK_H
#define EBPROF_DEBUG_LINK_H

#include <limits.h>

#include "elf/elf_file.h"

struct debug_link {		/* .gnu_debuglink */
	char name[NAME_MAX + 1];	/* of one file: no "/", not "." or ".." */
	uint32_t crc;			/* of the whole debug file, as zlib's crc32() does it */
};

/* .gnu_debugaltlink, of dwz: to a file that several debug files share */
struct debug_alt_link {
	char name[PATH_MAX];		/* relative to the file that has the link, or absolute */
	uint8_t build_id[ELF_BUILD_ID_MAX];
	size_t build_id_size;
};

/* 0; -ENOENT: there is none; -EBADMSG: it is malformed; or a read's error. */
int debug_link_read(const struct elf_file *f, struct debug_link *out);
int debug_alt_link_read(const struct elf_file *f, struct debug_alt_link *out);

#endif
