/* SPDX-License-Identifier: MIT */
#include "push/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/vec.h"

#define SECOND 1000000000ull
#define STAMP "dddddddd.dddddd.dddZ"	/* d: a digit */
#define FILES_MAX (1u << 20)
#define LOOKS 32		/* at what is too old, in the time that files are kept */
/* a folder that is full loses one part of so many, so that it is not looked at each time */
#define PART 8

struct folder {
	char *path;
	struct user user;
	struct folder_options o;
	int dir;
	uint64_t total;			/* bytes of our files, as of the last look and since */
	uint64_t looked;		/* ns of CLOCK_REALTIME; 0: never */
	struct keeper *keeper;		/* NULL: we do it */
	size_t job;
};

/* What the keeper is sent, before the bytes of the file. */
struct order { char name[FOLDER_NAME]; };

int folder_has_name(const char *name, const char *suffix)
{
	size_t n = strlen(name), size = strlen(suffix), stamp = strlen(STAMP);
	const char *at;

	if (n >= FOLDER_NAME || n < stamp + size + 2 || strcmp(name + n - size, suffix))
		return 0;
	at = name + n - size - stamp;
	if (at[-1] != '.')
		return 0;
	for (size_t i = 0; i < stamp; i++) {
		char want = i == 8 ? 'T' : STAMP[i];

		if (want == 'd' ? at[i] < '0' || at[i] > '9' : at[i] != want)
			return 0;
	}
	return 1;
}

size_t folder_name_service(const char *name, const char *suffix, uint64_t *start)
{
	size_t service = strlen(name) - strlen(suffix) - strlen(STAMP) - 1;
	struct tm t = { 0 };
	unsigned int ms = 0;

	sscanf(name + service, ".%4d%2d%2dT%2d%2d%2d.%3uZ", &t.tm_year, &t.tm_mon, &t.tm_mday,
	       &t.tm_hour, &t.tm_min, &t.tm_sec, &ms);
	t.tm_year -= 1900;
	t.tm_mon--;
	*start = (uint64_t)timegm(&t) * SECOND + ms * 1000000ull;
	return service;
}

struct folder *folder_open(const char *path, const struct user *u, const struct folder_options *o,
			   struct error *e)
{
	struct folder *f;
	int err = user_enter(u), dir = -1;

	if (!err) {
		dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0 || faccessat(dir, ".", W_OK | X_OK, AT_EACCESS))
			err = -errno;
		user_leave(u);
	}
	if (err) {
		if (dir >= 0)
			close(dir);
		error_set(e, STATUS_ERROR, err, "--to '%.200s': %s%s", path, strerror(-err),
			  err == -ENOENT ? "; make the folder first" : "");
		return NULL;
	}
	f = xcalloc(1, sizeof(*f));
	*f = (struct folder){ .path = xstrdup(path), .user = *u, .o = *o, .dir = dir };
	return f;
}

void folder_free(struct folder *f)
{
	if (!f)
		return;
	close(f->dir);
	free(f->path);
	free(f);
}

void folder_delegate(struct folder *f, struct keeper *k, size_t job)
{
	f->keeper = k;
	f->job = job;
}

const char *folder_path(const struct folder *f)
{
	return f->path;
}

int folder_dir(const struct folder *f)
{
	return f->dir;
}

/* --- What is there already. ---------------------------------------------------- */

static int by_time(const void *a, const void *b)
{
	const struct folder_file *x = a, *y = b;

	return x->time != y->time ? (x->time > y->time) - (x->time < y->time)
				  : strcmp(x->name, y->name);
}

void folder_list(int dir, const char *suffix, folder_file_vec *files)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat st;

	if (!d && fd >= 0)
		close(fd);
	while (d && files->n < FILES_MAX && (entry = readdir(d)))
		if (folder_has_name(entry->d_name, suffix) &&
		    !fstatat(dir, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) &&
		    S_ISREG(st.st_mode))
			vec_push(files, (struct folder_file){
				xstrdup(entry->d_name),
				(uint64_t)st.st_mtim.tv_sec * SECOND +
					(uint64_t)st.st_mtim.tv_nsec,
				(uint64_t)st.st_size });
	if (d)
		closedir(d);
	if (files->n)
		qsort(files->v, files->n, sizeof(*files->v), by_time);
}

