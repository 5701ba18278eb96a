/* SPDX-License-Identifier: MIT */
/*
 * The file in which a process that makes code at run time tells its names:
 * /tmp/perf-PID.map (tools/perf/Documentation/jit-interface.txt), in its own
 * mount namespace and with the PID that it has in its own PID namespace.
 */
#ifndef EBPROF_JIT_MAP_H
#define EBPROF_JIT_MAP_H

#include <sys/types.h>

/*
 * Opened for reading: a descriptor, to be read also after the process has gone.
 * It must be a regular file of the process's user or of root, and no symbolic
 * link; nothing else is opened. Else a negative errno: -ENOENT it has none, -EPERM
 * it is somebody else's, -ESRCH the process is gone.
 */
int jit_map_open(pid_t pid);

#endif
