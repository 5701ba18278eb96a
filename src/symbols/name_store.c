/* SPDX-License-Identifier: MIT */
#include "symbols/name_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/io.h"
#include "base/vec.h"

#define FILES_MAX 65536	/* looked at when room is made */

struct name_store {
	struct user user;
	char *base;		/* the folder that ours is in */
	int dir;		/* -1: not opened so far */
	struct keeper *keeper;	/* who writes; NULL: we do */
	size_t job;
};

/* What goes to the keeper, before the file's bytes. */
struct order {
	char name[NAME_MAX + 1];
	uint64_t limit;
};

struct name_store *name_store_new(const struct user *user)
{
	char *base = cache_base(user);
	struct name_store *s;

	if (!base)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->user = *user;
	s->base = base;
	s->dir = -1;
	return s;
}

void name_store_free(struct name_store *s)
{
	if (!s)
		return;
	if (s->dir >= 0)
		close(s->dir);
	free(s->base);
	free(s);
}

/* As the user. */
static int open_folder(struct name_store *s, int make)
{
	int dir = s->dir < 0 ? cache_open(&s->user, s->base, NULL, make) : s->dir;

	if (dir < 0)
		return dir;
	s->dir = dir;
	return 0;
}

/* --- Reading. -------------------------------------------------------------------- */

static int open_his(const struct name_store *s, const char *name, size_t limit, size_t *size)
{
	/* O_NONBLOCK: a FIFO, or a lease that is not given up, must not stop us. */
	int fd = openat(s->dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) || !cache_is_own(&s->user, &st, S_IFREG) || st.st_size <= 0 ||
	    (uint64_t)st.st_size > limit) {
		close(fd);
		return -EPERM;
	}
	*size = (size_t)st.st_size;
	return fd;
}

static void *read_whole(int fd, size_t size)
{
	char *bytes = xmalloc(size);

	if (io_read_full(fd, bytes, size) == (ssize_t)size)
		return bytes;
	free(bytes);
	errno = EBADMSG;
	return NULL;
}

void *name_store_read(struct name_store *s, const char *name, size_t limit, size_t *size)
{
	int fd = user_enter(&s->user);
	void *bytes;

	if (!fd) {
		fd = open_folder(s, 0);
		if (!fd)
			fd = open_his(s, name, limit, size);
		user_leave(&s->user);
	}
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	bytes = read_whole(fd, *size);
	close(fd);
	return bytes;
}

/* --- Writing. --------------------------------------------------------------------- */

struct kept {
	char *name;
	struct timespec written;
	uint64_t size;
};

typedef VEC(struct kept) kept_vec;

static int by_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct kept *)a)->written,
			      *y = &((const struct kept *)b)->written;

	return x->tv_sec != y->tv_sec ? (x->tv_sec < y->tv_sec ? -1 : 1)
				      : (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* All regular files: what a run that was killed left behind, too. */
static uint64_t list_files(const struct name_store *s, kept_vec *files)
{
	int fd = openat(s->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint64_t total = 0;
	struct dirent *entry;
	struct stat st;

	if (!d && fd >= 0)
		close(fd);
	while (d && files->n < FILES_MAX && (entry = readdir(d))) {
		if (fstatat(s->dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode))
			continue;
		vec_push(files,
			 (struct kept){ xstrdup(entry->d_name), st.st_mtim, (uint64_t)st.st_size });
		total += (uint64_t)st.st_size;
	}
	if (d)
		closedir(d);
	return total;
}

/* As the user: so that all files, and one of @size bytes, are at most @limit. */
static void make_room(const struct name_store *s, uint64_t size, uint64_t limit)
{
	kept_vec files = { 0 };
	uint64_t total = list_files(s, &files);

	if (files.n)
		qsort(files.v, files.n, sizeof(*files.v), by_age);
	for (size_t i = 0; i < files.n; i++) {
		if (total + size > limit && !unlinkat(s->dir, files.v[i].name, 0))
			total -= files.v[i].size;
		free(files.v[i].name);
	}
	vec_free(&files);
}

/* As the user: a file of another name, which then gets this one. */
static int write_file(const struct name_store *s, const char *name, const void *bytes, size_t size)
{
	char temporary[32];
	uint64_t r;
	int fd, err;

	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return -errno;
	snprintf(temporary, sizeof(temporary), "%016llx.tmp", (unsigned long long)r);
	fd = openat(s->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = io_write_full(fd, bytes, size);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(s->dir, temporary, s->dir, name))
		err = -errno;
	if (err)
		unlinkat(s->dir, temporary, 0);
	return err;
}

void name_store_delegate(struct name_store *s, struct keeper *k, size_t job)
{
	s->keeper = k;
	s->job = job;
}

/* Has the keeper do it. */
static int order_write(struct name_store *s, const char *name, const void *bytes, size_t size,
		       size_t limit)
{
	struct order *o = xcalloc(1, sizeof(*o) + size);
	int err;

	snprintf(o->name, sizeof(o->name), "%s", name);
	o->limit = limit;
	memcpy(o + 1, bytes, size);
	err = keeper_do(s->keeper, s->job, o, sizeof(*o) + size);
	free(o);
	return err;
}

int name_store_keep(void *store, const void *bytes, size_t size)
{
	struct order o;

	if (size < sizeof(o))
		return -EINVAL;
	memcpy(&o, bytes, sizeof(o));
	/* A name in the folder, and nothing that could lead out of it. */
	if (!memchr(o.name, '\0', sizeof(o.name)) || !*o.name || *o.name == '.' ||
	    strchr(o.name, '/') || o.limit > NAME_STORE_BYTES)
		return -EINVAL;
	return name_store_write(store, o.name, (const char *)bytes + sizeof(o), size - sizeof(o),
				o.limit);
}

int name_store_write(struct name_store *s, const char *name, const void *bytes, size_t size,
		     size_t limit)
{
	int err;

	if (size > limit)
		return -EFBIG;
	if (s->keeper)
		return order_write(s, name, bytes, size, limit);
	err = user_enter(&s->user);
	if (err)
		return err;
	err = open_folder(s, 1);
	if (!err) {
		make_room(s, size, limit);
		err = write_file(s, name, bytes, size);
	}
	user_leave(&s->user);
	return err;
}
