/* SPDX-License-Identifier: MIT */
#include "proc/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/cgroup_internal.h"
#include "proc/cgroup_mounts.h"

#define DEPTH_MAX	16	/* levels below a mount that are searched for a container */
#define DIRS_MAX	65536	/* directories of one hierarchy */
#define PREFIX_MIN	6	/* characters of a container's id */
#define ID_MIN		32	/* a directory of this many hexadecimal digits is a container's */

static const char hex[] = "0123456789abcdef";

/* Fills @out where @path is a directory of the hierarchy @m. 0 or a negative errno. */
static int take(const struct cgroup_mount *m, const char *path, struct cgroup *out)
{
	struct stat st;

	if (strlen(path) >= sizeof(out->path))
		return -ENAMETOOLONG;
	if (stat(path, &st))
		return -errno;
	/* Not that file system: something else is mounted over it, or ".." has led out of it. */
	if (!S_ISDIR(st.st_mode) || st.st_dev != m->device)
		return -ENOENT;
	out->id = st.st_ino;
	snprintf(out->controller, sizeof(out->controller), "%s", cgroup_mount_controller(m));
	strcpy(out->path, path);
	return 0;
}

/* What of @path follows the folder @dir: "" or "/...". NULL where it is not below it. */
static const char *below(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (!strcmp(dir, "/"))
		return path;
	return !strncmp(path, dir, len) && (!path[len] || path[len] == '/') ? path + len : NULL;
}

/* @name as a path in the file system. */
static int find_file(const cgroup_mounts *mounts, const char *name, struct cgroup *out)
{
	/* /sys/fs/cgroup/cpu may be a link to cpu,cpuacct */
	char *real = realpath(name, NULL);
	int err = -ENOENT;

	for (size_t i = 0; real && err && i < mounts->n; i++)
		if (below(real, mounts->v[i].point))
			err = take(&mounts->v[i], real, out);
	free(real);
	return err;
}

/* @name as a path in a hierarchy, as /proc/PID/cgroup shows it, with or without the first slash. */
static int find_path(const cgroup_mounts *mounts, const char *name, struct cgroup *out)
{
	int err = -ENOENT;

	for (size_t i = 0; err && i < mounts->n; i++) {
		const struct cgroup_mount *m = &mounts->v[i];
		char path[PATH_MAX];
		const char *rest = name[0] == '/' ? below(name, m->root) : name;
		const char *slash = rest && rest[0] && rest[0] != '/' ? "/" : "";

		if (rest && snprintf(path, sizeof(path), "%s%s%s", m->point, slash, rest) <
				    (int)sizeof(path))
			err = take(m, path, out);
	}
	return err;
}

struct search {
	const struct cgroup_mount *mount;
	const char *prefix;
	size_t dirs;			/* seen so far */
	int found;			/* distinct containers: 0, 1, 2 for more */
	struct cgroup first;
	char second[PATH_MAX];
	char first_id[NAME_MAX + 1], second_id[NAME_MAX + 1];
};

/*
 * The container's id in the name of a cgroup, copied to @id; 0 where it is none:
 * RUNTIME-<id>.scope under systemd, else the bare id. That of a container's
 * monitor, "crio-conmon-<id>.scope", begins as no id does.
 */
static int container_id(const char *name, char id[NAME_MAX + 1])
{
	static const char *const runtimes[] = { "docker-", "cri-containerd-", "libpod-", "crio-",
						"containerd-" };
	const char *end = strstr(name, ".scope");
	size_t len;

	if (!end || end[6]) {
		len = strlen(name);
		if (len < ID_MIN || len > NAME_MAX || strspn(name, hex) != len)
			return 0;
		memcpy(id, name, len + 1);
		return 1;
	}
	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++) {
		size_t skip = strlen(runtimes[i]);

		if (strncmp(name, runtimes[i], skip))
			continue;
		len = (size_t)(end - name) - skip;
		memcpy(id, name + skip, len);
		id[len] = '\0';
		return 1;
	}
	return 0;
}

static void consider(struct search *s, const char *name, const char *path)
{
	char id[NAME_MAX + 1];

	if (!container_id(name, id) || strncmp(id, s->prefix, strlen(s->prefix)))
		return;
	/*
	 * The same id further down is a part of the container; elsewhere anybody with a cgroup of
	 * his own may have made it.
	 */
	if (s->found && !strcmp(id, s->first_id) && below(path, s->first.path))
		return;
	if (!s->found) {
		if (take(s->mount, path, &s->first))
			return;
		strcpy(s->first_id, id);
		s->found = 1;
	} else if (s->found == 1) {
		strcpy(s->second_id, id);
		strcpy(s->second, path);
		s->found = 2;
	}
}

