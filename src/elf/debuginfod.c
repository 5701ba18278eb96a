/* SPDX-License-Identifier: MIT */
#include "elf/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "elf/debug_file.h"

#define LIBRARY "libdebuginfod.so.1"

/* As in elfutils' debuginfod.h; the client is the library's. */
struct debuginfod {
	void *lib, *client;
	void *(*begin)(void);
	int (*find)(void *client, const unsigned char *id, int size, char **path);
	int (*source)(void *client, const unsigned char *id, int size, const char *name,
		      char **path);
	void (*end)(void *client);
};

/* Of the first object, which is the program: whether it was started by the dynamic loader. */
static int has_interpreter(struct dl_phdr_info *info, size_t size, void *unused)
{
	(void)size;
	(void)unused;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_INTERP)
			return 1;
	return -1;
}

static int load(struct debuginfod *d)
{
	/* Not to be unloaded: what it brings along (TLS, threads) is not made for that. */
	d->lib = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
	if (!d->lib)
		return -ELIBACC;
	*(void **)&d->begin = dlsym(d->lib, "debuginfod_begin");
	*(void **)&d->find = dlsym(d->lib, "debuginfod_find_debuginfo");
	*(void **)&d->source = dlsym(d->lib, "debuginfod_find_source");
	*(void **)&d->end = dlsym(d->lib, "debuginfod_end");
	if (!d->begin || !d->find || !d->source || !d->end)
		return -ELIBACC;
	d->client = d->begin();
	return d->client ? 0 : -ENOMEM;
}

struct debuginfod *debuginfod_new(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct debuginfod *d;
	int err;

	/*
	 * glibc's static dlopen() would try, with whatever glibc is on this machine, and perhaps
	 * crash.
	 */
	if (dl_iterate_phdr(has_interpreter, NULL) < 0) {
		errno = ENOTSUP;
		return NULL;
	}
	if (!urls || !*urls) {
		errno = EDESTADDRREQ;
		return NULL;
	}
	d = xcalloc(1, sizeof(*d));
	err = load(d);
	if (!err)
		return d;
	debuginfod_free(d);
	errno = -err;
	return NULL;
}

void debuginfod_free(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	if (d->lib)
		dlclose(d->lib);
	free(d);
}

int debuginfod_fetch(struct debuginfod *d, const struct elf_file *elf, struct elf_file **out)
{
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t n = elf_file_build_id(elf, id);
	int fd;

	*out = NULL;
	if (!n)
		return -ENOENT;
	fd = d->find(d->client, id, (int)n, NULL);
	if (fd < 0)
		return fd;
	*out = elf_file_open(fd);
	if (*out && debug_file_matches(elf, *out))
		return fd;
	elf_file_free(*out);
	*out = NULL;
	close(fd);
	return -ESTALE;
}

int debuginfod_fetch_source(struct debuginfod *d, const uint8_t *id, size_t n, const char *path)
{
	int fd = d->source(d->client, id, (int)n, path, NULL);

	/* One that was just fetched stands at its end. */
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}
