/* SPDX-License-Identifier: MIT */
#include "elf/debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/file.h"
#include "base/io.h"
#include "base/walk.h"
#include "elf/debug_link.h"

#define DEFAULT_DIR	"/usr/lib/debug"
#define CRC_LIMIT	(1ll << 30)	/* bytes of a file that we would read whole: a second */
#define BUILD_ID_NAME	(2 * ELF_BUILD_ID_MAX + sizeof(".build-id//.debug"))
#define PACKAGE		".dwp"

struct search {
	const struct debug_places *places;
	int target;			/* its root (O_PATH), or negative */
	const struct elf_file *like;	/* the machine and class that are wanted */
	uint8_t id[ELF_BUILD_ID_MAX];	/* and the build id; size 0: not known */
	size_t id_size;
	int package;			/* of split DWARF; it has no build id */
	/* its CRC serves where a build id is missing; NULL: nothing does */
	const struct debug_link *link;
	struct elf_file **out;
	int err;			/* the best reason so far for having found nothing */
};

/* Which of two reasons tells the user more. */
static int worse(int a, int b)
{
	static const int order[] = { -EMFILE, -ENFILE, -ESTALE, -EACCES, -EPERM };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return -ENOENT;
}

/* @left: see debug_places. A file that is larger is not begun. */
static int has_crc(int fd, uint32_t crc, uint64_t *left)
{
	off_t limit = left && *left < CRC_LIMIT ? (off_t)*left : CRC_LIMIT, at = 0;
	unsigned char buf[65536];
	uLong sum = crc32(0, NULL, 0);
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) || st.st_size > limit)
		return 0;
	while ((n = io_pread_full(fd, buf, sizeof(buf), (uint64_t)at)) > 0) {
		if (n > limit - at)
			return 0;
		sum = crc32(sum, buf, (uInt)n);
		at += n;
		if (left)
			*left -= (uint64_t)n;
	}
	return n == 0 && sum == crc;
}

static int same_kind(const struct elf_file *a, const struct elf_file *b)
{
	const struct elf_section *s;

	/* Sections are what a debug file is for; where one was cut short they are missing. */
	return elf_file_machine(a) == elf_file_machine(b) && elf_file_is64(a) == elf_file_is64(b) &&
	       elf_file_sections(b, &s);
}

/*
 * A file with this very link is the stripped file itself, or a copy: no file can
 * hold its own CRC. It is met first where its debug file has the same name, in
 * .debug/, and its build id would be right.
 */
static int has_link(const struct elf_file *f, const struct debug_link *link)
{
	struct debug_link own;

	return !debug_link_read(f, &own) && own.crc == link->crc && !strcmp(own.name, link->name);
}

static int is_wanted(const struct search *s, int fd, const struct elf_file *f)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(f, id);

	if (!same_kind(s->like, f) || (s->link && has_link(f, s->link)))
		return 0;
	if (s->package)
		return elf_file_section(f, ".debug_cu_index") != NULL;
	if (n && s->id_size)
		return n == s->id_size && !memcmp(id, s->id, n);
	return s->link && has_crc(fd, s->link->crc, s->places->crc_left);
}

int debug_file_matches(const struct elf_file *elf, const struct elf_file *debug)
{
	struct search s = { .like = elf };

	s.id_size = elf_file_build_id(elf, s.id);
	return is_wanted(&s, -1, debug);
}

