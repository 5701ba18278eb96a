/* SPDX-License-Identifier: MIT */
#include "alloc/alloc_library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "elf/elf_lookup.h"
#include "preload/nops.h"

/* Who owns our executable owns us anyway; where that is root, the library must be root's, too. */
static int is_ours(int fd)
{
	struct stat library, self;

	if (fstat(fd, &library) || stat("/proc/self/exe", &self))
		return 0;
	return S_ISREG(library.st_mode) && !(library.st_mode & (S_IWGRP | S_IWOTH)) &&
	       (!library.st_uid || library.st_uid == self.st_uid);
}

static int find_probes(struct alloc_library *l, int fd)
{
	struct elf_function functions[] = { { .name = "ebprof_block" }, { .name = "ebprof_free" } };
	struct elf_file *f = elf_file_open(fd);
	int err = f ? elf_lookup(f, functions, 2) : -errno;

	elf_file_free(f);
	l->block = functions[0].offset;
	l->end = functions[1].offset;
	return err ? err : l->block && l->end ? 0 : -ENOEXEC;
}

int alloc_library_find(struct alloc_library *l, struct error *e)
{
	static const char *const places[] = { "", "../lib/ebprof/", "build/", "../" };
	char self[PATH_MAX], path[2 * PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int fd = -1, err = 0;

	self[n > 0 ? n : 0] = '\0';
	if (strrchr(self, '/'))
		strrchr(self, '/')[1] = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places) && fd < 0; i++) {
		snprintf(path, sizeof(path), "%s%s" ALLOC_LIBRARY_NAME, self, places[i]);
		fd = realpath(path, l->path) ? open(l->path, O_RDONLY | O_CLOEXEC) : -1;
	}
	if (fd < 0)
		return error_set(e, STATUS_ERROR, -ENOENT,
				 "cannot find " ALLOC_LIBRARY_NAME " in %s, %sbuild or "
				 "%s../lib/ebprof; make install puts it there",
				 self, self, self);
	if (!is_ours(fd))
		err = error_set(e, STATUS_ERROR, -EPERM,
				"%s is not used: somebody else could have written it", l->path);
	/* As ld.so(8) takes LD_PRELOAD apart. */
	else if (strpbrk(l->path, ": $"))
		err = error_set(e, STATUS_ERROR, -EINVAL,
				"%s cannot be preloaded: its path has a space, ':' "
				"or '$' in it",
				l->path);
	else if ((err = find_probes(l, fd)))
		error_set(e, STATUS_ERROR, err, "%s is not the library of ebprof: %s", l->path,
			  strerror(-err));
	close(fd);
	return err;
}

void alloc_library_choose_nop(struct alloc_library *l, const struct alloc_price *nops)
{
	if (nops->trap[1] >= nops->trap[0])
		return;
	l->block += NOP5_SIZE;
	l->end += NOP5_SIZE;
}

void alloc_library_environment(const struct alloc_library *l, uint64_t interval, char *env[3])
{
	const char *others = getenv("LD_PRELOAD");

	env[0] = xasprintf("LD_PRELOAD=%s%s%s", l->path, others && *others ? ":" : "",
			   others ? others : "");
	env[1] = xasprintf("EBPROF_ALLOC_INTERVAL=%llu", (unsigned long long)interval);
	env[2] = NULL;
}
