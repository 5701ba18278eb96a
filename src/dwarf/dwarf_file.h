/* SPDX-License-Identifier: MIT */
/*
 * The debugging sections of an ELF file (DWARF 4 and 5, with GNU's extensions),
 * read piece by piece: a debug file has hundreds of megabytes, and a profile
 * needs little of them. All is hostile: offsets and sizes are checked wherever
 * they are used.
 */
#ifndef EBPROF_DWARF_FILE_H
#define EBPROF_DWARF_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "elf/elf_file.h"

enum dwarf_section_id {
	DWARF_INFO,
	DWARF_ABBREV,
	DWARF_STR,
	DWARF_LINE_STR,
	DWARF_LINE,
	DWARF_RANGES,
	DWARF_RNGLISTS,
	DWARF_ADDR,
	DWARF_STR_OFFSETS,
	DWARF_CU_INDEX,
	DWARF_SECTIONS
};

struct dwarf_section {
	uint64_t offset, size;
	/* its bytes, where they had to be unpacked, or are read all over; else NULL */
	uint8_t *memory;
	int borrowed;		/* @memory is another file's */
};

struct dwarf_abbrevs;

struct dwarf_file {
	const struct elf_file *elf;
	struct dwarf_section section[DWARF_SECTIONS];
	VEC(struct dwarf_abbrevs *) abbrevs;	/* parsed tables */
	size_t abbrev_bytes;		/* that they take */
	struct hashmap abbrev_ids;	/* offset -> index */
	struct dwarf_abbrevs *root;	/* of a root entry alone, that was read last */
	uint64_t work;			/* bytes that may still be parsed */
	/* of which this is a part, in whose name it works; or NULL */
	struct dwarf_file *whole;
};

/*
 * The file's sections; with @dwo those of split DWARF (.debug_info.dwo).
 * Borrows @elf. 0, or -ENODATA: there is no .debug_info.
 */
int dwarf_file_open(struct dwarf_file *f, const struct elf_file *elf, int dwo);
void dwarf_file_close(struct dwarf_file *f);
/* Frees the tables of abbreviations that were kept. */
void dwarf_file_forget(struct dwarf_file *f);
/* Bytes that are kept of it. */
uint64_t dwarf_file_bytes(const struct dwarf_file *f);
/* Bytes of a section that may be there (elf_file_stored()). */
uint64_t dwarf_stored(const struct dwarf_file *f, enum dwarf_section_id id);

/*
 * Takes @bytes off what may be parsed of the file in all: 64 times its sections and a gigabyte. A
 * small file may lead through the same bytes over and over. 0, or -EFBIG: it has had its share.
 */
int dwarf_spend(struct dwarf_file *f, uint64_t bytes);
/*
 * Reads all of a section that is asked for in many small pieces, unless it has more than @most
 * bytes.
 */
void dwarf_keep(struct dwarf_file *f, enum dwarf_section_id id, uint64_t most);
/* Exactly @size bytes of a section. 0, -EBADMSG outside of it, or a read's error. */
int dwarf_read(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset, void *dst,
	       size_t size);
/* As many as there are, up to @size: how many, or negative. */
long dwarf_peek(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset, void *dst,
		size_t size);
/* @size bytes, malloc'd; NULL with errno. */
uint8_t *dwarf_load(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset,
		    uint64_t size);
/* The string at @offset, cut to @size - 1 bytes. 0, or negative. */
int dwarf_string(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset, char *dst,
		 size_t size);
/* A little-endian number of @size bytes. */
int dwarf_number(const struct dwarf_file *f, enum dwarf_section_id id, uint64_t offset,
		 unsigned size, uint64_t *out);

#endif
