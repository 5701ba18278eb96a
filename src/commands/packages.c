/* SPDX-License-Identifier: MIT */
#include "commands/packages.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "elf/elf_file.h"

#define LIST_MOST (16u << 20)	/* bytes of one list that are read */
#define LIST ".list"
#define PATH_SIZE 4096

/* Packages that keep debug information in another one than NAME-dbgsym. */
static const struct {
	const char *beginning, *debug;
} others[] = {
	{ "libc6", "libc6-dbg" },
};

/*
 * Whether a package's file may lie there. The path is the target's word, in its own root: what is
 * not ours is not even looked at, because that may wait for an automounter.
 */
static int is_of_system(const char *path)
{
	static const char *const folders[] = { "/usr/", "/lib/", "/lib64/", "/bin/", "/sbin/" };

	if (strstr(path, "/../") || !strncmp(path, "/usr/local/", 11))
		return 0;
	for (size_t i = 0; i < sizeof(folders) / sizeof(*folders); i++)
		if (!strncmp(path, folders[i], strlen(folders[i])))
			return 1;
	return 0;
}

/* Whether the file at @path has the build id @expected. */
static int is_file(const char *path, const char *expected)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";
	int fd = file_open_regular(path);
	struct elf_file *f = fd < 0 ? NULL : elf_file_open(fd);
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = f ? elf_file_build_id(f, id) : 0;

	for (size_t i = 0; i < n; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	elf_file_free(f);
	if (fd >= 0)
		close(fd);
	return n && !strcmp(hex, expected);
}

static int has_debug_file(const char *build_id)
{
	char path[PATH_SIZE];

	snprintf(path, sizeof(path), "/usr/lib/debug/.build-id/%.2s/%s.debug", build_id,
		 build_id + 2);
	return !access(path, F_OK);
}

/* Whether one of the lines of @text, which begins with a newline, is @path. */
static int has_line(const char *text, const char *path)
{
	size_t n = strlen(path);

	for (const char *s = text; (s = strstr(s, path)); s++)
		if (s[-1] == '\n' && (s[n] == '\n' || !s[n]))
			return 1;
	return 0;
}

/* All of the list behind a newline, malloc'd; NULL where it cannot be read, or is too large. */
static char *read_list(int folder, const char *name)
{
	int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char *text = NULL;
	struct stat st;
	ssize_t n = -1;

	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= LIST_MOST) {
		text = xmalloc((size_t)st.st_size + 2);
		*text = '\n';
		n = read(fd, text + 1, (size_t)st.st_size);
	}
	if (fd >= 0)
		close(fd);
	if (n < 0) {
		free(text);
		return NULL;
	}
	text[n + 1] = '\0';
	return text;
}

/* What dpkg calls @path: files may lie in /lib for it, which leads to /usr/lib. */
static int list_has(int folder, const char *name, const char *path)
{
	char *text = read_list(folder, name);
	int found = text && (has_line(text, path) ||
			     (!strncmp(path, "/usr/", 5) && has_line(text, path + 4)));

	free(text);
	return found;
}

/* "libssl3:amd64.list" -> "libssl3-dbgsym". */
static int name_debug(const char *list, char name[PACKAGE_NAME_MAX])
{
	int n = (int)strcspn(list, ":");

	if (!list[n])
		n -= (int)strlen(LIST);
	/* What dpkg allows in a name, and nothing else gets into a line that may be typed in. */
	if (strspn(list, "abcdefghijklmnopqrstuvwxyz0123456789+-.") < (size_t)n || n > 100)
		return -ENOENT;
	snprintf(name, PACKAGE_NAME_MAX, "%.*s-dbgsym", n, list);
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strncmp(list, others[i].beginning, (size_t)n) && !others[i].beginning[n])
			snprintf(name, PACKAGE_NAME_MAX, "%s", others[i].debug);
	return 0;
}

int packages_debug(const char *lists, const char *path, const char *build_id,
		   char name[PACKAGE_NAME_MAX])
{
	struct dirent *entry;
	int err = -ENOENT;
	DIR *d;

	if (!is_of_system(path) || strlen(build_id) < 4 ||
	    build_id[strspn(build_id, "0123456789abcdef")])
		return -ENOENT;
	if (has_debug_file(build_id))
		return -EEXIST;
	if (!is_file(path, build_id))
		return -ESTALE;
	d = opendir(lists);
	while (d && err == -ENOENT && (entry = readdir(d))) {
		size_t n = strlen(entry->d_name), end = strlen(LIST);

		if (n > end && !strcmp(entry->d_name + n - end, LIST) &&
		    list_has(dirfd(d), entry->d_name, path))
			err = name_debug(entry->d_name, name);
	}
	if (d)
		closedir(d);
	return err;
}
