/* SPDX-License-Identifier: MIT */
/*
 * tables FILE...: builds the unwind table of each ELF file, and prints a line:
 * rows, milliseconds, bytes a row with all that lies in the maps, name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unwind/table/build.h"

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int measure(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = -1;
	struct elf_file *elf = fd < 0 ? NULL : elf_file_open(fd);
	double start = now_ms(), took;
	struct unwind_table t;

	if (elf)
		err = unwind_table_build(elf, NULL, &t);
	took = now_ms() - start;
	if (err) {
		fprintf(stderr, "tables: %s: %s\n", path,
			elf ? strerror(-err) : "not an ELF file that can be read");
	} else {
		size_t bytes = t.block[t.nblocks] + t.npages * sizeof(uint32_t) +
			       t.nexotic * sizeof(*t.exotic) + sizeof(struct ebp_object);

		printf("%lu %.1f %.2f %s\n", (unsigned long)t.rows, took,
		       t.rows ? (double)bytes / (double)t.rows : 0, path);
		unwind_table_free(&t);
	}
	elf_file_free(elf);
	if (fd >= 0)
		close(fd);
	return err;
}

int main(int argc, char **argv)
{
	int failed = argc < 2;

	for (int i = 1; i < argc; i++)
		failed |= !!measure(argv[i]);
	return failed;
}
