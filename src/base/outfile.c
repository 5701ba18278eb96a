/* SPDX-License-Identifier: MIT */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/base64.h"
#include "base/io.h"
#include "base/vec.h"

#define BUFFER		65536	/* bytes */
/* of 9: half the time of the usual 6, for files that are a tenth larger */
#define GZIP_LEVEL	3
#define GZIP_LEVEL_WELL	6	/* that of gzip(1) */
#define GZIP_WINDOW	(15 + 16)	/* zlib.h: the largest window, and a gzip header */
#define TEXT_PART	3072	/* bytes that become text at once; whole groups of 3 */
#define NAME_TRIES	100	/* temporary names, of 64 random bits each */

struct outfile {
	char *path;		/* as the user gave it */
	const char *base;	/* its last part */
	struct user user;
	int force;		/* replaces what is write-protected */
	int fd;
	int dir;		/* the folder of a named file; -1: written straight */
	char temp[32];		/* the temporary name in @dir; "" where the file has none yet */
	struct keeper *keeper;	/* who names and removes it; NULL: we do */
	size_t job;
	uint64_t limit;		/* bytes that may still be written */
	int err;		/* the first error, negative */
	struct outfile *outer;	/* the text that it is a part of; NULL: it is a file */
	struct outfile_bytes *bytes;	/* what is in memory; NULL: it is not */
	unsigned char part[TEXT_PART];	/* for @outer, until it is full */
	size_t parted;
	z_stream *gzip;		/* NULL: as it is */
	size_t used;
	char buf[BUFFER];
};

/* --- Telling what failed. ------------------------------------------------- */

static const char *hint(int err)
{
	switch (err) {
	case -ENOSPC:
	case -EDQUOT:
		return "; free some space or choose another place (an older file there is as it "
		       "was)";
	case -EFBIG:
		return "; the limit of a file's size is reached (ulimit -f)";
	case -EROFS:
		return "; choose another folder";
	}
	return "";
}

static int tell(struct error *e, const char *path, const struct user *u, int err)
{
	if ((err == -EACCES || err == -EPERM) && u->switched)
		return error_set(
			e, STATUS_ERROR, err,
			"cannot write %.200s: %s; under sudo files are written "
			"as the user who called it (uid %u), choose a folder of that user's",
			path, strerror(-err), (unsigned int)u->uid);
	if (err == -EACCES || err == -EPERM)
		return error_set(e, STATUS_ERROR, err,
				 "cannot write %.200s: %s; choose a folder where you may write",
				 path, strerror(-err));
	return error_set(e, STATUS_ERROR, err, "cannot write %.200s: %s%s", path, strerror(-err),
			 hint(err));
}

static int tell_folder(struct error *e, const char *path, const char *folder, const struct user *u,
		       int err)
{
	if (err == -ENOENT)
		return error_set(e, STATUS_ERROR, err,
				 "cannot write %.200s: there is no folder %.100s; "
				 "make it first: mkdir -p %.100s",
				 path, folder, folder);
	if (err == -ENOTDIR)
		return error_set(e, STATUS_ERROR, err,
				 "cannot write %.200s: %.100s is not a folder", path, folder);
	return tell(e, path, u, err);
}

/* For reasons that no errno tells. */
static int refuse(struct error *e, const char *path, int err, const char *why)
{
	return error_set(e, STATUS_ERROR, err, "cannot write %.200s: %s", path, why);
}

/* --- Opening. --------------------------------------------------------------- */

/* "/dev/fd/63", as a shell writes >(command): the number, or -1. */
static int fd_of_path(const char *path)
{
	static const char *const folders[] = { "/dev/fd/", "/proc/self/fd/" };

	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (!strcmp(path, "/dev/stderr"))
		return STDERR_FILENO;
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		const char *number = path + strlen(folders[i]);

		if (!strncmp(path, folders[i], strlen(folders[i])) && *number &&
		    strlen(number) <= 6 && !number[strspn(number, "0123456789")])
			return atoi(number);
	}
	return -1;
}

static int open_inherited(struct outfile *f, int fd, struct error *e)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
		return refuse(e, f->path, -EBADF, "that descriptor is not open for writing");
	/* Standard output keeps its number, by which outfile_is_stdout() knows it. */
	f->fd = fd == STDOUT_FILENO ? fd : fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return f->fd < 0 ? tell(e, f->path, &f->user, -errno) : 0;
}

