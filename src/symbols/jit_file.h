/* SPDX-License-Identifier: MIT */
/*
 * Opens the files in which a process tells of the code that it makes at run
 * time. They lie where anybody may write (/tmp), in the process's own mount
 * namespace, and we read them as root: nothing but a regular file of the
 * process's user or root is ever opened for reading.
 */
#ifndef EBPROF_JIT_FILE_H
#define EBPROF_JIT_FILE_H

#include <stdint.h>
#include <sys/types.h>

/* bytes read of one file; the largest perf maps have 100 MB */
#define JIT_FILE_MAX	(256u << 20)

/*
 * A process, held by its directory in /proc: another one that gets its PID is
 * not mistaken for it.
 */
struct jit_process {
	int proc;		/* /proc/PID, O_PATH */
	pid_t nspid;		/* its PID in its own PID namespace: the one that it writes */
	uid_t uid;		/* whose the files are that it makes */
};

/* 0, or a negative errno: -ESRCH there is no such process. */
int jit_process_open(pid_t pid, struct jit_process *out);
void jit_process_close(struct jit_process *p);

/*
 * Opens @path, absolute, as the process itself would see it; the last part of
 * it must not be a symbolic link. The descriptor serves after the process is
 * gone, too. A negative errno: -ESRCH it is gone, -EPERM the file is another
 * user's, -EINVAL it is no regular file, -EFBIG over JIT_FILE_MAX, or what opening gave.
 */
int jit_file_open(const struct jit_process *p, const char *path);

/* "/tmp/perf-NSPID.map"; by convention TMPDIR is not asked. */
#define JIT_PERF_MAP_PATH_MAX 32
void jit_perf_map_path(pid_t nspid, char path[JIT_PERF_MAP_PATH_MAX]);

#endif
