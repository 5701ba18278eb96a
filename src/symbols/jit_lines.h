/* SPDX-License-Identifier: MIT */
/*
 * The lines of functions made at run time, as a jitdump's JIT_CODE_DEBUG_INFO
 * tells them: entries of one record, then the function that they are of.
 */
#ifndef EBPROF_JIT_LINES_H
#define EBPROF_JIT_LINES_H

#include <stdint.h>

/* An entry as it is in the file; its file's name follows. */
struct jit_line_entry {
	uint64_t address;
	uint32_t line, column;
};

/* Those of one function; none where @n is 0. */
struct jit_lines_of {
	uint32_t first, n;
};

struct jit_lines;

struct jit_lines *jit_lines_new(void);
void jit_lines_free(struct jit_lines *l);

/* A record for the function at @address; what nobody claimed of the last one is dropped. */
void jit_lines_begin(struct jit_lines *l, uint64_t address);
/*
 * Its next entry. Nonzero: the record is of no use (or there is no room); the rest need not be
 * told.
 */
int jit_lines_add(struct jit_lines *l, const struct jit_line_entry *entry, const char *file);
/* The record turned out to be damaged: it will not be used. */
void jit_lines_spoil(struct jit_lines *l);
/* The lines of the function @name that was loaded: those of the last record, where they fit it. */
struct jit_lines_of jit_lines_claim(struct jit_lines *l, const char *name, uint64_t address,
				    uint64_t size);

/* The line at @offset of a function's code: 0, with @file a token, 0 for not known; or -ENOENT. */
int jit_lines_find(const struct jit_lines *l, const struct jit_lines_of *of, uint32_t offset,
		   uint32_t *file, uint32_t *line);
/* NULL for what is no token. */
const char *jit_lines_file(const struct jit_lines *l, uint64_t token);

#endif
