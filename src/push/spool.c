/* SPDX-License-Identifier: MIT */
#include "push/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/child.h"

#define PART "spool"
#define LOCK_TRIES 100
#define LOCK_WAIT 100000000	/* ns between two of them: the sender before us may have to end */

struct spool {
	struct folder *folder;
	struct spool_counts *counts;
	int lock;
	uint64_t written;
};

void spool_count(struct spool_count *c, uint64_t samples, uint64_t bytes)
{
	__atomic_fetch_add(&c->bodies, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->samples, samples, __ATOMIC_RELAXED);
	__atomic_fetch_add(&c->bytes, bytes, __ATOMIC_RELAXED);
}

uint64_t spool_samples(const char *name)
{
	return strtoull(name, NULL, 10);
}

static void count_removed(void *counts, const char *name, uint64_t size)
{
	spool_count(&((struct spool_counts *)counts)->dropped, spool_samples(name), size);
}

static void count_written(void *counts, const char *name, uint64_t size)
{
	spool_count(&((struct spool_counts *)counts)->spooled, spool_samples(name), size);
}

/* What was there before. */
static void count_found(struct spool *s)
{
	folder_file_vec files = { 0 };

	folder_list(folder_dir(s->folder), SPOOL_SUFFIX, &files);
	for (size_t i = 0; i < files.n; i++)
		count_written(s->counts, files.v[i].name, files.v[i].size);
	folder_list_free(&files);
}

/* The same for one server in each run, and another one for another server (FNV-1a). */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

/* The folder that spools are in, which is there then, in a malloc'd text; NULL with errno. */
static char *base_folder(const struct user *u, const char *dir)
{
	char *base, *path;
	int fd;

	if (dir)
		return !mkdir(dir, 0700) || errno == EEXIST ? xstrdup(dir) : NULL;
	base = cache_base(u);
	fd = base ? cache_open(u, base, PART, 1) : -ENOENT;
	path = fd < 0 ? NULL : xasprintf("%s/ebprof/" PART, base);
	free(base);
	if (fd >= 0)
		close(fd);
	else
		errno = -fd;
	return path;
}

/* The path of the spool of @url, which is there then, in a malloc'd text; NULL with errno. */
static char *make(const char *url, const struct user *u, const char *dir)
{
	char name[SERVICE_NAME], *base, *path = NULL;
	int err = user_enter(u);
	struct stat st;

	if (err) {
		errno = -err;
		return NULL;
	}
	base = base_folder(u, dir);
	if (base) {
		service_name(url, name);
		path = xasprintf("%s/%.32s-%016llx", base, name, (unsigned long long)hash(url));
		err = mkdir(path, 0700) && errno != EEXIST ? errno : 0;
		/* What another user can write we would send as our own. */
		if (!err && (lstat(path, &st) || !cache_is_own(u, &st, S_IFDIR)))
			err = EPERM;
	} else {
		err = errno;
	}
	user_leave(u);
	free(base);
	if (err) {
		free(path);
		path = NULL;
	}
	errno = err;
	return path;
}

/* 0 or a negative errno: -EBUSY where somebody else keeps it. */
static int lock(struct spool *s, const char *path)
{
	const struct timespec wait = { 0, LOCK_WAIT };

	s->lock = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (s->lock < 0)
		return -errno;
	for (int tries = 0; tries < LOCK_TRIES; tries++) {
		if (!flock(s->lock, LOCK_EX | LOCK_NB))
			return 0;
		if (errno != EWOULDBLOCK)
			return -errno;
		nanosleep(&wait, NULL);
	}
	return -EBUSY;
}

static int open_folder(struct spool *s, const char *path, const struct user *u,
		       const struct spool_options *o, struct error *e)
{
	const struct folder_options options = {
		.keep_for = o->keep_for, .keep_bytes = o->keep_bytes, .suffix = SPOOL_SUFFIX,
		.written = count_written, .removed = count_removed, .ctx = s->counts,
	};
	int err = lock(s, path);

	if (err)
		return error_set(e, STATUS_ERROR, err, "--spool '%.200s': %s", path,
				 err == -EBUSY ? "another ebprof push sends what is there"
					       : strerror(-err));
	s->folder = folder_open(path, u, &options, e);
	if (!s->folder)
		return -EIO;
	count_found(s);
	return 0;
}

struct spool *spool_open(const char *url, const struct user *u, const struct spool_options *o,
			 struct error *e)
{
	struct spool *s = xcalloc(1, sizeof(*s));
	char *path = make(url, u, o->dir);
	int err = errno;

	s->lock = -1;
	s->counts = child_memory(sizeof(*s->counts));
	if (!path || !s->counts)
		error_set(e, STATUS_ERROR, -err, "--spool '%.200s': %s", o->dir ? o->dir : "",
			  strerror(err));
	else
		open_folder(s, path, u, o, e);
	free(path);
	if (s->folder)
		return s;
	spool_free(s);
	return NULL;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	folder_free(s->folder);
	if (s->lock >= 0)
		close(s->lock);
	if (s->counts)
		munmap(s->counts, sizeof(*s->counts));
	free(s);
}

struct folder *spool_folder(const struct spool *s)
{
	return s->folder;
}

struct spool_counts *spool_counts(const struct spool *s)
{
	return s->counts;
}

int spool_write(struct spool *s, uint64_t samples, uint64_t start, const void *bytes, size_t size)
{
	char name[SERVICE_NAME];

	snprintf(name, sizeof(name), "%llu-%llu", (unsigned long long)samples,
		 (unsigned long long)s->written++);
	return folder_write(s->folder, name, start, bytes, size);
}
