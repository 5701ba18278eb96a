/* SPDX-License-Identifier: MIT */
/*
 * The 64-bit ELF files of this machine, in a random order, for tests against another reader of
 * them.
 */
#ifndef EBPROF_TESTS_ELF_CORPUS_H
#define EBPROF_TESTS_ELF_CORPUS_H

#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

static VEC(char *) paths;
static uint64_t random_state;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static int is_comparable(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), good = 0;
	Elf64_Ehdr h;

	if (fd >= 0 && pread(fd, &h, sizeof(h), 0) == sizeof(h))
		good = !memcmp(h.e_ident, ELFMAG, SELFMAG) && h.e_ident[EI_CLASS] == ELFCLASS64 &&
		       (h.e_type == ET_DYN || h.e_type == ET_EXEC) &&
		       (h.e_machine == EM_X86_64 || h.e_machine == EM_AARCH64);
	if (fd >= 0)
		close(fd);
	return good;
}

static int collect(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)ftw;
	if (type == FTW_F && S_ISREG(st->st_mode) && st->st_size > 4096 &&
	    ((st->st_mode & 0111) || strstr(path, ".so") || strstr(path, ".node")))
		vec_push(&paths, xstrdup(path));
	return 0;
}

static void collect_all(void)
{
	static const char *const roots[] = { "/bin", "/sbin", "/lib", "/lib64", "/usr", "/opt" };
	char *rustup = xasprintf("%s/.rustup", getenv("HOME") ? getenv("HOME") : "/root");

	for (size_t i = 0; i < sizeof(roots) / sizeof(*roots); i++)
		nftw(roots[i], collect, 32, FTW_PHYS);
	nftw(rustup, collect, 32, FTW_PHYS);
	free(rustup);
	for (size_t i = paths.n; i > 1; i--) {
		size_t j = next_random() % i;
		char *swap = paths.v[i - 1];

		paths.v[i - 1] = paths.v[j];
		paths.v[j] = swap;
	}
}

/* Only ELF files of our kinds stay, in their random order: at most @limit. */
static void keep_comparable(size_t limit)
{
	size_t kept = 0;

	for (size_t i = 0; i < paths.n; i++) {
		if (kept < limit && is_comparable(paths.v[i]))
			paths.v[kept++] = paths.v[i];
		else
			free(paths.v[i]);
	}
	paths.n = kept;
}

#endif
