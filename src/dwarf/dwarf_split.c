/* SPDX-License-Identifier: MIT */
#include "dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/file.h"
#include "base/walk.h"

/* Its path: relative ones are to where the compiler ran. */
static int path_of(const struct dwarf_unit *skeleton, char path[PATH_MAX])
{
	char name[PATH_MAX];
	size_t n = 0;
	int err = dwarf_text(skeleton, skeleton->dwo_name, name, sizeof(name));

	if (err || !*name)
		return err ? err : -ENOENT;
	*path = '\0';
	if (*name != '/') {
		err = dwarf_text(skeleton, skeleton->directory, path, PATH_MAX);
		if (err)
			return err;
		n = strlen(path);
	}
	return snprintf(path + n, PATH_MAX - n, "%s%s", n ? "/" : "", name) < (int)(PATH_MAX - n)
		       ? 0
		       : -ENAMETOOLONG;
}

static const struct dwarf_unit *unit_of_id(const dwarf_units *units, uint64_t id)
{
	for (size_t i = 0; i < units->n; i++)
		if (units->v[i].dwo_id == id &&
		    (units->v[i].type == DW_UT_split_compile || units->v[i].type == DW_UT_compile))
			return &units->v[i];
	return NULL;
}

/* The unit of @skeleton among what s->debug.file holds. */
static int take_unit(struct dwarf_split *s, const struct dwarf_unit *skeleton)
{
	dwarf_units_read(&s->debug.file, skeleton, &s->debug.units);
	s->unit = unit_of_id(&s->debug.units, skeleton->dwo_id);
	return s->unit ? 0 : -ESTALE;
}

/* The file, in the root of @target, or in ours where that is 0. The path is the target's to say. */
static int find(const char *path, pid_t target)
{
	int root, found;

	if (!target)
		return walk_open_from(".", path, WALK_LINKS);
	root = *path == '/' ? walk_root_of(target) : -ENOENT;
	if (root < 0)
		return root;
	found = walk_open(root, root, path, WALK_LINKS);
	close(root);
	return found;
}

static int open_file(struct dwarf_split *s, const struct dwarf_unit *skeleton, pid_t target)
{
	char path[PATH_MAX];
	int err = path_of(skeleton, path), found;

	if (err)
		return err;
	found = find(path, target);
	if (found < 0)
		return found;
	s->fd = file_reopen_regular(found);
	close(found);
	if (s->fd < 0)
		return s->fd;
	s->elf = elf_file_open(s->fd);
	if (!s->elf || dwarf_file_open(&s->debug.file, s->elf, 1))
		return -ESTALE;
	/* Any number of skeletons may name the same large file. */
	s->debug.file.whole = skeleton->file;
	return take_unit(s, skeleton);
}

int dwarf_split_open(struct dwarf_split *s, struct dwarf_package *package,
		     const struct dwarf_unit *skeleton, pid_t target)
{
	int err, theirs;

	*s = (struct dwarf_split){ .fd = -1 };
	err = package ? dwarf_package_unit(package, skeleton->dwo_id, &s->debug.file) : -ENOENT;
	if (!err)
		err = take_unit(s, skeleton);
	if (err) {
		dwarf_split_close(s);
		err = open_file(s, skeleton, 0);
	}
	if (err && target) {
		dwarf_split_close(s);
		theirs = open_file(s, skeleton, target);
		err = theirs == -ENOENT ? err : theirs;
	}
	if (err)
		dwarf_split_close(s);
	return err;
}

void dwarf_split_close(struct dwarf_split *s)
{
	dwarf_file_close(&s->debug.file);
	vec_free(&s->debug.units);
	elf_file_free(s->elf);
	if (s->fd >= 0)
		close(s->fd);
	*s = (struct dwarf_split){ .fd = -1 };
}
