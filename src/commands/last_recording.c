/* SPDX-License-Identifier: MIT */
#include "commands/last_recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/xalloc.h"
#include "input/input.h"
#include "output/output.h"

#define FOLDER "last"
#define NAME "recording.pb.gz"
#define PRIVATE 077	/* umask: a profile may tell of other users' programs, if root made it */

/* As @u. 0 or a negative errno. */
static int make_folder(const struct user *u, const char *base)
{
	int dir = user_enter(u);

	if (dir)
		return dir;
	dir = cache_open(u, base, FOLDER, 1);
	user_leave(u);
	if (dir < 0)
		return dir;
	close(dir);
	return 0;
}

struct outfile *last_recording_open(const struct user *u)
{
	char *base = cache_base(u), *path = NULL;
	struct outfile *f = NULL;

	if (base && !make_folder(u, base)) {
		mode_t before = umask(PRIVATE);

		path = xasprintf("%s/ebprof/" FOLDER "/" NAME, base);
		f = outfile_open(path, u, NULL);
		umask(before);
	}
	if (f)
		outfile_limit(f, LAST_RECORDING_BYTES);
	free(path);
	free(base);
	return f;
}

int last_recording_write(struct outfile *f, const struct profile *p)
{
	const struct output_options options = { 0 };

	output_write(output_by_name("pprof"), p, &options, f, NULL);
	return outfile_commit(f, NULL);
}

/* As @u: a descriptor or a negative errno. */
static int open_kept(const struct user *u, const char *base)
{
	int dir = cache_open(u, base, FOLDER, 0), fd;
	struct stat st;

	if (dir < 0)
		return dir;
	/* O_NONBLOCK: a FIFO must not stop us. */
	fd = openat(dir, NAME, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	fd = fd < 0 ? -errno : fd;
	close(dir);
	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && cache_is_own(u, &st, S_IFREG))
		return fd;
	close(fd);
	return -EPERM;
}

struct profile *last_recording_read(const struct user *u, struct error *e)
{
	struct input_notes notes;
	char *base = cache_base(u);
	int fd = base ? user_enter(u) : -ENOENT;

	if (!fd) {
		fd = open_kept(u, base);
		user_leave(u);
	}
	free(base);
	if (fd >= 0)
		return input_read_fd(fd, "the last recording", &notes, e);
	errno = -fd;
	if (fd == -ENOENT || fd == -ENOTDIR)
		error_set(e, STATUS_USAGE, fd, "no recording is kept for this user; "
			  "report takes files, or - for standard input");
	else
		error_set(e, STATUS_ERROR, fd, "cannot read the last recording: %s", strerror(-fd));
	return NULL;
}
