/* SPDX-License-Identifier: MIT */
/*
 * CPython's line tables: which line an instruction is of.
 *
 * To 3.9 co_lnotab (Objects/lnotab_notes.txt of 3.9), in 3.10 co_linetable (the same file of
 * 3.10), from 3.11 on the location table (InternalDocs/code_objects.md of 3.14). All are a run of
 * differences from the first line, so the beginning of a table serves for what lies in it.
 */
#ifndef EBPROF_PYTHON_LINES_H
#define EBPROF_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of instruction @place (of two bytes each) of code of Python 3.@minor; 0: none, or the
 * table is cut before it.
 */
uint32_t python_line(uint32_t minor, const uint8_t *table, size_t size, uint32_t first_line,
		     uint32_t place);

#endif
