/* SPDX-License-Identifier: MIT */
/*
 * Our symbol tables against those of elfutils (libdwfl), at random addresses
 * of real programs: whatever is loaded into this one, and what is commonly
 * installed. Arguments are more files to compare.
 *
 * Another name for the same start is a matter of taste (aliases), as long as
 * the file has that name there; another function, or none, is an error.
 */
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <link.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "symbols/elf_symbols.h"
#include "test.h"

#define PROBES 4000	/* addresses of each file */

struct tally {
	unsigned long same, alias, neither, wrong;
};

static uint64_t random_state = 88172645463325252ull;

static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	return random_state ^= random_state << 17;
}

static int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc,
		(void)path;
	return -1;
}

static int is_code(const GElf_Sym *s)
{
	int type = GELF_ST_TYPE(s->st_info);

	return type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE;
}

/* Is there a symbol @name at @start in what libdwfl read? */
static int has_symbol(Dwfl_Module *module, const char *name, uint64_t start)
{
	int n = dwfl_module_getsymtab(module);

	for (int i = 0; i < n; i++) {
		GElf_Addr address = 0;
		GElf_Sym s;
		const char *other = dwfl_module_getsym_info(module, i, &s, &address, NULL, NULL,
							    NULL);

		if (other && address == start && is_code(&s) && !strcmp(other, name))
			return 1;
	}
	return 0;
}

/* One address; @bias is what libdwfl adds to the file's own addresses. */
static void compare_at(Dwfl_Module *module, GElf_Addr bias, struct symbol_source *ours,
		       uint64_t address, struct tally *t)
{
	struct source_function f;
	char name[4096] = "";
	GElf_Off offset = 0;
	GElf_Sym s = { 0 };
	const char *theirs = dwfl_module_addrinfo(module, address + bias, &offset, &s, NULL, NULL,
						  NULL);
	int found = !ours->ops->find(ours, address, &f) &&
		    !ours->ops->name(ours, f.token, name, sizeof(name));

	if (theirs && (!is_code(&s) || !strncmp(theirs, ".L", 2)))
		theirs = NULL;
	if (!theirs && !found)
		t->neither++;
	else if (theirs && found && f.start == address - offset && !strcmp(theirs, name))
		t->same++;
	else if (theirs && found && f.start == address - offset &&
		 has_symbol(module, name, f.start + bias))
		t->alias++;
	else if (t->wrong++ < 5)
		printf("0x%llx: %s+0x%llx, by libdwfl %s+0x%llx\n", (unsigned long long)address,
		       found ? name : "-", found ? (unsigned long long)(address - f.start) : 0,
		       theirs ? theirs : "-", (unsigned long long)offset);
}

static void compare_all(Dwfl_Module *module, GElf_Addr bias, const struct elf_file *elf,
			struct symbol_source *ours, struct tally *t)
{
	const struct elf_section *s;
	size_t n = elf_file_sections(elf, &s);
	uint64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += s[i].flags & SHF_EXECINSTR ? s[i].size : 0;
	for (int k = 0; total && k < PROBES; k++) {
		uint64_t at = next_random() % total;
		size_t i;

		for (i = 0; !(s[i].flags & SHF_EXECINSTR) || at >= s[i].size; i++)
			at -= s[i].flags & SHF_EXECINSTR ? s[i].size : 0;
		compare_at(module, bias, ours, s[i].addr + at, t);
	}
}

/* 1 where the file could be compared. */
static int compare_file(const char *path)
{
	static const Dwfl_Callbacks callbacks = { .find_debuginfo = no_debuginfo,
						  .section_address = dwfl_offline_section_address };
	int fd = open(path, O_RDONLY | O_CLOEXEC), compared = 0;
	Dwfl *dwfl = dwfl_begin(&callbacks);
	struct elf_file *elf = NULL;
	struct symbol_source *ours = NULL;
	Dwfl_Module *module;
	struct tally t = { 0 };
	GElf_Addr bias;

	if (fd < 0)
		goto out;
	elf = elf_file_open(fd);
	ours = elf ? elf_symbols_open(elf) : NULL;
	module = dwfl_report_elf(dwfl, "file", path, -1, 0, false);
	dwfl_report_end(dwfl, NULL, NULL);
	if (!ours || !module || !dwfl_module_getelf(module, &bias) ||
	    dwfl_module_getsymtab(module) <= 1)
		goto out;
	compare_all(module, bias, elf, ours, &t);
	compared = 1;
	CHECK_EQ(t.wrong, 0);
	CHECK_EQ(t.same + t.alias + t.neither, PROBES);
	printf("%s: %lu same, %lu aliases, %lu without a name, %lu wrong\n", path, t.same, t.alias,
	       t.neither, t.wrong);
out:
	symbol_source_free(ours);
	elf_file_free(elf);
	dwfl_end(dwfl);
	if (fd >= 0)
		close(fd);
	return compared;
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *compared)
{
	(void)size;
	if (info->dlpi_name[0] == '/')
		*(int *)compared += compare_file(info->dlpi_name);
	return 0;
}

TEST(what_is_loaded_here)
{
	int compared = compare_file("/proc/self/exe");

	CHECK_EQ(compared, 1);
	dl_iterate_phdr(compare_loaded, &compared);
	CHECK(compared >= 1);
}

TEST(what_is_installed)
{
	static const char *const paths[] = {
		"/bin/bash",
		"/usr/bin/python3",
		"/usr/bin/perl",
		"/usr/bin/git",
		"/usr/bin/gdb",
		"/usr/bin/make",
		"/usr/sbin/nginx",
		"/usr/bin/x86_64-linux-gnu-ld.bfd",
		"/lib/x86_64-linux-gnu/libcrypto.so.3",
		"/lib/x86_64-linux-gnu/libpython3.11.so.1.0",
		"/lib/x86_64-linux-gnu/libm.so.6",
		"/lib64/ld-linux-x86-64.so.2",
		"/usr/lib/x86_64-linux-gnu/libbpf.so.1",
	};

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		compare_file(paths[i]);
}

static char **more;

TEST(what_was_asked_for)
{
	for (; *more; more++)
		CHECK_EQ(compare_file(*more), 1);
}

int main(int argc, char **argv)
{
	RUN(what_is_loaded_here);
	RUN(what_is_installed);
	more = argv + (argc > 0);
	RUN(what_was_asked_for);
	return TEST_END();
}
