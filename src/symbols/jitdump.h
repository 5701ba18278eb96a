/* SPDX-License-Identifier: MIT */
/*
 * Functions and lines of code made at run time, from a jitdump file, as a
 * symbol source (symbol_source.h). The format is that of Linux
 * tools/perf/Documentation/jitdump-specification.txt. A process that writes one
 * maps it, executable, as jit-PID.dump, so that profilers find it. Addresses are
 * the process's.
 */
#ifndef EBPROF_JITDUMP_H
#define EBPROF_JITDUMP_H

#include <sys/types.h>

#include "symbols/symbol_source.h"

/*
 * Reads the file of the process that has the PID @nspid in its own namespace.
 * The source takes @fd (jit_file.h) and closes it, here already where it fails:
 * NULL with errno: EBADMSG not a jitdump or not whole yet, ENOTSUP of the other
 * byte order or another version, ESTALE of another process, or a read error.
 */
struct symbol_source *jitdump_open(int fd, pid_t nspid);

/* Reads the records that were appended since. Tokens keep their meaning. 0 or a negative errno. */
int jitdump_refresh(struct symbol_source *source);

#endif