/*
 * Searches the directory @fd (closed here), which is @path; @path is a buffer of PATH_MAX that is
 * put back.
 */
static void search_dir(struct search *s, int fd, char *path, int depth)
{
	DIR *dir = fdopendir(fd);
	size_t len = strlen(path);
	struct dirent *d;

	if (!dir) {
		close(fd);
		return;
	}
	while (s->found < 2 && s->dirs < DIRS_MAX && (d = readdir(dir))) {
		if (d->d_name[0] == '.' || (d->d_type != DT_DIR && d->d_type != DT_UNKNOWN))
			continue;
		if (snprintf(path + len, PATH_MAX - len, "/%s", d->d_name) >= (int)(PATH_MAX - len))
			continue;
		fd = openat(dirfd(dir), d->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		s->dirs++;
		consider(s, d->d_name, path);
		if (depth < DEPTH_MAX)
			search_dir(s, fd, path, depth + 1);
		else
			close(fd);
	}
	path[len] = '\0';
	closedir(dir);
}

static int ambiguous(const struct search *s, struct error *e)
{
	if (!strcmp(s->first_id, s->second_id))
		return error_set(e, STATUS_NO_TARGET, -EEXIST,
				 "container id '%.64s' is ambiguous: %.190s or %.190s; "
				 "give its path",
				 s->prefix, s->first.path, s->second);
	return error_set(e, STATUS_NO_TARGET, -EEXIST,
			 "container id '%s' is ambiguous: %.64s or %.64s; give more of it",
			 s->prefix, s->first_id, s->second_id);
}

static int find_container(const cgroup_mounts *mounts, const char *name, struct cgroup *out,
			  struct error *e)
{
	for (size_t i = 0; i < mounts->n; i++) {
		struct search s = { .mount = &mounts->v[i], .prefix = name };
		char path[PATH_MAX];
		int fd;

		if (snprintf(path, sizeof(path), "%s", s.mount->point) >= (int)sizeof(path))
			continue;
		fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (fd < 0)
			continue;
		search_dir(&s, fd, path, 1);
		if (s.found == 2)
			return ambiguous(&s, e);
		/* Another may be among those that were not seen. */
		if (s.dirs == DIRS_MAX)
			return error_set(e, STATUS_NO_TARGET, -E2BIG,
					 "%.200s has more than %d cgroups; "
					 "give the path of the container",
					 s.mount->point, DIRS_MAX);
		if (s.found) {
			*out = s.first;
			return 0;
		}
	}
	return -ENOENT;
}

static int find(const cgroup_mounts *mounts, const char *name, struct cgroup *out, struct error *e)
{
	size_t len = strlen(name);
	int err;

	if (!mounts->n)
		return error_set(e, STATUS_NO_TARGET, -ENOENT,
				 "no cgroup hierarchy is mounted here; "
				 "try: mount -t cgroup2 none /sys/fs/cgroup");
	if (!len || len >= PATH_MAX)
		return error_set(e, STATUS_NO_TARGET, -ENOENT,
				 "no cgroup has a name of %zu characters", len);
	err = name[0] == '/' ? find_file(mounts, name, out) : -ENOENT;
	if (err)
		err = find_path(mounts, name, out);
	if (!err)
		return 0;
	if (strspn(name, hex) != len)
		return error_set(
			e, STATUS_NO_TARGET, -ENOENT,
			"no cgroup '%.200s'; systemd-cgls lists them, with paths as -G takes them",
			name);
	if (len < PREFIX_MIN)
		return error_set(e, STATUS_NO_TARGET, -ENOENT,
				 "no cgroup '%s'; of a container's id give at least %d characters",
				 name, PREFIX_MIN);
	err = find_container(mounts, name, out, e);
	if (err != -ENOENT)
		return err;
	return error_set(e, STATUS_NO_TARGET, err,
			 "no cgroup, and no container, is called '%.200s'; is it running?", name);
}

int cgroup_find_in(const char *mountinfo, const char *name, struct cgroup *out, struct error *e)
{
	cgroup_mounts mounts = { 0 };
	int err = cgroup_mounts_read(mountinfo, &mounts);

	if (err)
		return error_set(e, STATUS_ERROR, err, "cannot read %s: %s", mountinfo,
				 strerror(-err));
	err = find(&mounts, name, out, e);
	cgroup_mounts_free(&mounts);
	return err;
}

int cgroup_find(const char *name, struct cgroup *out, struct error *e)
{
	return cgroup_find_in("/proc/self/mountinfo", name, out, e);
}
