/* SPDX-License-Identifier: MIT */
/*
 * The symbol sources of one image, over its files: each is opened when an address
 * comes that those before it do not know.
 */
#ifndef EBPROF_IMAGE_SOURCES_H
#define EBPROF_IMAGE_SOURCES_H

#include <sys/types.h>

#include "symbols/image_files.h"
#include "symbols/symbol_source.h"

/* As they are asked: the symbol tables of the files, stubs, functions that no table names. */
enum {
	SOURCE_TABLES,
	SOURCE_PLT = SOURCE_TABLES + IMAGE_FILES,
	SOURCE_STARTS,
	SOURCE_DWARF,
	IMAGE_SOURCES
};

struct image_sources {
	const struct image_files *files;
	pid_t target;			/* a process that has the image mapped, or had */
	size_t memory;			/* bytes of what was read of DWARF, at most, about */
	struct symbol_source *v[IMAGE_SOURCES];	/* NULL: there is none, or not so far */
	uint8_t sought;			/* bit i: what v[i] is was found out */
	uint8_t split;			/* what image_sources_split() says, once DWARF was sought */
	int err;			/* why the image's own table cannot be read; or 0 */
	int why;			/* what image_sources_why() says; 0: not asked so far */
};

/* Closes all; they may be sought again. */
void image_sources_close(struct image_sources *s);
/* Bytes of memory that they take, about. */
size_t image_sources_bytes(const struct image_sources *s);

/* Lines and what was inlined: DWARF, or what a Go program has in its place; NULL: none. */
struct symbol_source *image_sources_dwarf(struct image_sources *s);
/* 1 where a part of that is in files beside the program (.dwo). */
int image_sources_split(struct image_sources *s);

/*
 * Which of them names the code at @address, but DWARF: its index, with the function in *@out; or
 * -ENOENT. With @only_tables no others than symbol tables are asked. A symbol without a size ends
 * where another function is known to begin.
 */
int image_sources_find(struct image_sources *s, uint64_t address, int only_tables,
		       struct source_function *out);

/* Where the nameless function begins that has the code at @address; @address: not known. */
uint64_t image_sources_start(struct image_sources *s, uint64_t address);

/*
 * Why an address has no name that was just not found: -ENODATA the image is stripped, -ENOENT it is
 * not, or why its symbols cannot be read.
 */
int image_sources_why(struct image_sources *s);

#endif
