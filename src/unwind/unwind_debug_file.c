/* SPDX-License-Identifier: MIT */
#include "unwind/unwind_debug_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* In our own root: what lies in the target's is the target's to choose, and the file itself was enough until now. */
#define ROOT "/usr/lib/debug/.build-id"

static int same_build_id(const struct elf_file *f, const uint8_t *id, size_t n)
{
	uint8_t own[ELF_BUILD_ID_MAX];

	return elf_file_build_id(f, own) == n && !memcmp(own, id, n);
}

int unwind_debug_file(const struct elf_file *elf, struct elf_file **out)
{
	char path[sizeof(ROOT) + 2 * ELF_BUILD_ID_MAX + 16];
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(elf, id);
	int fd, len, err = -ESTALE;
	struct stat st;

	if (n < 2)
		return -ENOENT;
	len = snprintf(path, sizeof(path), ROOT "/%02x/", id[0]);
	for (size_t i = 1; i < n; i++)
		len += snprintf(path + len, sizeof(path) - (size_t)len, "%02x", id[i]);
	snprintf(path + len, sizeof(path) - (size_t)len, ".debug");
	/* O_NONBLOCK: a FIFO of that name must not stop us. */
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	*out = NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		*out = elf_file_open(fd);
		err = *out ? -ESTALE : -errno;
	}
	if (*out && same_build_id(*out, id, n))
		return fd;
	elf_file_free(*out);
	*out = NULL;
	close(fd);
	return err;
}
