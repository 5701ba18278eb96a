/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <stdint.h>
#include <unistd.h>

#include "proc/remap.h"

#define SIZE 8192

static int file_of(const char *bytes)
{
	char path[] = "/tmp/test_remap-XXXXXX";
	int fd = mkstemp(path);

	CHECK(fd >= 0 && write(fd, bytes, SIZE) == SIZE);
	unlink(path);
	return fd;
}

TEST(tells_the_file_from_another)
{
	static char memory[SIZE];
	uint64_t start = (uintptr_t)memory, end = start + SIZE;
	struct remote *remote = remote_new(process_vm_readv);
	int fd;

	CHECK(remote);
	for (int i = 0; i < SIZE; i++)
		memory[i] = (char)(i * 7 + i / 256);
	fd = file_of(memory);
	CHECK_EQ(remap_holds_file(remote, getpid(), start, end, fd, 0), 1);
	CHECK_EQ(remap_holds_file(remote, getpid(), start + 4096, end, fd, 4096), 1);
	CHECK_EQ(remap_holds_file(remote, getpid(), start, end - 4096, fd, 4096), 0);
	/* The file is shorter; no file; nothing to compare; no memory. */
	CHECK_EQ(remap_holds_file(remote, getpid(), start + 4096, end, fd, 8000), 0);
	CHECK_EQ(remap_holds_file(remote, getpid(), start, end, -1, 0), 0);
	CHECK_EQ(remap_holds_file(remote, getpid(), start, start + 100, fd, 0), 0);
	CHECK_EQ(remap_holds_file(remote, getpid(), end, start, fd, 0), 0);
	CHECK_EQ(remap_holds_file(remote, getpid(), 4096, 4096 + SIZE, fd, 0), 0);
	memory[0]++;
	CHECK_EQ(remap_holds_file(remote, getpid(), start, end, fd, 0), 0);
	close(fd);
	remote_free(remote);
}

int main(void)
{
	RUN(tells_the_file_from_another);
	return TEST_END();
}
