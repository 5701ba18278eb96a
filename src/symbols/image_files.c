/* SPDX-License-Identifier: MIT */
#include "symbols/image_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/inflate.h"
#include "elf/minidebug.h"
#include "elf/vdso.h"

static int open_own(struct image_files *f, const struct image *image)
{
	size_t size;

	if (image->kind == IMAGE_SPECIAL)
		return -ENOENT;
	if (image->kind == IMAGE_VDSO) {
		f->memory[IMAGE_OWN] = vdso_copy(&size);
		if (!f->memory[IMAGE_OWN])
			return -errno;
		f->elf[IMAGE_OWN] = elf_file_open_memory(f->memory[IMAGE_OWN], size);
	} else if (image->fd < 0) {
		return image->why ? image->why : -ENOENT;
	} else {
		f->elf[IMAGE_OWN] = elf_file_open(image->fd);
	}
	return f->elf[IMAGE_OWN] ? 0 : -errno;
}

static void open_mini(struct image_files *f, uint64_t *left)
{
	size_t size;

	f->memory[IMAGE_MINI] = minidebug_unpack(f->elf[IMAGE_OWN], left, &size);
	if (f->memory[IMAGE_MINI])
		f->elf[IMAGE_MINI] = elf_file_open_memory(f->memory[IMAGE_MINI], size);
	if (f->elf[IMAGE_MINI])
		return;
	free(f->memory[IMAGE_MINI]);
	f->memory[IMAGE_MINI] = NULL;
}

static void open_debug(struct image_files *f, const struct image *image,
		       const struct debug_places *places)
{
	char dir[4096];
	const char *slash = strrchr(image->path, '/');
	int has_dir = image->path[0] == '/' && slash - image->path < (long)sizeof(dir);

	if (has_dir)
		snprintf(dir, sizeof(dir), "%.*s",
			 slash == image->path ? 1 : (int)(slash - image->path), image->path);
	f->debug_fd = debug_file_open(places, f->elf[IMAGE_OWN], has_dir ? dir : NULL,
				      &f->elf[IMAGE_DEBUG]);
}

/* What was taken out of the file with the debug information. */
static void open_parts(struct image_files *f, const struct image *image,
		       const struct debug_places *places)
{
	const struct elf_file *full = f->elf[IMAGE_DEBUG] ? f->elf[IMAGE_DEBUG] : f->elf[IMAGE_OWN];
	int fd = f->elf[IMAGE_DEBUG] ? f->debug_fd : image->fd;

	f->alt_fd = debug_file_open_alt(places, full, fd, &f->alt);
	/* Split units have their addresses here, whichever way they are split. */
	if (inflate_find(full, ".debug_addr"))
		f->package_fd = debug_file_open_package(places, f->elf[IMAGE_OWN], image->path, fd,
							&f->package);
}

int image_files_open(struct image_files *f, const struct image *image,
		     const struct debug_places *given, struct debuginfod *debuginfod,
		     struct image_budget *budget)
{
	/* What is found there counts by its ids or CRC, whosever root it is by now. */
	struct debug_places places = *given;
	int err;

	places.target = image->pid;
	places.crc_left = &budget->crc;
	*f = (struct image_files){ .debug_fd = -1, .alt_fd = -1, .package_fd = -1 };
	err = open_own(f, image);
	if (err || image->kind != IMAGE_FILE)
		return err;
	if (!elf_file_section(f->elf[IMAGE_OWN], ".debug_info"))
		open_debug(f, image, &places);
	if (f->debug_fd < 0 && debuginfod && !elf_file_section(f->elf[IMAGE_OWN], ".debug_info"))
		f->debug_fd = debuginfod_fetch(debuginfod, f->elf[IMAGE_OWN], &f->elf[IMAGE_DEBUG]);
	if (!f->elf[IMAGE_DEBUG] && !elf_file_section(f->elf[IMAGE_OWN], ".symtab"))
		open_mini(f, &budget->unpacked);
	open_parts(f, image, &places);
	return 0;
}

void image_files_close(struct image_files *f)
{
	for (int i = 0; i < IMAGE_FILES; i++) {
		elf_file_free(f->elf[i]);
		free(f->memory[i]);
	}
	elf_file_free(f->alt);
	elf_file_free(f->package);
	if (f->debug_fd >= 0)
		close(f->debug_fd);
	if (f->alt_fd >= 0)
		close(f->alt_fd);
	if (f->package_fd >= 0)
		close(f->package_fd);
}
