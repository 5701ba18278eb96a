/* SPDX-License-Identifier: MIT */
#include "elf/elf_lookup.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/test.h"

__attribute__((noinline)) void elf_lookup_landmark(void);

void elf_lookup_landmark(void)
{
	__asm__ volatile("");
}

static int look(const char *path, struct elf_function *functions, size_t n)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file *f = elf_file_open(fd);

	err = f ? elf_lookup(f, functions, n) : -errno;
	elf_file_free(f);
	close(fd);
	return err;
}

/* By .symtab: the bytes at the offset are those of the function. */
TEST(in_ourselves)
{
	struct elf_function functions[] = { { .name = "elf_lookup_landmark" },
					    { .name = "no_such_function" },
					    { .name = "look" } };
	char code[8];
	int fd;

	CHECK_EQ(look("/proc/self/exe", functions, 3), 0);
	CHECK(functions[0].offset && functions[2].offset && !functions[1].offset);
	fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	CHECK_EQ(pread(fd, code, sizeof(code), (off_t)functions[0].offset), sizeof(code));
	CHECK(!memcmp(code, (const void *)elf_lookup_landmark, sizeof(code)));
	close(fd);
}

static int may_export(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), may;
	struct elf_file *f = elf_file_open(fd);

	may = f ? elf_may_export(f, name) : -1;
	elf_file_free(f);
	close(fd);
	return may;
}

/* All that it has, and little of what it has not. */
TEST(by_the_filter)
{
	static const char *const has[] = { "malloc", "free", "strlen", "environ" };
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	struct link_map *map = NULL;
	int wrong = 0;
	char name[32];

	CHECK(libc && !dlinfo(libc, RTLD_DI_LINKMAP, &map));
	for (size_t i = 0; i < sizeof(has) / sizeof(*has); i++)
		CHECK_EQ(may_export(map->l_name, has[i]), 1);
	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "no_such_function_%d", i);
		wrong += may_export(map->l_name, name);
	}
	CHECK(wrong < 60);
	dlclose(libc);
}

/* By .dynsym, of several versions; and a function that only chooses another one. */
TEST(in_libc)
{
	struct elf_function functions[] = { { .name = "posix_memalign" }, { .name = "strlen" } };
	void *libc = dlopen("libc.so.6", RTLD_NOW);
	struct link_map *map = NULL;
	char code[8];
	int fd;

	CHECK(libc && !dlinfo(libc, RTLD_DI_LINKMAP, &map));
	CHECK_EQ(look(map->l_name, functions, 2), 0);
	CHECK(functions[0].offset && !functions[0].ifunc && functions[1].ifunc);
	fd = open(map->l_name, O_RDONLY | O_CLOEXEC);
	CHECK_EQ(pread(fd, code, sizeof(code), (off_t)functions[0].offset), sizeof(code));
	CHECK(!memcmp(code, dlsym(libc, "posix_memalign"), sizeof(code)));
	close(fd);
	dlclose(libc);
}

TEST(in_none)
{
	struct elf_function function = { .name = "main", .offset = 7 };

	CHECK_EQ(look("/etc/passwd", &function, 1), -ENOEXEC);
}

/* By a child, which has the same answers, and can neither die nor hang for us. */
TEST(by_a_child)
{
	struct elf_function functions[] = { { .name = "elf_lookup_landmark" },
					    { .name = "no_such_function" },
					    { .name = "look" } },
			    same[3];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
	    none = open("/etc/passwd", O_RDONLY | O_CLOEXEC);

	memcpy(same, functions, sizeof(same));
	CHECK_EQ(look("/proc/self/exe", same, 3), 0);
	CHECK_EQ(elf_lookup_apart(fd, functions, 3), 0);
	for (int i = 0; i < 3; i++)
		CHECK(functions[i].offset == same[i].offset && functions[i].ifunc == same[i].ifunc);
	CHECK_EQ(elf_lookup_apart(none, functions, 3), -ENOEXEC);
	CHECK(!functions[0].offset && !functions[2].offset);
	CHECK(waitpid(-1, NULL, WNOHANG) == -1 && errno == ECHILD);
	close(fd);
	close(none);
}

int main(void)
{
	RUN(in_ourselves);
	RUN(by_the_filter);
	RUN(in_libc);
	RUN(in_none);
	RUN(by_a_child);
	return TEST_END();
}
