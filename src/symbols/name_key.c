/* SPDX-License-Identifier: MIT */
#include "symbols/name_key.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

static void put(struct name_key *k, const void *p, size_t n)
{
	memcpy(k->bytes + k->size, p, n);
	k->size += n;
}

/*
 * A file as it is: a build id could be forged. No device, whose number may change when
 * the machine starts again. All zeros: there is none.
 */
static void put_stat(struct name_key *k, const struct stat *st)
{
	const uint64_t numbers[] = {
		st->st_ino,
		(uint64_t)st->st_size,
		(uint64_t)st->st_mtim.tv_sec,
		(uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec,
		(uint64_t)st->st_ctim.tv_nsec,
	};

	put(k, numbers, sizeof(numbers));
}

static int put_file(struct name_key *k, int fd)
{
	struct stat st = { 0 };

	if (fd >= 0 && fstat(fd, &st))
		return -errno;
	put_stat(k, &st);
	return 0;
}

int name_key_make(struct name_key *k, const struct image *image, const struct image_files *files,
		  uint8_t options)
{
	uint8_t id[ELF_BUILD_ID_MAX], n;
	struct stat self;
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "";

	k->size = 0;
	n = image->fd < 0 ? 0 : (uint8_t)elf_file_build_id(files->elf[IMAGE_OWN], id);
	if (!n || stat("/proc/self/exe", &self))
		return -ENOENT;
	put(k, &n, 1);
	put(k, id, n);
	put(k, &options, 1);
	put_stat(k, &self);
	if (put_file(k, image->fd) || put_file(k, files->debug_fd) || put_file(k, files->alt_fd))
		return -ENOENT;
	for (int i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	snprintf(k->file, sizeof(k->file), "%s-%08lx.names", hex,
		 crc32(0, k->bytes, (uInt)k->size));
	return 0;
}
