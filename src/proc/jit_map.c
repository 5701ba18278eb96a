/* SPDX-License-Identifier: MIT */
#include "proc/jit_map.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/file.h"

#define STATUS_SIZE 8192	/* bytes of /proc/PID/status */

/* The effective user and the PID in the innermost namespace, of /proc/PID/status (proc(5)). */
static int read_status(pid_t pid, uid_t *uid, long *inner)
{
	char path[64], text[STATUS_SIZE];
	const char *uids, *pids, *last;
	unsigned long real, effective;
	long n;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	n = file_read(path, text, sizeof(text));
	if (n < 0)
		return n == -ENOENT ? -ESRCH : (int)n;
	uids = strstr(text, "\nUid:");
	pids = strstr(text, "\nNSpid:");
	if (!uids || !pids || sscanf(uids + 5, "%lu %lu", &real, &effective) != 2)
		return -EBADMSG;
	*uid = (uid_t)effective;
	for (last = pids += 7; *pids && *pids != '\n'; pids++)
		if (*pids == '\t' || *pids == ' ')
			last = pids;
	*inner = strtol(last, NULL, 10);
	return *inner > 0 ? 0 : -EBADMSG;
}

/* Below the root of @pid, whatever links lead there; the file itself is not opened, so that a FIFO does no harm. */
static int find(pid_t pid, long inner)
{
	struct open_how how = { .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	char path[64];
	int root, err;
	long fd;

	snprintf(path, sizeof(path), "/proc/%d/root", (int)pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	snprintf(path, sizeof(path), "tmp/perf-%ld.map", inner);
	fd = syscall(SYS_openat2, root, path, &how, sizeof(how));
	err = errno;
	close(root);
	return fd < 0 ? -err : (int)fd;
}

int jit_map_open(pid_t pid)
{
	struct stat st;
	char path[64];
	uid_t uid;
	long inner;
	int found, fd, err = read_status(pid, &uid, &inner);

	found = err ? err : find(pid, inner);
	if (found < 0)
		return found;
	if (fstat(found, &st) || !S_ISREG(st.st_mode) || (st.st_uid != uid && st.st_uid)) {
		close(found);
		return -EPERM;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", found);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	err = errno;
	close(found);
	return fd < 0 ? -err : fd;
}
