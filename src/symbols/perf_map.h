/* SPDX-License-Identifier: MIT */
/*
 * Names of code made at run time, as a symbol source (symbol_source.h), from a
 * perf map: "START SIZE name" a line, in hex, the name to the end of the line
 * (tools/perf/Documentation/jit-interface.txt). Addresses are the process's.
 *
 * Memory is used again, so of several names of an address the last holds.
 */
#ifndef EBPROF_PERF_MAP_H
#define EBPROF_PERF_MAP_H

#include "symbols/symbol_source.h"

/*
 * Reads the file @fd, which may be closed then. Lines that are none are passed over. NULL with
 * errno: ENODATA nothing is named in it, EFBIG over 256 MiB, or a read's.
 */
struct symbol_source *perf_map_open(int fd);

#endif
