/* SPDX-License-Identifier: MIT */
/* The line number program of a unit (DWARF 5, 6.2): which line of which file code comes from. */
#ifndef EBPROF_DWARF_LINES_H
#define EBPROF_DWARF_LINES_H

#include "dwarf/dwarf_unit.h"

struct dwarf_row {
	uint64_t address;
	uint32_t file, line;	/* file DWARF_NO_FILE: no code from here on */
};

struct dwarf_source {
	struct dwarf_value name;
	uint64_t directory;
};

struct dwarf_lines {
	const struct dwarf_unit *unit;
	uint8_t version;
	VEC(struct dwarf_row) rows;	/* ascending */
	VEC(struct dwarf_source) files;
	VEC(struct dwarf_value) directories;
};

/*
 * Reads the program that the unit names; with @rows 0 only its files. 0, or
 * negative: there is none, or its header is damaged.
 */
int dwarf_lines_read(const struct dwarf_unit *u, int rows, struct dwarf_lines *out);
void dwarf_lines_free(struct dwarf_lines *l);
/* The row of @address: 0, or -ENOENT. */
int dwarf_lines_find(const struct dwarf_lines *l, uint64_t address, uint32_t *file, uint32_t *line);
/* The path of file number @file, with its directories where it is relative, cut. 0, or negative. */
int dwarf_lines_file(const struct dwarf_lines *l, uint64_t file, char *dst, size_t size);

#endif