void folder_list_free(folder_file_vec *files)
{
	for (size_t i = 0; i < files->n; i++)
		free(files->v[i].name);
	vec_free(files);
}

/* Room for @size bytes more, and nothing that is too old. */
static void make_room(struct folder *f, uint64_t size, uint64_t now)
{
	uint64_t oldest = now > f->o.keep_for ? now - f->o.keep_for : 0, most = f->o.keep_bytes;
	folder_file_vec files = { 0 };

	folder_list(f->dir, f->o.suffix, &files);
	f->total = 0;
	f->looked = now;
	for (size_t i = 0; i < files.n; i++)
		f->total += files.v[i].size;
	if (f->total + size > most)
		most -= most / PART;
	for (size_t i = 0; i < files.n; i++) {
		const struct folder_file *file = &files.v[i];

		if ((file->time >= oldest && f->total + size <= most) ||
		    unlinkat(f->dir, file->name, 0))
			continue;
		f->total -= file->size;
		if (f->o.removed)
			f->o.removed(f->o.ctx, file->name, file->size);
	}
	folder_list_free(&files);
}

/* --- Writing. ------------------------------------------------------------------ */

static int write_file(const struct folder *f, const char *name, const void *bytes, size_t size)
{
	char temporary[64];
	int fd, err;

	snprintf(temporary, sizeof(temporary), ".ebprof-%d.tmp", getpid());
	unlinkat(f->dir, temporary, 0);
	fd = openat(f->dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = io_write_full(fd, bytes, size);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(f->dir, temporary, f->dir, name))
		err = -errno;
	if (err)
		unlinkat(f->dir, temporary, 0);
	return err;
}

/* The folder was removed, or renamed, and may have been made again. */
static int is_back(struct folder *f)
{
	struct stat now, known;
	int dir = open(f->path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0)
		return 0;
	if (!fstat(dir, &now) && !fstat(f->dir, &known) && now.st_ino == known.st_ino &&
	    now.st_dev == known.st_dev) {
		close(dir);
		return 0;
	}
	close(f->dir);
	f->dir = dir;
	return 1;
}

static int add_file(struct folder *f, const char *name, const void *bytes, size_t size)
{
	uint64_t now = clock_wall_ns();
	int err = size > f->o.keep_bytes ? -EFBIG : user_enter(&f->user);

	if (err)
		return err;
	if (!f->looked || f->total + size > f->o.keep_bytes ||
	    now > f->looked + f->o.keep_for / LOOKS)
		make_room(f, size, now);
	err = write_file(f, name, bytes, size);
	if (err == -ENOENT && is_back(f)) {
		make_room(f, size, now);
		err = write_file(f, name, bytes, size);
	}
	if (!err)
		f->total += size;
	if (!err && f->o.written)
		f->o.written(f->o.ctx, name, size);
	user_leave(&f->user);
	return err;
}

int folder_keep(void *folder, const void *bytes, size_t size)
{
	struct order o;

	if (size < sizeof(o))
		return -EINVAL;
	memcpy(&o, bytes, sizeof(o));
	/* A name in the folder, and nothing that could lead out of it. */
	if (!memchr(o.name, '\0', sizeof(o.name)) || *o.name == '.' || strchr(o.name, '/') ||
	    !folder_has_name(o.name, ((struct folder *)folder)->o.suffix))
		return -EINVAL;
	return add_file(folder, o.name, (const char *)bytes + sizeof(o), size - sizeof(o));
}

int folder_write(struct folder *f, const char *service, uint64_t start, const void *bytes,
		 size_t size)
{
	time_t seconds = (time_t)(start / SECOND);
	char stamp[32] = "";
	struct order *o;
	struct tm t;
	int err;

	if (!gmtime_r(&seconds, &t) || !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &t))
		return -EINVAL;
	o = xcalloc(1, sizeof(*o) + size);
	snprintf(o->name, sizeof(o->name), "%s.%s.%03uZ%s", service, stamp,
		 (unsigned int)(start % SECOND / 1000000), f->o.suffix);
	memcpy(o + 1, bytes, size);
	err = f->keeper ? keeper_do(f->keeper, f->job, o, sizeof(*o) + size)
			: folder_keep(f, o, sizeof(*o) + size);
	free(o);
	return err;
}