/* Opens for reading what @path_fd (O_PATH) stands for, if it may be read at all. */
static int reopen(const struct search *s, int path_fd)
{
	struct stat st;

	if (fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		return -ESTALE;
	if (s->places->root_owned && (st.st_uid || st.st_mode & (S_IWGRP | S_IWOTH)))
		return -ESTALE;
	return file_reopen(path_fd);
}

/* @path_fd (O_PATH; closed here), where it is what is searched: the descriptor to read it by. */
static int take(struct search *s, int path_fd)
{
	int fd = reopen(s, path_fd);
	struct elf_file *f;

	close(path_fd);
	if (fd < 0)
		return fd;
	f = elf_file_open(fd);
	if (f && is_wanted(s, fd, f)) {
		*s->out = f;
		return fd;
	}
	elf_file_free(f);
	close(fd);
	return -ESTALE;
}

/*
 * Looks at @rest in @dir. Links are followed, for distributions make the build
 * ids links to the files; in the target's root never out of it. In ours @dir is
 * the user's word, even where it leads through another process's root in /proc,
 * but what is in it is not.
 */
static int open_path(const struct search *s, int in_target, const char *dir, const char *rest)
{
	char path[PATH_MAX];

	if (!in_target)
		return walk_open_from(dir, rest, WALK_LINKS);
	if (dir[0] != '/' || snprintf(path, sizeof(path), "%s/%s", dir, rest) >= (int)sizeof(path))
		return dir[0] != '/' ? -ENOENT : -ENAMETOOLONG;
	return walk_open(s->target, s->target, path, WALK_LINKS);
}

/* Whether @rest in @dir is what is searched: its descriptor, or a negative number. */
static int try(struct search *s, int in_target, const char *dir, const char *rest)
{
	int fd = open_path(s, in_target, dir, rest);

	if (fd >= 0)
		fd = take(s, fd);
	if (fd < 0)
		s->err = worse(s->err, fd);
	return fd;
}

/* The same for the absolute path that the three parts make. */
static int try_path(struct search *s, int in_target, const char *dir, const char *between,
		    const char *name)
{
	char path[PATH_MAX];

	dir += strspn(dir, "/");
	if (snprintf(path, sizeof(path), "%s%s%s", dir, between, name) >= (int)sizeof(path))
		return -1;
	return try(s, in_target, "/", path);
}

static int try_dirs(struct search *s, int in_target, const char *rest)
{
	const struct debug_places *p = s->places;
	int fd = -1;

	for (size_t i = 0; i < p->n_dirs && fd < 0; i++)
		fd = try(s, in_target, p->dirs[i], rest);
	return fd < 0 ? try(s, in_target, DEFAULT_DIR, rest) : fd;
}

static int by_build_id(struct search *s, int in_target, const char *end)
{
	char rest[BUILD_ID_NAME];
	int n;

	if (s->id_size < 2)
		return -1;
	n = snprintf(rest, sizeof(rest), ".build-id/%02x/", s->id[0]);
	for (size_t i = 1; i < s->id_size; i++)
		n += snprintf(rest + n, sizeof(rest) - (size_t)n, "%02x", s->id[i]);
	snprintf(rest + n, sizeof(rest) - (size_t)n, "%s", end);
	return try_dirs(s, in_target, rest);
}

static int by_link(struct search *s, int in_target, const char *dir, const struct debug_link *link)
{
	char rest[PATH_MAX];
	int fd;

	s->link = link;
	fd = try_path(s, in_target, dir, "/", link->name);
	if (fd < 0)
		fd = try_path(s, in_target, dir, "/.debug/", link->name);
	dir += strspn(dir, "/");
	if (fd < 0 && snprintf(rest, sizeof(rest), "%s/%s", dir, link->name) < (int)sizeof(rest))
		fd = try_dirs(s, in_target, rest + strspn(rest, "/"));
	s->link = NULL;
	return fd;
}

static void search_begin(struct search *s, const struct debug_places *places,
			 const struct elf_file *like, struct elf_file **out)
{
	*s = (struct search){
		.places = places, .target = -1, .like = like, .out = out, .err = -ENOENT,
	};
	*out = NULL;
	if (places->target > 0)
		s->target = walk_root_of(places->target);
}

static int search_end(struct search *s, int fd)
{
	if (s->target >= 0)
		close(s->target);
	return fd < 0 ? s->err : fd;
}

int debug_file_open(const struct debug_places *places, const struct elf_file *elf,
		    const char *dir_of_file, struct elf_file **out)
{
	struct debug_link link;
	struct search s;
	int fd = -1, linked;

	search_begin(&s, places, elf, out);
	s.id_size = elf_file_build_id(elf, s.id);
	linked = dir_of_file && dir_of_file[0] == '/' && !debug_link_read(elf, &link);
	for (int in_target = 0; in_target <= (s.target >= 0) && fd < 0; in_target++) {
		fd = by_build_id(&s, in_target, ".debug");
		if (fd < 0 && linked)
			fd = by_link(&s, in_target, dir_of_file, &link);
	}
	return search_end(&s, fd);
}

/* The absolute path of the file @fd; "" where it has none. */
static void path_of(int fd, char path[PATH_MAX])
{
	char name[64];
	ssize_t n;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	n = fd >= 0 ? readlink(name, path, PATH_MAX - 1) : 0;
	path[n > 0 && path[0] == '/' ? n : 0] = '\0';
}

/* The same of its directory. */
static void directory_of(int fd, char dir[PATH_MAX])
{
	char *slash;

	path_of(fd, dir);
	slash = strrchr(dir, '/');
	*(slash ? slash : dir) = '\0';
}

int debug_file_open_alt(const struct debug_places *places, const struct elf_file *elf, int fd,
			struct elf_file **out)
{
	struct debug_alt_link link;
	char dir[PATH_MAX];
	struct search s;
	int err = debug_alt_link_read(elf, &link), found = -1;

	*out = NULL;
	if (err)
		return err;
	search_begin(&s, places, elf, out);
	s.id_size = link.build_id_size;
	memcpy(s.id, link.build_id, s.id_size);
	directory_of(fd, dir);
	for (int in_target = 0; in_target <= (s.target >= 0) && found < 0; in_target++) {
		found = by_build_id(&s, in_target, ".debug");
		if (found < 0 && (link.name[0] == '/' || fd >= 0))
			found = try_path(&s, in_target, link.name[0] == '/' ? "" : dir, "/",
					 link.name);
	}
	return search_end(&s, found);
}

static int by_path(struct search *s, int in_target, const char *path)
{
	char rest[PATH_MAX];
	int fd = try_path(s, in_target, path, PACKAGE, "");

	path += strspn(path, "/");
	if (fd < 0 && snprintf(rest, sizeof(rest), "%s" PACKAGE, path) < (int)sizeof(rest))
		fd = try_dirs(s, in_target, rest);
	return fd;
}

int debug_file_open_package(const struct debug_places *places, const struct elf_file *elf,
			    const char *path, int fd, struct elf_file **out)
{
	char beside[PATH_MAX], *end;
	struct search s;
	int found = -1;

	search_begin(&s, places, elf, out);
	s.package = 1;
	s.id_size = elf_file_build_id(elf, s.id);
	for (int in_target = 0; in_target <= (s.target >= 0) && found < 0; in_target++) {
		if (path && path[0] == '/')
			found = by_path(&s, in_target, path);
		if (found < 0)
			found = by_build_id(&s, in_target, PACKAGE);
		path_of(fd, beside);
		if (found < 0 && *beside)
			found = try_path(&s, in_target, beside, PACKAGE, "");
		end = strrchr(beside, '.');
		if (found < 0 && end && !strcmp(end, ".debug")) {
			*end = '\0';
			found = try_path(&s, in_target, beside, PACKAGE, "");
		}
	}
	return search_end(&s, found);
}
