/* SPDX-License-Identifier: MIT */
/*
 * Functions of code made at run time, from a perf map, as a symbol source
 * (symbol_source.h): lines "START SIZE NAME" in hexadecimal, as in Linux
 * tools/perf/Documentation/jit-interface.txt. Addresses are the process's.
 */
#ifndef EBPROF_PERF_MAP_H
#define EBPROF_PERF_MAP_H

#include <stdint.h>

#include "symbols/symbol_source.h"

/*
 * Reads the map. The source takes @fd (jit_file.h) and closes it, here already
 * where it fails: NULL with errno, a read error. An empty map is none: it may grow.
 */
struct symbol_source *perf_map_open(int fd);

/*
 * Reads what was appended since; after a map was begun anew (as a JVM does when
 * it is asked again), all of it. Tokens keep their meaning. 0 or a negative errno.
 */
int perf_map_refresh(struct symbol_source *source);

/* Lines that were no entries, or for which there was no room. */
uint64_t perf_map_skipped(const struct symbol_source *source);

#endif
