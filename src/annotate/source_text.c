/* SPDX-License-Identifier: MIT */
#include "annotate/source_text.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/io.h"
#include "base/text.h"
#include "base/walk.h"
#include "base/xalloc.h"

#define BYTES_MAX (16u << 20)
#define TAB 8

/* --- Where it is. ------------------------------------------------------------------ */

static void found(struct source_text *s, const char *where, const char *path)
{
	snprintf(s->from, sizeof(s->from), "%s%s", path, where);
}

static int open_below(struct source_text *s, const char *dir, const char *path)
{
	char whole[SOURCE_PATH_MAX];
	int fd = -ENOENT;

	/* The whole path first, then less and less of its beginning. */
	for (const char *rest = path; fd < 0 && rest; rest = strchr(rest, '/')) {
		rest += strspn(rest, "/");
		snprintf(whole, sizeof(whole), "%s/%s", dir, rest);
		fd = file_open_regular(whole);
	}
	if (fd >= 0)
		found(s, "", whole);
	return fd;
}

/* Of one that has our root, only what is below its own folder is looked for. */
static int is_our_root(int root)
{
	struct stat a, b;

	return !fstat(root, &a) && !stat("/", &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Nothing that the target put there leads out of its root. */
static int open_in_target(struct source_text *s, pid_t pid, const char *path)
{
	int root = walk_root_of(pid), start = root, at = -ENOENT, fd = -ENOENT;
	char text[64];

	if (root < 0)
		return root;
	if (*path == '/' && is_our_root(root)) {
		start = -1;
	} else if (*path != '/') {
		snprintf(text, sizeof(text), "/proc/%d/cwd", (int)pid);
		start = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	if (start >= 0)
		at = walk_open(root, start, path, WALK_LINKS);
	if (at >= 0) {
		fd = file_reopen_regular(at);
		close(at);
	}
	if (start >= 0 && start != root)
		close(start);
	close(root);
	snprintf(text, sizeof(text), *path == '/' ? ", in the root of process %d"
						  : ", in the folder of process %d", (int)pid);
	if (fd >= 0)
		found(s, text, path);
	return fd;
}

static int open_in_dirs(struct source_text *s, const char *path, const struct source_places *p)
{
	int fd = -ENOENT;

	for (size_t i = 0; i < p->n_dirs && fd < 0; i++)
		fd = open_below(s, p->dirs[i], path);
	return fd;
}

static int open_ours(struct source_text *s, const char *path, const struct source_places *p)
{
	int fd = *path ? file_open_regular(path) : -ENOENT;

	(void)p;
	if (fd >= 0)
		found(s, "", path);
	return fd;
}

/* A file that all may read counts for nothing in a folder that is its owner's alone. */
static int open_as_user(struct source_text *s, const char *path, const struct source_places *p,
			int (*open_it)(struct source_text *s, const char *path,
				       const struct source_places *p))
{
	int fd = p->everybodys ? user_enter(p->everybodys) : 0;

	if (fd < 0)
		return fd;
	fd = open_it(s, path, p);
	if (p->everybodys)
		user_leave(p->everybodys);
	return fd;
}

static int open_from_server(struct source_text *s, const struct source_places *p, const char *path)
{
	int fd = p->debuginfod && *path == '/' && p->build_id_size
			 ? debuginfod_fetch_source(p->debuginfod, p->build_id, p->build_id_size,
						   path)
			 : -ENOENT;

	if (fd >= 0)
		found(s, ", from debuginfod", path);
	return fd;
}

static int open_source(struct source_text *s, const char *path, const struct source_places *p)
{
	int fd = open_as_user(s, path, p, open_in_dirs);

	for (size_t i = 0; p->targets && i < p->targets->n && fd < 0; i++)
		fd = open_in_target(s, p->targets->v[i], path);
	if (fd < 0)
		fd = open_as_user(s, path, p, open_ours);
	return fd < 0 ? open_from_server(s, p, path) : fd;
}

/* A path out of a URL: "file:///a%20b" is "/a b". */
static void decode(char out[SOURCE_PATH_MAX], const char *path)
{
	static const char scheme[] = "file://";
	int is_url = !strncmp(path, scheme, sizeof(scheme) - 1);
	unsigned int byte;
	size_t n = 0;

	for (path += is_url ? sizeof(scheme) - 1 : 0; *path && n + 1 < SOURCE_PATH_MAX; path++) {
		out[n++] = *path;
		if (!is_url || *path != '%' || !isxdigit((unsigned char)path[1]) ||
		    !isxdigit((unsigned char)path[2]))
			continue;
		sscanf(path + 1, "%2x", &byte);
		out[n - 1] = (char)byte;
		path += 2;
	}
	out[n] = '\0';
}

/* --- What is in it. ---------------------------------------------------------------- */

/* 0 where reading it reads what is stored, and does nothing else. */
static int check(int fd, struct source_text *s, const struct user *everybodys)
{
	static const long made_up[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, DEBUGFS_MAGIC, TRACEFS_MAGIC,
					SECURITYFS_MAGIC };
	struct statfs fs;
	struct stat st;

	if (fstat(fd, &st) || fstatfs(fd, &fs))
		return -errno;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++)
		if ((long)fs.f_type == made_up[i])
			return -ENOENT;
	if (everybodys && !(st.st_mode & S_IROTH))
		return -EACCES;
	s->changed = clock_from(st.st_mtim);
	return st.st_size > (off_t)BYTES_MAX ? -EFBIG : 0;
}

static void split(struct source_text *s)
{
	for (char *line = s->bytes, *end; *line; line = end + 1) {
		vec_push(&s->lines, line);
		end = strchr(line, '\n');
		if (!end)
			return;
		*end = '\0';
		if (end > line && end[-1] == '\r')
			end[-1] = '\0';
	}
}

static int read_all(struct source_text *s, int fd)
{
	size_t room = 1u << 16, used = 0;
	ssize_t n;

	s->bytes = xmalloc(room + 1);
	while ((n = io_read(fd, s->bytes + used, room - used)) > 0) {
		used += (size_t)n;
		if (used == BYTES_MAX)
			break;
		if (used == room) {
			room *= 2;
			s->bytes = xreallocarray(s->bytes, room + 1, 1);
		}
	}
	s->bytes[used] = '\0';
	return n < 0 ? (int)n : 0;
}

int source_text_read(struct source_text *s, const char *path, const struct source_places *places)
{
	char decoded[SOURCE_PATH_MAX];
	int fd, err;

	*s = (struct source_text){ 0 };
	decode(decoded, path);
	fd = open_source(s, decoded, places);
	if (fd < 0)
		return fd;
	err = check(fd, s, places->everybodys);
	if (!err)
		err = read_all(s, fd);
	close(fd);
	if (!err)
		split(s);
	return err;
}

void source_text_free(struct source_text *s)
{
	free(s->bytes);
	vec_free(&s->lines);
}

const char *source_text_line(const struct source_text *s, size_t n, char *buf, size_t size)
{
	char raw[1024];
	size_t used = 0;

	for (const char *c = n && n <= s->lines.n ? s->lines.v[n - 1] : "";
	     *c && used + TAB < sizeof(raw); c++) {
		size_t blanks = *c == '\t' ? TAB - used % TAB : 0;

		if (blanks)
			memset(raw + used, ' ', blanks);
		else
			raw[used] = *c;
		used += blanks ? blanks : 1;
	}
	raw[used] = '\0';
	text_clean(buf, size, raw);
	return buf;
}
