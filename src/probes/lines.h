/* SPDX-License-Identifier: MIT */
/* The code of a line of a source file, by a program's debug information. */
#ifndef EBPROF_PROBES_LINES_H
#define EBPROF_PROBES_LINES_H

#include <stdint.h>

#include "elf/elf_file.h"

typedef void probe_lines_take(void *ctx, uint64_t address);
/*
 * Calls @take with the first instruction of @line in each function, and in each copy of one that
 * was inlined. @source is a path, or the end of one from a '/' on. Where the line has no code
 * *@next becomes the one behind it that has; 0: there is none. -ENODATA: no debug information,
 * -ENOENT: it has no such file; else 0.
 */
int probe_lines_each(const struct elf_file *f, const char *source, uint32_t line,
		     probe_lines_take *take, void *ctx, uint32_t *next);

#endif
