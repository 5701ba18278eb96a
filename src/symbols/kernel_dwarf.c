/* SPDX-License-Identifier: MIT */
#include "symbols/kernel_dwarf.h"

#include <elf.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/xalloc.h"
#include "symbols/dwarf_symbols.h"

#define NOTES		"/sys/kernel/notes"
#define NOTES_MAX	65536
#define TABLE_MAX	(256u << 20)	/* bytes of the symbol table, and of its strings */

struct search {
	struct kernel_dwarf *k;
	uint8_t id[ELF_BUILD_ID_MAX];
	size_t id_size;
	uint64_t stext;
	const char *release;
};

/* Where @name is linked to. 0, or -ENODATA. */
static int find_symbol(const struct elf_file *elf, const char *name, uint64_t *out)
{
	const struct elf_section *all,
		*table = elf_file_is64(elf) ? elf_file_section(elf, ".symtab") : NULL;
	size_t n = elf_file_sections(elf, &all), size, end;
	Elf64_Sym *symbols = table && table->link < n
				     ? elf_file_section_data(elf, table, TABLE_MAX, &size)
				     : NULL;
	char *names = symbols ? elf_file_section_data(elf, &all[table->link], TABLE_MAX, &end)
			      : NULL;
	int err = -ENODATA;

	for (size_t i = 0; names && err && i < size / sizeof(*symbols); i++) {
		if (symbols[i].st_name >= end || strcmp(names + symbols[i].st_name, name) != 0)
			continue;
		*out = symbols[i].st_value;
		err = 0;
	}
	free(names);
	free(symbols);
	return err;
}

/* Takes the file at @path, where it is the kernel's. */
static int try(struct search *s, const char *path)
{
	struct kernel_dwarf *k = s->k;
	uint8_t id[ELF_BUILD_ID_MAX];
	uint64_t stext;
	int err;

	k->fd = file_open_regular(path);
	if (k->fd < 0)
		return k->fd;
	k->elf = elf_file_open(k->fd);
	err = !k->elf ? -errno : 0;
	if (!err &&
	    (elf_file_build_id(k->elf, id) != s->id_size || memcmp(id, s->id, s->id_size) != 0))
		err = -ESTALE;
	if (!err)
		err = find_symbol(k->elf, "_stext", &stext);
	if (!err) {
		k->slide = s->stext - stext;
		k->names = dwarf_symbols_open(k->elf, NULL, NULL, 0);
		err = k->names ? 0 : -errno;
	}
	if (err)
		kernel_dwarf_close(k);
	return err;
}

static int try_dir(struct search *s, const char *dir)
{
	char path[PATH_MAX];
	int err, n;

	snprintf(path, sizeof(path), "%s/boot/vmlinux-%s", dir, s->release);
	err = try(s, path);
	if (err) {
		snprintf(path, sizeof(path), "%s/lib/modules/%s/vmlinux", dir, s->release);
		err = try(s, path);
	}
	n = snprintf(path, sizeof(path), "%s/.build-id/%02x/", dir, s->id[0]);
	if (!err || n < 0 || (size_t)n + 2 * s->id_size + sizeof(".debug") > sizeof(path))
		return err;
	for (size_t i = 1; i < s->id_size; i++)
		n += snprintf(path + n, sizeof(path) - (size_t)n, "%02x", s->id[i]);
	snprintf(path + n, sizeof(path) - (size_t)n, ".debug");
	return try(s, path);
}

static int try_all(struct search *s, const char *const *dirs, size_t n_dirs)
{
	char path[PATH_MAX];
	int err = -ENOENT;

	for (size_t i = 0; err && i < n_dirs; i++)
		err = try_dir(s, dirs[i]);
	if (err)
		err = try_dir(s, "/usr/lib/debug");
	if (err) {
		snprintf(path, sizeof(path), "/lib/modules/%s/build/vmlinux", s->release);
		err = try(s, path);
	}
	return err;
}

int kernel_build_id(const struct kernel_places *places, uint8_t id[ELF_BUILD_ID_MAX])
{
	char *notes = xmalloc(NOTES_MAX);
	ssize_t n = file_read(places->notes ? places->notes : NOTES, notes, NOTES_MAX);

	if (n >= 0)
		n = (ssize_t)elf_notes_build_id(notes, (size_t)n, id);
	free(notes);
	return n ? (int)n : -ENODATA;
}

int kernel_dwarf_open(struct kernel_dwarf *k, const struct kernel_places *places,
		      const char *const *dirs, size_t n_dirs, uint64_t stext)
{
	struct search s = { .k = k, .stext = stext, .release = places->release };
	struct utsname system;
	int n = kernel_build_id(places, s.id);

	*k = (struct kernel_dwarf){ .fd = -1 };
	if (n < 0)
		return n;
	s.id_size = (size_t)n;
	if (!s.release)
		s.release = uname(&system) ? "" : system.release;
	return places->vmlinux ? try(&s, places->vmlinux) : try_all(&s, dirs, n_dirs);
}

void kernel_dwarf_close(struct kernel_dwarf *k)
{
	symbol_source_free(k->names);
	elf_file_free(k->elf);
	if (k->fd >= 0)
		close(k->fd);
	*k = (struct kernel_dwarf){ .fd = -1 };
}
