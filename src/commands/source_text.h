/* SPDX-License-Identifier: MIT */
/* A file of source code, line by line, as it is on this machine now. */
#ifndef EBPROF_SOURCE_TEXT_H
#define EBPROF_SOURCE_TEXT_H

#include <stddef.h>

#include "base/vec.h"

struct source_text {
	char *bytes;
	VEC(const char *) lines;	/* terminated, not clean */
	char path[4096];		/* where it was found */
};

/*
 * The file that debug information calls @path: there, or below one of @dirs by as much of the end
 * of its path as is there. At most 16 MiB of a regular file. 0, or a negative errno: -ENOENT.
 */
int source_text_read(struct source_text *s, const char *path, const string_vec *dirs);
void source_text_free(struct source_text *s);
/* Line @n, from 1, clean and with tabs as blanks; "" where there is none. @buf is returned. */
const char *source_text_line(const struct source_text *s, size_t n, char *buf, size_t size);

#endif
