/* SPDX-License-Identifier: MIT */
/*
 * An ELF file of any bytes: its links, and the search for where they lead, which
 * is to nothing but the file itself, in an empty folder.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/debug_file.h"
#include "elf/debug_link.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[64];

static void end(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		abort();
}

static void begin(void)
{
	strcpy(folder, "/dev/shm/ebprof-fuzz.XXXXXX");
	if (!mkdtemp(folder))
		abort();
	atexit(end);
}

/* The bytes as the file that the link names. */
static void write_file(const char *path, const uint8_t *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		abort();
	close(fd);
}

static void check_names(const struct debug_link *link, const struct debug_alt_link *alt)
{
	if (link && (!link->name[0] || strchr(link->name, '/') || strlen(link->name) > NAME_MAX ||
		     !strcmp(link->name, "..")))
		abort();
	if (alt && (!alt->name[0] || strlen(alt->name) >= PATH_MAX || !alt->build_id_size ||
		    alt->build_id_size > ELF_BUILD_ID_MAX))
		abort();
}

static void search(const struct elf_file *elf, const uint8_t *data, size_t size, const char *name)
{
	const char *const dirs[] = { folder };
	struct debug_places places = { .dirs = dirs, .n_dirs = 1 };
	struct elf_file *out;
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	write_file(path, data, size);
	fd = debug_file_open(&places, elf, folder, &out);
	/* It has the very link that led there, or a CRC of itself, which is not to be had. */
	if (fd >= 0 || out)
		abort();
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		int alt = debug_file_open_alt(&places, elf, fd, &out);

		elf_file_free(out);
		if (alt >= 0)
			close(alt);
		close(fd);
	}
	unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *elf = elf_file_open_memory(data, size);
	struct debug_alt_link alt;
	struct debug_link link;
	int linked, alternate;

	if (!folder[0])
		begin();
	if (!elf)
		return 0;
	linked = !debug_link_read(elf, &link);
	alternate = !debug_alt_link_read(elf, &alt);
	check_names(linked ? &link : NULL, alternate ? &alt : NULL);
	if (linked || alternate)
		search(elf, data, size, linked ? link.name : "file");
	elf_file_free(elf);
	return 0;
}
