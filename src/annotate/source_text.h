/* SPDX-License-Identifier: MIT */
/*
 * A file of source code, line by line, as it is on this machine now.
 *
 * Its name is whoever's program that was, and so is the file where it lies in that program's root:
 * only regular files that are stored are read, none of /proc, /sys and the like, where reading may
 * change something or never end.
 */
#ifndef EBPROF_SOURCE_TEXT_H
#define EBPROF_SOURCE_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "annotate/targets.h"
#include "base/user.h"
#include "base/vec.h"
#include "elf/debuginfod.h"

#define SOURCE_PATH_MAX 4096

struct source_text {
	char *bytes;
	VEC(const char *) lines;	/* terminated, not clean */
	char from[SOURCE_PATH_MAX + 64];	/* where it was found, in words; not clean */
	uint64_t changed;		/* ns of CLOCK_REALTIME */
};

/* Where sources may be. All zero: where their names say, in our own root. */
struct source_places {
	const char *const *dirs;
	size_t n_dirs;
	/* processes whose roots are looked in; NULL: none */
	const struct annotate_targets *targets;
	struct debuginfod *debuginfod;	/* NULL: is not asked */
	/* NULL, or: only files that all users may read, and here those that this one can reach */
	const struct user *everybodys;
	/* of the file that was made of it, for debuginfod */
	const uint8_t *build_id;
	size_t build_id_size;
};

/*
 * The file that debug information, or an interpreter, calls @path: below one of the folders by as
 * much of the end of its path as is there; in the root of a target that still runs, a relative one
 * from where that is; there, in our own root; from a server. A file:// before it is left out. At
 * most 16 MiB. 0, or a negative errno: -ENOENT, -EFBIG, -EACCES not everybody may read it, ...
 */
int source_text_read(struct source_text *s, const char *path, const struct source_places *places);
void source_text_free(struct source_text *s);
/* Line @n, from 1, clean and with tabs as blanks; "" where there is none. @buf is returned. */
const char *source_text_line(const struct source_text *s, size_t n, char *buf, size_t size);

#endif
