/* SPDX-License-Identifier: MIT */
/*
 * HotSpot's compressed tables of line numbers (src/hotspot/share/code/compressedStream.hpp): which
 * line a bytecode is of.
 */
#ifndef EBPROF_HOTSPOT_LINES_H
#define EBPROF_HOTSPOT_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the bytecode at @bci; 0: none, or the table is cut before it. @no_zero: its numbers
 * have no bytes of 0, as since JDK 20.
 */
uint32_t hotspot_line(const uint8_t *table, size_t size, int no_zero, uint32_t bci);

#endif
