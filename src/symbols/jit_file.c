/* SPDX-License-Identifier: MIT */
#include "symbols/jit_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/io.h"
#include "base/walk.h"
#include "symbols/jit_file_internal.h"

/* bytes of /proc/PID/status; Uid: and NSpid: stand in its first thousand */
#define STATUS_MAX	8192

/* What follows "\n@key" in @text, or NULL. */
static const char *line_of(const char *text, const char *key)
{
	/* The first line is the name, with its newlines escaped; nobody makes up a line. */
	const char *line = strstr(text, key);

	return line ? line + strlen(key) : NULL;
}

int jit_parse_status(const char *text, struct jit_process *out)
{
	const char *ids = line_of(text, "\nUid:"), *pids = line_of(text, "\nNSpid:");
	unsigned int uid;
	int n = 0, pid;

	/* Real, effective, saved, file system (proc(5)): the last is the owner of what it makes. */
	if (!ids || sscanf(ids, "%*u %*u %*u %u", &uid) != 1)
		return -EINVAL;
	out->uid = uid;
	out->nspid = 0;
	if (!pids)	/* a kernel without PID namespaces */
		pids = line_of(text, "\nPid:");
	/* From our namespace down to its own. */
	for (; pids && sscanf(pids, " %d%n", &pid, &n) == 1 && !memchr(pids, '\n', (size_t)n);
	     pids += n)
		out->nspid = pid;
	return out->nspid > 0 ? 0 : -EINVAL;
}

int jit_process_open(pid_t pid, struct jit_process *out)
{
	char text[STATUS_MAX];
	ssize_t n;
	int fd;

	snprintf(text, sizeof(text), "/proc/%d", (int)pid);
	out->proc = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (out->proc < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	fd = openat(out->proc, "status", O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? (errno == ENOENT ? -ESRCH : -errno)
		   : io_pread_full(fd, text, sizeof(text) - 1, 0);
	if (fd >= 0)
		close(fd);
	if (n >= 0) {
		text[n] = '\0';
		n = jit_parse_status(text, out);
	}
	if (n < 0)
		jit_process_close(out);
	return (int)n;
}

void jit_process_close(struct jit_process *p)
{
	if (p->proc >= 0)
		close(p->proc);
	p->proc = -1;
}

/* Opens for reading what @path_fd (O_PATH) stands for, where it may be read. */
static int reopen(int path_fd, uid_t owner)
{
	struct stat st;

	if (fstat(path_fd, &st))
		return -errno;
	if (S_ISLNK(st.st_mode))
		return -ELOOP;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	if (st.st_uid != owner && st.st_uid != 0)
		return -EPERM;
	if (st.st_size > (off_t)JIT_FILE_MAX)
		return -EFBIG;
	return file_reopen(path_fd);
}

int jit_file_open(const struct jit_process *p, const char *path)
{
	int root, path_fd, fd;

	if (path[0] != '/')
		return -EINVAL;
	root = openat(p->proc, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);
	/* A zombie has its directory, and no root. */
	if (root < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	/* As chroot(2) to there would see it, without touching the file. */
	path_fd = walk_open(root, root, path, WALK_INNER_LINKS);
	close(root);
	if (path_fd < 0)
		return path_fd;
	fd = reopen(path_fd, p->uid);
	close(path_fd);
	return fd;
}

void jit_perf_map_path(pid_t nspid, char path[JIT_PERF_MAP_PATH_MAX])
{
	snprintf(path, JIT_PERF_MAP_PATH_MAX, "/tmp/perf-%d.map", (int)nspid);
}
