/* SPDX-License-Identifier: MIT */
#include "proc/self_contained.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "elf/elf_file.h"
#include "elf/elf_needed.h"

#define TABLE_MAX (16u << 20)	/* bytes of a table that are looked at */

static const char *const runtimes[] = {
	"ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "libc.so.6",      "libm.so.6",
	"libpthread.so.0",      "libdl.so.2",            "librt.so.1",     "libmvec.so.1",
	"libgcc_s.so.1",        "libstdc++.so.6",        "libatomic.so.1", "libgomp.so.1",
};

static const char *const starters[] = {
	"execl",    "execle",  "execlp",      "execv",        "execve", "execveat",
	"execvp",   "execvpe", "fexecve",     "posix_spawn",  "posix_spawnp",
	"popen",    "system",  "wordexp",     "dlopen",       "dlmopen",
};

static int is_among(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(name, list[i]))
			return 1;
	return 0;
}

#define IS_AMONG(name, list) is_among(name, list, sizeof(list) / sizeof(*(list)))

static int is_no_runtime(const char *library)
{
	return !IS_AMONG(library, runtimes);
}

struct tables {
	char *names;		/* ends with a NUL */
	Elf64_Sym *symbols;
	size_t names_size, symbols_size;	/* bytes */
};

static void *table(const struct elf_file *f, const char *name, size_t *size)
{
	const struct elf_section *s = elf_file_section(f, name);

	return s ? elf_file_section_data(f, s, TABLE_MAX, size) : NULL;
}

static const char *name_at(const struct tables *t, uint64_t offset)
{
	return offset < t->names_size ? t->names + offset : "";
}

static int imports_starters(const struct tables *t)
{
	for (size_t i = 0; i < t->symbols_size / sizeof(*t->symbols); i++) {
		const Elf64_Sym *s = &t->symbols[i];

		if (s->st_shndx == SHN_UNDEF && IS_AMONG(name_at(t, s->st_name), starters))
			return 1;
	}
	return 0;
}

int self_contained_file(const struct elf_file *f)
{
	struct tables t = { 0 };
	int is;

	t.names = table(f, ".dynstr", &t.names_size);
	t.symbols = table(f, ".dynsym", &t.symbols_size);
	is = elf_file_is64(f) && t.names && t.symbols && elf_needs(f, is_no_runtime) == 0 &&
	     !imports_starters(&t);
	free(t.names);
	free(t.symbols);
	return is;
}

int self_contained(const char *path)
{
	int fd = file_open_regular(path), is;
	struct elf_file *f = fd < 0 ? NULL : elf_file_open(fd);

	is = f && self_contained_file(f);
	elf_file_free(f);
	if (fd >= 0)
		close(fd);
	return is;
}
