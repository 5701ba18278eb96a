/* SPDX-License-Identifier: MIT */
/*
 * Names for the code that one process makes at run time, from the files in
 * which it tells of it: a jitdump, and else a perf map. A symbol source
 * (symbol_source.h); addresses are the process's.
 */
#ifndef EBPROF_JIT_H
#define EBPROF_JIT_H

#include <sys/types.h>

#include "symbols/symbol_source.h"

/*
 * Opens the files of @pid and reads nothing: call it while the process lives. What they hold is
 * read by symbol_source_refresh(), even after it is gone. @jitdump is the
 * path of a file named jit-PID.dump that the process has mapped, or NULL. NULL
 * with errno where there is neither file: -ENOENT most often, else the reason
 * why one may not be read (jit_file.h). Takes up to three descriptors.
 */
struct symbol_source *jit_open(pid_t pid, const char *jitdump);

/*
 * Opens what was not there before, while the process lives; @jitdump is its path where it is known
 * by now, or NULL. Another thread may use @source meanwhile.
 */
void jit_look(struct symbol_source *source, const char *jitdump);

#endif
