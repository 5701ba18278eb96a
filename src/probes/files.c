/* SPDX-License-Identifier: MIT */
#include "probes/files.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/walk.h"
#include "proc/maps.h"

#define LINE_BYTES 4096	/* bytes of a line of the loader's configuration */

/* Keeps @fd, or closes it where that file is known. */
static void keep(probe_file_vec *files, int fd)
{
	struct stat st;

	if (fd < 0)
		return;
	if (fstat(fd, &st) || files->n == PROBE_FILES_MAX) {
		close(fd);
		return;
	}
	for (size_t i = 0; i < files->n; i++)
		if (files->v[i].device == st.st_dev && files->v[i].inode == st.st_ino) {
			close(fd);
			return;
		}
	vec_push(files, (struct probe_file){ fd, st.st_dev, st.st_ino });
}

int probe_file_is(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	size_t n = strlen(name), end = strcspn(base, " ");

	if (end == n && !strncmp(base, name, n))
		return 1;
	if (!strncmp(base, name, n) && !strncmp(base + n, ".so", 3))
		return 1;
	return !strncmp(base, "lib", 3) && !strncmp(base + 3, name, n) &&
	       !strncmp(base + 3 + n, ".so", 3);
}

/* --- What processes have mapped. ------------------------------------------------ */

struct mapped {
	probe_file_vec *files;
	const char *name;
	pid_t pid;
};

static void look_at(const struct maps_line *line, void *ctx)
{
	const struct mapped *m = ctx;
	char path[96];

	if (!line->inode || !probe_file_is(line->path, m->name))
		return;
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)m->pid,
		 (unsigned long long)line->start, (unsigned long long)line->end);
	keep(m->files, file_open_regular(path));
}

/* --- Where libraries and programs lie. ------------------------------------------- */

static void look_in(probe_file_vec *files, const char *dir, size_t n, const char *name)
{
	char path[2 * PATH_MAX];
	struct dirent *entry;
	DIR *d;

	if (!n || n >= PATH_MAX)
		return;
	snprintf(path, sizeof(path), "%.*s", (int)n, dir);
	d = opendir(path);
	while (d && (entry = readdir(d)))
		if (probe_file_is(entry->d_name, name)) {
			snprintf(path, sizeof(path), "%.*s/%s", (int)n, dir, entry->d_name);
			keep(files, file_open_regular(path));
		}
	if (d)
		closedir(d);
}

/* A file of folders, one a line (ld.so.conf(5)); what it includes is looked at by itself. */
static void look_in_listed(probe_file_vec *files, const char *list, const char *name)
{
	FILE *f = fopen(list, "re");
	char line[LINE_BYTES];

	while (f && fgets(line, sizeof(line), f))
		if (*line == '/')
			look_in(files, line, strcspn(line, " \t\n#"), name);
	if (f)
		fclose(f);
}

/* Not a script that starts the program, as version managers have them. */
static int open_program(const char *path)
{
	int fd = access(path, X_OK) ? -1 : file_open_regular(path);
	char magic[SELFMAG];

	if (fd < 0)
		return -1;
	if (pread(fd, magic, sizeof(magic), 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG))
		return fd;
	close(fd);
	return -1;
}

static void look_in_path(probe_file_vec *files, const char *name)
{
	const char *dir = getenv("PATH");
	char path[2 * PATH_MAX];

	for (size_t n; dir && *dir && !files->n; dir += n + (dir[n] == ':')) {
		n = strcspn(dir, ":");
		if (!n || n >= PATH_MAX || strlen(name) >= PATH_MAX)
			continue;
		snprintf(path, sizeof(path), "%.*s/%s", (int)n, dir, name);
		keep(files, open_program(path));
	}
}

static void look_here(probe_file_vec *files, const char *name)
{
	static const char *const usual[] = {
		"/lib/x86_64-linux-gnu", "/usr/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu",
		"/usr/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib",
		"/usr/local/lib",
	};
	glob_t lists = { 0 };

	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		look_in(files, usual[i], strlen(usual[i]), name);
	look_in_listed(files, "/etc/ld.so.conf", name);
	if (!glob("/etc/ld.so.conf.d/*.conf", 0, NULL, &lists))
		for (size_t i = 0; i < lists.gl_pathc; i++)
			look_in_listed(files, lists.gl_pathv[i], name);
	globfree(&lists);
	if (!files->n)
		look_in_path(files, name);
}

/* --- Paths. ------------------------------------------------------------------------ */

static int open_path(const char *name, pid_t pid)
{
	int root, at, fd;

	if (!pid || *name != '/')
		return file_open_regular(name);
	root = walk_root_of(pid);
	if (root < 0)
		return root;
	at = walk_open(root, root, name, WALK_LINKS);
	close(root);
	if (at < 0)
		return at;
	fd = file_reopen_regular(at);
	close(at);
	return fd;
}

int probe_files_open(probe_file_vec *files, const char *name, const pid_t *ids, size_t n,
		     struct error *e)
{
	struct mapped m = { .files = files, .name = name };
	int err = -ENOENT;

	if (strchr(name, '/')) {
		for (size_t i = 0; i < n; i++)
			keep(files, open_path(name, ids[i]));
		if (!files->n) {
			err = open_path(name, 0);
			keep(files, err);
		}
	} else {
		for (size_t i = 0; i < n; i++) {
			m.pid = ids[i];
			maps_for_each_executable(ids[i], look_at, &m);
		}
		if (!files->n)
			look_here(files, name);
	}
	if (files->n)
		return 0;
	if (strchr(name, '/'))
		return error_set(e, STATUS_ERROR, err, "cannot open %s: %s", name, strerror(-err));
	return error_set(e, STATUS_ERROR, -ENOENT,
			 "no library or program '%s' is mapped by the target, or where the loader "
			 "and $PATH look; give its path", name);
}

void probe_files_close(probe_file_vec *files)
{
	for (size_t i = 0; i < files->n; i++)
		close(files->v[i].fd);
	vec_free(files);
}
