/* SPDX-License-Identifier: MIT */
#include "elf/image_open.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/file.h"
#include "base/walk.h"

enum match { MATCH_NO, MATCH_LIKELY, MATCH_EXACT };

/*
 * On overlayfs and btrfs stat() gives another device than the kernel shows of
 * a mapping (the superblock's), with the same inode number.
 */
static int device_unlike(int fd)
{
	struct statfs fs;

	return !fstatfs(fd, &fs) &&
	       (fs.f_type == OVERLAYFS_SUPER_MAGIC || fs.f_type == BTRFS_SUPER_MAGIC);
}

/* By device and inode, where the key has no build id. */
static enum match match_inode(int fd, const struct stat *st, const struct image_key *key)
{
	if (!key->inode || st->st_ino != key->inode)
		return MATCH_NO;
	if (major(st->st_dev) == key->dev_major && minor(st->st_dev) == key->dev_minor)
		return MATCH_EXACT;
	return device_unlike(fd) ? MATCH_LIKELY : MATCH_NO;
}

/* The build id of the ELF file @fd; -ENOEXEC where it is none. */
static int read_identity(int fd, struct image_file *out)
{
	struct elf_file *elf;
	char magic[4];

	if (pread(fd, magic, sizeof(magic), 0) != sizeof(magic) ||
	    memcmp(magic, "\177ELF", sizeof(magic)))
		return -ENOEXEC;
	out->build_id_size = 0;
	/* One that is damaged stays open all the same: whoever reads it says how it is damaged. */
	elf = elf_file_open(fd);
	if (elf)
		out->build_id_size = (uint8_t)elf_file_build_id(elf, out->build_id);
	elf_file_free(elf);
	return 0;
}

/*
 * Takes @path_fd (O_PATH; closed here) where it is the file of @key: by build
 * id, or where the key has none, by @least or better; a caller that knows it by
 * other means says MATCH_NO. 0 with @out filled, or a negative errno.
 */
static int take(int path_fd, const struct image_key *key, enum match least, struct image_file *out)
{
	struct stat st;
	int err = -ESTALE, fd = -1;

	if (fstat(path_fd, &st) || !S_ISREG(st.st_mode))
		goto out;
	if (!key->build_id_size && match_inode(path_fd, &st, key) < least)
		goto out;
	fd = file_reopen(path_fd);
	if (fd < 0) {
		err = fd;
		goto out;
	}
	err = read_identity(fd, out);
	if (key->build_id_size && (err || out->build_id_size != key->build_id_size ||
				   memcmp(out->build_id, key->build_id, key->build_id_size)))
		err = -ESTALE;
	if (err)
		close(fd);
	else
		out->fd = fd;
out:
	close(path_fd);
	return err;
}

/* @path below the directory @root_path, which is a root of the target's or ours. */
static int from_root(const char *root_path, const char *path, const struct image_key *key,
		     enum match least, struct image_file *out)
{
	int root = open(root_path, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	if (root < 0)
		return -errno;
	/*
	 * The kernel's path of a mapping holds no link. One that is there now would
	 * lead elsewhere, an absolute one from the target's root into ours.
	 */
	fd = walk_open(root, root, path, WALK_NO_LINKS);
	close(root);
	return fd < 0 ? fd : take(fd, key, least, out);
}

/*
 * Whether what is mapped there now (@path_fd, behind @link) is still @key's: by
 * its inode; by its name only where inodes are unlike, since a program that was
 * replaced and started again sits at the same address under the same name.
 */
static int same_mapping(int path_fd, const char *link, const struct image_key *key)
{
	char name[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (key->build_id_size || (!fstat(path_fd, &st) && key->inode && st.st_ino == key->inode))
		return 1;
	if (key->inode && !device_unlike(path_fd))
		return 0;
	n = readlink(link, name, sizeof(name));
	return n > 0 && (size_t)n < sizeof(name) && (size_t)n == strlen(key->path) &&
	       !memcmp(name, key->path, (size_t)n);
}

/*
 * The file behind the mapping, whatever became of its name. Needs CAP_SYS_ADMIN or
 * CAP_CHECKPOINT_RESTORE.
 */
static int from_map_files(pid_t pid, const struct image_key *key, struct image_file *out)
{
	char link[96];
	int fd;

	snprintf(link, sizeof(link), "/proc/%d/map_files/%llx-%llx", (int)pid,
		 (unsigned long long)key->start, (unsigned long long)key->end);
	fd = open(link, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (same_mapping(fd, link, key))
		return take(fd, key, MATCH_NO, out);
	close(fd);
	return -ESTALE;
}

/* Which of two reasons tells the user more. */
static int worse(int a, int b)
{
	static const int order[] = { -ESTALE, -EACCES, -EPERM };

	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		if (a == order[i] || b == order[i])
			return order[i];
	return -ENOENT;
}

int image_open(pid_t pid, const struct image_key *key, const char *path, struct image_file *out)
{
	/*
	 * A likely match counts only where the very file is out of reach; our own root is for a
	 * process that is gone.
	 */
	static const struct { enum { TARGET, MAPPING, OURS } from; enum match least; } steps[] = {
		{ TARGET, MATCH_EXACT }, { MAPPING, MATCH_EXACT }, { OURS, MATCH_EXACT },
		{ TARGET, MATCH_LIKELY }, { OURS, MATCH_LIKELY },
	};
	char root[32];
	int why = -ENOENT, err;

	snprintf(root, sizeof(root), "/proc/%d/root", (int)pid);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const char *from = steps[i].from == OURS ? "/" : root;

		if (key->build_id_size && steps[i].least == MATCH_LIKELY)
			break;
		err = steps[i].from == MAPPING ? from_map_files(pid, key, out) :
						 from_root(from, path, key, steps[i].least, out);
		/* A file may be really called "x (deleted)". */
		if (err == -ENOENT && steps[i].from != MAPPING && strcmp(path, key->path))
			err = from_root(from, key->path, key, steps[i].least, out);
		if (!err || err == -ENOEXEC || err == -EMFILE || err == -ENFILE)
			return err;
		why = worse(why, err);
	}
	return why;
}