/* A FIFO or a character device: into it, since it cannot be replaced by a file. */
static int open_straight(struct outfile *f, mode_t expected, struct error *e)
{
	struct stat st;
	int flags;

	/* O_NONBLOCK: opening a FIFO that nobody reads would wait for ever. */
	f->fd = openat(f->dir, f->base, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	close(f->dir);
	f->dir = -1;
	if (f->fd < 0 && errno == ENXIO && S_ISFIFO(expected))
		return refuse(e, f->path, -ENXIO,
			      "nothing reads from this FIFO; start its reader first");
	if (f->fd < 0)
		return tell(e, f->path, &f->user, -errno);
	flags = fcntl(f->fd, F_GETFL);
	if (fstat(f->fd, &st) || (st.st_mode & S_IFMT) != (expected & S_IFMT) ||
	    fcntl(f->fd, F_SETFL, flags & ~O_NONBLOCK))
		return refuse(e, f->path, -ESTALE, "it changes while we look at it");
	return 0;
}

static int random_name(char name[32])
{
	uint64_t r;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return -errno;
	snprintf(name, 32, ".ebprof-%016llx.tmp", (unsigned long long)r);
	return 0;
}

/*
 * A temporary file in f->dir: without a name where the file system can; then not even SIGKILL
 * leaves one behind.
 */
static int open_temporary(struct outfile *f)
{
	int err;

	if (!access("/proc/self/fd", F_OK)) {
		f->fd = openat(f->dir, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
		if (f->fd >= 0)
			return 0;
	}
	for (int i = 0; i < NAME_TRIES; i++) {
		err = random_name(f->temp);
		if (err)
			break;
		f->fd = openat(f->dir, f->temp,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
		if (f->fd >= 0)
			return 0;
		err = -errno;
		if (err != -EEXIST)
			break;
	}
	f->temp[0] = '\0';
	return err;
}

/*
 * As if @st of the folder were opened for writing. root may always write, so the permissions are
 * looked at, too.
 */
static int check_writable(const struct outfile *f, const struct stat *st, struct error *e)
{
	int fd;

	if (f->force)
		return 0;
	if (!(st->st_mode & 0222))
		return refuse(e, f->path, -EACCES, "it is write-protected; --force replaces it");
	fd = openat(f->dir, f->base, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC);
	if (fd < 0)
		return tell(e, f->path, &f->user, -errno);
	close(fd);
	return 0;
}

/* Whether an existing file @st of the folder may be replaced, by the folder's permissions. */
static int check_replaceable(const struct outfile *f, const struct stat *st)
{
	uid_t me = f->user.switched ? f->user.uid : geteuid();
	struct stat dir;

	/*
	 * In /tmp and the like a file of another user's cannot be renamed over, even if it is open
	 * to all.
	 */
	if (me && !fstat(f->dir, &dir) && dir.st_mode & S_ISVTX && dir.st_uid != me &&
	    st->st_uid != me)
		return -EPERM;
	return 0;
}

/* What is there already decides how it is written. */
static int open_in_folder(struct outfile *f, struct error *e)
{
	struct stat st;
	int err;

	if (fstatat(f->dir, f->base, &st, AT_SYMLINK_NOFOLLOW)) {
		if (errno != ENOENT)
			return tell(e, f->path, &f->user, -errno);
		err = open_temporary(f);
		return err ? tell(e, f->path, &f->user, err) : 0;
	}
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		err = check_writable(f, &st, e);
		if (err)
			return err;
		err = check_replaceable(f, &st);
		if (!err)
			err = open_temporary(f);
		return err ? tell(e, f->path, &f->user, err) : 0;
	case S_IFIFO:
	case S_IFCHR:
		return open_straight(f, st.st_mode, e);
	case S_IFLNK:
		return refuse(e, f->path, -ELOOP,
			      "it is a symbolic link, and those are not followed; "
			      "give the name that it points to, or remove it");
	case S_IFDIR:
		return refuse(e, f->path, -EISDIR, "it is a folder; give a file's name");
	}
	return refuse(e, f->path, -EINVAL, "it is a socket or a disk, not a file");
}

static int open_named(struct outfile *f, struct error *e)
{
	const char *slash = strrchr(f->path, '/');
	char *folder;
	int err;

	f->base = slash ? slash + 1 : f->path;
	if (!*f->base)
		return refuse(e, *f->path ? f->path : "''", -EISDIR,
			      "give a file's name, not a folder's");
	if (slash)
		folder = xasprintf("%.*s", slash == f->path ? 1 : (int)(slash - f->path), f->path);
	else
		folder = xstrdup(".");
	f->dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	err = f->dir < 0 ? tell_folder(e, f->path, folder, &f->user, -errno) : open_in_folder(f, e);
	free(folder);
	return err;
}

static struct outfile *open_path(const char *path, const struct user *u, int force, struct error *e)
{
	struct outfile *f = xcalloc(1, sizeof(*f));
	int fd = fd_of_path(path), err;

	f->path = xstrdup(path);
	f->user = *u;
	f->force = force;
	f->limit = UINT64_MAX;
	f->fd = f->dir = -1;
	if (fd >= 0) {
		err = open_inherited(f, fd, e);
	} else {
		err = user_enter(u);
		if (err) {
			tell(e, path, u, err);
		} else {
			err = open_named(f, e);
			user_leave(u);
		}
	}
	if (!err)
		return f;
	outfile_abandon(f);
	errno = -err;
	return NULL;
}

struct outfile *outfile_open(const char *path, const struct user *u, struct error *e)
{
	return open_path(path, u, 0, e);
}

struct outfile *outfile_open_force(const char *path, const struct user *u, struct error *e)
{
	return open_path(path, u, 1, e);
}

struct outfile *outfile_within(struct outfile *outer)
{
	struct outfile *f = xcalloc(1, sizeof(*f));

	f->outer = outer;
	f->fd = f->dir = -1;
	return f;
}

struct outfile *outfile_memory(struct outfile_bytes *bytes)
{
	struct outfile *f = outfile_within(NULL);

	f->bytes = bytes;
	return f;
}

void outfile_limit(struct outfile *f, uint64_t bytes)
{
	f->limit = bytes;
}

int outfile_is_named(const struct outfile *f)
{
	return f->dir >= 0;
}

int outfile_is_stdout(const struct outfile *f)
{
	return f->fd == STDOUT_FILENO;
}

int outfile_path_is_stdout(const char *path)
{
	return fd_of_path(path) == STDOUT_FILENO;
}

/* --- Writing. ------------------------------------------------------------------ */

static void write_text(struct outfile *f)
{
	char text[BASE64_SIZE(TEXT_PART)];
	size_t n = base64_encode(text, f->part, f->parted);

	outfile_write(f->outer, text, n);
	f->parted = 0;
}

static void write_within(struct outfile *f, const char *p, size_t size)
{
	while (size) {
		size_t n = size < TEXT_PART - f->parted ? size : TEXT_PART - f->parted;

		memcpy(f->part + f->parted, p, n);
		f->parted += n;
		p += n;
		size -= n;
		if (f->parted == TEXT_PART)
			write_text(f);
	}
}

static void write_all(struct outfile *f, const char *p, size_t size)
{
	if (f->outer) {
		write_within(f, p, size);
		return;
	}
	if (f->bytes) {
		vec_reserve(f->bytes, f->bytes->n + size);
		if (size)
			memcpy(f->bytes->v + f->bytes->n, p, size);
		f->bytes->n += size;
		return;
	}
	if (size > f->limit && !f->err)
		f->err = -EFBIG;
	f->limit -= f->err ? 0 : size;
	if (!f->err)
		f->err = io_write_full(f->fd, p, size);
}

static void deflate_all(struct outfile *f, const char *p, size_t size, int mode)
{
	unsigned char out[16384];

	f->gzip->next_in = (unsigned char *)(uintptr_t)p;	/* zlib does not write there */
	f->gzip->avail_in = (uInt)size;
	do {
		f->gzip->next_out = out;
		f->gzip->avail_out = sizeof(out);
		deflate(f->gzip, mode);
		write_all(f, (const char *)out, sizeof(out) - f->gzip->avail_out);
	} while (!f->gzip->avail_out);
}

static void sink(struct outfile *f, const char *p, size_t size)
{
	/* In parts that zlib's counter holds. */
	for (; f->gzip && size > 1 << 30; p += 1 << 30, size -= 1 << 30)
		deflate_all(f, p, 1 << 30, Z_NO_FLUSH);
	if (f->gzip)
		deflate_all(f, p, size, Z_NO_FLUSH);
	else
		write_all(f, p, size);
}

static void flush(struct outfile *f)
{
	sink(f, f->buf, f->used);
	f->used = 0;
}

void outfile_compress(struct outfile *f)
{
	f->gzip = xcalloc(1, sizeof(*f->gzip));
	if (deflateInit2(f->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) !=
	    Z_OK) {
		f->err = -ENOMEM;
		free(f->gzip);
		f->gzip = NULL;
	}
}

void outfile_compress_well(struct outfile *f)
{
	outfile_compress(f);
	if (f->gzip)
		deflateParams(f->gzip, GZIP_LEVEL_WELL, Z_DEFAULT_STRATEGY);
}

void outfile_write(struct outfile *f, const void *p, size_t size)
{
	if (size > BUFFER - f->used)
		flush(f);
	if (size > BUFFER) {
		sink(f, p, size);
		return;
	}
	if (size)
		memcpy(f->buf + f->used, p, size);
	f->used += size;
}

void outfile_printf(struct outfile *f, const char *fmt, ...)
{
	size_t room = BUFFER - f->used;
	va_list ap, again;
	char *text;
	int n;

	va_start(ap, fmt);
	va_copy(again, ap);
	n = vsnprintf(f->buf + f->used, room, fmt, ap);
	if (n >= 0 && (size_t)n < room) {
		f->used += (size_t)n;
	} else if ((n = vasprintf(&text, fmt, again)) >= 0) {
		outfile_write(f, text, (size_t)n);
		free(text);
	} else if (!f->err) {
		f->err = -ENOMEM;
	}
	va_end(again);
	va_end(ap);
}

/* --- Ending. -------------------------------------------------------------------- */

static void discard(struct outfile *f)
{
	if (f->temp[0] && !f->keeper && !user_enter(&f->user)) {
		unlinkat(f->dir, f->temp, 0);
		user_leave(&f->user);
	}
	if (f->fd >= 0 && f->fd != STDOUT_FILENO)
		close(f->fd);
	if (f->dir >= 0)
		close(f->dir);
	if (f->gzip)
		deflateEnd(f->gzip);
	free(f->gzip);
	free(f->path);
	free(f);
}

/* Gives the nameless file a temporary name: linkat() cannot replace, rename() can. */
static int name_temporary(struct outfile *f)
{
	char link[64];
	int err = 0;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", f->fd);
	for (int i = 0; i < NAME_TRIES && !f->temp[0]; i++) {
		char name[32];

		err = random_name(name);
		if (err)
			break;
		if (!linkat(AT_FDCWD, link, f->dir, name, AT_SYMLINK_FOLLOW))
			memcpy(f->temp, name, sizeof(name));
		else if (errno != EEXIST)
			return -errno;
	}
	return f->temp[0] ? 0 : err ? err : -EEXIST;
}

static int publish(struct outfile *f)
{
	int err = user_enter(&f->user);

	if (err)
		return err;
	err = name_temporary(f);
	if (!err && renameat(f->dir, f->temp, f->dir, f->base))
		err = -errno;
	if (!err)
		f->temp[0] = '\0';
	user_leave(&f->user);
	return err;
}

void outfile_delegate(struct outfile *f, struct keeper *k, size_t job)
{
	f->keeper = k;
	f->job = job;
}

int outfile_keep(void *outfile, const void *bytes, size_t size)
{
	struct outfile *f = outfile;

	(void)bytes;
	(void)size;
	return f->dir >= 0 ? publish(f) : 0;
}

/* A network file system tells of a full disk only when a descriptor is closed. */
static int close_a_copy(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	return copy >= 0 && close(copy) ? -errno : 0;
}

int outfile_commit(struct outfile *f, struct error *e)
{
	int err;

	flush(f);
	if (f->gzip)
		deflate_all(f, NULL, 0, Z_FINISH);
	if (f->outer || f->bytes) {
		if (f->outer)
			write_text(f);
		discard(f);
		return 0;
	}
	if (!f->err)
		f->err = close_a_copy(f->fd);
	if (!f->err && f->dir >= 0)
		f->err = f->keeper ? keeper_do(f->keeper, f->job, NULL, 0) : publish(f);
	err = f->err;
	if (err && err != -EPIPE)
		tell(e, outfile_is_stdout(f) ? "standard output" : f->path, &f->user, err);
	discard(f);
	return err;
}

void outfile_abandon(struct outfile *f)
{
	if (f)
		discard(f);
}

void outfile_end(void *outfile)
{
	outfile_abandon(outfile);
}
